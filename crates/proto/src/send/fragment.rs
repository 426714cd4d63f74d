//! Fragmentation of messages: the length of the next fragment.
//!
//! A message is fragmented only at the limit of the path, so neither a half-filled packet nor a nearly closed window at the peer
//! causes small fragments.

/// Room for a DATA or I-DATA chunk in a packet, in bytes with the chunk header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Room {
    /// Room left in the packet.
    pub(super) max_chunk: usize,
    /// The largest chunk in an empty packet on this path; longer messages are fragmented
    /// ([`anabranch_policy::PathFacts::max_data_chunk`]).
    pub(super) fragment_at: usize,
    /// Length of the chunk header.
    pub(super) header: usize,
}

impl Room {
    /// Whether not even a chunk of one byte fits.
    pub(super) const fn is_full(self) -> bool {
        round_down(self.max_chunk) <= self.header
    }

    /// Payload bytes of the next fragment of a message of which `rest` bytes are left; `None` if it does not fit into the packet.
    pub(super) const fn piece(self, rest: usize) -> Option<usize> {
        let payload = self.cut(rest);
        let fits = self.header + payload <= round_down(self.max_chunk);
        if fits && payload > 0 { Some(payload) } else { None }
    }

    //= rfc9260 6-8, 6.9-2, 6.9-8, 6.9-10
    /// Payload bytes of the next fragment in an empty packet.
    pub(super) const fn cut(self, rest: usize) -> usize {
        let most = round_down(self.fragment_at).saturating_sub(self.header);
        if rest < most { rest } else { most }
    }
}

/// Rounds down to a multiple of four: chunks are padded, so a chunk fits only if its padded length does.
const fn round_down(length: usize) -> usize {
    length & !3
}

#[cfg(test)]
mod tests {
    use anabranch_wire::{Data, IData};

    use super::Room;

    const HEADER: usize = Data::HEADER_LEN;

    fn empty(length: usize) -> Room {
        Room {
            max_chunk: length,
            fragment_at: length,
            header: HEADER,
        }
    }

    //= rfc9260 3.3.1-11
    #[test]
    fn short_message_is_not_fragmented_to_fill_a_packet() {
        let room = Room {
            max_chunk: 100,
            fragment_at: 1_000,
            header: HEADER,
        };
        assert_eq!(room.piece(84), Some(84));
        assert_eq!(room.piece(85), None);
    }

    #[test]
    fn long_message_is_fragmented_only_to_the_path_mtu() {
        assert_eq!(empty(1_000).piece(3_000), Some(984));
        let half_full = Room {
            max_chunk: 500,
            fragment_at: 1_000,
            header: HEADER,
        };
        assert_eq!(half_full.piece(3_000), None);
        assert_eq!(half_full.piece(400), Some(400), "the last piece may ride along");
    }

    //= rfc9260 6.9-8
    #[test]
    fn fragment_size_allows_for_padding() {
        assert_eq!(empty(1_003).piece(3_000), Some(984));
        assert_eq!(
            Room {
                max_chunk: 99,
                fragment_at: 1_000,
                header: HEADER,
            }
            .piece(81),
            None
        );
        assert_eq!(
            Room {
                max_chunk: 100,
                fragment_at: 1_000,
                header: HEADER,
            }
            .piece(81),
            Some(81)
        );
    }

    #[test]
    fn i_data_fragment_size_allows_for_the_longer_header() {
        let room = Room {
            header: IData::HEADER_LEN,
            ..empty(1_000)
        };
        assert_eq!(room.piece(3_000), Some(980));
    }

    #[test]
    fn no_fragment_fits_without_room_for_payload() {
        assert_eq!(empty(16).piece(10), None);
        assert_eq!(empty(0).piece(10), None);
        assert!(empty(19).is_full() && !empty(20).is_full());
    }
}

//! Initial data sequence number (IDSN). Data sequence numbers have 64 bits and wrap; positions do not.

use crate::sequence::Position;
use crate::wire::{Dsn, Key};

/// The initial data sequence number of one direction (IDSN). "The SYN with MP_CAPABLE occupies the first octet of data
/// sequence space" (RFC 8684 §3.1), so the first byte is at position 1, as on a subflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct InitialDsn(u64);

impl InitialDsn {
    /// The IDSN of the data sent by the owner of `key`.
    pub(super) fn of(key: Key) -> Self {
        Self(key.initial_data_sequence())
    }

    pub(super) const fn number(self, position: Position) -> u64 {
        self.0.wrapping_add(position)
    }

    /// The data sequence number on the wire, with 64 or 32 bits.
    pub(super) const fn wire(self, position: Position, long: bool) -> Dsn {
        let number = self.number(position);
        if long {
            Dsn::Long(number)
        } else {
            Dsn::Short(number as u32)
        }
    }

    /// The position nearest to `near`; `None` for one before the first byte.
    pub(super) const fn position(self, number: Dsn, near: Position) -> Option<Position> {
        let ahead = number.nearest(self.number(near)).wrapping_sub(self.number(near));
        match near.checked_add_signed(ahead.cast_signed()) {
            Some(0) | None => None,
            position => position,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::InitialDsn;
    use crate::wire::Dsn;

    #[test]
    fn short_dsn_maps_to_the_nearest_position() {
        let idsn = InitialDsn(u64::MAX - 2);
        assert_eq!(idsn.number(5), 2);
        for position in [1, 5, (1 << 32) - 1, (1 << 32) + 7, 5 << 32] {
            for long in [false, true] {
                let near = if position > 1_000 { position - 1_000 } else { 900 };
                assert_eq!(idsn.position(idsn.wire(position, long), near), Some(position));
            }
        }
    }

    #[test]
    fn dsn_before_the_first_byte_is_invalid() {
        let idsn = InitialDsn(100);
        assert_eq!(idsn.position(Dsn::Long(100), 1), None);
        assert_eq!(idsn.position(Dsn::Short(90), 5), None);
        assert_eq!(idsn.position(Dsn::Long(101), 5), Some(1));
    }
}

//! Order in which received packets are handled during a flood of INITs. INITs of each source address are handled in turn,
//! so that the INIT of a new peer is answered although a few sources send many. All other packets are handled before INITs.
//!
//! Packets are read before the state is locked, because a full socket buffer drops packets of all kinds. INITs beyond the
//! number that one round can answer are dropped here, where dropping is cheapest.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;

use anabranch_io::Incoming;
use anabranch_types::{Ecn, PathAddr};

/// Bytes read before the packets are handled.
const MAX_BYTES: usize = 1 << 20;

/// Offset of the type of the first chunk, behind the common header.
const CHUNK_TYPE: usize = 12;

/// Type of INIT (RFC 9260 §3.2).
const INIT: u8 = 1;

/// Datagrams that were read.
#[derive(Debug, Default)]
pub(super) struct Staged {
    bytes: Vec<u8>,
    datagrams: Vec<Datagram>,
}

#[derive(Clone, Debug)]
struct Datagram {
    path: PathAddr,
    ecn: Ecn,
    at: Range<usize>,
    /// Number of earlier INITs of the same source; `None` if this is no INIT.
    rank: Option<u32>,
}

/// Whether a datagram begins with an INIT, genuine or not.
pub(super) fn is_init(datagram: &[u8]) -> bool {
    datagram.get(CHUNK_TYPE) == Some(&INIT)
}

impl Staged {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.datagrams.clear();
    }

    /// Whether the limit of bytes to read is reached.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= MAX_BYTES
    }

    pub(super) fn push(&mut self, batches: &[Incoming]) {
        for batch in batches {
            for datagram in batch.datagrams() {
                let start = self.bytes.len();
                self.bytes.extend_from_slice(datagram);
                self.datagrams.push(Datagram {
                    path: batch.path(),
                    ecn: batch.ecn(),
                    at: start..self.bytes.len(),
                    rank: None,
                });
            }
        }
    }

    /// The packets in the order in which they are handled, with at most `inits` INITs.
    pub(super) fn select(&mut self, inits: usize) -> impl Iterator<Item = (PathAddr, Ecn, &[u8])> {
        let Self { bytes, datagrams } = self;
        let mut of_source: BTreeMap<IpAddr, u32> = BTreeMap::new();
        for datagram in &mut *datagrams {
            if is_init(&bytes[datagram.at.clone()]) {
                let before = of_source.entry(datagram.path.remote.ip()).or_default();
                datagram.rank = Some(*before);
                *before += 1;
            }
        }
        // The sort is stable, so packets of one source stay in order.
        datagrams.sort_by_key(|datagram| datagram.rank);
        let others = datagrams
            .iter()
            .filter(|datagram| datagram.rank.is_none())
            .count();
        let selected = datagrams.iter().take(others + inits);
        selected.map(|datagram| (datagram.path, datagram.ecn, &bytes[datagram.at.clone()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(source: u8, datagram: &[u8]) -> Incoming {
        let mut incoming = Incoming::with_capacity(100);
        incoming.buffer_mut()[..datagram.len()].copy_from_slice(datagram);
        let path = PathAddr {
            local: ([192, 0, 2, 1], 9899).into(),
            remote: ([192, 0, 2, source], 9899).into(),
        };
        incoming.filled(0..datagram.len(), datagram.len(), path, Ecn::NotCapable);
        incoming
    }

    fn of_type(kind: u8) -> [u8; 16] {
        let mut datagram = [0; 16];
        datagram[CHUNK_TYPE] = kind;
        datagram
    }

    fn selected(batches: &[Incoming], inits: usize) -> Vec<(u8, u8)> {
        let mut staged = Staged::default();
        staged.push(batches);
        let last = |path: PathAddr| match path.remote.ip() {
            IpAddr::V4(address) => address.octets()[3],
            IpAddr::V6(_) => 0,
        };
        let selected = staged.select(inits);
        selected
            .map(|(path, _, bytes)| (last(path), bytes[CHUNK_TYPE]))
            .collect()
    }

    #[test]
    fn init_of_another_source_is_selected_beside_a_flood() {
        let mut batches: Vec<Incoming> = (0..100).map(|_| batch(7, &of_type(INIT))).collect();
        batches.push(batch(8, &of_type(INIT)));
        assert_eq!(selected(&batches, 3), [(7, INIT), (8, INIT), (7, INIT)]);
    }

    #[test]
    fn everything_but_inits_is_selected_first_and_in_order() {
        let (data, cookie_echo) = (0, 10);
        let kinds = [INIT, data, INIT, cookie_echo, data];
        let batches: Vec<Incoming> = kinds.iter().map(|kind| batch(7, &of_type(*kind))).collect();
        let expected = [(7, data), (7, cookie_echo), (7, data), (7, INIT)];
        assert_eq!(selected(&batches, 1), expected);
    }

    #[test]
    fn datagram_without_a_chunk_is_no_init() {
        assert!(!is_init(&[1; CHUNK_TYPE]));
    }
}

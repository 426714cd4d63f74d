//! Reassembly of chunks from PART chunks. Which bytes of each chunk have arrived?
//!
//! A sender divides a DATA chunk into several PART chunks when it has become larger than the packets of its path. They are
//! sent one after the other on one path, and if one is lost, all are sent again. Therefore few parts are stored, for a
//! short time, and the oldest chunk is discarded when the limit is reached.

use alloc::vec::Vec;

use anabranch_types::Tsn;
use anabranch_wire::Part;

use crate::on_demand::Idle;

/// Maximum number of chunks of which parts are stored.
const MAX_CHUNKS: usize = 32;
/// Maximum number of stored bytes of all chunks: the maximum length of one chunk.
const MAX_BYTES: usize = 1 << 16;
/// Maximum number of parts of one chunk: enough for the largest chunk in packets of 576 bytes.
const MAX_PARTS: usize = 160;

/// The incomplete chunks, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    chunks: Vec<Incomplete>,
}

impl Idle for Parts {
    const IDLE: &'static Self = &Self { chunks: Vec::new() };

    fn is_idle(&self) -> bool {
        self.chunks.is_empty()
    }
}

#[derive(Debug)]
struct Incomplete {
    tsn: Tsn,
    total: u16,
    /// In ascending order of their offsets, which are distinct.
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    offset: usize,
    bytes: Vec<u8>,
}

impl Parts {
    /// Adds a part. Returns the whole chunk if this part completes it.
    pub(crate) fn take(&mut self, part: &Part<'_>) -> Option<Vec<u8>> {
        let known = |chunk: &Incomplete| chunk.tsn == part.tsn && chunk.total == part.total;
        let at = self.chunks.iter().position(known).unwrap_or_else(|| {
            // A chunk with this TSN and another length cannot be the same.
            self.chunks.retain(|chunk| chunk.tsn != part.tsn);
            self.chunks.push(Incomplete {
                tsn: part.tsn,
                total: part.total,
                pieces: Vec::new(),
            });
            self.chunks.len() - 1
        });
        self.chunks[at].insert(part);
        if let Some(whole) = self.chunks[at].whole() {
            self.chunks.remove(at);
            return Some(whole);
        }
        while self.chunks.len() > MAX_CHUNKS || self.held() > MAX_BYTES {
            self.chunks.remove(0);
        }
        None
    }

    fn held(&self) -> usize {
        self.chunks.iter().map(Incomplete::held).sum()
    }
}

impl Incomplete {
    fn insert(&mut self, part: &Part<'_>) {
        let offset = usize::from(part.offset);
        match self.pieces.binary_search_by_key(&offset, |piece| piece.offset) {
            Ok(at) if self.pieces[at].bytes.len() < part.bytes.len() => {
                self.pieces[at].bytes = part.bytes.to_vec();
            }
            Ok(_) => {}
            Err(at) if self.pieces.len() < MAX_PARTS => {
                let bytes = part.bytes.to_vec();
                self.pieces.insert(at, Piece { offset, bytes });
            }
            Err(_) => {}
        }
    }

    /// The whole chunk if no byte is missing. Parts of two transmissions may overlap.
    fn whole(&self) -> Option<Vec<u8>> {
        let total = usize::from(self.total);
        let reaches = |end: usize, piece: &Piece| {
            (piece.offset <= end).then(|| end.max(piece.offset + piece.bytes.len()))
        };
        if self.pieces.iter().try_fold(0, reaches) != Some(total) {
            return None;
        }
        let mut whole = Vec::with_capacity(total);
        for piece in &self.pieces {
            let fresh = piece.bytes.get(whole.len() - piece.offset..);
            whole.extend_from_slice(fresh.unwrap_or_default());
        }
        Some(whole)
    }

    fn held(&self) -> usize {
        self.pieces.iter().map(|piece| piece.bytes.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{MAX_BYTES, MAX_CHUNKS, MAX_PARTS, Parts};
    use anabranch_types::Tsn;
    use anabranch_wire::Part;

    /// A chunk whose bytes are their offsets, modulo 256.
    fn chunk(total: u16) -> Vec<u8> {
        (0..total).map(|at| at as u8).collect()
    }

    fn take(parts: &mut Parts, tsn: u32, total: u16, range: core::ops::Range<u16>) -> Option<Vec<u8>> {
        let bytes = &chunk(total)[usize::from(range.start)..usize::from(range.end)];
        parts.take(&Part {
            tsn: Tsn(tsn),
            offset: range.start,
            total,
            bytes,
        })
    }

    #[test]
    fn parts_in_any_order_make_the_chunk_once() {
        let mut parts = Parts::default();
        assert_eq!(take(&mut parts, 1, 900, 600..900), None);
        assert_eq!(take(&mut parts, 2, 900, 0..300), None, "another chunk");
        assert_eq!(take(&mut parts, 1, 900, 0..300), None);
        assert_eq!(take(&mut parts, 1, 900, 300..600), Some(chunk(900)));
        assert_eq!(take(&mut parts, 1, 900, 300..600), None);
    }

    #[test]
    fn parts_of_two_transmissions_overlap() {
        let mut parts = Parts::default();
        assert_eq!(take(&mut parts, 1, 900, 0..500), None);
        assert_eq!(take(&mut parts, 1, 900, 0..300), None);
        assert_eq!(take(&mut parts, 1, 900, 300..400), None);
        assert_eq!(take(&mut parts, 1, 900, 300..900), Some(chunk(900)));
    }

    #[test]
    fn part_with_another_length_discards_earlier_parts() {
        let mut parts = Parts::default();
        assert_eq!(take(&mut parts, 1, 900, 0..500), None);
        assert_eq!(take(&mut parts, 1, 800, 500..800), None);
        assert_eq!(take(&mut parts, 1, 800, 0..500), Some(chunk(800)));
    }

    #[test]
    fn oldest_incomplete_chunk_is_discarded_above_the_limit() {
        let mut parts = Parts::default();
        for tsn in 0..=MAX_CHUNKS as u32 {
            assert_eq!(take(&mut parts, tsn, 900, 0..500), None);
        }
        assert_eq!(take(&mut parts, 0, 900, 500..900), None, "it is forgotten");
        assert_eq!(take(&mut parts, 5, 900, 500..900), Some(chunk(900)));
    }

    #[test]
    fn stored_parts_are_bounded_in_bytes_and_number() {
        let mut parts = Parts::default();
        for tsn in 0..20 {
            take(&mut parts, tsn, u16::MAX, 0..60_000);
            assert!(parts.held() <= MAX_BYTES);
        }
        for at in 0..1_000 {
            take(&mut parts, 77, u16::MAX, 3 * at..3 * at + 1);
        }
        let pieces = parts.chunks.iter().map(|chunk| chunk.pieces.len());
        assert_eq!(pieces.max(), Some(MAX_PARTS));
    }
}

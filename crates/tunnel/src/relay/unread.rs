//! Received bytes that nobody has taken. Small pieces are joined, because credit counts bytes only.

use std::collections::VecDeque;

use bytes::Bytes;

use super::joined::Joined;

/// Bytes in their order.
#[derive(Debug, Default)]
pub(super) struct Unread {
    pieces: VecDeque<Bytes>,
    joined: Joined,
}

impl Unread {
    pub(super) fn push(&mut self, piece: Bytes) {
        let is_first = self.pieces.is_empty() && self.joined.is_empty();
        self.pieces.extend(self.joined.push(piece, is_first));
    }

    pub(super) fn pop(&mut self) -> Option<Bytes> {
        self.pieces.pop_front().or_else(|| self.joined.take())
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        let pieces: usize = self.pieces.iter().map(Bytes::len).sum();
        (pieces + self.joined.len()) as u64
    }

    #[cfg(test)]
    pub(super) fn messages(&self) -> usize {
        self.pieces.len() + usize::from(!self.joined.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_pieces_are_joined_in_order() {
        let mut unread = Unread::default();
        let mut bytes = (0..).map(|number: u32| number as u8);
        let mut all = Vec::new();
        for length in [1, 1, 2_000, 3, 900, 1_023, 1_024, 1]
            .into_iter()
            .chain([1; 100_000])
        {
            let piece: Vec<u8> = bytes.by_ref().take(length).collect();
            all.extend_from_slice(&piece);
            unread.push(piece.into());
        }
        assert!(unread.pieces.len() < 20, "{}", unread.pieces.len());
        let popped: Vec<u8> = std::iter::from_fn(|| unread.pop()).flatten().collect();
        assert!(popped == all);
    }

    #[test]
    fn piece_that_is_read_at_once_is_not_copied() {
        let mut unread = Unread::default();
        let piece = Bytes::from_static(b"x");
        unread.push(piece.clone());
        assert_eq!(unread.pop().unwrap().as_ptr(), piece.as_ptr());
        assert_eq!(unread.pop(), None);
    }
}

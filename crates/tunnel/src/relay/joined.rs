//! Small pieces of bytes, joined: each piece costs a hundred bytes of memory beside its own, and the peer decides how many there would be.

use bytes::{Bytes, BytesMut};

/// Pieces that are shorter are copied, unless nothing else waits.
const SMALL: usize = 1_024;

/// Length at which joined pieces are one that is complete.
const JOINED: usize = 16 << 10;

/// Small pieces behind all others.
#[derive(Debug, Default)]
pub(super) struct Joined(BytesMut);

impl Joined {
    /// Joins `piece` to those before. Returns what is complete then, in order; a piece that `is_first` of all that wait is complete itself.
    pub(super) fn push(&mut self, piece: Bytes, is_first: bool) -> impl Iterator<Item = Bytes> + use<> {
        let (before, whole) = if piece.len() >= SMALL || is_first {
            (self.take(), Some(piece))
        } else {
            self.0.extend_from_slice(&piece);
            let is_complete = self.0.len() >= JOINED;
            (is_complete.then(|| self.take()).flatten(), None)
        };
        before.into_iter().chain(whole)
    }

    /// What is joined so far.
    pub(super) fn take(&mut self) -> Option<Bytes> {
        (!self.0.is_empty()).then(|| self.0.split().freeze())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

//! Page download: many objects, each on a stream of its own, all at the same time (Andersson 2005, §4.3).

use anabranch_types::StreamId;

use super::Draft;
use super::workload::MessageWriter;

/// Sends objects, each on its own stream. Pieces are sent round robin over all streams with data left, so that no object waits
/// for another.
#[derive(Clone, Debug)]
pub struct Objects {
    bytes: u64,
    piece: usize,
    /// Bytes left to send on each stream.
    left: Vec<u64>,
    /// Stream to send on next.
    next: usize,
}

impl Objects {
    /// `count` objects of `bytes` bytes each, in pieces of `piece` bytes. They are sent as soon as a peer connects, without a
    /// request.
    #[must_use]
    pub fn new(count: u16, bytes: u64, piece: usize) -> Self {
        Self {
            bytes,
            piece: piece.max(1),
            left: vec![bytes; usize::from(count)],
            next: 0,
        }
    }

    /// Sends each object only when a message on its stream requests it.
    #[must_use]
    pub fn when_asked(mut self) -> Self {
        self.left.fill(0);
        self
    }

    pub(super) fn on_request(&mut self, stream: StreamId) {
        if let Some(left) = self.left.get_mut(usize::from(stream.0)) {
            *left += self.bytes;
        }
    }

    pub(super) fn act(&mut self, writer: &mut MessageWriter<'_>) {
        let count = self.left.len();
        while let Some(stream) = (self.next..self.next + count)
            .map(|turn| turn % count)
            .find(|stream| self.left[*stream] > 0)
        {
            self.next = stream;
            let bytes = self.left[stream].min(self.piece as u64);
            if writer.takes(Draft::new(stream as u16, bytes as usize)).is_err() {
                return;
            }
            self.left[stream] -= bytes;
            self.next = (stream + 1) % count;
        }
    }
}

/// Requests objects: one message on each stream.
#[derive(Clone, Debug)]
pub struct Requests {
    bytes: usize,
    count: u16,
    asked: u16,
}

impl Requests {
    /// Messages of `bytes` bytes on the first `count` streams.
    #[must_use]
    pub const fn new(count: u16, bytes: usize) -> Self {
        Self {
            bytes,
            count,
            asked: 0,
        }
    }

    pub(super) fn act(&mut self, writer: &mut MessageWriter<'_>) {
        while self.asked < self.count && writer.takes(Draft::new(self.asked, self.bytes)).is_ok() {
            self.asked += 1;
        }
    }
}

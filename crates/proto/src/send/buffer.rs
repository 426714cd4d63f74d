//! Size of the send buffer. How many bytes of messages may it hold now?

use anabranch_policy::buffer_size::{SendFacts, send_buffer};
use anabranch_policy::{BufferSize, SizeRange};

use super::Sender;

/// The size of the send buffer, in bytes of messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendBuffer {
    /// The size now.
    pub(super) size: u64,
    /// The largest size that it may have.
    pub(super) max: u64,
    /// Longest message or part of one since all data was acknowledged; counted if the buffer sizes itself.
    pub(super) longest: u32,
    /// Whether the endpoint lacks memory for larger send buffers.
    pub(super) scarce: bool,
}

impl SendBuffer {
    pub(super) fn new(size: BufferSize) -> Self {
        Self {
            size: size.initial(),
            max: size.max(),
            longest: 0,
            scarce: false,
        }
    }
}

impl Sender {
    /// Sets the size of the send buffer; see [`crate::Association::set_send_buffer`].
    pub(crate) fn resize(&mut self, size: BufferSize) {
        let bytes = match size.range() {
            None => size.initial(),
            Some(range) => range.clamp(self.send_used()),
        };
        (self.buffer.size, self.buffer.max) = (bytes, size.max());
    }

    /// Sizes the buffer for paths that send `windows` bytes together in the longest of their round trips.
    pub(crate) fn size_for(&mut self, range: &SizeRange, windows: u64) {
        let facts = SendFacts {
            held: self.scoreboard.payload_held(),
            windows,
            longest: self.buffer.longest.into(),
            size: self.buffer.size,
            scarce: self.buffer.scarce,
        };
        self.buffer.size = send_buffer(range, &facts);
    }

    /// Notes whether the endpoint lacks memory for larger send buffers.
    pub(crate) const fn note_scarcity(&mut self, scarce: bool) {
        self.buffer.scarce = scarce;
    }

    /// Size of the send buffer now, in bytes of messages.
    pub(crate) const fn size(&self) -> u64 {
        self.buffer.size
    }

    /// The size that the send buffer may have if paths need it, in bytes of messages.
    pub(crate) const fn capacity(&self) -> u64 {
        if self.buffer.scarce && self.buffer.size < self.buffer.max {
            self.buffer.size
        } else {
            self.buffer.max
        }
    }

    /// Makes the buffer larger for a message or a part of `length` bytes, unless its size is fixed or memory is scarce: it has
    /// room for two of them.
    #[cold]
    pub(super) fn grow_for(&mut self, length: u64) {
        let longest = u32::try_from(length).unwrap_or(u32::MAX);
        if self.buffer.size < self.buffer.max && longest > self.buffer.longest {
            self.buffer.longest = longest;
            // A message that is longer than the smallest buffer has to be sent even then.
            let room = if self.buffer.scarce {
                length
            } else {
                length.saturating_mul(2)
            };
            self.buffer.size = self.buffer.size.max(room.min(self.buffer.max));
        }
    }
}

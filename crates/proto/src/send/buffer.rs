//! Size of the send buffer. How many bytes of messages may it hold now?

use anabranch_policy::BufferSize;

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

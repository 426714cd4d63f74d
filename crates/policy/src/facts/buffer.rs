//! How full are the buffers, what is stuck in them, and what is in flight?

use core::time::Duration;

use anabranch_types::{Instant, PathId, UnwrappedTsn};

/// The shared buffers of an association, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BufferFacts {
    /// Size of the send buffer.
    pub send_capacity: u64,
    /// Of it in use: not yet sent, and sent but not yet releasable.
    pub send_used: u64,
    /// Room in the peer's receive buffer, as last advertised, less what is in flight (RFC 9260 §6.2.1).
    pub peer_window: u64,
    /// In flight on all paths.
    pub in_flight: u64,
    /// Sent and still held in the send buffer, on all paths.
    pub queued: u64,
    /// Paths that carry data.
    pub usable_paths: u32,
    /// Each of them may hold only its share of the send buffer, as the [`crate::BufferPolicy`] says.
    pub send_split: bool,
    /// The same of the peer's receive buffer.
    pub receive_split: bool,
}

/// The oldest outstanding chunk, which may be what blocks the buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StuckChunk {
    /// Its TSN.
    pub tsn: UnwrappedTsn,
    /// Its size in bytes, header included.
    pub bytes: u64,
    /// The path it was last sent on.
    pub path: PathId,
    /// When.
    pub sent_at: Instant,
    /// Whether it was moved to another path before.
    pub moved: bool,
}

/// A chunk in flight, which might go over another path too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkInFlight {
    /// Its TSN.
    pub tsn: UnwrappedTsn,
    /// Its size in bytes, header included.
    pub bytes: u64,
    /// The path it was last sent on.
    pub path: PathId,
    /// When.
    pub sent_at: Instant,
}

/// What blocks the buffers is sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reschedule {
    /// How much of it.
    pub extent: RescheduleExtent,
    /// What the path it leaves pays for it.
    pub penalty: ReschedulePenalty,
}

/// How much is sent again when a buffer is blocked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RescheduleExtent {
    /// The stuck chunk, on the path in question.
    Oldest,
    /// Everything of its path that is in flight for the first time and below the first TSN that the peer reports
    /// beyond the cumulative one, on paths as the retransmission policy says.
    BelowFirstGap,
}

/// What a path pays for a chunk that was moved away from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReschedulePenalty {
    /// Nothing.
    Nothing,
    /// No new data for a while.
    Blocked(Duration),
    /// Its window is cut as by a fast retransmission.
    WindowCut,
}

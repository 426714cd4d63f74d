//! Buffer facts. How full are the buffers, and which chunk blocks them?

use core::time::Duration;

use anabranch_types::{Instant, PathId, UnwrappedTsn};

/// The shared buffers of an association, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BufferFacts {
    /// Size of the send buffer.
    pub send_capacity: u64,
    /// Bytes of it in use: not yet sent, and sent but not yet releasable.
    pub send_used: u64,
    /// The peer's receive window (rwnd): as last advertised, less what is in flight (RFC 9260 §6.2.1).
    pub peer_window: u64,
    /// In flight on all paths.
    pub in_flight: u64,
    /// Sent and still held in the send buffer, over all paths.
    pub queued: u64,
    /// Number of paths that carry data.
    pub usable_paths: u32,
    /// Whether each path may hold only its share of the send buffer, as the [`crate::BufferPolicy`] decides.
    pub send_split: bool,
    /// Whether each path may hold only its share of the peer's receive buffer.
    pub receive_split: bool,
}

/// The oldest outstanding chunk, which may block the buffers (head-of-line blocking).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StuckChunk {
    /// Its TSN.
    pub tsn: UnwrappedTsn,
    /// Its size in bytes, header included.
    pub bytes: u64,
    /// The path it was last sent on.
    pub path: PathId,
    /// When it was last sent.
    pub sent_at: Instant,
    /// Whether it was rescheduled before.
    pub rescheduled: Rescheduled,
}

/// Whether a chunk was retransmitted by chunk rescheduling.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rescheduled {
    /// It was not.
    Never,
    /// On the path that it was sent on before.
    OnItsPath,
    /// On another path.
    Moved,
}

/// A chunk in flight, of which a duplicate may be sent on another path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkInFlight {
    /// Its TSN.
    pub tsn: UnwrappedTsn,
    /// Its size in bytes, header included.
    pub bytes: u64,
    /// The path it was last sent on.
    pub path: PathId,
    /// When it was last sent.
    pub sent_at: Instant,
    /// Whether the application wants it on all paths.
    pub redundant: bool,
}

/// The decision to reschedule chunks that block a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reschedule {
    /// Which chunks are sent again.
    pub extent: RescheduleExtent,
    /// The penalty for the path that they leave.
    pub penalty: ReschedulePenalty,
}

/// Which chunks are sent again when a buffer is blocked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RescheduleExtent {
    /// The stuck chunk, on the path given to the policy.
    Oldest,
    /// All chunks of its path that are in flight for the first time and below the first TSN acknowledged by a gap ack
    /// block, on the paths that the retransmission policy chooses.
    BelowFirstGap,
}

/// The penalty for a path whose chunk was rescheduled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReschedulePenalty {
    /// No penalty.
    Nothing,
    /// No new data for this long.
    Blocked(Duration),
    /// Its cwnd is cut as by a fast retransmission.
    WindowCut,
}

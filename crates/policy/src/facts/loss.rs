//! Losses. What was lost, and how is it reported?

use anabranch_types::{Instant, PathId, SendNumber, StreamId, UnwrappedTsn};

/// The mechanism that detected a loss.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LossCause {
    /// By acknowledgements of later chunks (RFC 9260 §7.2.4).
    FastRetransmit,
    /// By expiry of the T3-rtx timer (RFC 9260 §6.3.3).
    Timeout,
    /// No chunk was lost: a router marked packets (ECN), which is to have the same effect (RFC 3168 §5).
    Mark,
    /// No chunk is known to be lost: one was rescheduled to another path because it blocks the buffers.
    Reschedule,
}

/// One loss event on one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LossEvent {
    /// Id of the path.
    pub path: PathId,
    /// The mechanism that detected it.
    pub cause: LossCause,
    /// Bytes declared lost.
    pub bytes: u64,
}

/// Chunks of one path that were declared lost at the same time because later ones arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostPackets {
    /// Bytes of the chunks.
    pub bytes: u64,
    /// The highest send number among them.
    pub last: SendNumber,
}

/// The loss threshold of a path: everything outstanding on the path below any of its parts is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LossThreshold {
    /// Never-retransmitted chunks with a lower TSN are lost.
    pub below: Option<UnwrappedTsn>,
    /// Retransmitted chunks with a lower send number are lost, as far as they are `eligible`.
    pub resent_before: Option<SendNumber>,
    /// Which retransmitted chunks `resent_before` applies to.
    pub eligible: Eligible,
    /// Chunks of both kinds that are lost by time (RACK, RFC 8985).
    pub late: Option<Late>,
    /// When to ask again if no SACK arrives; `None` if no timer is needed.
    pub again_at: Option<Instant>,
}

/// Loss by time: chunks that satisfy both conditions are lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Late {
    /// The chunk has a lower send number.
    pub before: SendNumber,
    /// It was sent at this moment or earlier.
    pub until: Instant,
}

/// Which retransmitted chunks may be declared lost again because later sends were acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Eligible {
    /// All of them.
    #[default]
    Any,
    /// Chunks that were sent on one path only.
    OnOnePath,
    /// Chunks last sent before this time.
    SentBefore(Instant),
    /// Chunks last sent before this time that chunk rescheduling moved to another path.
    MovedBefore(Instant),
}

impl LossThreshold {
    /// Nothing is lost.
    pub const NONE: Self = Self {
        below: None,
        resent_before: None,
        eligible: Eligible::Any,
        late: None,
        again_at: None,
    };
}

/// A lost chunk for which a path is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostChunk {
    /// Its TSN.
    pub tsn: UnwrappedTsn,
    /// Its stream.
    pub stream: StreamId,
    /// Its size in bytes, header included.
    pub bytes: u64,
    /// The path on which it was lost.
    pub lost_on: PathId,
    /// The mechanism that detected its loss.
    pub cause: LossCause,
    /// Number of its transmissions.
    pub transmissions: u16,
}

//! What was lost, and how is that said?

use anabranch_types::{Instant, PathId, SendNumber, UnwrappedTsn};

/// How a loss was found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LossCause {
    /// Later chunks were acknowledged (RFC 9260 §7.2.4).
    FastRetransmit,
    /// The T3-rtx timer expired (RFC 9260 §6.3.3).
    Timeout,
}

/// One loss event on one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LossEvent {
    /// Which path.
    pub path: PathId,
    /// How it was found.
    pub cause: LossCause,
    /// Bytes found lost.
    pub bytes: u64,
}

/// Where the lost chunks of a path end. Everything outstanding on the path below any of the thresholds is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LossThreshold {
    /// Never-retransmitted chunks with a TSN below this one.
    pub below: Option<UnwrappedTsn>,
    /// Retransmitted chunks whose last transmission came before this one, as far as they are `eligible`.
    pub resent_before: Option<SendNumber>,
    /// Which retransmitted chunks `resent_before` may cut off.
    pub eligible: Eligible,
    /// Chunks of both kinds that later ones have overtaken for too long (RACK, RFC 8985).
    pub late: Option<Late>,
    /// When to ask again though no SACK comes; `None` for no such moment.
    pub again_at: Option<Instant>,
}

/// What is lost by time: what satisfies both conditions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Late {
    /// It left before this transmission of its path.
    pub before: SendNumber,
    /// It left at this moment or earlier.
    pub until: Instant,
}

/// Which retransmitted chunks may be found lost again because later transmissions were acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Eligible {
    /// All of them.
    #[default]
    Any,
    /// Those that were only ever sent on one path.
    OnTheirPath,
    /// Those last sent before this moment.
    SentBefore(Instant),
    /// Of those, the ones that chunk rescheduling moved to another path.
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

/// A lost chunk in search of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostChunk {
    /// Its TSN.
    pub tsn: UnwrappedTsn,
    /// Its size in bytes, header included.
    pub bytes: u64,
    /// The path on which it was lost.
    pub lost_on: PathId,
    /// How its loss was found.
    pub cause: LossCause,
    /// How often it was sent.
    pub transmissions: u16,
}

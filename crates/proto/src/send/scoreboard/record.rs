//! TSN record: the state of a TSN from its first transmission to its cumulative acknowledgement.
//!
//! ```text
//!            sent                     gap-acked
//!   (new) ────────▶ InFlight ─────────────────────────▶ Acknowledged ──▶ (forgotten)
//!                     │   ▲ ▲                             │    ▲   cumulatively acked
//!               lost  │   │ └───────── reneged ───────────┘    │
//!                     ▼   │ sent again                         │
//!                     Lost ───────── gap-acked after all ──────┘
//! ```
//!
//! If an NR-SACK reports an acknowledged chunk as non-renegable, it becomes Kept: its user data is freed, and the record waits for
//! the cumulative acknowledgement.

use anabranch_policy::{LossCause, Rescheduled};
use anabranch_types::{Instant, PathId, SendNumber};

use super::lists::Links;
use crate::send::chunk::Chunk;

/// A sent TSN that is not acknowledged cumulatively.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) chunk: Chunk,
    pub(super) state: State,
    /// Time of its last transmission. A reneged chunk counts as sent when the peer reneged on it.
    pub(super) sent_at: Instant,
    /// Send number of its last transmission.
    pub(super) send_number: SendNumber,
    /// Number of transmissions, at most 255.
    pub(super) transmissions: u8,
    /// The path that it was last sent on.
    pub(super) path: PathId,
    /// The path that it was first sent on.
    pub(super) first_path: PathId,
    /// Whether it was lost by T3: its TSN then no longer shows when it was sent.
    pub(super) timed_out: bool,
    /// Whether the peer has reneged on it: a further acknowledgement is then not new.
    pub(super) reneged: bool,
    /// Whether it was retransmitted to unblock a buffer.
    pub(super) rescheduled: Rescheduled,
    pub(super) proof: Proof,
    /// Whether it was sent on more than one path.
    pub(super) strayed: bool,
}

/// State of a TSN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Sent and neither acknowledged nor lost; the chunk is in one of the lists of its path.
    InFlight(Links),
    /// Lost and not retransmitted yet.
    Lost(LossCause),
    /// Acknowledged by a gap ack block; the peer may renege (RFC 9260 §6.2.1 D iii).
    Acknowledged,
    /// Acknowledged and non-renegable; the user data is freed.
    Kept,
}

/// Evidence that the acknowledgement of a chunk gives about its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Proof {
    /// Its path delivers.
    Path,
    /// Its path delivers, and the chunk is an RTT probe with the I bit.
    Probe,
    /// Nothing about any path, because duplicates were sent on others.
    Nothing,
}

/// The list of its path to which a chunk in flight belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// First transmissions, in the order of their TSNs.
    First,
    /// Chunks that were sent or acknowledged before, in the order of sending.
    Again,
}

impl Sent {
    /// Record of a chunk that is sent for the first time.
    pub(super) const fn new(chunk: Chunk, path: PathId, send_number: SendNumber, now: Instant) -> Self {
        Self {
            chunk,
            state: State::InFlight(Links::ALONE),
            sent_at: now,
            send_number,
            transmissions: 1,
            path,
            first_path: path,
            timed_out: false,
            reneged: false,
            rescheduled: Rescheduled::Never,
            proof: Proof::Path,
            strayed: false,
        }
    }

    /// The list of the chunk while it is in flight.
    pub(super) const fn order(&self) -> Order {
        if self.transmissions == 1 && !self.reneged {
            Order::First
        } else {
            Order::Again
        }
    }

    //= rfc9260 6.3.1-4
    /// Whether its acknowledgement gives an RTT sample (Karn's algorithm, RFC 9260 §6.3.1 C5).
    pub(super) const fn is_round_trip_sample(&self) -> bool {
        matches!(self.order(), Order::First)
    }

    /// The links of the chunk while it is in flight.
    pub(super) const fn links(&self) -> Option<Links> {
        match self.state {
            State::InFlight(links) => Some(links),
            State::Lost(_) | State::Acknowledged | State::Kept => None,
        }
    }

    /// Whether the chunk is acknowledged.
    pub(super) const fn has_arrived(&self) -> bool {
        matches!(self.state, State::Acknowledged | State::Kept)
    }

    pub(super) const fn is_in_flight(&self) -> bool {
        matches!(self.state, State::InFlight(_))
    }
}

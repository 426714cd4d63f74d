//! TSN record. What happens to a TSN between its first transmission and its cumulative acknowledgement?
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
//! If the peer says by an NR-SACK that it keeps an acknowledged chunk for good, it becomes Kept: the user data is
//! freed, and the record waits for the cumulative acknowledgement alone.

use anabranch_policy::LossCause;
use anabranch_types::{Instant, PathId, SendNumber};

use super::lists::Links;
use crate::send::chunk::Chunk;

/// One TSN that the peer has not acknowledged cumulatively.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) chunk: Chunk,
    pub(super) state: State,
    /// When it was last sent. A reneged chunk counts as sent when it was reneged.
    pub(super) sent_at: Instant,
    /// Which transmission of its path the last one was.
    pub(super) send_number: SendNumber,
    /// How often it was sent, counted up to 255.
    pub(super) transmissions: u8,
    /// The path that it was last sent on.
    pub(super) path: PathId,
    /// The path that it was first sent on.
    pub(super) first_path: PathId,
    /// The T3 timer found it lost once: from then on its TSN says nothing about when it was sent.
    pub(super) timed_out: bool,
    /// The peer acknowledged it and took that back: it is not news when that happens again.
    pub(super) reneged: bool,
    /// It was moved to another path, to unblock a buffer.
    pub(super) moved: bool,
    pub(super) proof: Proof,
    /// It was sent on more than one path, for whatever reason.
    pub(super) strayed: bool,
}

/// Where a TSN is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Sent, and neither acknowledged nor thought lost: it is in one of the lists of its path.
    InFlight(Links),
    /// Waits to be sent again.
    Lost(LossCause),
    /// The peer has it but may still renege (RFC 9260 §6.2.1 D iii).
    Acknowledged,
    /// The peer has it and keeps it: it has no user data any more.
    Kept,
}

/// What the acknowledgement of a chunk proves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Proof {
    /// That its path delivers.
    Path,
    /// The same, and it was sent with the I bit to measure the round trip.
    Probe,
    /// Nothing of any path: duplicates of it were sent on others.
    Nothing,
}

/// Which of the two lists of its path a chunk in flight belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// First transmissions, in the order of their TSNs.
    First,
    /// Transmissions of chunks that were sent or acknowledged before, in the order of sending.
    Again,
}

impl Sent {
    /// A chunk about to be sent for the first time.
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
            moved: false,
            proof: Proof::Path,
            strayed: false,
        }
    }

    /// Its list, while it is in flight.
    pub(super) const fn order(&self) -> Order {
        if self.transmissions == 1 && !self.reneged {
            Order::First
        } else {
            Order::Again
        }
    }

    //= rfc9260 6.3.1-4
    /// Whether its acknowledgement tells how long the round trip took (Karn's rule, RFC 9260 §6.3.1 C5).
    pub(super) const fn is_round_trip_sample(&self) -> bool {
        matches!(self.order(), Order::First)
    }

    /// Its place in its list, while it is in flight.
    pub(super) const fn links(&self) -> Option<Links> {
        match self.state {
            State::InFlight(links) => Some(links),
            State::Lost(_) | State::Acknowledged | State::Kept => None,
        }
    }

    /// Whether the peer has it, as far as it said.
    pub(super) const fn has_arrived(&self) -> bool {
        matches!(self.state, State::Acknowledged | State::Kept)
    }

    pub(super) const fn is_in_flight(&self) -> bool {
        matches!(self.state, State::InFlight(_))
    }
}

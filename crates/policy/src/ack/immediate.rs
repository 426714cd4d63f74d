//! When is a SACK sent, if the sender is to know everything at once? For every packet.
//!
//! Source: RFC 9260 §6.2 allows it ("at least every second packet").
//!
//! Idea: no delay, twice the SACKs; for comparison, and for round-trip times without the delay in them.
//!
//! ```text
//! every packet: now
//! ```

use anabranch_types::Instant;

use crate::parameters::NoParameters;
use crate::{AckPolicy, AckWhen, Arrival, Policy};

/// A SACK for every packet.
#[derive(Debug, Default)]
pub struct Immediate;

impl Immediate {
    /// The policy.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

impl Policy for Immediate {
    fn name(&self) -> &'static str {
        "immediate"
    }
}

impl AckPolicy for Immediate {
    fn on_packet(&mut self, _arrival: &Arrival, _now: Instant) -> AckWhen {
        AckWhen::Now
    }
}

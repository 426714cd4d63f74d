//! Immediate acknowledgement. A SACK is sent for every packet.
//!
//! Source: RFC 9260 §6.2 requires a SACK for every second packet at least.
//!
//! Idea: no delay, twice the SACKs; for comparison, and for RTT samples without the delay.
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
    /// Creates the policy.
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

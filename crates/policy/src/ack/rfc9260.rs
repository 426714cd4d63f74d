//! Delayed acknowledgement of RFC 9260. When is a SACK sent?
//!
//! Source: RFC 9260 §6.2 and §6.7.
//!
//! Idea: in order, half the SACKs suffice. A gap must be reported quickly: three SACKs make the sender retransmit.
//!
//! ```text
//! first packet, duplicate, I bit, gaps, or gaps changed:  immediately
//! second packet since the last SACK:                      immediately
//! else: 200 ms after the first unacknowledged packet at the latest
//! ```
//!
//! Deviations: none.

use anabranch_types::Instant;

use super::delay::{Delay, DelayParameters, is_urgent};
use crate::{AckPolicy, AckWhen, Arrival, Policy};

/// Delayed acknowledgement of RFC 9260.
#[derive(Debug)]
pub struct Rfc9260 {
    delay: Delay,
}

impl Rfc9260 {
    /// Creates the policy.
    #[must_use]
    pub const fn new(parameters: DelayParameters) -> Self {
        Self {
            delay: Delay::new(parameters),
        }
    }
}

impl Policy for Rfc9260 {
    fn name(&self) -> &'static str {
        "rfc9260"
    }
}

impl AckPolicy for Rfc9260 {
    //= rfc9260 6.7-1, 7.2.4-1
    fn on_packet(&mut self, arrival: &Arrival, now: Instant) -> AckWhen {
        let delayed = self.delay.on_packet(arrival, now);
        if is_urgent(arrival) || arrival.lowest_missing.is_some() || arrival.gaps_changed {
            return AckWhen::Now;
        }
        delayed
    }
}

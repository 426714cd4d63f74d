//! Delayed acknowledgement for CMT (DAC). When is a SACK sent, if gaps are normal?
//!
//! Source: delayed acknowledgements for CMT (DAC), J. Iyengar et al., IEEE/ACM ToN 14(5), 2006.
//!
//! Idea: with several paths there is nearly always a gap, and RFC 9260's rule would acknowledge every packet. So gaps do
//! not force a SACK; each SACK carries the number of packets that it stands for, and the sender weights miss
//! indications by it (see `loss/miss_count.rs`).
//!
//! ```text
//! first packet, duplicate, or I bit:   immediately
//! second packet since the last SACK:   immediately
//! else: 200 ms after the first unacknowledged packet at the latest
//! ```
//!
//! Deviations: none. FreeBSD's variant omits the second packet's SACK when its timer is idle; this one does not.

use anabranch_types::Instant;

use super::delay::{Delay, DelayParameters, is_urgent};
use crate::{AckPolicy, AckWhen, Arrival, Policy};

/// Delayed acknowledgement for CMT.
#[derive(Debug)]
pub struct Dac {
    delay: Delay,
}

impl Dac {
    /// Creates the policy.
    #[must_use]
    pub const fn new(parameters: DelayParameters) -> Self {
        Self {
            delay: Delay::new(parameters),
        }
    }
}

impl Policy for Dac {
    fn name(&self) -> &'static str {
        "dac"
    }
}

impl AckPolicy for Dac {
    fn on_packet(&mut self, arrival: &Arrival, now: Instant) -> AckWhen {
        let delayed = self.delay.on_packet(arrival, now);
        if is_urgent(arrival) { AckWhen::Now } else { delayed }
    }

    fn reports_packet_count(&self) -> bool {
        true
    }
}

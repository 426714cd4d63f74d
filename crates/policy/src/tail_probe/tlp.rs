//! Tail loss probe (TLP, RFC 8985 §7). When is a packet sent to find out whether the last data was lost?
//!
//! Source: RFC 8985 §7.2, on each path separately.
//!
//! Idea: after somewhat more than a round trip something should have been acknowledged. One more packet costs little,
//! and its acknowledgement reveals what is missing, long before the T3-rtx timer would.
//!
//! ```text
//! after 2 · srtt; if only one chunk is outstanding, plus the SACK delay of the peer
//! ```
//!
//! Deviations: no probe before the first RTT sample (the RFC: after one second, which is RTO.Initial anyway). A chunk
//! that the probe itself repairs does not reduce the cwnd (the RFC: one reduction, §7.4).

use core::time::Duration;

use crate::parameters::{Parameter, Parameters, Slot};
use crate::{PathFacts, Policy, TailProbe};

/// Upper bound of the SACK delay that a peer may have configured (RFC 9260 §6.2).
const LONGEST: Duration = Duration::from_millis(500);

/// Parameters of [`Tlp`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TlpParameters {
    /// How long the peer may delay a SACK.
    pub delay: Duration,
}

impl Default for TlpParameters {
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(200),
        }
    }
}

impl Parameters for TlpParameters {
    const LIST: &'static [Parameter] = &[Parameter {
        name: "delay",
        default: "200ms",
        meaning: "how long the peer may delay an acknowledgement of a single packet, 0ms to 500ms",
    }];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        (name == "delay").then(|| Slot::time(&mut self.delay, Duration::ZERO..=LONGEST))
    }
}

/// Tail loss probe.
#[derive(Debug)]
pub struct Tlp {
    parameters: TlpParameters,
}

impl Tlp {
    /// Creates the policy.
    #[must_use]
    pub const fn new(parameters: TlpParameters) -> Self {
        Self { parameters }
    }
}

impl Policy for Tlp {
    fn name(&self) -> &'static str {
        "tlp"
    }
}

impl TailProbe for Tlp {
    fn probe_after(&self, path: &PathFacts) -> Option<Duration> {
        let is_alone = path.in_flight <= u64::from(path.max_data_chunk);
        let delay = if is_alone {
            self.parameters.delay
        } else {
            Duration::ZERO
        };
        Some(path.srtt()?.saturating_mul(2).saturating_add(delay))
    }
}

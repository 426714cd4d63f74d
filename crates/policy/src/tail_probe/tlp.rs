//! When is the tail probed, if the round-trip time says when an answer is due?
//!
//! Source: RFC 8985 §7.2, on each path alone.
//!
//! Idea: whatever is outstanding, something should have been acknowledged after a round trip and some. One more packet
//! costs little, and its acknowledgement tells what else is missing, long before the T3 timer would.
//!
//! ```text
//! after 2 · srtt; and, if one chunk alone is outstanding, the delay of a delayed acknowledgement
//! ```
//!
//! Deviations: no probe before the first round trip was measured (the RFC: one second, which is RTO.Initial anyway). A
//! chunk that the probe itself repairs costs no window (the RFC: one reduction, §7.4).

use core::time::Duration;

use crate::parameters::{Parameter, Parameters, Slot};
use crate::{PathFacts, Policy, TailProbe};

/// "An implementation MUST NOT allow the maximum delay […] to be configured to be more than 500 ms" (RFC 9260 §6.2).
const LONGEST: Duration = Duration::from_millis(500);

/// Parameters of [`Tlp`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TlpParameters {
    /// How long the peer may delay an acknowledgement.
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

/// Tail-loss probe.
#[derive(Debug)]
pub struct Tlp {
    parameters: TlpParameters,
}

impl Tlp {
    /// The policy.
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
        Some(path.srtt?.saturating_mul(2).saturating_add(delay))
    }
}

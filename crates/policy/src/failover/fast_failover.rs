//! When is a path suspected, if others tell? When they have been acknowledged for a round trip longer than it should
//! have been.
//!
//! Source: ours; the suspicion itself is that of RFC 7829.
//!
//! Idea: a SACK tells of all paths, whichever it comes over. If SACKs keep coming and for a round trip have
//! acknowledged nothing of a path that has data in flight, then that data did not arrive: neither a slow peer nor
//! one that delays its acknowledgements explains it. So one need not wait for a timeout, whose floor is made for both.
//! What was outstanding goes to other paths, and a heartbeat asks the path at once. The suspicion costs no window and no
//! back-off, for nothing was lost yet as far as is known: if the path answers it goes on as if nothing had been.
//!
//! ```text
//! silence = now − max(oldest chunk in flight was sent, last sign of life) − srtt of the path that the SACK came over
//! silence > srtt + max(4 · rttvar, slack) ⇒ potentially failed
//! errors: as potentially-failed
//! ```
//!
//! The last term of the silence is the age that the news of a SACK may have. A path that is the only one in use is not
//! suspected before its timer expires.

use core::time::Duration;

use super::detector::{HEARTBEAT_INTERVAL, MAX_RETRANSMISSIONS, PEER_ERRORS};
use super::potentially_failed::UNSUSPICIOUS_ERRORS;
use super::{Detector, PotentiallyFailedParameters};
use crate::PathFacts;
use crate::parameters::{Parameter, Parameters, Slot};

/// Parameters of [`fast_failover`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FastFailoverParameters {
    /// What happens when a timer expires after all.
    pub errors: PotentiallyFailedParameters,
    /// Silence beyond a round trip that is never suspicious: time for batches, bursts and busy hosts.
    pub slack: Duration,
}

impl FastFailoverParameters {
    /// The values unless set.
    pub const DEFAULT: Self = Self {
        errors: PotentiallyFailedParameters::DEFAULT,
        slack: Duration::from_millis(100),
    };
}

impl Default for FastFailoverParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for FastFailoverParameters {
    const LIST: &'static [Parameter] = &[
        MAX_RETRANSMISSIONS,
        UNSUSPICIOUS_ERRORS,
        HEARTBEAT_INTERVAL,
        PEER_ERRORS,
        Parameter {
            name: "slack",
            default: "100ms",
            meaning: "least time beyond a round trip without an acknowledgement, at most 60s",
        },
    ];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        match name {
            "slack" => Some(Slot::time(
                &mut self.slack,
                Duration::ZERO..=Duration::from_secs(60),
            )),
            _ => self.errors.slot(name),
        }
    }
}

/// For how long others may be acknowledged and a path not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Patience {
    slack: Duration,
}

impl Patience {
    /// `None` before the first round trip was measured.
    pub(super) fn with(self, path: &PathFacts) -> Option<Duration> {
        Some(path.srtt? + (path.rttvar * 4).max(self.slack))
    }
}

/// Suspicion by what the peer's SACKs do not say.
#[must_use]
pub const fn fast_failover(parameters: FastFailoverParameters) -> Detector {
    Detector {
        name: "fast-failover",
        limits: parameters.errors.limits,
        tolerated: Some(parameters.errors.unsuspicious_errors),
        patience: Some(Patience {
            slack: parameters.slack,
        }),
    }
}

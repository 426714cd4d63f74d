//! Fast failover. A path is potentially failed when only other paths are acknowledged for longer than a round trip.
//!
//! Source: ours; the potentially failed state is that of RFC 7829.
//!
//! Idea: a SACK reports on all paths, whichever it arrives over. If SACKs keep arriving and for a round trip have
//! acknowledged nothing of a path that has data in flight, then that data did not arrive: neither a slow peer nor
//! delayed acknowledgements explain it. So there is no need to wait for a timeout, whose minimum allows for both. What
//! was outstanding is sent on other paths, and a heartbeat probes the path at once. The state change cuts no cwnd and
//! backs off no timer, since nothing is known to be lost: if the path answers it continues as before.
//!
//! ```text
//! silence = now − max(oldest chunk in flight sent, path last seen working) − srtt of the path that the SACK arrived over
//! silence > srtt + max(4 · rttvar, slack) ⇒ potentially failed
//! errors: as potentially-failed
//! ```
//!
//! The last term of the silence is the age that the information in a SACK may have. A path that is the only one in use
//! stays active until its timer expires.

use core::time::Duration;

use super::detector::{HEARTBEAT_INTERVAL, MAX_RETRANSMISSIONS, PEER_ERRORS};
use super::potentially_failed::UNSUSPICIOUS_ERRORS;
use super::{Detector, PotentiallyFailedParameters};
use crate::PathFacts;
use crate::parameters::{Parameter, Parameters, Slot};

/// Parameters of [`fast_failover`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FastFailoverParameters {
    /// How errors are counted when a timer does expire.
    pub errors: PotentiallyFailedParameters,
    /// Least time beyond a round trip without acknowledgement: allows for batches, bursts and busy hosts.
    pub slack: Duration,
}

impl FastFailoverParameters {
    /// The default values.
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

/// How long other paths may be acknowledged while a path is not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AckSilence {
    slack: Duration,
}

impl AckSilence {
    /// `None` before the first RTT sample.
    pub(super) fn with(self, path: &PathFacts) -> Option<Duration> {
        Some(path.srtt()? + (path.rttvar() * 4).max(self.slack))
    }
}

/// Failure detection by missing acknowledgements.
#[must_use]
pub const fn fast_failover(parameters: FastFailoverParameters) -> Detector {
    Detector {
        limits: parameters.errors.limits,
        tolerated: Some(parameters.errors.unsuspicious_errors),
        ack_silence: Some(AckSilence {
            slack: parameters.slack,
        }),
    }
}

//! When is a path suspected? After the first error, so that others take over at once.
//!
//! Source: RFC 7829 (SCTP-PF), which grew out of CMT-PF.
//!
//! Idea: a path with more errors than PFMR is potentially failed: no new data while there is a better one, but a
//! heartbeat every RTO, which decides quickly. Being wrong costs one round trip, being slow costs minutes.
//!
//! ```text
//! error:        errors > Path.Max.Retrans ⇒ inactive;  errors > PFMR ⇒ potentially failed
//! sign of life: active
//! heartbeat:    every RTO while potentially failed
//! primary:      the current one if active, else the active one with the lowest id, else the least failed
//! ```
//!
//! Deviation: any sign of life ends the suspicion; the window is what the timeout that
//! caused it has left.

use core::time::Duration;

use anabranch_types::PathId;

use super::rfc9260::{HEARTBEAT_INTERVAL, LONGEST_INTERVAL, MAX_RETRANSMISSIONS};
use super::{heartbeat_interval, primary_path};
use crate::parameters::{Parameter, Parameters, Slot};
use crate::{FailoverPolicy, PathFacts, Policy, Reachability};

/// Parameters of [`PotentiallyFailed`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PotentiallyFailedParameters {
    /// Path.Max.Retrans: errors in a row that a path survives (RFC 9260 §16).
    pub max_retransmissions: u16,
    /// PFMR: errors in a row that a path survives without suspicion (RFC 7829).
    pub unsuspicious_errors: u16,
    /// HB.interval (RFC 9260 §16); [`Duration::MAX`] for no heartbeats on healthy paths.
    pub heartbeat_interval: Duration,
}

impl PotentiallyFailedParameters {
    /// The values unless set.
    pub const DEFAULT: Self = Self {
        max_retransmissions: 5,
        unsuspicious_errors: 0,
        heartbeat_interval: Duration::from_secs(30),
    };
}

impl Default for PotentiallyFailedParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for PotentiallyFailedParameters {
    const LIST: &'static [Parameter] = &[
        MAX_RETRANSMISSIONS,
        Parameter {
            name: "pfmr",
            default: "0",
            meaning: "errors in a row that a path survives without suspicion (PFMR of RFC 7829), 0 to 1000",
        },
        HEARTBEAT_INTERVAL,
    ];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "max-retrans" => Slot::number(&mut self.max_retransmissions, 0..=1_000),
            "pfmr" => Slot::number(&mut self.unsuspicious_errors, 0..=1_000),
            "heartbeat" => Slot::time(&mut self.heartbeat_interval, Duration::ZERO..=LONGEST_INTERVAL),
            _ => return None,
        })
    }
}

/// Failure detection of RFC 7829.
#[derive(Debug)]
pub struct PotentiallyFailed {
    parameters: PotentiallyFailedParameters,
}

impl PotentiallyFailed {
    /// The policy.
    #[must_use]
    pub const fn new(parameters: PotentiallyFailedParameters) -> Self {
        Self { parameters }
    }
}

impl Policy for PotentiallyFailed {
    fn name(&self) -> &'static str {
        "potentially-failed"
    }
}

impl FailoverPolicy for PotentiallyFailed {
    fn on_error(&mut self, path: &PathFacts) -> Reachability {
        match path.reachability {
            Reachability::Unconfirmed => Reachability::Unconfirmed,
            _ if path.errors > self.parameters.max_retransmissions => Reachability::Inactive,
            Reachability::Active if path.errors > self.parameters.unsuspicious_errors => {
                Reachability::PotentiallyFailed
            }
            unchanged => unchanged,
        }
    }

    fn on_sign_of_life(&mut self, _path: &PathFacts) -> Reachability {
        Reachability::Active
    }

    fn primary(&mut self, paths: &[PathFacts]) -> Option<PathId> {
        primary_path(paths)
    }

    fn heartbeat_every(&self, path: &PathFacts) -> Option<Duration> {
        if path.reachability == Reachability::PotentiallyFailed {
            return Some(Duration::ZERO);
        }
        let parameters = self.parameters;
        heartbeat_interval(
            path,
            parameters.heartbeat_interval,
            parameters.max_retransmissions,
        )
    }
}

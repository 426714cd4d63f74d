//! When is a path dead, as the standard says? After more than Path.Max.Retrans errors in a row.
//!
//! Source: RFC 9260 §8.2, §8.3, §5.4.
//!
//! Idea: an error is a timeout of data or of a heartbeat; any sign of life clears the count and brings the path
//! back. With the default of five it takes six timeouts until data leaves a dead path: about a minute if RTO.Min is
//! one second.
//!
//! ```text
//! error:        errors > Path.Max.Retrans ⇒ inactive (an unconfirmed path stays unconfirmed)
//! sign of life: active
//! primary:      the current one if usable, else the usable one with the lowest id
//! ```
//!
//! Deviations: none.

use core::time::Duration;

use anabranch_types::PathId;

use super::{heartbeat_interval, primary_path};
use crate::parameters::{Parameter, Parameters, Slot};
use crate::{FailoverPolicy, PathFacts, Policy, Reachability};

/// Parameters of [`Rfc9260`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rfc9260Parameters {
    /// Path.Max.Retrans: errors in a row that a path survives (RFC 9260 §16).
    pub max_retransmissions: u16,
    /// HB.interval (RFC 9260 §16); [`Duration::MAX`] for no heartbeats on confirmed paths.
    pub heartbeat_interval: Duration,
}

impl Rfc9260Parameters {
    /// The values unless set.
    pub const DEFAULT: Self = Self {
        max_retransmissions: 5,
        heartbeat_interval: Duration::from_secs(30),
    };
}

impl Default for Rfc9260Parameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

pub(super) const MAX_RETRANSMISSIONS: Parameter = Parameter {
    name: "max-retrans",
    default: "5",
    meaning: "errors in a row that a path survives (Path.Max.Retrans of RFC 9260 §16), 0 to 1000",
};

pub(super) const HEARTBEAT_INTERVAL: Parameter = Parameter {
    name: "heartbeat",
    default: "30s",
    meaning: "time between heartbeats of an idle path, to which the RTO is added (HB.interval of RFC 9260 §16), \
              at most 86400s",
};

pub(super) const LONGEST_INTERVAL: Duration = Duration::from_secs(86_400);

impl Parameters for Rfc9260Parameters {
    const LIST: &'static [Parameter] = &[MAX_RETRANSMISSIONS, HEARTBEAT_INTERVAL];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "max-retrans" => Slot::number(&mut self.max_retransmissions, 0..=1_000),
            "heartbeat" => Slot::time(&mut self.heartbeat_interval, Duration::ZERO..=LONGEST_INTERVAL),
            _ => return None,
        })
    }
}

/// Failure detection of RFC 9260.
#[derive(Debug)]
pub struct Rfc9260 {
    parameters: Rfc9260Parameters,
}

impl Rfc9260 {
    /// The policy.
    #[must_use]
    pub const fn new(parameters: Rfc9260Parameters) -> Self {
        Self { parameters }
    }
}

impl Policy for Rfc9260 {
    fn name(&self) -> &'static str {
        "rfc9260"
    }
}

impl FailoverPolicy for Rfc9260 {
    fn on_error(&mut self, path: &PathFacts) -> Reachability {
        match path.reachability {
            Reachability::Unconfirmed => Reachability::Unconfirmed,
            _ if path.errors > self.parameters.max_retransmissions => Reachability::Inactive,
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
        let Rfc9260Parameters {
            max_retransmissions,
            heartbeat_interval: interval,
        } = self.parameters;
        heartbeat_interval(path, interval, max_retransmissions)
    }
}

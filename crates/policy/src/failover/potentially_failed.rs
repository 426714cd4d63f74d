//! SCTP-PF (RFC 7829). A path is potentially failed after the first error.
//!
//! Source: RFC 7829 (SCTP-PF), which grew out of CMT-PF.
//!
//! Idea: a path with more errors than PFMR is potentially failed: no new data while there is a better one, but a
//! heartbeat every RTO, which decides quickly. A false alarm costs one round trip, a late one minutes.
//!
//! ```text
//! errors > PFMR ⇒ potentially failed;  errors > Path.Max.Retrans ⇒ inactive
//! ```
//!
//! Deviation: the acknowledgement of a chunk that was sent once, after the last error, makes the path active as a
//! HEARTBEAT ACK does; the cwnd is what the timeout left.

use super::detector::{HEARTBEAT_INTERVAL, MAX_RETRANSMISSIONS, PEER_ERRORS};
use super::{Detector, ErrorLimits};
use crate::parameters::{Parameter, Parameters, Slot};

/// Parameters of [`potentially_failed`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PotentiallyFailedParameters {
    /// When a path becomes inactive, and how often heartbeats are sent.
    pub limits: ErrorLimits,
    /// PFMR: a path with more consecutive errors is potentially failed (RFC 7829).
    pub unsuspicious_errors: u16,
}

impl PotentiallyFailedParameters {
    /// The default values.
    pub const DEFAULT: Self = Self {
        limits: ErrorLimits::DEFAULT,
        unsuspicious_errors: 0,
    };
}

impl Default for PotentiallyFailedParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

pub(super) const UNSUSPICIOUS_ERRORS: Parameter = Parameter {
    name: "pfmr",
    default: "0",
    meaning: "errors in a row after which a path is still active (PFMR of RFC 7829), 0 to 1000",
};

impl Parameters for PotentiallyFailedParameters {
    const LIST: &'static [Parameter] = &[
        MAX_RETRANSMISSIONS,
        UNSUSPICIOUS_ERRORS,
        HEARTBEAT_INTERVAL,
        PEER_ERRORS,
    ];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        match name {
            "pfmr" => Some(Slot::number(&mut self.unsuspicious_errors, 0..=1_000)),
            _ => self.limits.slot(name),
        }
    }
}

//= rfc7829 3.2-1, 6-1
/// Failure detection of RFC 7829.
#[must_use]
pub const fn potentially_failed(parameters: PotentiallyFailedParameters) -> Detector {
    Detector {
        limits: parameters.limits,
        tolerated: Some(parameters.unsuspicious_errors),
        ack_silence: None,
    }
}

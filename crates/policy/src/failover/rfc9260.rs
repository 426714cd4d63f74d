//! Failure detection of RFC 9260 §8.2. A path is inactive after more than Path.Max.Retrans errors in a row.
//!
//! Source: RFC 9260 §8.2, §8.3, §5.4.
//!
//! Idea: an error is a timeout of data or of a heartbeat; a path that works again is active and its count is cleared.
//! With the default of five it takes six timeouts until data leaves a failed path: about a minute if RTO.Min is one
//! second.
//!
//! ```text
//! errors > Path.Max.Retrans ⇒ inactive (an unconfirmed path stays unconfirmed)
//! ```
//!
//! Deviations: none.

use super::{Detector, ErrorLimits};

/// Failure detection of RFC 9260.
#[must_use]
pub const fn rfc9260(limits: ErrorLimits) -> Detector {
    Detector {
        limits,
        tolerated: None,
        ack_silence: None,
    }
}

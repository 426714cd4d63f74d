//! Failover policies. When is a path potentially failed, inactive or active again (RFC 9260 §8.2, RFC 7829)?
//!
//! | name | a path |
//! |---|---|
//! | `rfc9260` | is inactive after more than Path.Max.Retrans errors in a row |
//! | `potentially-failed` | is potentially failed after the first error, so that data moves after one timeout instead of six |
//! | `fast-failover` | is potentially failed when only other paths are acknowledged for longer than a round trip |

mod detector;
mod fast_failover;
mod potentially_failed;
mod rfc9260;

pub use detector::{Detector, ErrorLimits, PeerErrors};
use fast_failover::AckSilence;
pub use fast_failover::{FastFailoverParameters, fast_failover};
pub use potentially_failed::{PotentiallyFailedParameters, potentially_failed};
pub use rfc9260::rfc9260;

#[cfg(test)]
mod tests;

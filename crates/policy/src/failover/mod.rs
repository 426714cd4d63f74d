//! When is a path suspected, dead or back?
//!
//! | name | idea |
//! |---|---|
//! | `rfc9260` | dead after Path.Max.Retrans errors in a row |
//! | `potentially-failed` | suspected after the first error, so that data leaves it in one timeout instead of six |
//! | `fast-failover` | suspected when only others are acknowledged for longer than a round trip |

mod detector;
mod fast_failover;
mod potentially_failed;
mod rfc9260;

pub use detector::{Detector, ErrorLimits, PeerErrors};
use fast_failover::Patience;
pub use fast_failover::{FastFailoverParameters, fast_failover};
pub use potentially_failed::{PotentiallyFailedParameters, potentially_failed};
pub use rfc9260::rfc9260;

#[cfg(test)]
mod tests;

//! When is a path suspected, dead, back, primary?
//!
//! | name | idea |
//! |---|---|
//! | `rfc9260` | dead after Path.Max.Retrans errors in a row |
//! | `potentially-failed` | suspected after the first error, so that data leaves it in one timeout instead of six |

mod potentially_failed;
mod rfc9260;

pub use potentially_failed::{PotentiallyFailed, PotentiallyFailedParameters};
pub use rfc9260::{Rfc9260, Rfc9260Parameters};

use core::time::Duration;

use anabranch_types::PathId;

use crate::{PathFacts, Reachability, last_resort};

/// HB.interval of `path`, given that of confirmed ones.
///
/// "In each RTO, a probe MAY be sent on an active UNCONFIRMED path […]. If during this probing the path becomes
/// inactive, this rate is lowered to the normal HEARTBEAT rate" (RFC 9260 §5.4).
fn heartbeat_interval(path: &PathFacts, interval: Duration, max_retransmissions: u16) -> Option<Duration> {
    let probing = path.reachability == Reachability::Unconfirmed && path.errors <= max_retransmissions;
    let interval = if probing { Duration::ZERO } else { interval };
    (interval < Duration::MAX).then_some(interval)
}

/// The current primary path if it can be used, else the usable one with the lowest id, else the best of the bad.
fn primary_path(paths: &[PathFacts]) -> Option<PathId> {
    paths
        .iter()
        .filter(|path| path.is_usable())
        .min_by_key(|path| (!path.primary, path.id))
        .map(|path| path.id)
        .or_else(|| last_resort(paths))
}

#[cfg(test)]
mod tests;

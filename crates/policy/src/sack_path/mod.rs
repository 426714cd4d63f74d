//! SACK paths. On which path is a SACK sent (RFC 9260 §6.4)?
//!
//! | name | path |
//! |---|---|
//! | `data-source` | the path that the last data arrived over |
//! | `primary` | the primary path |
//! | `round-robin` | the paths that deliver data in turn |
//! | `smallest-srtt` | the path with the lowest smoothed RTT that delivers data |
//!
//! Whatever the policy decides, a packet that asks for an immediate SACK (I bit, RFC 9260 §3.3.1) is answered over the
//! path that it arrived over: the sender may be measuring it.

mod data_source;
mod primary;
mod round_robin;
mod smallest_srtt;

pub use data_source::DataSource;
pub use primary::Primary;
pub use round_robin::RoundRobin;
pub use smallest_srtt::SmallestSrtt;

use anabranch_types::PathId;

use crate::PathFacts;

/// The usable path that delivered data since its last SACK and is first by `rank`; `arrived_on` if there is none.
fn best_source<R: Ord>(arrived_on: PathId, paths: &[PathFacts], rank: impl Fn(&PathFacts) -> R) -> PathId {
    paths
        .iter()
        .filter(|path| path.data_since_sack && path.is_usable())
        .min_by_key(|path| (rank(path), path.id))
        .map_or(arrived_on, |path| path.id)
}

#[cfg(test)]
mod tests;

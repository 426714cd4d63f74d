//! On which path is a SACK sent?
//!
//! | name | idea |
//! |---|---|
//! | `data-source` | back to where the last data came from |
//! | `primary` | on the primary path |
//! | `round-robin` | in turn on all paths that bring data |
//! | `smallest-srtt` | on the fastest path that brings data |
//!
//! Whatever the policy says, a packet that asks for a SACK at once (I bit, RFC 9260 §3.3.1) is answered over the path
//! that it came by: who asks may be measuring it.

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

/// The usable path that brought data since its last SACK and is first by `rank`; `arrived_on` if there is none.
fn best_source<R: Ord>(arrived_on: PathId, paths: &[PathFacts], rank: impl Fn(&PathFacts) -> R) -> PathId {
    paths
        .iter()
        .filter(|path| path.data_since_sack && path.is_usable())
        .min_by_key(|path| (rank(path), path.id))
        .map_or(arrived_on, |path| path.id)
}

#[cfg(test)]
mod tests;

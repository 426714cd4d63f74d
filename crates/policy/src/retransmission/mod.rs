//! Retransmission policies. On which path is a lost chunk retransmitted (RFC 9260 §6.4)?
//!
//! A. H. Abass 2016 §4.3 classifies them by the paths that are eligible, and by what the choice among these depends on.
//!
//! | name | eligible paths | choice depends on |
//! |---|---|---|
//! | `same` | the path of the loss | nothing |
//! | `alternate` | the path of the loss; after a timeout any other | the path: RTT |
//! | `other` | any but the path of the loss | the path: RTT |
//! | `asap` | any | chance |
//! | `lossrate` | any | the path: lowest loss rate |
//! | `cwnd` | any | congestion control: largest cwnd |
//! | `ssthresh` | any | congestion control: largest ssthresh |
//! | `fastest` | any | the path: RTT and loss rate |
//! | `hybrid-metric` | any | both: cwnd, loss rate and RTT |
//!
//! All skip paths that are inactive or potentially failed while there are others. All prefer a path that can take data,
//! except those bound to the path of the loss and `fastest`, and return one that cannot only if there is no other: the core lets one
//! packet per loss event exceed the cwnd (RFC 9260 §7.2.4), sets `sendable` to 0 on blocked paths, and holds back the
//! rest.

mod alternate;
mod asap;
mod cwnd;
mod fastest;
mod hybrid_metric;
mod loss_rate;
mod other;
mod same;
mod seed;
mod ssthresh;

pub use alternate::Alternate;
pub use asap::Asap;
pub use cwnd::Cwnd;
pub use fastest::Fastest;
pub use hybrid_metric::HybridMetric;
pub use loss_rate::LossRate;
pub use other::Other;
pub use same::Same;
pub use seed::{SeedParameters, TieParameters, Ties};
pub use ssthresh::Ssthresh;

use anabranch_types::PathId;

use crate::{PathFacts, may_carry_data, path_facts};

/// `own` if it may carry data.
fn own_path(own: PathId, paths: &[PathFacts]) -> Option<PathId> {
    path_facts(paths, own)
        .filter(|path| may_carry_data(path, paths))
        .map(|path| path.id)
}

/// A path other than `own` that may carry data: one that can take it now, then the fastest.
fn other_path(own: PathId, paths: &[PathFacts]) -> Option<PathId> {
    paths
        .iter()
        .filter(|path| path.id != own && may_carry_data(path, paths))
        .min_by_key(|path| (path.sendable == 0, path.srtt().is_none(), path.srtt(), path.id))
        .map(|path| path.id)
}

/// The path that may carry data, can take it if any can, and is first by `rank`.
fn best_path<R: Ord>(paths: &[PathFacts], rank: impl Fn(&PathFacts) -> R) -> Option<PathId> {
    first_path(paths, |path| (path.sendable == 0, rank(path)))
}

/// The path that may carry data and is first by `rank`, full or not.
fn first_path<R: Ord>(paths: &[PathFacts], rank: impl Fn(&PathFacts) -> R) -> Option<PathId> {
    let carriers = paths.iter().filter(|path| may_carry_data(path, paths));
    carriers
        .min_by_key(|path| (rank(path), path.id))
        .map(|path| path.id)
}

#[cfg(test)]
mod tests;

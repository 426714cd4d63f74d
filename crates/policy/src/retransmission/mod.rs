//! Where does a lost chunk go?
//!
//! The literature (A. H. Abass 2016 §4.3) sorts the answers in two ways: by what designates the path, and by what
//! the choice among several is based on.
//!
//! | name | path designation | decision basis |
//! |---|---|---|
//! | `same` | the path of the loss | none: there is no choice |
//! | `alternate` | the path of the loss; after a timeout any other | path: divergence, as far as known (round-trip time) |
//! | `other` | any but the path of the loss | path: round-trip time |
//! | `asap` | any | none: chance |
//! | `lossrate` | any | path: lowest loss rate |
//! | `cwnd` | any | congestion control: largest window |
//! | `ssthresh` | any | congestion control: largest slow-start threshold |
//! | `hybrid-metric` | any | both: window, loss rate and round-trip time |
//!
//! All skip paths that are inactive or potentially failed while there are others. All prefer a path with room, but
//! for those that the path of the loss binds, and name one without room only if there is no other: the core lets one
//! packet per loss event exceed the window (RFC 9260 §7.2.4), gives paths that are blocked no room, and holds back
//! the rest.

mod alternate;
mod asap;
mod cwnd;
mod hybrid_metric;
mod loss_rate;
mod other;
mod same;
mod seed;
mod ssthresh;

pub use alternate::Alternate;
pub use asap::Asap;
pub use cwnd::Cwnd;
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

/// A path other than `own` that may carry data: one with room, then the fastest.
fn other_path(own: PathId, paths: &[PathFacts]) -> Option<PathId> {
    paths
        .iter()
        .filter(|path| path.id != own && may_carry_data(path, paths))
        .min_by_key(|path| (path.sendable == 0, path.srtt.is_none(), path.srtt, path.id))
        .map(|path| path.id)
}

/// The path that may carry data, has room if any of them has, and is first by `rank`.
fn best_path<R: Ord>(paths: &[PathFacts], rank: impl Fn(&PathFacts) -> R) -> Option<PathId> {
    paths
        .iter()
        .filter(|path| may_carry_data(path, paths))
        .min_by_key(|path| (path.sendable == 0, rank(path), path.id))
        .map(|path| path.id)
}

#[cfg(test)]
mod tests;

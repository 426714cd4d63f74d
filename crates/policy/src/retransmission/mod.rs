//! Where does a lost chunk go?
//!
//! The literature sorts the answers by what designates the path (the chunk's own path, or any) and by what the
//! choice among several is based on (nothing, window, threshold, loss rate). All prefer a path with room and name
//! one without room only if there is no other: the core lets one packet per loss event exceed the window
//! (RFC 9260 §7.2.4) and must hold back the rest itself.
//!
//! | name | designated by | decided by |
//! |---|---|---|
//! | `same` | the chunk | – |
//! | `alternate` | the chunk; after a timeout any other | divergence, as far as known: round-trip time |
//! | `cwnd` | any | largest window |

mod alternate;
mod cwnd;
mod same;

pub use alternate::Alternate;
pub use cwnd::Cwnd;
pub use same::Same;

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
        .min_by_key(|path| (path.room == 0, path.srtt.is_none(), path.srtt, path.id))
        .map(|path| path.id)
}

#[cfg(test)]
mod tests;

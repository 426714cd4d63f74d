//! Path eligibility. Which paths may carry data if not all of them are active?

use anabranch_types::PathId;

use super::path::{PathFacts, Reachability};

/// The facts of path `id`.
#[must_use]
pub fn path_facts(paths: &[PathFacts], id: PathId) -> Option<&PathFacts> {
    // Slots are dense, so the id nearly always is the index.
    paths
        .get(id.index())
        .filter(|path| path.id == id)
        .or_else(|| paths.iter().find(|path| path.id == id))
}

/// Whether `path`, one of `paths`, may carry data; its windows are not considered.
///
/// Active paths may. If there is none, the path of [`last_resort`] may: an association whose paths all fail goes on
/// sending until its own error limit ends it.
#[must_use]
pub fn may_carry_data(path: &PathFacts, paths: &[PathFacts]) -> bool {
    path.is_usable() || last_resort(paths) == Some(path.id)
}

/// The path to use although no path is active; `None` while one is active, or if no address has been confirmed.
///
/// Order: a potentially failed path before an inactive one, then the fewest errors (RFC 7829), then the primary path,
/// then the lowest id. An unconfirmed path is never used: the peer may not be at that address (RFC 9260 §5.4).
#[must_use]
pub fn last_resort(paths: &[PathFacts]) -> Option<PathId> {
    if paths.iter().any(PathFacts::is_usable) {
        return None;
    }
    let confirmed = paths
        .iter()
        .filter(|path| path.reachability != Reachability::Unconfirmed);
    confirmed
        .min_by_key(|path| {
            let inactive = path.reachability == Reachability::Inactive;
            (inactive, path.errors, !path.primary, path.id)
        })
        .map(|path| path.id)
}

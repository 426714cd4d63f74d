//! Which paths may carry data, when not all of them are well?

use anabranch_types::PathId;

use super::path::{PathFacts, Reachability};

/// The facts of path `id`.
#[must_use]
pub fn path_facts(paths: &[PathFacts], id: PathId) -> Option<&PathFacts> {
    // Slots are dense, so the first guess is nearly always right.
    paths
        .get(id.index())
        .filter(|path| path.id == id)
        .or_else(|| paths.iter().find(|path| path.id == id))
}

/// Whether data may be put on `path`, one of `paths`; says nothing about room.
///
/// Active paths may. Where there is none, the one path of [`last_resort`] may: an association whose paths all
/// fail goes on trying until its own error limit ends it.
#[must_use]
pub fn may_carry_data(path: &PathFacts, paths: &[PathFacts]) -> bool {
    path.is_usable() || last_resort(paths) == Some(path.id)
}

/// The path to use although no path is active; `None` while one is, or while no address has been confirmed.
///
/// A potentially failed path goes before an inactive one, then the one with the fewest errors (RFC
/// 7829), then the primary, then the lowest id. Never an unconfirmed one: the peer might not be there
/// (RFC 9260 §5.4).
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

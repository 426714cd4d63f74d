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
/// Active paths that do not rest may. If there is none, the path of [`last_resort`] may: an association whose paths all fail goes on
/// sending until its own error limit ends it.
#[must_use]
pub fn may_carry_data(path: &PathFacts, paths: &[PathFacts]) -> bool {
    path.is_usable() || last_resort(paths) == Some(path.id)
}

//= rfc7829 3.2-7, 3.2-8, 3.2-9, 3.2-11, 3.2-12, 4-2, 4.1-1, 4.1-2, 4.1-3, 4.1-4
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::healthy;

    //= rfc7829 3.2-9, 3.2-11, 4-2, 4.1-4
    #[test]
    fn last_resort_is_the_potentially_failed_path_with_the_fewest_errors() {
        let path = |id, reachability, errors| PathFacts {
            reachability,
            errors,
            ..healthy(id)
        };
        let mut paths = [
            path(0, Reachability::Inactive, 6),
            path(1, Reachability::PotentiallyFailed, 3),
            path(2, Reachability::PotentiallyFailed, 2),
            path(3, Reachability::Unconfirmed, 0),
        ];
        assert_eq!(last_resort(&paths), Some(PathId(2)));
        paths[1].reachability = Reachability::Inactive;
        paths[2].reachability = Reachability::Inactive;
        assert_eq!(last_resort(&paths), Some(PathId(2)), "all are inactive");
        paths[0].reachability = Reachability::Active;
        assert_eq!(last_resort(&paths), None);
    }
}

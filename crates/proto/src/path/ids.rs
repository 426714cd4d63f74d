//! Sets of path ids, as bits of a machine word.

use anabranch_types::PathId;

/// A set of path ids. Iteration is in ascending order and costs only the ids in the set.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct PathIds(u64);

impl PathIds {
    /// Upper bound of ids, exclusive.
    pub(crate) const LIMIT: u8 = u64::BITS as u8;

    pub(crate) const fn insert(&mut self, id: PathId) {
        self.0 |= 1 << id.0;
    }

    /// Removes `id` if it is in the set.
    pub(crate) const fn remove(&mut self, id: PathId) {
        self.0 &= !(1 << id.0);
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0 == 0
    }

    /// Whether `id` is in the set. Any number is allowed, because ids also come from HEARTBEAT ACKs.
    pub(crate) const fn contains(&self, id: PathId) -> bool {
        id.0 < Self::LIMIT && self.0 & (1 << id.0) != 0
    }
}

impl FromIterator<PathId> for PathIds {
    fn from_iter<I: IntoIterator<Item = PathId>>(ids: I) -> Self {
        let mut set = Self::default();
        ids.into_iter().for_each(|id| set.insert(id));
        set
    }
}

impl Iterator for PathIds {
    type Item = PathId;

    fn next(&mut self) -> Option<PathId> {
        let lowest = (self.0 != 0).then(|| PathId(self.0.trailing_zeros() as u8))?;
        self.0 &= self.0 - 1;
        Some(lowest)
    }
}

#[cfg(test)]
mod tests {
    use super::{PathId, PathIds};

    #[test]
    fn path_ids_iterate_in_ascending_order_without_repetition() {
        let set: PathIds = [63, 0, 5, 5].map(PathId).into_iter().collect();
        assert!(set.contains(PathId(5)) && !set.contains(PathId(6)));
        assert!(
            !set.contains(PathId(64)) && !set.contains(PathId(255)),
            "no path has such a number"
        );
        assert!(set.eq([0, 5, 63].map(PathId)));
        assert_eq!(PathIds::default().next(), None);
    }
}

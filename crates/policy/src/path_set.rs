//! Set of paths. Which of all possible ones are in it?

use anabranch_types::PathId;

/// A set of paths, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PathSet([u64; 4]);

impl PathSet {
    pub(crate) const fn insert(&mut self, path: PathId) {
        self.0[path.index() / 64] |= 1 << (path.index() % 64);
    }

    pub(crate) const fn remove(&mut self, path: PathId) {
        self.0[path.index() / 64] &= !(1 << (path.index() % 64));
    }

    pub(crate) const fn contains(&self, path: PathId) -> bool {
        self.0[path.index() / 64] >> (path.index() % 64) & 1 == 1
    }
}

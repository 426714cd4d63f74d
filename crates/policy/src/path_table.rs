//! Path table. State of each path, as policies keep it.

use alloc::vec::Vec;

use anabranch_types::PathId;

/// One value for each path, by slot. Grows slot by slot: most associations have one path and are idle.
#[derive(Clone, Debug)]
pub(crate) struct PathTable<T> {
    slots: Vec<Option<T>>,
}

impl<T> Default for PathTable<T> {
    fn default() -> Self {
        Self { slots: Vec::new() }
    }
}

impl<T> PathTable<T> {
    pub(crate) fn insert(&mut self, path: PathId, value: T) {
        let missing = (path.index() + 1).saturating_sub(self.slots.len());
        self.slots.reserve_exact(missing);
        self.slots.extend((0..missing).map(|_| None));
        self.slots[path.index()] = Some(value);
    }

    pub(crate) fn remove(&mut self, path: PathId) {
        if let Some(slot) = self.slots.get_mut(path.index()) {
            *slot = None;
        }
    }

    /// The values of all paths, in the order of their ids.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten()
    }

    pub(crate) fn of(&self, path: PathId) -> Option<&T> {
        self.slots.get(path.index())?.as_ref()
    }

    /// The value of `path`, which is added if there is none.
    pub(crate) fn of_mut_or_default(&mut self, path: PathId) -> &mut T
    where
        T: Default,
    {
        if self.of(path).is_none() {
            self.insert(path, T::default());
        }
        self.slots[path.index()].get_or_insert_default()
    }

    pub(crate) fn of_mut(&mut self, path: PathId) -> Option<&mut T> {
        self.slots.get_mut(path.index())?.as_mut()
    }
}

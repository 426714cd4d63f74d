//! Path table. State of each path, as policies keep it.

use alloc::boxed::Box;
use core::mem;

use anabranch_types::PathId;

/// One value for each path, by slot. Grows slot by slot: most associations have one path and are idle.
#[derive(Clone, Debug)]
pub(crate) struct PathTable<T> {
    slots: Box<[Option<T>]>,
}

impl<T> Default for PathTable<T> {
    fn default() -> Self {
        Self {
            slots: Box::default(),
        }
    }
}

impl<T> PathTable<T> {
    pub(crate) fn insert(&mut self, path: PathId, value: T) {
        if path.index() >= self.slots.len() {
            self.resize(path.index() + 1);
        }
        self.slots[path.index()] = Some(value);
    }

    /// Removes the value of a path that is removed, and returns it.
    pub(crate) fn remove(&mut self, path: PathId) -> Option<T> {
        let value = self.slots.get_mut(path.index()).and_then(Option::take);
        let last = self.slots.iter().rposition(Option::is_some);
        self.resize(last.map_or(0, |last| last + 1));
        value
    }

    /// Removes the value of `path` and keeps its memory for another one.
    pub(crate) fn clear(&mut self, path: PathId) {
        if let Some(slot) = self.slots.get_mut(path.index()) {
            *slot = None;
        }
    }

    #[cold]
    fn resize(&mut self, len: usize) {
        let mut slots = mem::take(&mut self.slots).into_vec();
        slots.reserve_exact(len.saturating_sub(slots.len()));
        slots.resize_with(len, || None);
        self.slots = slots.into_boxed_slice();
    }

    /// The values of all paths, in the order of their ids.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten()
    }

    /// The values of all paths, in the order of their ids, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().flatten()
    }

    /// One more than the highest id that has a value.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The values of all ids from 0 on, to be changed.
    pub(crate) fn slots_mut(&mut self) -> impl Iterator<Item = &mut Option<T>> {
        self.slots.iter_mut()
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

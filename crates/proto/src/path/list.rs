//! Path list: one value for each path, in memory for exactly these paths. Paths come and go seldom, and most associations have one.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;
use core::ops::{Deref, DerefMut};

/// Values of all paths, in the order of their ids.
#[derive(Debug)]
pub(crate) struct PathList<T>(Box<[T]>);

impl<T> Default for PathList<T> {
    fn default() -> Self {
        Self(Box::default())
    }
}

impl<T> PathList<T> {
    /// Adds `value` before the one at index `at`.
    pub(crate) fn insert(&mut self, at: usize, value: T) {
        let mut values = self.take();
        values.reserve_exact(1);
        values.insert(at, value);
        self.0 = values.into_boxed_slice();
    }

    /// Removes the value at index `at`.
    pub(crate) fn remove(&mut self, at: usize) -> T {
        let mut values = self.take();
        let removed = values.remove(at);
        self.0 = values.into_boxed_slice();
        removed
    }

    fn take(&mut self) -> Vec<T> {
        mem::take(&mut self.0).into_vec()
    }
}

impl<T> Deref for PathList<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for PathList<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_order() {
        let mut list = PathList::default();
        for (at, value) in [(0, 'b'), (0, 'a'), (2, 'd'), (2, 'c')] {
            list.insert(at, value);
        }
        assert_eq!(list.remove(1), 'b');
        assert_eq!(*list, ['a', 'c', 'd']);
    }
}

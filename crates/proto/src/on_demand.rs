//! On-demand state: parts of an association that only some associations need, or only for some time.
//!
//! Most associations are idle most of the time. A part that is empty or stopped then, such as a queue or a timer, is allocated when
//! it first changes, and released when it is idle again (ADR 0100). Reading an idle part allocates nothing.

use alloc::boxed::Box;
use core::ops::Deref;

/// A part that can be idle.
pub(crate) trait Idle: Default + 'static {
    /// Its idle state, which allocates nothing.
    const IDLE: &'static Self;

    /// Whether its state is the idle one, apart from memory that it keeps.
    fn is_idle(&self) -> bool;
}

/// A part that takes the memory of a pointer while it is idle.
#[derive(Debug)]
pub(crate) struct OnDemand<T>(Option<Box<T>>);

impl<T> Default for OnDemand<T> {
    fn default() -> Self {
        Self::IDLE
    }
}

impl<T> OnDemand<T> {
    /// An idle part.
    pub(crate) const IDLE: Self = Self(None);

    /// Whether the part is allocated.
    #[inline]
    pub(crate) const fn is_active(&self) -> bool {
        self.0.is_some()
    }

    /// The part, unless it is idle.
    #[inline]
    pub(crate) fn active(&self) -> Option<&T> {
        self.0.as_deref()
    }

    /// The part for a change, unless it is idle.
    #[inline]
    pub(crate) fn active_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }
}

impl<T: Idle> OnDemand<T> {
    /// The part for a change; allocates it if it is idle.
    #[inline]
    pub(crate) fn make_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }

    /// The part itself.
    pub(crate) fn take(self) -> T {
        self.0.map_or_else(T::default, |part| *part)
    }

    /// Releases the memory of the part if it is idle.
    #[inline]
    pub(crate) fn release_if_idle(&mut self) {
        self.0.take_if(|part| part.is_idle());
    }
}

impl<T: Idle> Deref for OnDemand<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::IDLE)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{Idle, OnDemand};

    #[derive(Default)]
    struct Queue(Vec<u8>);

    impl Idle for Queue {
        const IDLE: &'static Self = &Self(Vec::new());

        fn is_idle(&self) -> bool {
            self.0.is_empty()
        }
    }

    #[test]
    fn idle_part_is_readable_and_takes_no_memory() {
        let mut queue = OnDemand::<Queue>::default();
        assert!(queue.is_idle() && queue.active_mut().is_none());
        queue.make_mut().0.push(7);
        queue.release_if_idle();
        assert_eq!(
            queue.0.as_ref().map(|queue| queue.0.len()),
            Some(1),
            "it is in use"
        );
        queue.make_mut().0.clear();
        queue.release_if_idle();
        assert!(queue.0.is_none());
    }
}

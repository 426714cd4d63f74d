//! Timer queue of an endpoint: deadlines of its associations, and associations to poll.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use anabranch_types::{AssociationId, Instant};

/// Deadlines in order, and the associations that have changed and were not polled since.
#[derive(Debug, Default)]
pub(crate) struct TimerQueue {
    deadlines: BTreeSet<(Instant, AssociationId)>,
    touched: VecDeque<AssociationId>,
}

/// State of the queue for one association, stored beside it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    deadline: Option<Instant>,
    touched: bool,
    pub(crate) has_events: bool,
}

impl TimerQueue {
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Takes the first association whose deadline has passed. [`Entry::fired`] must be called for its entry.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<AssociationId> {
        let first = *self.deadlines.first().filter(|(deadline, _)| *deadline <= now)?;
        self.deadlines.remove(&first);
        Some(first.1)
    }

    /// Lists a new deadline. A later one than the listed one changes nothing: the association is then visited once in vain, which
    /// is cheaper than updating the order with every packet.
    pub(crate) fn list(&mut self, id: AssociationId, entry: &mut Entry, deadline: Option<Instant>) {
        let Some(deadline) = deadline else { return };
        if entry.deadline.is_some_and(|listed| listed <= deadline) {
            return;
        }
        if let Some(listed) = entry.deadline {
            self.deadlines.remove(&(listed, id));
        }
        self.deadlines.insert((deadline, id));
        entry.deadline = Some(deadline);
    }

    pub(crate) fn touch(&mut self, id: AssociationId, entry: &mut Entry) {
        if !entry.touched {
            entry.touched = true;
            self.touched.push_back(id);
        }
    }

    /// The association to poll now.
    pub(crate) fn front(&self) -> Option<AssociationId> {
        self.touched.front().copied()
    }

    /// All associations that are to be polled.
    pub(crate) fn touched(&self) -> Vec<AssociationId> {
        self.touched.iter().copied().collect()
    }

    /// Moves the first association to the end, because it has more to send.
    pub(crate) fn rotate(&mut self) {
        self.touched.rotate_left(usize::from(self.touched.len() > 1));
    }

    /// Removes the first association, because it has nothing more to send.
    pub(crate) fn pop_front(&mut self, entry: Option<&mut Entry>) {
        self.touched.pop_front();
        if let Some(entry) = entry {
            entry.touched = false;
        }
    }

    pub(crate) fn forget(&mut self, id: AssociationId, entry: &Entry) {
        if let Some(listed) = entry.deadline {
            self.deadlines.remove(&(listed, id));
        }
    }
}

impl Entry {
    /// Notes that the deadline has passed and is no longer listed.
    pub(crate) const fn fired(&mut self) {
        self.deadline = None;
    }
}

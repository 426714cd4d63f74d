//! Timer queue. Which association needs attention, and when? An idle one costs nothing.

use alloc::collections::{BTreeSet, VecDeque};

use anabranch_types::{AssociationId, Instant};

/// Deadlines in order, and the associations that were touched and not polled since.
#[derive(Debug, Default)]
pub(crate) struct TimerQueue {
    deadlines: BTreeSet<(Instant, AssociationId)>,
    touched: VecDeque<AssociationId>,
}

/// What the queue knows of one association; kept beside it.
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

    /// The first association whose deadline has come. Its entry must be told with [`Entry::fired`].
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<AssociationId> {
        let first = *self.deadlines.first().filter(|(deadline, _)| *deadline <= now)?;
        self.deadlines.remove(&first);
        Some(first.1)
    }

    /// Lists a new deadline. A later one than what is listed changes nothing: the association is then looked at
    /// once in vain, which is cheaper than keeping the order exact with every packet.
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

    /// The first has more to send but had its turn.
    pub(crate) fn rotate(&mut self) {
        self.touched.rotate_left(usize::from(self.touched.len() > 1));
    }

    /// The first has nothing more to send.
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
    /// Its deadline came and is no longer listed.
    pub(crate) const fn fired(&mut self) {
        self.deadline = None;
    }
}

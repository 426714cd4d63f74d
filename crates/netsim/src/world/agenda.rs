//! What happens next? Few events, ordered by time and then by the order of noting them.

use anabranch_types::Instant;

/// What an entry is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Occasion {
    Link(u32),
    Host(u32),
    Source(u32),
    Change(u32),
}

/// An event at its place in the order of all events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Entry {
    pub(super) at: Instant,
    sequence: u64,
    pub(super) occasion: Occasion,
}

/// A row rather than a heap: there are about a dozen events, and what is noted is mostly among the next of them.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    /// The next one last.
    entries: Vec<Entry>,
    noted: u64,
}

/// Behind so many, the place of an event is searched for by halves.
const FEW: usize = 16;

/// The entry of the agenda that counts for a component whose deadline moves, and one that may count again.
///
/// A deadline that moves away leaves its entry in place: when that one comes up, the component is asked again. One
/// that moves nearer gets a new entry, and the old one is put aside, to count again once the near one has come up. So a
/// timer that is pushed back with every packet costs one entry per expiry, not one per packet, whatever else the
/// component waits for in between.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Alarm {
    counts: Option<Entry>,
    /// Not before the one that counts.
    aside: Option<Entry>,
}

impl Alarm {
    /// Sees to it that an entry at `deadline` or before counts.
    pub(super) fn set(&mut self, deadline: Option<Instant>, occasion: Occasion, agenda: &mut Agenda) {
        let Some(at) = deadline.filter(|at| *at < Instant::MAX) else {
            return;
        };
        if self.counts.is_some_and(|entry| entry.at <= at) {
            return;
        }
        if self.aside.is_some_and(|entry| entry.at <= at) {
            self.counts = self.aside.take();
            return;
        }
        // The nearer of the two comes up earlier, and is of use again earlier.
        self.aside = self.counts.take().or(self.aside);
        self.counts = Some(agenda.note(at, occasion));
    }

    /// Whether `entry` is the one that counts; if so, it counts no longer.
    pub(super) fn rings(&mut self, entry: Entry) -> bool {
        self.aside.take_if(|aside| *aside == entry);
        self.counts.take_if(|counts| *counts == entry).is_some()
    }
}

impl Agenda {
    pub(super) fn note(&mut self, at: Instant, occasion: Occasion) -> Entry {
        let entry = Entry {
            at,
            sequence: self.noted,
            occasion,
        };
        self.noted += 1;
        self.entries.insert(self.place_of(at), entry);
        entry
    }

    /// Before all that happen no later, for they were noted before.
    fn place_of(&self, at: Instant) -> usize {
        let is_later = |entry: &Entry| entry.at > at;
        let near = self.entries.len().saturating_sub(FEW);
        match self.entries[near..].iter().rposition(is_later) {
            Some(later) => near + later + 1,
            None => self.entries[..near].partition_point(is_later),
        }
    }

    pub(super) fn next_at(&self) -> Option<Instant> {
        self.entries.last().map(|entry| entry.at)
    }

    pub(super) fn pop(&mut self) -> Option<Entry> {
        self.entries.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::{Agenda, Alarm, Occasion};
    use anabranch_types::Instant;

    #[test]
    fn events_of_one_moment_come_in_the_order_of_noting() {
        let mut agenda = Agenda::default();
        let (soon, later) = (Instant::from_nanos(1), Instant::from_nanos(2));
        agenda.note(later, Occasion::Host(0));
        agenda.note(soon, Occasion::Link(9));
        agenda.note(soon, Occasion::Host(3));
        let order: Vec<Occasion> = core::iter::from_fn(|| agenda.pop())
            .map(|entry| entry.occasion)
            .collect();
        assert_eq!(order, [Occasion::Link(9), Occasion::Host(3), Occasion::Host(0)]);
    }

    #[test]
    fn so_do_many_events() {
        let mut agenda = Agenda::default();
        let times = (0..200u64).map(|number| number * 7_919 % 61);
        let mut expected: Vec<(u64, u32)> = times.zip(0..).collect();
        for (nanos, number) in &expected {
            agenda.note(Instant::from_nanos(*nanos), Occasion::Host(*number));
        }
        expected.sort_unstable();
        let order = core::iter::from_fn(|| agenda.pop()).map(|entry| match entry.occasion {
            Occasion::Host(number) => (entry.at.as_nanos(), number),
            _ => unreachable!("only hosts were noted"),
        });
        assert_eq!(order.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn only_the_earliest_entry_of_an_alarm_rings() {
        let mut agenda = Agenda::default();
        let mut alarm = Alarm::default();
        for nanos in [5, 9, 2] {
            alarm.set(Some(Instant::from_nanos(nanos)), Occasion::Host(0), &mut agenda);
        }
        let rings: Vec<bool> = core::iter::from_fn(|| agenda.pop())
            .map(|entry| alarm.rings(entry))
            .collect();
        assert_eq!(rings, [true, false]);
    }

    #[test]
    fn a_far_deadline_keeps_its_entry_while_near_ones_come_up() {
        let mut agenda = Agenda::default();
        let mut alarm = Alarm::default();
        let far = Instant::from_nanos(1_000);
        for nanos in 1..100 {
            alarm.set(Some(far), Occasion::Host(0), &mut agenda);
            alarm.set(Some(Instant::from_nanos(nanos)), Occasion::Host(0), &mut agenda);
            let near = agenda.pop().unwrap();
            assert!(near.at < far && alarm.rings(near));
        }
        alarm.set(Some(far), Occasion::Host(0), &mut agenda);
        assert_eq!(agenda.entries.len(), 1);
        let entry = agenda.pop().unwrap();
        assert!(alarm.rings(entry), "the far deadline comes up");
    }
}

//! Event queue of the simulator. Which event is next? Events are ordered by time, then by insertion.

use anabranch_types::Instant;

/// The component that an event concerns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum EventKind {
    Link(u32),
    Host(u32),
    Source(u32),
    Change(u32),
}

/// A scheduled event. The derived order is the order of execution.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Event {
    pub(super) at: Instant,
    sequence: u64,
    pub(super) kind: EventKind,
}

/// Pending events. A sorted vector rather than a heap: there are about a dozen events, and a new one is usually among
/// the next to run.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    /// In descending order: the next event is last.
    events: Vec<Event>,
    scheduled: u64,
}

/// How many of the next events are searched linearly; beyond them the search is binary.
const LINEAR_SEARCH: usize = 16;

/// Timer of a component whose deadline moves: the event that will fire, and a later one that can be reused.
///
/// A deadline that moves later keeps its event; when that fires, the component is asked for its deadline again. A
/// deadline that moves earlier gets a new event, and the old one is kept as a spare for after it. So a timer that
/// every packet restarts costs one event per expiry, not one per packet, even if the component has earlier deadlines
/// in between.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timer {
    armed: Option<Event>,
    /// Never earlier than `armed`.
    spare: Option<Event>,
}

impl Timer {
    /// Arms the timer for `deadline` or earlier.
    pub(super) fn set(&mut self, deadline: Option<Instant>, kind: EventKind, event_queue: &mut EventQueue) {
        let Some(at) = deadline.filter(|at| *at < Instant::MAX) else {
            return;
        };
        if self.armed.is_some_and(|event| event.at <= at) {
            return;
        }
        if self.spare.is_some_and(|event| event.at <= at) {
            self.armed = self.spare.take();
            return;
        }
        // Of the two, the earlier event can be reused sooner.
        self.spare = self.armed.take().or(self.spare);
        self.armed = Some(event_queue.push(at, kind));
    }

    /// Whether `event` is the armed one. If so, the timer is no longer armed.
    pub(super) fn fires(&mut self, event: Event) -> bool {
        let is_it = |timed: &mut Event| timed.sequence == event.sequence;
        self.spare.take_if(is_it);
        self.armed.take_if(is_it).is_some()
    }
}

impl EventQueue {
    pub(super) fn push(&mut self, at: Instant, kind: EventKind) -> Event {
        let event = Event {
            at,
            sequence: self.scheduled,
            kind,
        };
        self.scheduled += 1;
        self.events.insert(self.index_for(at), event);
        event
    }

    /// In front of the events at the same time or earlier: they were inserted before and run first.
    fn index_for(&self, at: Instant) -> usize {
        let is_later = |event: &Event| event.at > at;
        let recent = self.events.len().saturating_sub(LINEAR_SEARCH);
        match self.events[recent..].iter().rposition(is_later) {
            Some(later) => recent + later + 1,
            None => self.events[..recent].partition_point(is_later),
        }
    }

    pub(super) fn next_at(&self) -> Option<Instant> {
        self.events.last().map(|event| event.at)
    }

    pub(super) fn pop(&mut self) -> Option<Event> {
        self.events.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::{EventKind, EventQueue, Timer};
    use anabranch_types::Instant;

    #[test]
    fn events_at_the_same_time_run_in_insertion_order() {
        let mut event_queue = EventQueue::default();
        let (soon, later) = (Instant::from_nanos(1), Instant::from_nanos(2));
        event_queue.push(later, EventKind::Host(0));
        event_queue.push(soon, EventKind::Link(9));
        event_queue.push(soon, EventKind::Host(3));
        let order: Vec<EventKind> = core::iter::from_fn(|| event_queue.pop())
            .map(|event| event.kind)
            .collect();
        assert_eq!(
            order,
            [EventKind::Link(9), EventKind::Host(3), EventKind::Host(0)]
        );
    }

    #[test]
    fn many_events_run_in_order_of_time_and_insertion() {
        let mut event_queue = EventQueue::default();
        let times = (0..200u64).map(|number| number * 7_919 % 61);
        let mut expected: Vec<(u64, u32)> = times.zip(0..).collect();
        for (nanos, number) in &expected {
            event_queue.push(Instant::from_nanos(*nanos), EventKind::Host(*number));
        }
        expected.sort_unstable();
        let order = core::iter::from_fn(|| event_queue.pop()).map(|event| match event.kind {
            EventKind::Host(number) => (event.at.as_nanos(), number),
            _ => unreachable!("only host events were pushed"),
        });
        assert_eq!(order.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn only_the_earliest_event_of_a_timer_fires() {
        let mut event_queue = EventQueue::default();
        let mut timer = Timer::default();
        for nanos in [5, 9, 2] {
            timer.set(
                Some(Instant::from_nanos(nanos)),
                EventKind::Host(0),
                &mut event_queue,
            );
        }
        let fired: Vec<bool> = core::iter::from_fn(|| event_queue.pop())
            .map(|event| timer.fires(event))
            .collect();
        assert_eq!(fired, [true, false]);
    }

    #[test]
    fn timer_reuses_the_event_of_a_later_deadline() {
        let mut event_queue = EventQueue::default();
        let mut timer = Timer::default();
        let late = Instant::from_nanos(1_000);
        for nanos in 1..100 {
            timer.set(Some(late), EventKind::Host(0), &mut event_queue);
            timer.set(
                Some(Instant::from_nanos(nanos)),
                EventKind::Host(0),
                &mut event_queue,
            );
            let early = event_queue.pop().unwrap();
            assert!(early.at < late && timer.fires(early));
        }
        timer.set(Some(late), EventKind::Host(0), &mut event_queue);
        assert_eq!(event_queue.events.len(), 1);
        let event = event_queue.pop().unwrap();
        assert!(timer.fires(event), "the later deadline fires");
    }
}

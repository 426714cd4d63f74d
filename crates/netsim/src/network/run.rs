//! Event loop of the simulator. How does simulated time pass? From event to event.

use anabranch_types::Instant;

use super::event_queue::{Event, EventKind};
use super::transit::Transit;
use super::{Change, Network};
use crate::{Host, HostId, LinkId};

/// How many deadlines one host may have at the same time before it counts as stuck.
const MAX_DEADLINES_AT_ONCE: u32 = 100_000;

impl<H: Host> Network<H> {
    /// Advances to the next event and runs it; `false` if there is none.
    pub fn step(&mut self) -> bool {
        self.step_until(Instant::MAX)
    }

    /// Runs all events up to and including `end`, and sets the clock to it.
    pub fn run_until(&mut self, end: Instant) {
        while self.step_until(end) {}
        self.advance_clock(end);
    }

    /// Runs events while `condition` holds, which is evaluated before each event, but not beyond `end`. Returns whether
    /// the condition stopped the run; if not, the clock is set to `end`.
    pub fn run_while(&mut self, end: Instant, mut condition: impl FnMut(&Self) -> bool) -> bool {
        while condition(self) {
            if !self.step_until(end) {
                self.advance_clock(end);
                return !condition(self);
            }
        }
        self.advance_clock(self.now);
        true
    }

    /// Polls a host for datagrams and its deadline. Call it after a change by [`Network::host_mut`].
    pub fn touch(&mut self, id: HostId) {
        self.drain(id);
        let slot = &mut self.hosts[id.index()];
        let deadline = slot.host.deadline().map(|deadline| deadline.max(self.now));
        slot.timer
            .set(deadline, EventKind::Host(id.0), &mut self.event_queue);
    }

    pub(super) fn set_link_timer(&mut self, id: LinkId) {
        let slot = &mut self.links[id.index()];
        slot.timer
            .set(slot.link.deadline(), EventKind::Link(id.0), &mut self.event_queue);
    }

    pub(super) fn schedule_source(&mut self, index: u32, at: Instant) {
        if at < self.sources[index as usize].source.until {
            self.event_queue.push(at, EventKind::Source(index));
        }
    }

    /// Runs the next event that is not beyond `end`; `false` if there is none.
    fn step_until(&mut self, end: Instant) -> bool {
        while self.event_queue.next_at().is_some_and(|at| at <= end) {
            let Some(event) = self.event_queue.pop() else {
                return false;
            };
            self.now = event.at;
            if self.dispatch(event) {
                self.events += 1;
                return true;
            }
        }
        false
    }

    /// `false` if the event was a stale timer.
    fn dispatch(&mut self, event: Event) -> bool {
        match event.kind {
            EventKind::Link(number) => self.link_is_due(LinkId(number), event),
            EventKind::Host(number) => self.host_is_due(HostId(number), event),
            EventKind::Source(index) => {
                self.source_is_due(index);
                true
            }
            EventKind::Change(number) => {
                self.change_is_due(number);
                true
            }
        }
    }

    fn link_is_due(&mut self, id: LinkId, event: Event) -> bool {
        let slot = &mut self.links[id.index()];
        if !slot.timer.fires(event) {
            return false;
        }
        let arrived = slot.link.take_due(self.now);
        self.set_link_timer(id);
        let Some(transit) = arrived else {
            return false;
        };
        self.arrive(id, transit);
        true
    }

    fn host_is_due(&mut self, id: HostId, event: Event) -> bool {
        let slot = &mut self.hosts[id.index()];
        if !slot.timer.fires(event) {
            return false;
        }
        let deadline = slot.host.deadline();
        if deadline.is_none_or(|deadline| deadline > self.now) {
            slot.timer.set(deadline, event.kind, &mut self.event_queue);
            return false;
        }
        let repeats = if slot.deadlines_now.0 == self.now {
            slot.deadlines_now.1 + 1
        } else {
            0
        };
        assert!(
            repeats < MAX_DEADLINES_AT_ONCE,
            "{id:?} does not get past its deadline {deadline:?} at {}",
            self.now
        );
        slot.deadlines_now = (self.now, repeats);
        slot.host.on_deadline(self.now);
        self.touch(id);
        true
    }

    fn source_is_due(&mut self, index: u32) {
        let slot = &mut self.sources[index as usize];
        let next = self.now + slot.arrivals.next_gap();
        let (link, bytes) = (slot.source.link, slot.source.packet_bytes);
        self.schedule_source(index, next);
        self.offer(link, Transit::CrossTraffic, bytes);
    }

    fn change_is_due(&mut self, number: u32) {
        match self.changes.remove(&number) {
            Some(Change::Link(link, change)) => self.change_link(link, change),
            Some(Change::Rebind { inside, outside }) => self.rebind(inside, outside),
            Some(Change::Do(action)) => action(self),
            None => {}
        }
    }

    /// Sets the clock to `end`, before which there is no event, and brings the statistics of links up to date.
    fn advance_clock(&mut self, end: Instant) {
        self.now = self.now.max(end);
        for slot in &mut self.links {
            slot.link.settle(self.now);
        }
    }
}

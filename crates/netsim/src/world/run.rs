//! How does time pass? From event to event.

use anabranch_types::Instant;

use super::agenda::{Entry, Occasion};
use super::transit::Transit;
use super::{Change, World};
use crate::{Host, HostId, LinkId};

/// Deadlines that one host may have at one moment before it counts as stuck.
const PATIENCE: u32 = 100_000;

impl<H: Host> World<H> {
    /// Goes to the next event and lets it happen; `false` if nothing will ever happen.
    pub fn step(&mut self) -> bool {
        self.step_until(Instant::MAX)
    }

    /// Lets everything happen up to and including `end`, and sets the clock to it.
    pub fn run_until(&mut self, end: Instant) {
        while self.step_until(end) {}
        self.rest(end);
    }

    /// Lets everything happen while `goes_on` says so, which is asked before each event, but not beyond `end`.
    /// Returns whether `goes_on` ended it; if not, the clock is set to `end`.
    pub fn run_while(&mut self, end: Instant, mut goes_on: impl FnMut(&Self) -> bool) -> bool {
        while goes_on(self) {
            if !self.step_until(end) {
                self.rest(end);
                return !goes_on(self);
            }
        }
        self.rest(self.now);
        true
    }

    /// Takes what the host wants to send and notes its deadline. To be called after the user acted on it directly.
    pub fn touch(&mut self, id: HostId) {
        self.drain(id);
        let slot = &mut self.hosts[id.index()];
        let deadline = slot.host.deadline().map(|deadline| deadline.max(self.now));
        slot.alarm.set(deadline, Occasion::Host(id.0), &mut self.agenda);
    }

    pub(super) fn set_link_alarm(&mut self, id: LinkId) {
        let slot = &mut self.links[id.index()];
        slot.alarm
            .set(slot.link.deadline(), Occasion::Link(id.0), &mut self.agenda);
    }

    pub(super) fn note_source(&mut self, index: u32, at: Instant) {
        if at < self.sources[index as usize].source.until {
            self.agenda.note(at, Occasion::Source(index));
        }
    }

    /// The next event that is not beyond `end`, if there is one.
    fn step_until(&mut self, end: Instant) -> bool {
        while self.agenda.next_at().is_some_and(|at| at <= end) {
            let Some(entry) = self.agenda.pop() else {
                return false;
            };
            self.now = entry.at;
            if self.happens(entry) {
                self.events += 1;
                return true;
            }
        }
        false
    }

    /// `false` if the entry was only a reminder to ask again.
    fn happens(&mut self, entry: Entry) -> bool {
        match entry.occasion {
            Occasion::Link(number) => self.link_is_due(LinkId(number), entry),
            Occasion::Host(number) => self.host_is_due(HostId(number), entry),
            Occasion::Source(index) => {
                self.source_is_due(index);
                true
            }
            Occasion::Change(number) => {
                self.change_is_due(number);
                true
            }
        }
    }

    fn link_is_due(&mut self, id: LinkId, entry: Entry) -> bool {
        let slot = &mut self.links[id.index()];
        if !slot.alarm.rings(entry) {
            return false;
        }
        let arrived = slot.link.take_due(self.now);
        self.set_link_alarm(id);
        let Some(transit) = arrived else {
            return false;
        };
        self.arrive(id, transit);
        true
    }

    fn host_is_due(&mut self, id: HostId, entry: Entry) -> bool {
        let slot = &mut self.hosts[id.index()];
        if !slot.alarm.rings(entry) {
            return false;
        }
        let deadline = slot.host.deadline();
        if deadline.is_none_or(|deadline| deadline > self.now) {
            slot.alarm.set(deadline, entry.occasion, &mut self.agenda);
            return false;
        }
        let repeats = if slot.stuck.0 == self.now {
            slot.stuck.1 + 1
        } else {
            0
        };
        assert!(
            repeats < PATIENCE,
            "{id:?} does not get past its deadline {deadline:?} at {}",
            self.now
        );
        slot.stuck = (self.now, repeats);
        slot.host.on_deadline(self.now);
        self.touch(id);
        true
    }

    fn source_is_due(&mut self, index: u32) {
        let slot = &mut self.sources[index as usize];
        let next = self.now + slot.arrivals.next_gap();
        let (link, bytes) = (slot.source.link, slot.source.packet_bytes);
        self.note_source(index, next);
        self.offer(link, Transit::Filler, bytes);
    }

    fn change_is_due(&mut self, number: u32) {
        match self.changes.remove(&number) {
            Some(Change::Link(link, change)) => self.change_link(link, change),
            Some(Change::Rebind { inside, outside }) => self.rebind(inside, outside),
            Some(Change::Do(action)) => action(self),
            None => {}
        }
    }

    /// Nothing happens until `end`; links are brought up to date, so that their statistics are.
    fn rest(&mut self, end: Instant) {
        self.now = self.now.max(end);
        for slot in &mut self.links {
            slot.link.settle(self.now);
        }
    }
}

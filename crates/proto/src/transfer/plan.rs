//! Data plan. Which data leaves next, and on which path?
//!
//! A plan is a decision: no packet, chunk or timer changes before [`Transfer::write_data`] carries it out, for a plan may have to
//! stand back behind what is urgent on another path, and is then made again. Two things only are touched on the way: the policies,
//! which keep their own counts of what they were asked, and `sendable` in the facts, which tells them how much each path takes.
//! What follows from a decision to wait is in [`Decision`], and noted in one place.

use anabranch_policy::{Backlog, PathFacts, Pick, last_resort, path_facts};
use anabranch_types::{Instant, PathId, UnwrappedTsn};

use super::Transfer;
use super::sendable::Purpose;
use crate::path::PathIds;

/// With which data a packet begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DataPlan {
    /// This lost chunk, then what else fits.
    Retransmit {
        tsn: UnwrappedTsn,
        /// The window is full, and lost chunks fill this one packet all the same (RFC 9260 §7.2.4 step 3).
        credit: bool,
    },
    /// New chunks, the first of them behind so many bytes of others.
    New {
        /// 0 to begin with what is next.
        skip: u64,
    },
    /// A probe for a lost tail: new chunks, or the highest one in flight on the path once more.
    TailProbe { new: bool },
    /// Chunks that block the buffers, so that nothing new can be sent.
    Reschedule,
    /// Duplicates of what is in flight on other paths.
    Duplicates,
}

/// What is to be done now.
enum Decision {
    Send(PathId, DataPlan),
    /// Nothing before something happens.
    Nothing,
    /// The path scheduler would rather wait, and be asked again then.
    Wait {
        until: Option<Instant>,
    },
    /// The peer's window is shut: a probe has to be scheduled, unless one is.
    WindowIsShut,
}

impl Decision {
    fn of(planned: Option<(PathId, DataPlan)>) -> Self {
        planned.map_or(Self::Nothing, |(path, data)| Self::Send(path, data))
    }
}

impl Transfer {
    /// The next data to leave, and its path.
    pub(crate) fn plan_data(&mut self, now: Instant) -> Option<(PathId, DataPlan)> {
        if let Some(path) = self.paths.tail_probe_due() {
            if let Some(probe) = self.tail_probe(path) {
                return Some((path, probe));
            }
            // There is nothing any more that it could probe.
            self.paths.path_mut(path).tail_probe.leave();
        }
        match self.decide(now) {
            Decision::Send(path, data) => return Some((path, data)),
            Decision::Nothing => {}
            Decision::Wait { until } => self.scheduler_wakes = until.filter(|until| *until > now),
            Decision::WindowIsShut => {
                let rto = self.paths.fact(self.paths.best()).rto;
                self.window_probe.schedule(now + rto);
            }
        }
        None
    }

    //= rfc9260 6.1-14
    /// Lost chunks come first, for the buffers of both ends wait for them (RFC 9260 §6.1 C); duplicates of what is in flight
    /// before new data, or there would never be time for them.
    fn decide(&mut self, now: Instant) -> Decision {
        let is_lost = self.sender.next_lost().is_some();
        if !is_lost && let Some(path) = self.wants_duplicates(now) {
            return Decision::Send(path, DataPlan::Duplicates);
        }
        if !is_lost && !self.sender.may_send_new() {
            if self.sender.has_unsent() {
                self.policies.path_scheduler.on_blocked();
            }
            let path = self.wants_reschedule(now);
            return Decision::of(path.map(|path| (path, DataPlan::Reschedule)));
        }
        let scheduler = &mut *self.policies.stream_scheduler;
        scheduler.observe(self.paths.facts(), now);
        if self.paths.usable_count() == 0 {
            return self.dormant();
        }
        if is_lost {
            self.refresh_sendable(Purpose::Again, now);
            if let Some((path, data)) = self.retransmission() {
                return Decision::Send(path, data);
            }
        }
        self.refresh_sendable(Purpose::New, now);
        self.new_data(now)
    }

    /// A probe for a lost tail on `path` may exceed the window by a packet (RFC 8985 §7.3): new data if the peer's window lets
    /// some go, else what was sent last. `None` if the path is out of use or its tail is not in flight any more.
    fn tail_probe(&mut self, path: PathId) -> Option<DataPlan> {
        let facts = self.paths.fact_mut(path);
        if !facts.is_usable() || facts.in_flight == 0 {
            return None;
        }
        facts.sendable = u64::from(facts.max_data_chunk);
        let sender = &self.sender;
        let new = sender.next_lost().is_none() && sender.may_send_new() && self.has_new_for(path);
        Some(DataPlan::TailProbe { new })
    }

    /// No path is known to work: the best of them is tried with what its window allows (RFC 9260 §8.2, RFC 7829
    /// §5.1: when all are suspected, the one with the fewest errors).
    fn dormant(&mut self) -> Decision {
        let Some(path) = last_resort(self.paths.facts()) else {
            return Decision::Nothing;
        };
        let (facts, machinery) = self.paths.both_mut(path);
        // One packet at a time after a timeout, as on paths in use (RFC 9260 §7.2.1).
        if facts.in_flight >= facts.cwnd || machinery.waits_for_answer() {
            return Decision::Nothing;
        }
        facts.sendable = u64::from(facts.max_data_chunk);
        match self.sender.next_lost() {
            Some(chunk) => {
                let again = DataPlan::Retransmit {
                    tsn: chunk.tsn,
                    credit: false,
                };
                Decision::Send(path, again)
            }
            None if self.window_permits() => Decision::Send(path, DataPlan::New { skip: 0 }),
            None => Decision::WindowIsShut,
        }
    }

    /// The first lost chunk for which the policy has a path. Of the chunks that were lost on one path, where one may not go now,
    /// none may; those of others need not wait for it.
    fn retransmission(&mut self) -> Option<(PathId, DataPlan)> {
        let mut candidate = self.sender.next_lost();
        while let Some(chunk) = candidate {
            let granted = self.grant_credit();
            let facts = self.paths.facts();
            let path = self.policies.retransmission.path_for(&chunk, facts);
            let checked = path.filter(|path| path_facts(facts, *path).is_some_and(PathFacts::can_take_data));
            self.withdraw_credit(granted.clone());
            if let Some(path) = checked {
                let path = where_it_fits(self.paths.facts(), path, chunk.bytes);
                let again = DataPlan::Retransmit {
                    tsn: chunk.tsn,
                    credit: granted.contains(path),
                };
                return Some((path, again));
            }
            candidate = self.sender.first_lost_of_another(chunk.tsn);
        }
        None
    }

    /// The first packet of a fast retransmission leaves even if the window is full (RFC 9260 §7.2.4 step 3): the loss that filled
    /// it is repaired by nothing else. The credit is for retransmissions only, so it is withdrawn after the question; the answer is
    /// who got one.
    fn grant_credit(&mut self) -> PathIds {
        let mut granted = PathIds::default();
        for id in self.paths.ids() {
            let (facts, machinery) = self.paths.both_mut(id);
            if machinery.retransmission_credit && facts.sendable == 0 {
                facts.sendable = u64::from(facts.max_data_chunk);
                granted.insert(id);
            }
        }
        granted
    }

    fn withdraw_credit(&mut self, granted: PathIds) {
        for id in granted {
            self.paths.fact_mut(id).sendable = 0;
        }
    }

    fn new_data(&mut self, now: Instant) -> Decision {
        if !self.sender.may_send_new() {
            return Decision::Nothing;
        }
        if !self.window_permits() {
            return Decision::WindowIsShut;
        }
        let backlog = Backlog {
            unsent_bytes: self.sender.unsent_bytes(),
            peer_window: self.sender.peer_window(),
            send_window: self.send_window(),
            bound: self.sender.bound(),
        };
        let facts = self.paths.facts();
        let (path, skip) = match self.policies.path_scheduler.pick(facts, &backlog, now) {
            Pick::On(path) => (path, 0),
            Pick::Ahead { path, skip } => (path, skip),
            // Which path a stream takes is not the path scheduler's to say then.
            Pick::Wait { .. } if self.policies.stream_scheduler.binds_streams() => {
                match facts.iter().find(|path| path.can_take_data()) {
                    Some(open) => (open.id, 0),
                    None => return Decision::Nothing,
                }
            }
            Pick::Wait { until } => return Decision::Wait { until },
        };
        // A scheduler that names a dead or full path is wrong; nothing is sent for it.
        if path_facts(facts, path).is_some_and(PathFacts::can_take_data) {
            Decision::Send(path, DataPlan::New { skip })
        } else {
            Decision::Nothing
        }
    }

    /// How much may be on its way or held by the peer out of order, at most.
    fn send_window(&self) -> u64 {
        let peer = self
            .sender
            .peer_window()
            .saturating_add(self.sender.total_queued());
        peer.min(self.sender.capacity())
    }

    /// The length of the lost or passed-over chunk that is next, if it was cut when the packets of `path` were larger.
    pub(crate) fn oversize(&self, path: PathId, data: DataPlan) -> Option<usize> {
        let limit = usize::from(self.paths.fact(path).max_data_chunk);
        let size = match data {
            DataPlan::Retransmit { tsn, .. } => self.sender.lost_chunk(tsn).map(|lost| lost.bytes as usize),
            DataPlan::New { skip: 0 } | DataPlan::TailProbe { new: true } => self.sender.passed_over_size(),
            DataPlan::New { .. }
            | DataPlan::TailProbe { new: false }
            | DataPlan::Reschedule
            | DataPlan::Duplicates => None,
        };
        size.filter(|size| *size > limit)
    }
}

/// `wanted`, or another path that takes a chunk of `bytes` whole where `wanted` does not. If there is none, IP has to
/// fragment, which not every network does reliably.
fn where_it_fits(facts: &[PathFacts], wanted: PathId, bytes: u64) -> PathId {
    let fits = |path: &PathFacts| u64::from(path.max_data_chunk) >= bytes;
    if path_facts(facts, wanted).is_some_and(fits) {
        return wanted;
    }
    let others = facts.iter().filter(|path| path.can_take_data() && fits(path));
    others
        .min_by_key(|path| (path.srtt, path.id))
        .map_or(wanted, |path| path.id)
}

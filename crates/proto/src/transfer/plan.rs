//! Data plan. Which data is sent next, and on which path?
//!
//! A plan is only a decision: no packet, chunk or timer changes before [`Transfer::write_data`] carries it out. A plan may have to
//! give way to control chunks that are urgent on another path, and is then made again. Planning touches two things only: policies,
//! which keep their own state, and `sendable` in the facts, which tells policies how much each path can take. A decision to wait is
//! a [`Decision`], and one function acts on it.

use anabranch_policy::{Backlog, PathFacts, Pick, last_resort, path_facts};
use anabranch_types::{Instant, PathId, UnwrappedTsn};

use super::Transfer;
use super::sendable::Purpose;
use crate::path::PathIds;

/// Batches of new data in a congestion window, so that one takes at most an eighth of a round trip.
const BATCHES_PER_WINDOW: u64 = 8;

/// The first data of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DataPlan {
    /// A lost chunk, then other chunks that fit.
    Retransmit {
        tsn: UnwrappedTsn,
        /// The congestion window is full, and a fast retransmit may fill this one packet nevertheless (RFC 9260 §7.2.4 step 3).
        credit: bool,
    },
    /// New chunks.
    New {
        /// Queued bytes to skip before the first chunk; 0 starts with the next chunk of the queue.
        skip: u64,
    },
    /// New chunks of redundant streams, although others are lost.
    Urgent,
    /// A tail loss probe: new chunks, or the highest chunk in flight on the path once more (RFC 8985 §7.3).
    TailProbe { new: bool },
    /// Chunks in flight on another path that block the buffers, so that no new data can be sent.
    Reschedule,
    /// Duplicates of chunks that are in flight on other paths.
    Duplicates,
}

/// Packets of new data that leave in one system call, and that the next packet may continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Batch {
    pub(crate) path: PathId,
    /// Length with the next packet.
    pub(crate) bytes: u64,
}

/// The decision about the next data.
enum Decision {
    Send(PathId, DataPlan),
    /// Nothing can be sent before the next event.
    Nothing,
    /// The path scheduler waits for a better path, or the chunk that blocks the buffers is not overdue yet: decided again at `until` at
    /// the latest.
    Wait {
        until: Option<Instant>,
    },
    /// The peer's window is closed: a zero window probe is scheduled unless there is one (RFC 9260 §6.1 A).
    WindowIsShut,
}

impl Transfer {
    /// Plans the next data and its path; `None` if nothing can be sent now. Notes when a decision to wait ends. New data continues `batch`
    /// if it can.
    pub(crate) fn plan_data(&mut self, batch: Option<Batch>, now: Instant) -> Option<(PathId, DataPlan)> {
        // A probe that is due comes first: a lost tail is not detected otherwise before T3 expires (RFC 8985 §7).
        if let Some(path) = self.paths.tail_probe_due() {
            if let Some(probe) = self.tail_probe(path) {
                return Some((path, probe));
            }
            // The tail has been acknowledged or lost meanwhile, or the path is unusable.
            self.paths.path_mut(path).sending.make_mut().tail_probe.leave();
        }
        if let Some(low_latency) = self.low_latency.take() {
            self.apply_low_latency(low_latency, now);
        }
        let decision = self.decide(batch, now);
        if self.policies.measures_rates && !matches!(decision, Decision::Send(..)) {
            self.tell_limits(now);
        }
        match decision {
            Decision::Send(path, data) => return Some((path, data)),
            Decision::Nothing => {}
            Decision::Wait { until } => self.scheduler_wakes = until.filter(|until| *until > now),
            // RFC 9260 §6.1 A: the first zero window probe is sent one RTO after the receiver has closed its window.
            Decision::WindowIsShut => {
                let rto = self.paths.fact(self.paths.best()).rto();
                self.window_probe.schedule(now + rto);
            }
        }
        None
    }

    //= rfc9260 6.1-14
    /// Decides by priority: retransmissions, then duplicates, then new data. Lost chunks come first because both ends' buffers wait
    /// for them (RFC 9260 §6.1 C). Duplicates come before new data, which would leave no window for them. With redundant streams, their
    /// duplicates come before lost chunks, and of their new data one packet before each packet with lost chunks (ADR 0198).
    fn decide(&mut self, batch: Option<Batch>, now: Instant) -> Decision {
        if self.sender.is_drained() {
            return Decision::Nothing;
        }
        let is_lost = self.sender.next_lost().is_some();
        if let Some(path) = self.wants_duplicates(now) {
            return Decision::Send(path, DataPlan::Duplicates);
        }
        // No new data may be sent although data is queued: buffers or the peer's window are full. Chunk rescheduling can help then,
        // and schedulers such as BLEST learn from it.
        let may_send_new = self.sender.may_send_new();
        if !is_lost && !may_send_new {
            if self.sender.has_unsent() {
                self.policies.path_scheduler.on_blocked();
            }
            return match self.wants_reschedule(now) {
                Some(path) => Decision::Send(path, DataPlan::Reschedule),
                None => Decision::Wait {
                    until: self.overdue_at(),
                },
            };
        }
        let scheduler = &mut *self.policies.stream_scheduler;
        scheduler.observe(self.paths.facts(), now);
        if !self.paths.any_usable() {
            return self.dormant();
        }
        if is_lost {
            if may_send_new && let Some(path) = self.urgent(now) {
                return Decision::Send(path, DataPlan::Urgent);
            }
            self.refresh_sendable(Purpose::Again, now);
            if let Some((path, data)) = self.retransmission() {
                return Decision::Send(path, data);
            }
        }
        if may_send_new
            && !is_lost
            && let Some(batch) = batch
            && self.continues(batch, now)
        {
            return Decision::Send(batch.path, DataPlan::New { skip: 0 });
        }
        self.refresh_sendable(Purpose::New, now);
        if !may_send_new {
            return Decision::Nothing;
        }
        self.new_data(now)
    }

    /// The path of new data of a redundant stream, if that is next.
    fn urgent(&mut self, now: Instant) -> Option<PathId> {
        if !self.sender.may_be_urgent() {
            return None;
        }
        self.refresh_sendable(Purpose::New, now);
        let mut is_possible = false;
        for id in self.paths.ids() {
            if self.has_urgent_for(id) {
                is_possible |= self.paths.fact(id).can_take_data();
            } else {
                self.paths.fact_mut(id).sendable = 0;
            }
        }
        match is_possible.then(|| self.new_data(now)) {
            Some(Decision::Send(path, DataPlan::New { skip: 0 })) => Some(path),
            _ => None,
        }
    }

    /// Plans a tail loss probe on `path`, which may exceed the congestion window by one packet (RFC 8985 §7.3): new data if the peer's
    /// window allows it, otherwise the chunk sent last. `None` if the path is unusable or its tail is no longer in flight.
    #[cold]
    fn tail_probe(&mut self, path: PathId) -> Option<DataPlan> {
        let facts = self.paths.fact_mut(path);
        if !facts.is_usable() || facts.in_flight == 0 {
            return None;
        }
        facts.sendable = u64::from(facts.max_data_chunk);
        let sender = &self.sender;
        let new = sender.next_lost().is_none() && sender.may_send_new() && self.has_new_for(path);
        if !new && sender.gives_up_tail(path) {
            return None;
        }
        Some(DataPlan::TailProbe { new })
    }

    //= rfc7829 3.2-10, 4-1
    /// Plans data while no path is known to work. RFC 9260 §8.2 leaves this to the implementation; RFC 7829 §5.1 takes the path with
    /// the fewest errors when all are potentially failed. That path is tried within its congestion window.
    #[cold]
    fn dormant(&mut self) -> Decision {
        let Some(path) = last_resort(self.paths.facts()) else {
            return Decision::Nothing;
        };
        let (facts, machinery) = self.paths.both_mut(path);
        // After a timeout only one packet may be in flight, as on usable paths (RFC 9260 §7.2.1, §7.2.3).
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

    /// The first lost chunk for which the retransmission policy returns a path that can take data. If the policy has no path for a
    /// chunk, it has none for other chunks lost on the same path, so these are skipped; chunks lost on other paths need not wait.
    #[inline(never)]
    fn retransmission(&mut self) -> Option<(PathId, DataPlan)> {
        let mut candidate = self.sender.next_lost();
        while let Some(chunk) = candidate {
            let granted = self.grant_credit();
            let facts = self.paths.facts();
            let own = self.policies.stream_scheduler.path_of(chunk.stream);
            let path = own.or_else(|| self.policies.retransmission.path_for(&chunk, facts));
            let checked = path.filter(|path| path_facts(facts, *path).is_some_and(PathFacts::can_take_data));
            self.withdraw_credit(granted.clone());
            let place = if self.splits_chunks {
                checked
            } else {
                checked.and_then(|path| where_it_fits(self.paths.facts(), path, chunk.bytes))
            };
            if let Some(path) = place {
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

    /// Lets a full path take one packet of a fast retransmit, for which RFC 9260 §7.2.4 step 3 ignores cwnd: otherwise the loss could
    /// not be repaired before the window opens. New data must not use the credit, so the caller withdraws it after asking the policy.
    /// Returns the paths that got a credit.
    fn grant_credit(&mut self) -> PathIds {
        let mut granted = PathIds::default();
        for id in self.paths.ids() {
            let (facts, machinery) = self.paths.both_mut(id);
            if machinery.sending.retransmission_credit && facts.sendable == 0 {
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

    /// Whether new data continues `batch` and the path scheduler is not asked: the path can take the packet, and the batch is small
    /// enough that it makes no difference which path has it (ADR 0196).
    fn continues(&mut self, batch: Batch, now: Instant) -> bool {
        if batch.bytes > self.paths.fact(batch.path).cwnd / BATCHES_PER_WINDOW {
            return false;
        }
        self.refresh_sendable_of(batch.path, now);
        let oversize = self.oversize(batch.path, DataPlan::New { skip: 0 });
        oversize.is_none() && self.paths.fact(batch.path).can_take_data() && self.window_permits()
    }

    /// Asks the path scheduler for the path of new data, within the peer's window (RFC 9260 §6.1 A).
    fn new_data(&mut self, now: Instant) -> Decision {
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
            // The stream scheduler maps streams to paths here, so the path scheduler cannot hold back their data (ADR 0032).
            Pick::Wait { .. } if self.policies.stream_scheduler.binds_streams() => {
                match facts.iter().find(|path| path.can_take_data()) {
                    Some(open) => (open.id, 0),
                    None => return Decision::Nothing,
                }
            }
            Pick::Wait { until } => return Decision::Wait { until },
        };
        // Decisions of policies are checked: a scheduler that selects an unusable or full path sends nothing.
        if path_facts(facts, path).is_some_and(PathFacts::can_take_data) {
            Decision::Send(path, DataPlan::New { skip })
        } else {
            Decision::Nothing
        }
    }

    /// The most bytes that may be outstanding: the peer's window and what it counts already, but at most the send buffer.
    fn send_window(&self) -> u64 {
        let peer = self
            .sender
            .peer_window()
            .saturating_add(self.sender.total_queued());
        peer.min(self.sender.capacity())
    }

    /// The length of the next lost or skipped chunk if it is too large for `path`: chunks keep their size when the path MTU falls,
    /// since a TSN cannot be split (RFC 9260 §6.9).
    pub(crate) fn oversize(&self, path: PathId, data: DataPlan) -> Option<usize> {
        let limit = usize::from(self.paths.fact(path).max_data_chunk);
        let size = match data {
            DataPlan::Retransmit { tsn, .. } => self.sender.lost_chunk(tsn).map(|lost| lost.bytes as usize),
            DataPlan::New { skip: 0 } | DataPlan::TailProbe { new: true } => self.sender.passed_over_size(),
            DataPlan::New { .. }
            | DataPlan::TailProbe { new: false }
            | DataPlan::Reschedule
            | DataPlan::Urgent
            | DataPlan::Duplicates => None,
        };
        size.filter(|size| *size > limit)
    }
}

/// Returns `wanted`, or the fastest other path that fits a chunk of `bytes` if `wanted` does not; `None` if the paths that fit it
/// cannot take it now. If no usable path fits, IP has to fragment the packet, which some networks do not deliver (RFC 9260 §6.9).
fn where_it_fits(facts: &[PathFacts], wanted: PathId, bytes: u64) -> Option<PathId> {
    let fits = |path: &PathFacts| u64::from(path.max_data_chunk) >= bytes;
    if path_facts(facts, wanted).is_some_and(fits) {
        return Some(wanted);
    }
    let others = || facts.iter().filter(|path| path.is_usable() && fits(path));
    if others().next().is_none() {
        return Some(wanted);
    }
    let free = others().filter(|path| path.can_take_data());
    free.min_by_key(|path| (path.srtt(), path.id)).map(|path| path.id)
}

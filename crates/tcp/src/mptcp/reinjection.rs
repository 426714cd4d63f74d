//! Reinjection of data on another subflow: data that timed out, data that blocks the buffers, and duplicates.

use alloc::vec::Vec;

use anabranch_policy::{
    BufferFacts, ChunkInFlight, LossCause, LossEvent, Reschedule, RescheduleExtent, ReschedulePenalty,
    Rescheduled, StuckChunk,
};
use anabranch_types::{Instant, UnwrappedTsn};
use bytes::Bytes;

use super::MptcpConnection;
use super::input::CallContext;
use super::output::SubflowSegment;
use crate::sequence::Position;
use crate::tcb::Payload;

impl MptcpConnection {
    /// Reinjects data that a subflow has lost or held for too long: on the fastest subflow that has not carried it, if there is
    /// one.
    pub(super) fn next_reinjection(&mut self, call: &CallContext<'_>) -> Option<SubflowSegment> {
        let (start, chunk) = self.sender.next_reinjected()?;
        let (last, carriers) = (chunk.path, chunk.carriers);
        let length = chunk.bytes.len() as u64;
        let may = |at: usize| {
            let is_last = at == last.index() && !self.subflows[at].is_closed();
            self.subflows[at].can_carry_data() && !is_last
        };
        let fresh = (0..self.subflows.len()).any(|at| may(at) && !carriers.contains(Self::path(at)));
        let at = (0..self.subflows.len())
            .filter(|at| may(*at) && self.fits(*at, length))
            .filter(|at| !(fresh && carriers.contains(Self::path(*at))))
            .min_by_key(|at| (self.facts[*at].errors, self.facts[*at].srtt(), *at))?;
        Some(self.send_again(at, start, call))
    }

    /// Whether the window of a subflow has room for this many bytes, or for the part that fits into a segment.
    fn fits(&self, at: usize, length: u64) -> bool {
        let (facts, most) = (&self.facts[at], self.most_on(at));
        most > 0 && (facts.in_flight == 0 || facts.in_flight + length.min(most) <= facts.cwnd)
    }

    /// The maximum payload of one segment of a subflow now, regardless of its congestion window.
    fn most_on(&self, at: usize) -> u64 {
        let tcb = &self.subflows[at].tcb;
        tcb.effective_mss().min(tcb.span_left())
    }

    fn send_again(&mut self, at: usize, start: Position, call: &CallContext<'_>) -> SubflowSegment {
        let most = self.most_on(at);
        let bytes = self.sender.repeat(start, most, Self::path(at), call.now);
        let subflow = &mut self.subflows[at];
        subflow.reinjections += 1;
        subflow.reinjected_bytes += bytes.len() as u64;
        self.carry(at, start, bytes, call)
    }

    fn carry(&mut self, at: usize, start: Position, bytes: Bytes, call: &CallContext<'_>) -> SubflowSegment {
        let payload = Payload {
            bytes,
            fin: false,
            data: Some(start),
        };
        let (subflow, mut context) = self.split(at, call.now, call.config);
        (at, subflow.tcb.send_new(payload, false, &mut context))
    }

    /// The chunk-rescheduling policy finds the buffers blocked: their oldest data is reinjected on another subflow too.
    pub(super) fn next_rescheduled(&mut self, call: &mut CallContext<'_>) -> Option<SubflowSegment> {
        if self.policies.rescheduling.is_never() {
            return None;
        }
        let (start, chunk) = self.sender.oldest()?;
        let rescheduled = if chunk.carriers.count() > 1 {
            Rescheduled::Moved
        } else {
            Rescheduled::Never
        };
        let stuck = StuckChunk {
            tsn: UnwrappedTsn(start),
            bytes: chunk.bytes.len() as u64,
            path: chunk.path,
            sent_at: chunk.sent_at,
            rescheduled,
        };
        self.measure_held();
        let buffer = self.buffer_facts(call);
        let may = |at: &usize| {
            Self::path(*at) != stuck.path
                && self.subflows[*at].can_carry_data()
                && self.fits(*at, stuck.bytes)
        };
        let candidates: Vec<usize> = (0..self.subflows.len()).filter(may).collect();
        let Self { policies, facts, .. } = self;
        let (at, reschedule) = candidates.into_iter().find_map(|at| {
            let reschedule = policies
                .rescheduling
                .reschedule(&facts[at], &stuck, &buffer, facts, call.now);
            Some((at, reschedule?))
        })?;
        if reschedule.extent == RescheduleExtent::BelowFirstGap {
            self.reinject_from(stuck.path.index());
        }
        let leaving = self.send_again(at, start, call);
        self.penalize(&stuck, reschedule, call.now);
        Some(leaving)
    }

    /// A subflow's share of the shared buffer is its data not acknowledged at data level.
    fn measure_held(&mut self) {
        for at in 0..self.subflows.len() {
            self.facts[at].queued = self.sender.held_by(Self::path(at));
        }
    }

    fn buffer_facts(&self, call: &CallContext<'_>) -> BufferFacts {
        let outgoing = &call.buffers.outgoing;
        BufferFacts {
            send_capacity: outgoing.capacity(),
            send_used: outgoing.used(),
            peer_window: self.sender.edge().saturating_sub(outgoing.first_unsent()),
            in_flight: self.facts.iter().map(|facts| facts.in_flight).sum(),
            queued: self.facts.iter().map(|facts| facts.queued).sum(),
            usable_paths: self
                .subflows
                .iter()
                .filter(|subflow| subflow.can_carry_data())
                .count() as u32,
            send_split: false,
            receive_split: false,
        }
    }

    fn penalize(&mut self, stuck: &StuckChunk, reschedule: Reschedule, now: Instant) {
        let at = stuck.path.index();
        match reschedule.penalty {
            ReschedulePenalty::Nothing => {}
            ReschedulePenalty::Blocked(time) => {
                self.subflows[at].paused_until.get_or_insert(now + time);
            }
            ReschedulePenalty::WindowCut => {
                let loss = LossEvent {
                    path: stuck.path,
                    cause: LossCause::Reschedule,
                    bytes: stuck.bytes,
                };
                self.policies.congestion.on_loss(&loss, &self.facts, now);
                let facts = &mut self.facts[at];
                facts.cwnd = self.policies.congestion.cwnd(stuck.path);
                facts.ssthresh = self.policies.congestion.ssthresh(stuck.path);
            }
        }
    }

    /// Data in flight on another subflow, chosen by the path scheduler. A duplicate has ordinary sequence numbers on its subflow,
    /// so its fate is known there, unlike that of a duplicate in SCTP.
    pub(super) fn next_duplicate(&mut self, call: &CallContext<'_>) -> Option<SubflowSegment> {
        if !self.policies.path_scheduler.sends_duplicates() {
            return None;
        }
        (0..self.subflows.len()).find_map(|at| {
            let path = Self::path(at);
            let subflow = &self.subflows[at];
            if !subflow.can_carry_data() {
                return None;
            }
            let (start, chunk) = self.sender.not_on(path, subflow.duplicated_before)?;
            let length = chunk.bytes.len() as u64;
            let asked = ChunkInFlight {
                tsn: UnwrappedTsn(start),
                bytes: length,
                path: chunk.path,
                sent_at: chunk.sent_at,
                redundant: false,
            };
            let fits = length <= self.most_on(at) && self.fits(at, length);
            let wanted = fits
                && self
                    .policies
                    .path_scheduler
                    .wants_duplicate(&asked, &self.facts[at], call.now);
            if !wanted {
                return None;
            }
            let bytes = self.sender.duplicate(start, path);
            let subflow = &mut self.subflows[at];
            subflow.duplicated_before = start + length;
            subflow.duplicates += 1;
            subflow.duplicated_bytes += length;
            Some(self.carry(at, start, bytes, call))
        })
    }
}

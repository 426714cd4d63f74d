//! What goes over another flow? Data that a flow has carried in vain, data that blocks the buffers, and duplicates.

use alloc::vec::Vec;

use anabranch_policy::{
    BufferFacts, ChunkInFlight, LossCause, LossEvent, Reschedule, RescheduleExtent, ReschedulePenalty,
    StuckChunk,
};
use anabranch_types::{Instant, UnwrappedTsn};
use bytes::Bytes;

use super::Bundle;
use super::input::Scene;
use super::output::Leaving;
use crate::flow::Load;
use crate::sequence::Position;

impl Bundle {
    /// Data that a flow has carried in vain, or for too long: on the fastest flow that has not carried it, if there is one.
    pub(super) fn next_moved(&mut self, scene: &Scene<'_>) -> Option<Leaving> {
        let (start, chunk) = self.sending.next_moving()?;
        let (last, carriers) = (chunk.path, chunk.carriers);
        let length = chunk.bytes.len() as u64;
        let may = |at: usize| {
            let is_last = at == last.index() && !self.lanes[at].is_closed();
            self.lanes[at].carries() && !is_last
        };
        let fresh = (0..self.lanes.len()).any(|at| may(at) && !carriers.contains(Self::path(at)));
        let at = (0..self.lanes.len())
            .filter(|at| may(*at) && self.fits(*at, length))
            .filter(|at| !(fresh && carriers.contains(Self::path(*at))))
            .min_by_key(|at| (self.facts[*at].errors, self.facts[*at].srtt, *at))?;
        Some(self.send_again(at, start, scene))
    }

    /// Whether the window of a flow has room for so much, or for as much of it as a segment takes.
    fn fits(&self, at: usize, length: u64) -> bool {
        let (facts, most) = (&self.facts[at], self.most_on(at));
        most > 0 && (facts.in_flight == 0 || facts.in_flight + length.min(most) <= facts.cwnd)
    }

    /// The most that one segment of a flow can carry now, whatever its window.
    fn most_on(&self, at: usize) -> u64 {
        let flow = &self.lanes[at].flow;
        flow.segment_size().min(flow.span_left())
    }

    fn send_again(&mut self, at: usize, start: Position, scene: &Scene<'_>) -> Leaving {
        let most = self.most_on(at);
        let bytes = self.sending.repeat(start, most, Self::path(at), scene.now);
        let lane = &mut self.lanes[at];
        lane.reinjections += 1;
        lane.reinjected_bytes += bytes.len() as u64;
        self.carry(at, start, bytes, scene)
    }

    fn carry(&mut self, at: usize, start: Position, bytes: Bytes, scene: &Scene<'_>) -> Leaving {
        let load = Load {
            bytes,
            fin: false,
            data: Some(start),
        };
        let (lane, mut context) = self.split(at, scene.now, scene.config);
        (at, lane.flow.send_new(load, false, &mut context))
    }

    /// The buffers are blocked, as the chunk-rescheduling policy finds: their oldest data goes over another flow too.
    pub(super) fn next_rescheduled(&mut self, scene: &mut Scene<'_>) -> Option<Leaving> {
        if self.policies.rescheduling.is_never() {
            return None;
        }
        let (start, chunk) = self.sending.oldest()?;
        let stuck = StuckChunk {
            tsn: UnwrappedTsn(start),
            bytes: chunk.bytes.len() as u64,
            path: chunk.path,
            sent_at: chunk.sent_at,
            moved: chunk.carriers.count() > 1,
        };
        self.measure_held();
        let buffer = self.buffer_facts(scene);
        let may = |at: &usize| {
            Self::path(*at) != stuck.path && self.lanes[*at].carries() && self.fits(*at, stuck.bytes)
        };
        let candidates: Vec<usize> = (0..self.lanes.len()).filter(may).collect();
        let Self { policies, facts, .. } = self;
        let (at, reschedule) = candidates.into_iter().find_map(|at| {
            let reschedule = policies
                .rescheduling
                .reschedule(&facts[at], &stuck, &buffer, facts, scene.now);
            Some((at, reschedule?))
        })?;
        if reschedule.extent == RescheduleExtent::BelowFirstGap {
            self.move_from(stuck.path.index());
        }
        let leaving = self.send_again(at, start, scene);
        self.punish(&stuck, reschedule, scene.now);
        Some(leaving)
    }

    /// What a flow holds of the shared buffer is what is not acknowledged as data.
    fn measure_held(&mut self) {
        for at in 0..self.lanes.len() {
            self.facts[at].queued = self.sending.held_by(Self::path(at));
        }
    }

    fn buffer_facts(&self, scene: &Scene<'_>) -> BufferFacts {
        let outgoing = &scene.desk.outgoing;
        BufferFacts {
            send_capacity: outgoing.capacity(),
            send_used: outgoing.used(),
            peer_window: self.sending.edge().saturating_sub(outgoing.first_unsent()),
            in_flight: self.facts.iter().map(|facts| facts.in_flight).sum(),
            queued: self.facts.iter().map(|facts| facts.queued).sum(),
            usable_paths: self.lanes.iter().filter(|lane| lane.carries()).count() as u32,
            send_split: false,
            receive_split: false,
        }
    }

    fn punish(&mut self, stuck: &StuckChunk, reschedule: Reschedule, now: Instant) {
        let at = stuck.path.index();
        match reschedule.penalty {
            ReschedulePenalty::Nothing => {}
            ReschedulePenalty::Blocked(time) => {
                self.lanes[at].paused_until.get_or_insert(now + time);
            }
            ReschedulePenalty::WindowCut => {
                let loss = LossEvent {
                    path: stuck.path,
                    cause: LossCause::FastRetransmit,
                    bytes: stuck.bytes,
                };
                self.policies.congestion.on_loss(&loss, &self.facts, now);
                let facts = &mut self.facts[at];
                facts.cwnd = self.policies.congestion.cwnd(stuck.path);
                facts.ssthresh = self.policies.congestion.ssthresh(stuck.path);
            }
        }
    }

    /// Data in flight on another flow, as the path scheduler wishes. A duplicate is numbered on its flow as everything else: what
    /// becomes of it is known there, which SCTP cannot say of its duplicates.
    pub(super) fn next_copy(&mut self, scene: &Scene<'_>) -> Option<Leaving> {
        if !self.policies.path_scheduler.sends_duplicates() {
            return None;
        }
        (0..self.lanes.len()).find_map(|at| {
            let path = Self::path(at);
            let lane = &self.lanes[at];
            if !lane.carries() {
                return None;
            }
            let (start, chunk) = self.sending.not_on(path, lane.duplicated_before)?;
            let length = chunk.bytes.len() as u64;
            let asked = ChunkInFlight {
                tsn: UnwrappedTsn(start),
                bytes: length,
                path: chunk.path,
                sent_at: chunk.sent_at,
            };
            let fits = length <= self.most_on(at) && self.fits(at, length);
            let wanted = fits
                && self
                    .policies
                    .path_scheduler
                    .wants_duplicate(&asked, &self.facts[at], scene.now);
            if !wanted {
                return None;
            }
            let bytes = self.sending.duplicate(start, path);
            let lane = &mut self.lanes[at];
            lane.duplicated_before = start + length;
            lane.duplicates += 1;
            lane.duplicated_bytes += length;
            Some(self.carry(at, start, bytes, scene))
        })
    }
}

//! Which segment leaves next, and on which flow?

use alloc::vec::Vec;

use anabranch_policy::{Backlog, Pick};
use anabranch_types::Instant;

use super::input::Scene;
use super::lane::{Lane, Role, Stage};
use super::sending::End;
use super::{Bundle, RESERVED};
use crate::TcpConfig;
use crate::connection::Desk;
use crate::endpoint::FourTuple;
use crate::flow::{Context, Demand, Load, Outgoing, Saying};
use crate::wire::{
    CapableForm, DataSignal, FirstData, Kind, Lead, Mapping, Multipath, Notice, NrSacks, Options, Segment,
};

/// A segment and its flow.
pub(super) type Leaving = (usize, Outgoing);

impl Bundle {
    /// Appends the next segment to `out` and says where it goes; `None` if there is none now.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        desk: &mut Desk,
        config: &TcpConfig,
        out: &mut Vec<u8>,
    ) -> Option<FourTuple> {
        if let Some(tuple) = self.write_reset(now, config, out) {
            return Some(tuple);
        }
        let mut scene = Scene { now, desk, config };
        let Some((at, outgoing)) = self.next_outgoing(&mut scene) else {
            self.new_round = true;
            return None;
        };
        self.write(at, &outgoing, &scene, out);
        Some(self.lanes[at].tuple)
    }

    fn next_outgoing(&mut self, scene: &mut Scene<'_>) -> Option<Leaving> {
        self.first_of(scene, |lane, context| lane.flow.next_control(context))
            .or_else(|| self.next_moved(scene))
            .or_else(|| self.next_rescheduled(scene))
            .or_else(|| self.next_copy(scene))
            .or_else(|| self.next_new(scene))
            .or_else(|| {
                self.tell_end(scene);
                self.first_of(scene, |lane, context| match lane.closing {
                    true => lane.flow.next_fin(context),
                    false => None,
                })
            })
            .or_else(|| {
                let nothing_new = scene.desk.outgoing.unsent() == 0;
                self.first_of(scene, |lane, context| match nothing_new || !lane.carries() {
                    true => lane.flow.next_rescue(context),
                    false => None,
                })
            })
            .or_else(|| self.next_ack(scene))
    }

    /// The first flow that has something of a kind.
    fn first_of(
        &mut self,
        scene: &Scene<'_>,
        mut next: impl FnMut(&mut Lane, &mut Context<'_>) -> Option<Outgoing>,
    ) -> Option<Leaving> {
        (0..self.lanes.len()).find_map(|at| {
            let (lane, mut context) = self.split(at, scene.now, scene.config);
            Some((at, next(lane, &mut context)?))
        })
    }

    /// New data, if windows, burst limit and scheduler let it go.
    fn next_new(&mut self, scene: &mut Scene<'_>) -> Option<Leaving> {
        let unsent = scene.desk.outgoing.unsent();
        for facts in &mut self.facts {
            facts.pacing_limited = false;
        }
        if unsent == 0 {
            return None;
        }
        let demand = self.demand(scene);
        if core::mem::take(&mut self.new_round) {
            self.policies.path_scheduler.on_round();
        }
        if !self.measure_room(&demand, scene) {
            if demand.usable == 0 {
                self.policies.path_scheduler.on_blocked();
            }
            self.wait_if_idle(&demand, scene.now);
            return None;
        }
        let backlog = Backlog {
            unsent_bytes: unsent,
            peer_window: demand.usable,
            send_window: scene.desk.outgoing.capacity().min(demand.largest_window),
            bound: None,
        };
        let pick = self
            .policies
            .path_scheduler
            .pick(&self.facts, &backlog, scene.now);
        let (at, skip) = self.checked(pick, &demand, scene)?;
        self.send_new(at, skip, scene)
    }

    pub(super) fn demand(&self, scene: &Scene<'_>) -> Demand {
        Demand {
            unsent: scene.desk.outgoing.unsent(),
            usable: self
                .sending
                .edge()
                .saturating_sub(scene.desk.outgoing.first_unsent()),
            largest_window: self.sending.largest_window(),
            idle: self.sending.is_empty(),
            flushes: scene.desk.closing || !scene.config.nagle,
        }
    }

    /// What each flow lets through now. Returns whether one of them lets anything through.
    fn measure_room(&mut self, demand: &Demand, scene: &Scene<'_>) -> bool {
        let regular = self.lanes.iter().any(|lane| lane.carries() && !lane.backup);
        let mut any = false;
        for at in 0..self.lanes.len() {
            let held = self.sending.held_by(Self::path(at));
            let (lane, mut context) = self.split(at, scene.now, scene.config);
            let mut room = 0;
            if lane.carries() && !(regular && lane.backup) {
                room = lane.flow.sendable(demand, &mut context);
                if room > 0 {
                    let facts = &mut context.facts[at];
                    let allowance = context.policies.burst.allowance(facts, context.now);
                    // What is allowed is exceeded by less than a segment, rather than cutting it.
                    if allowance.bytes == 0 {
                        room = 0;
                        facts.pacing_limited = allowance.again_at.is_some() && demand.would_fill(facts);
                        lane.flow.hold_back_until(allowance.again_at);
                    }
                }
            }
            context.facts[at].sendable = room;
            context.facts[at].queued = held;
            any |= room > 0;
        }
        any
    }

    /// Something may wait that neither an acknowledgement nor a timeout would let go: then the peer is asked for its
    /// window when it has been silent for long enough.
    fn wait_if_idle(&mut self, demand: &Demand, now: Instant) {
        if !demand.idle {
            return;
        }
        for lane in &mut self.lanes {
            if lane.carries() && lane.flow.is_idle() && !lane.flow.is_held_back() {
                lane.flow.wait_for_window(now);
            }
        }
    }

    /// The scheduler's answer, if it can be. To wait for something there must be something to wait for.
    fn checked(&mut self, pick: Pick, demand: &Demand, scene: &Scene<'_>) -> Option<(usize, u64)> {
        let has_room = |at: usize| self.facts.get(at).is_some_and(|facts| facts.sendable > 0);
        match pick {
            Pick::On(path) if has_room(path.index()) => Some((path.index(), 0)),
            Pick::Ahead { path, skip } if has_room(path.index()) => {
                self.ahead(path.index(), skip, demand, scene)
            }
            Pick::Wait { until: Some(until) } => {
                self.lanes[0].flow.hold_back_until(Some(until));
                None
            }
            _ if self.facts.iter().any(|facts| facts.in_flight > 0) => None,
            _ => {
                let open = (0..self.lanes.len()).filter(|at| has_room(*at));
                let best = open.min_by_key(|at| (self.facts[*at].errors, self.facts[*at].srtt))?;
                Some((best, 0))
            }
        }
    }

    /// What leaves ahead of `skip` bytes, if the peer takes it; otherwise what is next waits for the flow that was to carry it.
    fn ahead(&self, at: usize, skip: u64, demand: &Demand, scene: &Scene<'_>) -> Option<(usize, u64)> {
        let length = self.facts[at].sendable;
        // Whole segments are left for others, so that what is left are whole segments too.
        let skip = skip - skip % length;
        let is_there = skip + length <= demand.unsent;
        let end = scene.desk.outgoing.place_behind(skip) + length;
        if is_there && end <= self.sending.edge() {
            return Some((at, skip));
        }
        let others = self.facts.iter().enumerate().filter(|(other, _)| *other != at);
        let comes = others.map(|(_, facts)| facts.in_flight).sum::<u64>() > 0;
        (!comes).then_some((at, 0))
    }

    fn send_new(&mut self, at: usize, skip: u64, scene: &mut Scene<'_>) -> Option<Leaving> {
        let length = self.facts[at].sendable;
        let outgoing = &mut scene.desk.outgoing;
        let piece = outgoing.take_behind(skip, length);
        let length = piece.bytes.len() as u64;
        let is_last = outgoing.unsent() == 0;
        let path = Self::path(at);
        let load = Load {
            bytes: piece.bytes.clone(),
            fin: false,
            data: Some(piece.place),
        };
        self.sending.push(piece, path, scene.now);
        self.start_check(scene.now);
        for lane in &mut self.lanes {
            lane.flow.stop_waiting_for_window();
        }
        let (lane, mut context) = self.split(at, scene.now, scene.config);
        let outgoing = lane.flow.send_new(load, is_last, &mut context);
        context.policies.path_scheduler.on_sent(path, length, context.now);
        context.policies.burst.on_sent(path, length, context.now);
        Some((at, outgoing))
    }

    /// Everything was sent, and nothing will follow: the peer is told (DATA_FIN).
    fn tell_end(&mut self, scene: &Scene<'_>) {
        let desk = &scene.desk;
        let is_end = desk.closing && desk.outgoing.unsent() == 0 && self.sending.end == End::Open;
        if !is_end || !self.state.sends_data() {
            return;
        }
        let Some(at) = self.best_speaker() else { return };
        self.sending.end = End::Told {
            at: desk.outgoing.end(),
            again: scene.now + self.end_interval(),
            times: 0,
        };
        self.state = self.state.after_fin_sent();
        self.lanes[at].tells_end = true;
    }

    /// An acknowledgement of its own, on a flow on which one is due or something is to be told.
    fn next_ack(&mut self, scene: &Scene<'_>) -> Option<Leaving> {
        let segment = self.facts.first().map_or(0, |facts| facts.max_data_chunk.into());
        let tells_window = self.receiving.has_window_to_tell(scene.desk.unread(), segment);
        let teller = tells_window.then(|| self.best_speaker()).flatten();
        self.lanes.iter().enumerate().find_map(|(at, lane)| {
            let is_open = lane.stage == Stage::Open;
            let tells = is_open && (lane.tells_end || !lane.notices.is_empty() || teller == Some(at));
            Some((at, lane.flow.next_ack(tells, scene.now)?))
        })
    }

    fn write_reset(&mut self, now: Instant, config: &TcpConfig, out: &mut Vec<u8>) -> Option<FourTuple> {
        let at = self.lanes.iter().position(|lane| lane.reset.is_some())?;
        let lane = &mut self.lanes[at];
        let notices = lane.reset.take().into_iter().collect();
        let multipath = Multipath { lead: None, notices };
        let saying = Saying {
            window: 0,
            options: Options {
                multipath,
                ..Options::default()
            },
        };
        let last_word = lane.flow.last_word();
        let segment = lane.flow.address(&last_word, saying, now, config);
        let tuple = lane.tuple;
        send(tuple, segment, out);
        self.retire(at);
        Some(tuple)
    }

    fn write(&mut self, at: usize, outgoing: &Outgoing, scene: &Scene<'_>, out: &mut Vec<u8>) {
        let saying = self.saying(at, outgoing, scene.desk);
        let lane = &mut self.lanes[at];
        lane.flow.accept_a_buffer();
        let mut segment = lane.flow.address(outgoing, saying, scene.now, scene.config);
        if segment.payload.is_empty()
            && self.receiving.has_gaps()
            && let Some(form) = self.terms.nr_sack
            && let Some(Lead::Data(DataSignal { ack: Some(ack), .. })) = &mut segment.options.multipath.lead
        {
            ack.nr_sacks = self.receiving.promises(form, NrSacks::MOST);
        }
        for left in segment.options.fit().into_iter().rev() {
            lane.notices.push_front(left);
        }
        send(lane.tuple, segment, out);
    }

    /// What a segment says apart from its flow's own numbers.
    fn saying(&mut self, at: usize, outgoing: &Outgoing, desk: &Desk) -> Saying {
        let lane = &self.lanes[at];
        let (segment, scale) = (lane.flow.segment_size(), lane.flow.own_scale());
        let window = self
            .receiving
            .field(outgoing.kind(), desk.unread(), segment, scale);
        let multipath = match outgoing.data() {
            _ if outgoing.kind() == Kind::Syn => self.terms.syn_lead(lane).into(),
            Some(data) => self.data_lead(lane, data, outgoing).into(),
            None => self.bare(at),
        };
        Saying {
            window,
            options: Options {
                multipath,
                ..Options::default()
            },
        }
    }

    /// What a segment with data says: which data it is.
    fn data_lead(&self, lane: &Lane, data: u64, outgoing: &Outgoing) -> Option<Lead> {
        let bytes = outgoing.bytes();
        let number = self.sending.origin.number(data);
        let mut mapping = Mapping {
            data: self.sending.origin.wire(data, false),
            flow: outgoing.start() as u32,
            length: bytes.len() as u16,
            fin: false,
            checksum: None,
        };
        if self.terms.checksum {
            let mut checksum = mapping.begin_checksum(number);
            checksum.add(bytes);
            mapping.checksum = Some(checksum.value());
        }
        let is_unconfirmed = matches!(lane.stage, Stage::Confirming { .. });
        if lane.role == Role::Opens && is_unconfirmed && data == 1 && outgoing.start() == 1 {
            let first = FirstData {
                length: mapping.length,
                checksum: mapping.checksum,
            };
            return Some(self.terms.capable(CapableForm::Ack {
                sender: self.terms.own,
                receiver: self.terms.peer?,
                data: Some(first),
            }));
        }
        Some(Lead::Data(DataSignal {
            ack: self.receiving.ack(),
            mapping: Some(mapping),
        }))
    }

    /// What a segment without data says: how far the data has come, where it ends, and one notice.
    fn bare(&mut self, at: usize) -> Multipath {
        let lane = &mut self.lanes[at];
        if matches!(lane.stage, Stage::Confirming { .. }) {
            return self.terms.proof(&self.lanes[at]).into();
        }
        let notice = lane.notices.pop_front();
        // The address of IP version 6 leaves no room beside it.
        let is_large =
            matches!(&notice, Some(Notice::AddAddress { address, .. }) if address.address.is_ipv6());
        if is_large {
            return Multipath {
                lead: None,
                notices: notice.into_iter().collect(),
            };
        }
        let mut mapping = None;
        if core::mem::take(&mut lane.tells_end)
            && let End::Told { at, .. } = self.sending.end
        {
            mapping = Some(self.end_mapping(at));
        }
        let ack = self.receiving.ack();
        Multipath {
            lead: Some(Lead::Data(DataSignal { ack, mapping })),
            notices: notice.into_iter().collect(),
        }
    }

    /// The end of the data is one number that takes none of a flow.
    fn end_mapping(&self, at: u64) -> Mapping {
        let mut mapping = Mapping {
            data: self.sending.origin.wire(at, false),
            flow: 0,
            length: 1,
            fin: true,
            checksum: None,
        };
        if self.terms.checksum {
            let number = self.sending.origin.number(at);
            mapping.checksum = Some(mapping.begin_checksum(number).value());
        }
        mapping
    }
}

impl From<Option<Lead>> for Multipath {
    fn from(lead: Option<Lead>) -> Self {
        Self {
            lead,
            notices: Vec::new(),
        }
    }
}

fn send(tuple: FourTuple, segment: Segment<'_>, out: &mut Vec<u8>) {
    let FourTuple { local, remote } = tuple;
    let segment = Segment {
        source_port: local.port(),
        destination_port: remote.port(),
        ..segment
    };
    segment.write(local.ip(), remote.ip(), out);
}

const _: () = assert!(
    RESERVED as usize >= 4 + 8 + 4 + 4 + 2 + 2,
    "acknowledgement and mapping fit"
);

//! A segment has arrived on one of the flows: what does it mean for the connection?

use alloc::vec::Vec;
use core::ops::Range;

use anabranch_policy::Reachability;
use anabranch_types::{Instant, PathId};

use super::Bundle;
use super::handshake::Admission;
use super::lane::{Role, Stage};
use super::mappings::{Check, Contradiction, Damaged};
use super::origin::DataOrigin;
use crate::TcpConfig;
use crate::connection::{Desk, Event};
use crate::flow::{CloseReason, News, State};
use crate::sequence::Position;
use crate::wire::{
    Capable, CapableForm, DataAck, DataSignal, FirstData, Join, Kind, Lead, Mapping, Notice, ResetReason,
    Segment,
};

/// What a call works with beside the bundle.
pub(super) struct Scene<'a> {
    pub(super) now: Instant,
    pub(super) desk: &'a mut Desk,
    pub(super) config: &'a TcpConfig,
}

impl Bundle {
    /// Takes a segment of the flow `path`. Returns whether it must be answered by a reset.
    pub(crate) fn handle_segment(
        &mut self,
        now: Instant,
        path: PathId,
        segment: &Segment<'_>,
        desk: &mut Desk,
        config: &TcpConfig,
    ) -> bool {
        let at = path.index();
        let mut scene = Scene { now, desk, config };
        let Some(lane) = self.lanes.get(at).filter(|lane| !lane.gone) else {
            return true;
        };
        match self.terms.admit(lane, segment) {
            Admission::Ignored => return false,
            Admission::Refused(reason) => {
                self.refuse(at, reason, &mut scene);
                return false;
            }
            Admission::Admitted => {}
        }
        let is_refused = lane
            .mapped_at(segment)
            .is_some_and(|start| !lane.mappings.has_room(start));
        let mut news = News::default();
        let (lane, mut context) = self.split(at, now, config);
        let must_reset = if is_refused {
            let without = Segment {
                kind: Kind::Plain,
                payload: &[],
                ..segment.clone()
            };
            lane.flow.on_segment(&without, &mut context, &mut news)
        } else {
            lane.flow.on_segment(segment, &mut context, &mut news)
        };

        if news.accepted {
            self.on_options(at, segment, &mut scene);
        }
        self.act_on(at, news, &mut scene);
        must_reset
    }

    /// What the flow reports, after what the segment's options say.
    pub(super) fn act_on(&mut self, at: usize, news: News, scene: &mut Scene<'_>) {
        if news.opened && self.lanes[at].stage == Stage::Open {
            self.on_flow_open(at, scene);
        }
        if !news.ready.is_empty() {
            for (_, bytes) in news.ready {
                self.lanes[at].mappings.arrive(bytes);
            }
        }
        self.take_mapped(at, scene);
        if news.timeout {
            self.on_flow_timeout(at);
        }
        self.judge_flow(at);
        if news.peer_finished {
            self.on_flow_finished(at);
        }
        if let Some(reason) = news.closed {
            self.on_flow_closed(at, reason, scene.desk);
        }
        self.finish_if_done(scene);
    }

    /// Both ends of a flow know of it.
    fn on_flow_open(&mut self, at: usize, scene: &mut Scene<'_>) {
        match self.lanes[at].role {
            Role::Opens | Role::Opened => {
                self.state = State::Established;
                scene.desk.tell(Event::Connected);
                if self.lanes[at].role == Role::Opened {
                    self.advertise(scene.now);
                }
            }
            Role::Joins { .. } | Role::Joined { .. } => scene.desk.tell(Event::PathOpened(PathId(at as u8))),
        }
    }

    /// The failure detector is told how the flow is doing.
    fn judge_flow(&mut self, at: usize) {
        let facts = &mut self.facts[at];
        if facts.errors == 0 && facts.reachability != Reachability::Unconfirmed {
            facts.reachability = self.policies.failover.on_reachable(facts);
        }
    }

    fn on_options(&mut self, at: usize, segment: &Segment<'_>, scene: &mut Scene<'_>) {
        let Some(lane) = self.lanes.get_mut(at) else {
            return;
        };
        let multipath = &segment.options.multipath;
        match &multipath.lead {
            Some(Lead::Capable(capable)) => self.on_capable(at, capable, segment, scene),
            Some(Lead::Join(join)) => self.on_join(at, join, scene),
            Some(Lead::Data(signal)) => {
                self.confirm(at, scene);
                self.on_signal(at, signal, segment, scene);
            }
            None if lane.role == Role::Opens
                && matches!(lane.stage, Stage::Confirming { .. })
                && matches!(segment.kind, Kind::Plain | Kind::Fin)
                && multipath.notices.is_empty() =>
            {
                return self.refuse(at, ResetReason::MIDDLEBOX, scene);
            }
            None => {}
        }
        for notice in &multipath.notices {
            self.confirm(at, scene);
            self.on_notice(at, notice, scene);
        }
    }

    fn on_capable(&mut self, at: usize, capable: &Capable, segment: &Segment<'_>, scene: &mut Scene<'_>) {
        let lane = &mut self.lanes[at];
        match (lane.role, lane.stage, capable.form) {
            (Role::Opens, Stage::Asking, CapableForm::SynAck(key)) => {
                lane.stage = Stage::Confirming {
                    peer: crate::wire::Nonce::default(),
                    again: Some(scene.now + self.facts[at].rto),
                    times: 0,
                };
                self.terms.learn(capable);
                if capable.one_flow_here {
                    self.addresses.forget_first_remote();
                }
                self.receiving.origin = Some(DataOrigin::of(key));
                let offered = lane.flow.offered(segment);
                self.sending.widen(1, offered);
                self.on_flow_open(at, scene);
            }
            (Role::Opened, stage, CapableForm::Ack { sender, data, .. }) => {
                if stage == Stage::Answering {
                    self.terms.learn(capable);
                    self.receiving.origin = Some(DataOrigin::of(sender));
                    lane.stage = Stage::Open;
                }
                let (offered, now) = (lane.flow.offered(segment), scene.now);
                // The peer goes on repeating it until it hears of us.
                lane.flow.acknowledge_at_once(now);
                self.sending.widen(1, offered);
                if let Some(FirstData { length, checksum }) = data {
                    let first = self.receiving.first(length, checksum);
                    self.map(at, &first, 1, scene);
                }
            }
            _ => {}
        }
    }

    fn on_join(&mut self, at: usize, join: &Join, scene: &mut Scene<'_>) {
        let rto = self.facts[at].rto;
        let lane = &mut self.lanes[at];
        match (lane.role, *join) {
            (
                Role::Joins { .. },
                Join::SynAck {
                    backup,
                    address,
                    nonce,
                    ..
                },
            ) if lane.stage == Stage::Asking => {
                lane.remote_id = address;
                lane.backup |= backup;
                lane.stage = Stage::Confirming {
                    peer: nonce,
                    again: Some(scene.now + rto),
                    times: 0,
                };
            }
            (Role::Joined { .. }, Join::Ack { .. }) => {
                lane.stage = Stage::Open;
                lane.flow.acknowledge_at_once(scene.now);
            }
            _ => {}
        }
    }

    /// What came can only come from who has seen the third segment.
    fn confirm(&mut self, at: usize, scene: &mut Scene<'_>) {
        let lane = &mut self.lanes[at];
        if !matches!(lane.stage, Stage::Confirming { .. }) {
            return;
        }
        lane.stage = Stage::Open;
        match lane.role {
            Role::Opens => {
                // Its addresses come right behind; a braid is better made of all of them.
                let patience = if self.settings.remote.is_empty() {
                    self.facts[at].srtt.unwrap_or_default()
                } else {
                    core::time::Duration::ZERO
                };
                self.joins_from = Some(scene.now + patience);
            }
            _ => self.on_flow_open(at, scene),
        }
    }

    fn on_signal(&mut self, at: usize, signal: &DataSignal, segment: &Segment<'_>, scene: &mut Scene<'_>) {
        if let Some(ack) = &signal.ack {
            self.on_data_ack(at, ack, segment, scene);
        }
        if let Some(mapping) = &signal.mapping {
            self.on_mapping(at, mapping, scene);
        }
    }

    fn on_data_ack(&mut self, at: usize, ack: &DataAck, segment: &Segment<'_>, scene: &mut Scene<'_>) {
        let unsent = scene.desk.outgoing.first_unsent();
        let Some(position) = self.sending.acknowledged_position(ack.number, unsent) else {
            return;
        };
        self.sending.widen(position, self.lanes[at].flow.offered(segment));
        let promised = self.promised(ack, position);
        let acknowledged = self.sending.acknowledge(position, &promised);
        if acknowledged.freed > 0 {
            scene.desk.release(acknowledged.freed);
            self.restart_check(scene.now);
        }
        if acknowledged.end {
            self.state = match self.state.after_fin_acked() {
                State::Closed => State::TimeWait,
                next => next,
            };
        }
    }

    /// What the peer promises to keep beyond `ack`, if that was agreed on.
    fn promised(&self, ack: &DataAck, position: Position) -> Vec<Range<Position>> {
        let form = self.terms.nr_sack.filter(|_| !ack.nr_sacks.is_empty());
        let blocks = form
            .and_then(|form| ack.nr_sacks.blocks(form))
            .unwrap_or_default();
        let ranges = blocks
            .iter()
            .map(|block| position + u64::from(block.start())..position + u64::from(block.end()));
        ranges.collect()
    }

    fn on_mapping(&mut self, at: usize, mapping: &Mapping, scene: &mut Scene<'_>) {
        let Some(data) = self.receiving.place(mapping.data) else {
            return;
        };
        // Everything that follows, without numbers: the peer wants to go on as one of TCP.
        if mapping.length == 0 {
            return self.refuse(at, ResetReason::MIDDLEBOX, scene);
        }
        let payload = u64::from(mapping.payload());
        if mapping.fin {
            if !self.receiving.ends_at(data + payload) {
                return self.refuse(at, ResetReason::PROTOCOL, scene);
            }
            self.lanes[at].flow.acknowledge_at_once(scene.now);
        }
        if payload > 0 {
            self.map(at, mapping, data, scene);
        }
    }

    /// The bytes of a mapping are data from `data` on.
    fn map(&mut self, at: usize, mapping: &Mapping, data: Position, scene: &mut Scene<'_>) {
        let number = self.receiving.origin.filter(|_| self.terms.checksum);
        // Where checksums were agreed on, a mapping without one is none (RFC 8684 §3.3.1).
        let check = match (number, mapping.checksum) {
            (Some(origin), Some(expected)) => Some(Check {
                begun: mapping.begin_checksum(origin.number(data)),
                expected,
            }),
            (Some(_), None) => return self.refuse(at, ResetReason::PROTOCOL, scene),
            (None, _) => None,
        };
        let lane = &mut self.lanes[at];
        let Some(start) = lane.position(mapping.flow) else {
            return;
        };
        let added = lane.mappings.add(start, mapping.payload().into(), data, check);
        if let Err(Contradiction) = added {
            self.refuse(at, ResetReason::PROTOCOL, scene);
        }
    }

    /// Bytes that are in order on their flow find their place among the data.
    fn take_mapped(&mut self, at: usize, scene: &mut Scene<'_>) {
        let lane = &mut self.lanes[at];
        let mapped = match lane.mappings.take() {
            Ok(mapped) => mapped,
            Err(Damaged { data }) => return self.on_damage(at, data, scene),
        };
        // "If a mapping for that subflow-level sequence space does not arrive within a receive window of data, that
        // subflow SHOULD be treated as broken" (RFC 8684 §3.3.1).
        if lane.mappings.waiting_bytes() > scene.config.receive_buffer {
            return self.refuse(at, ResetReason::MIDDLEBOX, scene);
        }
        let mut ready = Vec::new();
        for (position, bytes) in mapped {
            self.receiving.take(position, bytes, &mut ready);
        }
        scene.desk.deliver(ready);
        if self.receiving.finish() {
            scene.desk.finish_reading();
            self.state = self.state.after_peer_fin();
            self.lanes[at].flow.acknowledge_at_once(scene.now);
        }
    }

    /// Somebody on the way has changed data: the flow is reset, with an MP_FAIL that says from where on (RFC 8684 §3.7).
    fn on_damage(&mut self, at: usize, data: Position, scene: &mut Scene<'_>) {
        if let Some(origin) = self.receiving.origin {
            let data = origin.number(data);
            self.lanes[at].abort(Notice::Fail { data });
        }
        self.on_flow_closed(at, CloseReason::Violation, scene.desk);
    }

    /// The flow is not what it should be: it ends, and what it carried goes over others.
    pub(super) fn refuse(&mut self, at: usize, reason: ResetReason, scene: &mut Scene<'_>) {
        let lane = &mut self.lanes[at];
        if lane.is_closed() {
            return;
        }
        let is_opening = matches!(self.state, State::SynSent | State::SynReceived);
        lane.abort(Notice::Reset {
            transient: false,
            reason,
        });
        let close = match reason {
            _ if is_opening => CloseReason::NoMultipath,
            ResetReason::MIDDLEBOX => CloseReason::NoMultipath,
            _ => CloseReason::Violation,
        };
        self.on_flow_closed(at, close, scene.desk);
    }
}

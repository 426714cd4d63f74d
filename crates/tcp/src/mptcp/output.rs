//! Segment transmission of an MPTCP connection: selects the next segment and its subflow.

use alloc::vec::Vec;

use anabranch_policy::{Backlog, Pick};
use anabranch_types::Instant;

use super::data_sender::End;
use super::input::CallContext;
use super::subflow::{Role, Stage, Subflow};
use super::{MptcpConnection, RESERVED};
use crate::TcpConfig;
use crate::connection::SocketBuffers;
use crate::endpoint::FourTuple;
use crate::tcb::{Context, Demand, HeaderFields, OutgoingSegment, Payload};
use crate::wire::{
    Dss, FirstData, Kind, Mapping, MpCapableForm, MptcpOption, MptcpOptions, NrSacks, Options, PrimaryOption,
    Segment,
};

/// A segment and its subflow.
pub(super) type SubflowSegment = (usize, OutgoingSegment);

impl MptcpConnection {
    /// Appends the next segment to `out` and returns its addresses; `None` if there is none now.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        buffers: &mut SocketBuffers,
        config: &TcpConfig,
        out: &mut Vec<u8>,
    ) -> Option<FourTuple> {
        if let Some(tuple) = self.write_reset(now, config, out) {
            return Some(tuple);
        }
        let mut call = CallContext { now, buffers, config };
        let Some((at, outgoing)) = self.next_outgoing(&mut call) else {
            self.new_round = true;
            self.tell_limits(&call);
            return None;
        };
        self.write(at, &outgoing, &call, out);
        Some(self.subflows[at].tuple)
    }

    /// Notifies a congestion control that measures rates of subflows that could take more.
    fn tell_limits(&mut self, call: &CallContext<'_>) {
        if !self.policies.measures_rates {
            return;
        }
        for at in 0..self.subflows.len() {
            let (subflow, mut context) = self.split(at, call.now, call.config);
            if subflow.can_carry_data() {
                subflow.tcb.tell_limit(&mut context);
            }
        }
    }

    fn next_outgoing(&mut self, call: &mut CallContext<'_>) -> Option<SubflowSegment> {
        self.first_of(call, |subflow, context| subflow.tcb.next_control(context))
            .or_else(|| self.next_reinjection(call))
            .or_else(|| self.next_rescheduled(call))
            .or_else(|| self.next_duplicate(call))
            .or_else(|| self.next_new(call))
            .or_else(|| {
                self.tell_end(call);
                self.first_of(call, |subflow, context| match subflow.closing {
                    true => subflow.tcb.next_fin(context),
                    false => None,
                })
            })
            .or_else(|| {
                let nothing_new = call.buffers.outgoing.unsent() == 0;
                self.first_of(call, |subflow, context| {
                    match nothing_new || !subflow.can_carry_data() {
                        true => subflow.tcb.next_rescue(context),
                        false => None,
                    }
                })
            })
            .or_else(|| self.next_ack(call))
    }

    /// The first subflow with a pending segment of this kind.
    fn first_of(
        &mut self,
        call: &CallContext<'_>,
        mut next: impl FnMut(&mut Subflow, &mut Context<'_>) -> Option<OutgoingSegment>,
    ) -> Option<SubflowSegment> {
        (0..self.subflows.len()).find_map(|at| {
            let (subflow, mut context) = self.split(at, call.now, call.config);
            Some((at, next(subflow, &mut context)?))
        })
    }

    /// New data, if windows, burst limit and scheduler allow it.
    fn next_new(&mut self, call: &mut CallContext<'_>) -> Option<SubflowSegment> {
        let unsent = call.buffers.outgoing.unsent();
        for facts in &mut self.facts {
            facts.pacing_limited = false;
        }
        if unsent == 0 {
            return None;
        }
        let demand = self.demand(call);
        if core::mem::take(&mut self.new_round) {
            self.policies.path_scheduler.on_round();
        }
        if !self.measure_room(&demand, call) {
            if demand.usable == 0 {
                self.policies.path_scheduler.on_blocked();
            }
            self.wait_if_idle(&demand, call.now);
            return None;
        }
        let backlog = Backlog {
            unsent_bytes: unsent,
            peer_window: demand.usable,
            send_window: call.buffers.outgoing.capacity().min(demand.largest_window),
            bound: None,
        };
        let pick = self.policies.path_scheduler.pick(&self.facts, &backlog, call.now);
        let (at, skip) = self.checked(pick, &demand, call)?;
        self.send_new(at, skip, call)
    }

    pub(super) fn demand(&self, call: &CallContext<'_>) -> Demand {
        Demand {
            unsent: call.buffers.outgoing.unsent(),
            usable: self
                .sender
                .edge()
                .saturating_sub(call.buffers.outgoing.first_unsent()),
            largest_window: self.sender.largest_window(),
            idle: self.sender.is_empty(),
            flushes: call.buffers.closing || !call.config.nagle,
        }
    }

    /// Computes how much each subflow may send now. Returns whether any of them may send.
    fn measure_room(&mut self, demand: &Demand, call: &CallContext<'_>) -> bool {
        let regular = self
            .subflows
            .iter()
            .any(|subflow| subflow.can_carry_data() && !subflow.backup);
        let mut any = false;
        for at in 0..self.subflows.len() {
            let held = self.sender.held_by(Self::path(at));
            let (subflow, mut context) = self.split(at, call.now, call.config);
            let mut room = 0;
            if subflow.can_carry_data() && !(regular && subflow.backup) {
                room = subflow.tcb.sendable(demand, &mut context);
                if room > 0 {
                    let facts = &mut context.facts[at];
                    let allowance = context.policies.burst.allowance(facts, context.now);
                    // The limit is exceeded by less than a segment rather than cutting the segment.
                    if allowance.bytes == 0 {
                        room = 0;
                        facts.pacing_limited = allowance.again_at.is_some() && demand.would_fill(facts);
                        subflow.tcb.hold_back_until(allowance.again_at);
                    }
                }
            }
            context.facts[at].sendable = room;
            context.facts[at].queued = held;
            any |= room > 0;
        }
        any
    }

    /// Sends a window probe if data waits that no acknowledgement or timeout would release, and the peer has been silent for long
    /// enough.
    fn wait_if_idle(&mut self, demand: &Demand, now: Instant) {
        if !demand.idle {
            return;
        }
        for subflow in &mut self.subflows {
            if subflow.can_carry_data() && subflow.tcb.is_idle() && !subflow.tcb.is_held_back() {
                subflow.tcb.wait_for_window(now);
            }
        }
    }

    /// The scheduler's choice, if it is permitted. It may wait only if there is something to wait for.
    fn checked(&mut self, pick: Pick, demand: &Demand, call: &CallContext<'_>) -> Option<(usize, u64)> {
        let has_room = |at: usize| self.facts.get(at).is_some_and(|facts| facts.sendable > 0);
        match pick {
            Pick::On(path) if has_room(path.index()) => Some((path.index(), 0)),
            Pick::Ahead { path, skip } if has_room(path.index()) => {
                self.ahead(path.index(), skip, demand, call)
            }
            Pick::Wait { until: Some(until) } => {
                self.subflows[0].tcb.hold_back_until(Some(until));
                None
            }
            _ if self.facts.iter().any(|facts| facts.in_flight > 0) => None,
            _ => {
                let open = (0..self.subflows.len()).filter(|at| has_room(*at));
                let best = open.min_by_key(|at| (self.facts[*at].errors, self.facts[*at].srtt()))?;
                Some((best, 0))
            }
        }
    }

    /// Data that starts `skip` bytes ahead, if the peer's window allows it; otherwise the next data waits for the subflow chosen
    /// to carry it.
    fn ahead(&self, at: usize, skip: u64, demand: &Demand, call: &CallContext<'_>) -> Option<(usize, u64)> {
        let length = self.facts[at].sendable;
        // Leaves whole segments for other subflows, so that the rest divides into whole segments too.
        let skip = skip - skip % length;
        let is_there = skip + length <= demand.unsent;
        let end = call.buffers.outgoing.place_behind(skip) + length;
        if is_there && end <= self.sender.edge() {
            return Some((at, skip));
        }
        let others = self.facts.iter().enumerate().filter(|(other, _)| *other != at);
        let comes = others.map(|(_, facts)| facts.in_flight).sum::<u64>() > 0;
        (!comes).then_some((at, 0))
    }

    fn send_new(&mut self, at: usize, skip: u64, call: &mut CallContext<'_>) -> Option<SubflowSegment> {
        let length = self.facts[at].sendable;
        let outgoing = &mut call.buffers.outgoing;
        let piece = outgoing.take_behind(skip, length);
        let length = piece.bytes.len() as u64;
        let is_last = outgoing.unsent() == 0;
        let path = Self::path(at);
        let payload = Payload {
            bytes: piece.bytes.clone(),
            fin: false,
            data: Some(piece.place),
        };
        self.sender.push(piece, path, call.now);
        self.start_check(call.now);
        for subflow in &mut self.subflows {
            subflow.tcb.stop_waiting_for_window();
        }
        let (subflow, mut context) = self.split(at, call.now, call.config);
        let outgoing = subflow.tcb.send_new(payload, is_last, &mut context);
        context.policies.path_scheduler.on_sent(path, length, context.now);
        context.policies.burst.on_sent(path, length, context.now);
        Some((at, outgoing))
    }

    /// Sends DATA_FIN: everything was sent, and nothing will follow.
    fn tell_end(&mut self, call: &CallContext<'_>) {
        let buffers = &call.buffers;
        let is_end = buffers.closing && buffers.outgoing.unsent() == 0 && self.sender.end == End::Open;
        if !is_end || !self.state.sends_data() {
            return;
        }
        let Some(at) = self.best_subflow() else { return };
        self.sender.end = End::Told {
            at: buffers.outgoing.end(),
            again: call.now + self.end_interval(),
            times: 0,
        };
        self.state = self.state.after_fin_sent();
        self.subflows[at].tells_end = true;
    }

    /// A pure ACK, on a subflow on which an acknowledgement or an option is due.
    fn next_ack(&mut self, call: &CallContext<'_>) -> Option<SubflowSegment> {
        let segment = self.facts.first().map_or(0, |facts| facts.max_data_chunk.into());
        let tells_window = self.receiver.has_window_to_tell(call.buffers.unread(), segment);
        let teller = tells_window.then(|| self.best_subflow()).flatten();
        self.subflows.iter().enumerate().find_map(|(at, subflow)| {
            let is_open = subflow.stage == Stage::Established;
            let tells =
                is_open && (subflow.tells_end || !subflow.pending_options.is_empty() || teller == Some(at));
            Some((at, subflow.tcb.next_ack(tells, call.now)?))
        })
    }

    fn write_reset(&mut self, now: Instant, config: &TcpConfig, out: &mut Vec<u8>) -> Option<FourTuple> {
        let at = self.subflows.iter().position(|subflow| subflow.reset.is_some())?;
        let subflow = &mut self.subflows[at];
        let others = subflow.reset.take().into_iter().collect();
        let mptcp = MptcpOptions {
            primary: None,
            others,
        };
        let header_fields = HeaderFields {
            window: 0,
            options: Options {
                mptcp,
                ..Options::default()
            },
        };
        let reset_segment = subflow.tcb.reset_segment();
        let segment = subflow.tcb.address(&reset_segment, header_fields, now, config);
        let tuple = subflow.tuple;
        send(tuple, segment, out);
        self.retire(at);
        Some(tuple)
    }

    fn write(&mut self, at: usize, outgoing: &OutgoingSegment, call: &CallContext<'_>, out: &mut Vec<u8>) {
        let header_fields = self.header_fields(at, outgoing, call.buffers);
        let subflow = &mut self.subflows[at];
        subflow.tcb.open_window_by_buffer();
        let mut segment = subflow
            .tcb
            .address(outgoing, header_fields, call.now, call.config);
        if segment.payload.is_empty()
            && self.receiver.has_gaps()
            && let Some(form) = self.handshake.nr_sack
            && let Some(PrimaryOption::Dss(Dss { ack: Some(ack), .. })) = &mut segment.options.mptcp.primary
        {
            ack.nr_sacks = self.receiver.nr_sacks(form, NrSacks::MAX);
        }
        for left in segment.options.fit().into_iter().rev() {
            subflow.pending_options.push_front(left);
        }
        send(subflow.tuple, segment, out);
    }

    /// The MPTCP options of a segment, apart from the subflow's own sequence numbers.
    fn header_fields(
        &mut self,
        at: usize,
        outgoing: &OutgoingSegment,
        buffers: &SocketBuffers,
    ) -> HeaderFields {
        let subflow = &self.subflows[at];
        let (segment, scale) = (subflow.tcb.effective_mss(), subflow.tcb.own_scale());
        let window = self
            .receiver
            .field(outgoing.kind(), buffers.unread(), segment, scale);
        let mptcp = match outgoing.data() {
            _ if outgoing.kind() == Kind::Syn => self.handshake.syn_option(subflow).into(),
            Some(data) => self.data_option(subflow, data, outgoing).into(),
            None => self.bare(at),
        };
        HeaderFields {
            window,
            options: Options {
                mptcp,
                ..Options::default()
            },
        }
    }

    /// The options of a segment with data: its mapping.
    fn data_option(&self, subflow: &Subflow, data: u64, outgoing: &OutgoingSegment) -> Option<PrimaryOption> {
        let bytes = outgoing.bytes();
        let number = self.sender.idsn.number(data);
        let mut mapping = Mapping {
            dsn: self.sender.idsn.wire(data, false),
            ssn: outgoing.start() as u32,
            length: bytes.len() as u16,
            fin: false,
            checksum: None,
        };
        if self.handshake.checksum {
            let mut checksum = mapping.begin_checksum(number);
            checksum.add(bytes);
            mapping.checksum = Some(checksum.value());
        }
        let is_unconfirmed = matches!(subflow.stage, Stage::PreEstablished { .. });
        if subflow.role == Role::CapableInitiator && is_unconfirmed && data == 1 && outgoing.start() == 1 {
            let first = FirstData {
                length: mapping.length,
                checksum: mapping.checksum,
            };
            return Some(self.handshake.capable(MpCapableForm::Ack {
                sender: self.handshake.own,
                receiver: self.handshake.peer?,
                data: Some(first),
            }));
        }
        Some(PrimaryOption::Dss(Dss {
            ack: self.receiver.ack(),
            mapping: Some(mapping),
        }))
    }

    /// The options of a segment without data: DATA_ACK, DATA_FIN and one notice.
    fn bare(&mut self, at: usize) -> MptcpOptions {
        let subflow = &mut self.subflows[at];
        if matches!(subflow.stage, Stage::PreEstablished { .. }) {
            return self.handshake.proof(&self.subflows[at]).into();
        }
        let option = subflow.pending_options.pop_front();
        // An IPv6 address leaves no room for it.
        let is_large =
            matches!(&option, Some(MptcpOption::AddAddress { address, .. }) if address.address.is_ipv6());
        if is_large {
            return MptcpOptions {
                primary: None,
                others: option.into_iter().collect(),
            };
        }
        let mut mapping = None;
        if core::mem::take(&mut subflow.tells_end)
            && let End::Told { at, .. } = self.sender.end
        {
            mapping = Some(self.end_mapping(at));
        }
        let ack = self.receiver.ack();
        MptcpOptions {
            primary: Some(PrimaryOption::Dss(Dss { ack, mapping })),
            others: option.into_iter().collect(),
        }
    }

    /// DATA_FIN takes one data sequence number and no subflow sequence number.
    fn end_mapping(&self, at: u64) -> Mapping {
        let mut mapping = Mapping {
            dsn: self.sender.idsn.wire(at, false),
            ssn: 0,
            length: 1,
            fin: true,
            checksum: None,
        };
        if self.handshake.checksum {
            let number = self.sender.idsn.number(at);
            mapping.checksum = Some(mapping.begin_checksum(number).value());
        }
        mapping
    }
}

impl From<Option<PrimaryOption>> for MptcpOptions {
    fn from(primary: Option<PrimaryOption>) -> Self {
        Self {
            primary,
            others: Vec::new(),
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
    segment.write_unsealed(out);
}

const _: () = assert!(
    RESERVED as usize >= 4 + 8 + 4 + 4 + 2 + 2,
    "acknowledgement and mapping fit"
);

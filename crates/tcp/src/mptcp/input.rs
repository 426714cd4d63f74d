//! Segment arrival on a subflow, and its effect on the MPTCP connection.

use alloc::vec::Vec;
use core::ops::Range;

use anabranch_policy::Reachability;
use anabranch_types::{Instant, PathId};

use super::MptcpConnection;
use super::handshake::Admission;
use super::initial_dsn::InitialDsn;
use super::mappings::{ChecksumMismatch, ConflictingMapping, MappingChecksum};
use super::subflow::{Role, Stage};
use crate::TcpConfig;
use crate::connection::{Event, SocketBuffers};
use crate::sequence::Position;
use crate::tcb::{CloseReason, Effects, State};
use crate::wire::{
    DataAck, Dss, FirstData, Kind, Mapping, MpCapable, MpCapableForm, MpJoin, MptcpOption, PrimaryOption,
    ResetReason, Segment,
};

/// Context of a call, apart from the MPTCP connection.
pub(super) struct CallContext<'a> {
    pub(super) now: Instant,
    pub(super) buffers: &'a mut SocketBuffers,
    pub(super) config: &'a TcpConfig,
}

impl MptcpConnection {
    /// Processes a segment on subflow `path`. Returns whether it must be answered by a reset.
    pub(crate) fn handle_segment(
        &mut self,
        now: Instant,
        path: PathId,
        segment: &Segment<'_>,
        buffers: &mut SocketBuffers,
        config: &TcpConfig,
    ) -> bool {
        let at = path.index();
        let mut call = CallContext { now, buffers, config };
        let Some(subflow) = self.subflows.get(at).filter(|subflow| !subflow.gone) else {
            return true;
        };
        match self.handshake.admit(subflow, segment) {
            Admission::Ignored => return false,
            Admission::Refused(reason) => {
                self.refuse(at, reason, &mut call);
                return false;
            }
            Admission::Admitted => {}
        }
        let is_refused = subflow
            .mapped_at(segment)
            .is_some_and(|start| !subflow.mappings.has_room(start));
        let mut effects = Effects::default();
        let (subflow, mut context) = self.split(at, now, config);
        let must_reset = if is_refused {
            let without = Segment {
                kind: Kind::Plain,
                payload: &[],
                ..segment.clone()
            };
            subflow.tcb.on_segment(&without, &mut context, &mut effects)
        } else {
            subflow.tcb.on_segment(segment, &mut context, &mut effects)
        };

        if effects.accepted {
            self.on_options(at, segment, &mut call);
        }
        self.act_on(at, effects, &mut call);
        must_reset
    }

    /// Processes the subflow's results, after the options of the segment.
    pub(super) fn act_on(&mut self, at: usize, effects: Effects, call: &mut CallContext<'_>) {
        if effects.opened && self.subflows[at].stage == Stage::Established {
            self.on_subflow_open(at, call);
        }
        if !effects.ready.is_empty() {
            for (_, bytes) in effects.ready {
                self.subflows[at].mappings.arrive(bytes);
            }
        }
        self.take_mapped(at, call);
        if effects.timeout {
            self.on_subflow_timeout(at);
        }
        self.update_reachability(at);
        if effects.peer_finished {
            self.on_subflow_finished(at);
        }
        if let Some(reason) = effects.closed {
            self.on_subflow_closed(at, reason, call.buffers);
        }
        self.finish_if_done(call);
    }

    /// A subflow is established at both ends.
    fn on_subflow_open(&mut self, at: usize, call: &mut CallContext<'_>) {
        match self.subflows[at].role {
            Role::CapableInitiator | Role::CapableResponder => {
                self.state = State::Established;
                call.buffers.tell(Event::Connected);
                if self.subflows[at].role == Role::CapableResponder {
                    self.advertise(call.now);
                }
            }
            Role::JoinInitiator { .. } | Role::JoinResponder { .. } => {
                call.buffers.tell(Event::PathOpened(PathId(at as u8)));
            }
        }
    }

    /// Reports the state of the subflow to the failure detector.
    fn update_reachability(&mut self, at: usize) {
        let facts = &mut self.facts[at];
        if facts.errors == 0 && facts.reachability != Reachability::Unconfirmed {
            facts.reachability = self.policies.failover.on_reachable(facts);
        }
    }

    fn on_options(&mut self, at: usize, segment: &Segment<'_>, call: &mut CallContext<'_>) {
        let Some(subflow) = self.subflows.get_mut(at) else {
            return;
        };
        let mptcp = &segment.options.mptcp;
        match &mptcp.primary {
            Some(PrimaryOption::MpCapable(capable)) => self.on_capable(at, capable, segment, call),
            Some(PrimaryOption::MpJoin(join)) => self.on_join(at, join, call),
            Some(PrimaryOption::Dss(signal)) => {
                self.confirm(at, call);
                self.on_dss(at, signal, segment, call);
            }
            None if subflow.role == Role::CapableInitiator
                && matches!(subflow.stage, Stage::PreEstablished { .. })
                && matches!(segment.kind, Kind::Plain | Kind::Fin)
                && mptcp.others.is_empty() =>
            {
                return self.refuse(at, ResetReason::MIDDLEBOX, call);
            }
            None => {}
        }
        for option in &mptcp.others {
            self.confirm(at, call);
            self.on_mptcp_option(at, option, call);
        }
    }

    fn on_capable(
        &mut self,
        at: usize,
        capable: &MpCapable,
        segment: &Segment<'_>,
        call: &mut CallContext<'_>,
    ) {
        let subflow = &mut self.subflows[at];
        match (subflow.role, subflow.stage, capable.form) {
            (Role::CapableInitiator, Stage::SynSent, MpCapableForm::SynAck(key)) => {
                subflow.stage = Stage::PreEstablished {
                    peer: crate::wire::Nonce::default(),
                    again: Some(call.now + self.facts[at].rto()),
                    times: 0,
                };
                self.handshake.learn(capable);
                if capable.no_joins_to_this_address {
                    self.addresses.forget_first_remote();
                }
                self.receiver.idsn = Some(InitialDsn::of(key));
                let offered = subflow.tcb.offered(segment);
                self.sender.widen(1, offered);
                self.on_subflow_open(at, call);
            }
            (Role::CapableResponder, stage, MpCapableForm::Ack { sender, data, .. }) => {
                if stage == Stage::SynReceived {
                    self.handshake.learn(capable);
                    self.receiver.idsn = Some(InitialDsn::of(sender));
                    subflow.stage = Stage::Established;
                }
                let (offered, now) = (subflow.tcb.offered(segment), call.now);
                // The peer repeats it until it receives a segment from us.
                subflow.tcb.acknowledge_at_once(now);
                self.sender.widen(1, offered);
                if let Some(FirstData { length, checksum }) = data {
                    let first = self.receiver.first(length, checksum);
                    self.map(at, &first, 1, call);
                }
            }
            _ => {}
        }
    }

    fn on_join(&mut self, at: usize, join: &MpJoin, call: &mut CallContext<'_>) {
        let rto = self.facts[at].rto();
        let subflow = &mut self.subflows[at];
        match (subflow.role, *join) {
            (
                Role::JoinInitiator { .. },
                MpJoin::SynAck {
                    backup,
                    address,
                    nonce,
                    ..
                },
            ) if subflow.stage == Stage::SynSent => {
                subflow.remote_id = address;
                subflow.backup |= backup;
                subflow.stage = Stage::PreEstablished {
                    peer: nonce,
                    again: Some(call.now + rto),
                    times: 0,
                };
            }
            (Role::JoinResponder { .. }, MpJoin::Ack { .. }) => {
                subflow.stage = Stage::Established;
                subflow.tcb.acknowledge_at_once(call.now);
            }
            _ => {}
        }
    }

    /// Only a host that received the third segment can have sent this one.
    fn confirm(&mut self, at: usize, call: &mut CallContext<'_>) {
        let subflow = &mut self.subflows[at];
        if !matches!(subflow.stage, Stage::PreEstablished { .. }) {
            return;
        }
        subflow.stage = Stage::Established;
        match subflow.role {
            Role::CapableInitiator => {
                // The peer advertises its addresses right afterwards; address pairing works better with all of them known.
                let patience = if self.settings.remote.is_empty() {
                    self.facts[at].srtt().unwrap_or_default()
                } else {
                    core::time::Duration::ZERO
                };
                self.joins_from = Some(call.now + patience);
            }
            _ => self.on_subflow_open(at, call),
        }
    }

    fn on_dss(&mut self, at: usize, signal: &Dss, segment: &Segment<'_>, call: &mut CallContext<'_>) {
        if let Some(ack) = &signal.ack {
            self.on_data_ack(at, ack, segment, call);
        }
        if let Some(mapping) = &signal.mapping {
            self.on_mapping(at, mapping, call);
        }
    }

    fn on_data_ack(&mut self, at: usize, ack: &DataAck, segment: &Segment<'_>, call: &mut CallContext<'_>) {
        let unsent = call.buffers.outgoing.first_unsent();
        let Some(position) = self.sender.acknowledged_position(ack.number, unsent) else {
            return;
        };
        self.sender
            .widen(position, self.subflows[at].tcb.offered(segment));
        let non_renegable = self.non_renegable(ack, position);
        let acknowledged = self.sender.acknowledge(position, &non_renegable);
        if acknowledged.freed > 0 {
            call.buffers.release(acknowledged.freed);
            self.restart_check(call.now);
        }
        if acknowledged.end {
            self.state = match self.state.after_fin_acked() {
                State::Closed => State::TimeWait,
                next => next,
            };
        }
    }

    /// Data beyond `ack` that the peer reports as non-renegable (NR-SACK), if that was negotiated.
    fn non_renegable(&self, ack: &DataAck, position: Position) -> Vec<Range<Position>> {
        let form = self.handshake.nr_sack.filter(|_| !ack.nr_sacks.is_empty());
        let blocks = form
            .and_then(|form| ack.nr_sacks.blocks(form))
            .unwrap_or_default();
        let ranges = blocks
            .iter()
            .map(|block| position + u64::from(block.start())..position + u64::from(block.end()));
        ranges.collect()
    }

    fn on_mapping(&mut self, at: usize, mapping: &Mapping, call: &mut CallContext<'_>) {
        let Some(data) = self.receiver.place(mapping.dsn) else {
            return;
        };
        // An infinite mapping: the peer wants to fall back to TCP.
        if mapping.length == 0 {
            return self.refuse(at, ResetReason::MIDDLEBOX, call);
        }
        let payload = u64::from(mapping.payload());
        if mapping.fin {
            if !self.receiver.ends_at(data + payload) {
                return self.refuse(at, ResetReason::PROTOCOL, call);
            }
            self.subflows[at].tcb.acknowledge_at_once(call.now);
        }
        if payload > 0 {
            self.map(at, mapping, data, call);
        }
    }

    /// Adds the mapping of subflow bytes to data from `data` on.
    fn map(&mut self, at: usize, mapping: &Mapping, data: Position, call: &mut CallContext<'_>) {
        let number = self.receiver.idsn.filter(|_| self.handshake.checksum);
        // Where checksums were negotiated, a mapping without one is invalid (RFC 8684 §3.3.1).
        let check = match (number, mapping.checksum) {
            (Some(idsn), Some(expected)) => Some(MappingChecksum {
                begun: mapping.begin_checksum(idsn.number(data)),
                expected,
            }),
            (Some(_), None) => return self.refuse(at, ResetReason::PROTOCOL, call),
            (None, _) => None,
        };
        let subflow = &mut self.subflows[at];
        let Some(start) = subflow.position(mapping.ssn) else {
            return;
        };
        let added = subflow.mappings.add(start, mapping.payload().into(), data, check);
        if let Err(ConflictingMapping) = added {
            self.refuse(at, ResetReason::PROTOCOL, call);
        }
    }

    /// Moves bytes that are in order on their subflow to the data level.
    fn take_mapped(&mut self, at: usize, call: &mut CallContext<'_>) {
        let subflow = &mut self.subflows[at];
        let mapped = match subflow.mappings.take() {
            Ok(mapped) => mapped,
            Err(ChecksumMismatch { data }) => return self.on_damage(at, data, call),
        };
        // "If a mapping for that subflow-level sequence space does not arrive within a receive window of data, that
        // subflow SHOULD be treated as broken" (RFC 8684 §3.3.1).
        if subflow.mappings.waiting_bytes() > call.config.receive_buffer {
            return self.refuse(at, ResetReason::MIDDLEBOX, call);
        }
        let mut ready = Vec::new();
        for (position, bytes) in mapped {
            self.receiver.take(position, bytes, &mut ready);
        }
        call.buffers.deliver(ready);
        if self.receiver.finish() {
            call.buffers.finish_reading();
            self.state = self.state.after_peer_fin();
            self.subflows[at].tcb.acknowledge_at_once(call.now);
        }
    }

    /// A middlebox has changed data: resets the subflow with an MP_FAIL that carries the data sequence number (RFC 8684 §3.7).
    fn on_damage(&mut self, at: usize, data: Position, call: &mut CallContext<'_>) {
        if let Some(idsn) = self.receiver.idsn {
            let data = idsn.number(data);
            self.subflows[at].abort(MptcpOption::Fail { data });
        }
        self.on_subflow_closed(at, CloseReason::Violation, call.buffers);
    }

    /// The subflow violates the protocol: ends it and reinjects its data on other subflows.
    pub(super) fn refuse(&mut self, at: usize, reason: ResetReason, call: &mut CallContext<'_>) {
        let subflow = &mut self.subflows[at];
        if subflow.is_closed() {
            return;
        }
        let is_opening = matches!(self.state, State::SynSent | State::SynReceived);
        subflow.abort(MptcpOption::Reset {
            transient: false,
            reason,
        });
        let close = match reason {
            _ if is_opening => CloseReason::NoMptcp,
            ResetReason::MIDDLEBOX => CloseReason::NoMptcp,
            _ => CloseReason::Violation,
        };
        self.on_subflow_closed(at, close, call.buffers);
    }
}

//! Plain TCP: one control block between two addresses.

use alloc::vec::Vec;

use anabranch_policy::{Backlog, PathFacts, Pick, PolicySet};
use anabranch_types::{Instant, PathId};

use super::{Event, NewConnection, SocketBuffers, initial_facts};
use crate::TcpConfig;
use crate::endpoint::FourTuple;
use crate::tcb::{
    Context, ControlBlock, Demand, Effects, HeaderFields, OpenParameters, OutgoingSegment, Payload, State,
};
use crate::wire::{Options, Segment};

/// A single subflow between two addresses.
#[derive(Debug)]
pub(crate) struct PlainTcp {
    tuple: FourTuple,
    pub(super) policies: PolicySet,
    facts: [PathFacts; 1],
    tcb: ControlBlock,
    /// A RST is to be sent at once.
    reset_due: bool,
}

impl PlainTcp {
    pub(crate) fn new(
        new_connection: &NewConnection,
        tcb: impl FnOnce(OpenParameters, &TcpConfig) -> ControlBlock,
    ) -> Self {
        let NewConnection { tuple, iss, config } = new_connection;
        let parameters = OpenParameters {
            id: PathId(0),
            iss: *iss,
            mss: ControlBlock::mss_for(config.mtu, tuple.remote.is_ipv4()),
            reserved: 0,
        };
        let mut facts = initial_facts(&parameters, config);
        facts.primary = true;
        Self {
            tuple: *tuple,
            policies: config.policies.build(),
            facts: [facts],
            tcb: tcb(parameters, config),
            reset_due: false,
        }
    }

    pub(crate) const fn tuple(&self) -> FourTuple {
        self.tuple
    }

    pub(crate) const fn tcb(&self) -> &ControlBlock {
        &self.tcb
    }

    pub(crate) const fn facts(&self) -> &[PathFacts] {
        &self.facts
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.tcb.state() == State::Closed && !self.reset_due
    }

    /// The subflow and its context.
    fn split<'a>(&'a mut self, now: Instant, config: &'a TcpConfig) -> (&'a mut ControlBlock, Context<'a>) {
        let context = Context {
            now,
            config,
            policies: &mut self.policies,
            facts: &mut self.facts,
        };
        (&mut self.tcb, context)
    }

    /// Processes a segment. Returns whether it must be answered by a reset.
    pub(crate) fn handle_segment(
        &mut self,
        now: Instant,
        segment: &Segment<'_>,
        buffers: &mut SocketBuffers,
        config: &TcpConfig,
    ) -> bool {
        let mut effects = Effects::default();
        let (tcb, mut context) = self.split(now, config);
        let refused = tcb.on_segment(segment, &mut context, &mut effects);
        act_on(effects, buffers);
        refused
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant, buffers: &mut SocketBuffers, config: &TcpConfig) {
        let mut effects = Effects::default();
        let (tcb, mut context) = self.split(now, config);
        tcb.on_deadline(&mut context, &mut effects);
        act_on(effects, buffers);
    }

    /// Aborts the subflow; the peer receives a RST if it knows the connection. Returns whether there was one to abort.
    pub(crate) fn abort(&mut self) -> bool {
        let state = self.tcb.state();
        self.reset_due |= !matches!(state, State::SynSent | State::TimeWait | State::Closed);
        self.tcb.forget();
        state != State::Closed
    }

    /// Appends the next segment to `out`, without checksum; `false` if there is none now.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        buffers: &mut SocketBuffers,
        config: &TcpConfig,
        out: &mut Vec<u8>,
    ) -> bool {
        let outgoing = if core::mem::take(&mut self.reset_due) {
            Some(self.tcb.reset_segment())
        } else {
            let (tcb, mut context) = self.split(now, config);
            next_outgoing(tcb, buffers, &mut context)
        };
        let Some(outgoing) = outgoing else {
            return false;
        };
        let header_fields = HeaderFields {
            window: self.tcb.own_field(outgoing.kind(), buffers.unread()),
            options: Options::default(),
        };
        let segment = Segment {
            source_port: self.tuple.local.port(),
            destination_port: self.tuple.remote.port(),
            ..self.tcb.address(&outgoing, header_fields, now, config)
        };
        segment.write_unsealed(out);
        true
    }
}

fn act_on(effects: Effects, buffers: &mut SocketBuffers) {
    if effects.opened {
        buffers.tell(Event::Connected);
    }
    buffers.deliver(effects.ready);
    buffers.release(effects.freed);
    if effects.peer_finished {
        buffers.finish_reading();
    }
    if let Some(reason) = effects.closed {
        buffers.close(reason);
    }
}

fn next_outgoing(
    tcb: &mut ControlBlock,
    buffers: &mut SocketBuffers,
    context: &mut Context<'_>,
) -> Option<OutgoingSegment> {
    let now = context.now;
    tcb.next_control(context)
        .or_else(|| next_new(tcb, buffers, context))
        .or_else(|| {
            let ends = buffers.closing && buffers.outgoing.unsent() == 0;
            ends.then(|| tcb.next_fin(context)).flatten()
        })
        .or_else(|| {
            let is_all = buffers.outgoing.unsent() == 0;
            is_all.then(|| tcb.next_rescue(context)).flatten()
        })
        .or_else(|| tcb.next_ack(tcb.has_window_to_tell(buffers.unread()), now))
}

/// New data, if windows, burst limit and scheduler allow it.
fn next_new(
    tcb: &mut ControlBlock,
    buffers: &mut SocketBuffers,
    context: &mut Context<'_>,
) -> Option<OutgoingSegment> {
    let now = context.now;
    context.facts[0].pacing_limited = false;
    let (usable, largest_window) = tcb.peer_window();
    let demand = Demand {
        unsent: buffers.outgoing.unsent(),
        usable,
        largest_window,
        idle: tcb.is_idle(),
        flushes: buffers.closing || !context.config.nagle,
    };
    let length = tcb.sendable(&demand, context);
    if length == 0 {
        // Sends a window probe if data waits that no acknowledgement or timeout would release, and the peer has been silent for
        // long enough.
        if demand.unsent > 0 && demand.idle {
            tcb.wait_for_window(now);
        }
        tcb.tell_limit(context);
        return None;
    }
    let allowance = context.policies.burst.allowance(&context.facts[0], now);
    context.facts[0].sendable = allowance.bytes.min(length);
    if allowance.bytes == 0 {
        context.facts[0].pacing_limited =
            allowance.again_at.is_some() && demand.would_fill(&context.facts[0]);
        tcb.hold_back_until(allowance.again_at);
        return None;
    }
    let backlog = Backlog {
        unsent_bytes: demand.unsent,
        peer_window: usable,
        send_window: buffers.outgoing.capacity().min(largest_window),
        bound: None,
    };
    match context.policies.path_scheduler.pick(context.facts, &backlog, now) {
        Pick::On(path) => {
            let bytes = buffers.outgoing.take(length).bytes;
            let is_last = buffers.outgoing.unsent() == 0;
            let payload = Payload {
                bytes,
                fin: is_last && buffers.closing,
                data: None,
            };
            let outgoing = tcb.send_new(payload, is_last, context);
            context.policies.path_scheduler.on_sent(path, length, now);
            context.policies.burst.on_sent(path, length, now);
            Some(outgoing)
        }
        Pick::Wait { until } => {
            tcb.hold_back_until(until);
            None
        }
        // With one path, no data is left for another subflow.
        Pick::Ahead { .. } => None,
    }
}

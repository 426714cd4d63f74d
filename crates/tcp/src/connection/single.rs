//! Who carries the bytes of plain TCP? One flow.

use alloc::vec::Vec;

use anabranch_policy::{Backlog, PathFacts, Pick, PolicySet};
use anabranch_types::{Instant, PathId};

use super::{Beginning, Desk, Event, first_facts};
use crate::TcpConfig;
use crate::endpoint::FourTuple;
use crate::flow::{Context, Demand, Flow, Hello, Load, News, Outgoing, Saying, State};
use crate::wire::{Options, Segment};

/// One flow between two ends.
#[derive(Debug)]
pub(crate) struct Single {
    tuple: FourTuple,
    pub(super) policies: PolicySet,
    facts: [PathFacts; 1],
    flow: Flow,
    /// The peer is told at once that nothing more comes.
    reset_due: bool,
}

impl Single {
    pub(crate) fn new(beginning: &Beginning, flow: impl FnOnce(Hello, &TcpConfig) -> Flow) -> Self {
        let Beginning {
            tuple,
            initial,
            config,
        } = beginning;
        let hello = Hello {
            id: PathId(0),
            initial: *initial,
            max_segment: Flow::max_segment_for(config.mtu, tuple.remote.is_ipv4()),
            reserved: 0,
        };
        let mut facts = first_facts(&hello, config);
        facts.primary = true;
        Self {
            tuple: *tuple,
            policies: config.policies.build(),
            facts: [facts],
            flow: flow(hello, config),
            reset_due: false,
        }
    }

    pub(crate) const fn tuple(&self) -> FourTuple {
        self.tuple
    }

    pub(crate) const fn flow(&self) -> &Flow {
        &self.flow
    }

    pub(crate) const fn facts(&self) -> &[PathFacts] {
        &self.facts
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.flow.state() == State::Closed && !self.reset_due
    }

    /// The flow, and what it works with.
    fn split<'a>(&'a mut self, now: Instant, config: &'a TcpConfig) -> (&'a mut Flow, Context<'a>) {
        let context = Context {
            now,
            config,
            policies: &mut self.policies,
            facts: &mut self.facts,
        };
        (&mut self.flow, context)
    }

    /// Takes a segment. Returns whether it must be answered by a reset.
    pub(crate) fn handle_segment(
        &mut self,
        now: Instant,
        segment: &Segment<'_>,
        desk: &mut Desk,
        config: &TcpConfig,
    ) -> bool {
        let mut news = News::default();
        let (flow, mut context) = self.split(now, config);
        let refused = flow.on_segment(segment, &mut context, &mut news);
        act_on(news, desk);
        refused
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant, desk: &mut Desk, config: &TcpConfig) {
        let mut news = News::default();
        let (flow, mut context) = self.split(now, config);
        flow.on_deadline(&mut context, &mut news);
        act_on(news, desk);
    }

    /// Ends the flow here and now; the peer is told if it knows of it. Returns whether there was one to end.
    pub(crate) fn abort(&mut self) -> bool {
        let state = self.flow.state();
        self.reset_due |= !matches!(state, State::SynSent | State::TimeWait | State::Closed);
        self.flow.forget();
        state != State::Closed
    }

    /// Appends the next segment to `out`; `false` if there is none now.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        desk: &mut Desk,
        config: &TcpConfig,
        out: &mut Vec<u8>,
    ) -> bool {
        let outgoing = if core::mem::take(&mut self.reset_due) {
            Some(self.flow.last_word())
        } else {
            let (flow, mut context) = self.split(now, config);
            next_outgoing(flow, desk, &mut context)
        };
        let Some(outgoing) = outgoing else {
            return false;
        };
        let saying = Saying {
            window: self.flow.own_field(outgoing.kind(), desk.unread()),
            options: Options::default(),
        };
        let (source, destination) = (self.tuple.local, self.tuple.remote);
        let segment = Segment {
            source_port: source.port(),
            destination_port: destination.port(),
            ..self.flow.address(&outgoing, saying, now, config)
        };
        segment.write(source.ip(), destination.ip(), out);
        true
    }
}

fn act_on(news: News, desk: &mut Desk) {
    if news.opened {
        desk.tell(Event::Connected);
    }
    desk.deliver(news.ready);
    desk.release(news.freed);
    if news.peer_finished {
        desk.finish_reading();
    }
    if let Some(reason) = news.closed {
        desk.close(reason);
    }
}

fn next_outgoing(flow: &mut Flow, desk: &mut Desk, context: &mut Context<'_>) -> Option<Outgoing> {
    let now = context.now;
    flow.next_control(context)
        .or_else(|| next_new(flow, desk, context))
        .or_else(|| {
            let ends = desk.closing && desk.outgoing.unsent() == 0;
            ends.then(|| flow.next_fin(context)).flatten()
        })
        .or_else(|| {
            let is_all = desk.outgoing.unsent() == 0;
            is_all.then(|| flow.next_rescue(context)).flatten()
        })
        .or_else(|| flow.next_ack(flow.has_window_to_tell(desk.unread()), now))
}

/// New data, if windows, burst limit and scheduler let it go.
fn next_new(flow: &mut Flow, desk: &mut Desk, context: &mut Context<'_>) -> Option<Outgoing> {
    let now = context.now;
    context.facts[0].pacing_limited = false;
    let (usable, largest_window) = flow.peer_window();
    let demand = Demand {
        unsent: desk.outgoing.unsent(),
        usable,
        largest_window,
        idle: flow.is_idle(),
        flushes: desk.closing || !context.config.nagle,
    };
    let length = flow.sendable(&demand, context);
    if length == 0 {
        // Something may wait that neither an acknowledgement nor a timeout would let go: then the peer is asked for its
        // window when it has been silent for long enough.
        if demand.unsent > 0 && demand.idle {
            flow.wait_for_window(now);
        }
        return None;
    }
    let allowance = context.policies.burst.allowance(&context.facts[0], now);
    context.facts[0].sendable = allowance.bytes.min(length);
    if allowance.bytes == 0 {
        context.facts[0].pacing_limited =
            allowance.again_at.is_some() && demand.would_fill(&context.facts[0]);
        flow.hold_back_until(allowance.again_at);
        return None;
    }
    let backlog = Backlog {
        unsent_bytes: demand.unsent,
        peer_window: usable,
        send_window: desk.outgoing.capacity().min(largest_window),
        bound: None,
    };
    match context.policies.path_scheduler.pick(context.facts, &backlog, now) {
        Pick::On(path) => {
            let bytes = desk.outgoing.take(length).bytes;
            let is_last = desk.outgoing.unsent() == 0;
            let load = Load {
                bytes,
                fin: is_last && desk.closing,
                data: None,
            };
            let outgoing = flow.send_new(load, is_last, context);
            context.policies.path_scheduler.on_sent(path, length, now);
            context.policies.burst.on_sent(path, length, now);
            Some(outgoing)
        }
        Pick::Wait { until } => {
            flow.hold_back_until(until);
            None
        }
        // With one path there is nobody to leave anything to.
        Pick::Ahead { .. } => None,
    }
}

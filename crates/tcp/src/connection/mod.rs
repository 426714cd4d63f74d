//! One connection: what the application hands over and reads, and the flow that carries it.

mod commands;
mod output;

use alloc::collections::VecDeque;

use anabranch_policy::{PathFacts, PolicySet, Reachability};
use anabranch_types::{Instant, PathId};
use bytes::Bytes;

use crate::TcpConfig;
use crate::buffer::SendBuffer;
use crate::endpoint::FourTuple;
use crate::flow::{CloseReason, Context, Flow, FlowCounters, Hello, News, State};
use crate::sequence::SequenceNumber;
use crate::wire::Segment;

/// What happened to a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// Both ends have agreed to begin.
    Connected,
    /// There is something to read that was not there before.
    Readable,
    /// There is room in the send buffer after there was none.
    Writable,
    /// The peer has sent everything; what is left can still be read.
    PeerFinished,
    /// The connection is over.
    Closed(CloseReason),
}

/// A TCP connection.
#[derive(Debug)]
pub struct Connection {
    tuple: FourTuple,
    config: TcpConfig,
    policies: PolicySet,
    facts: [PathFacts; 1],
    flow: Flow,
    outgoing: SendBuffer,
    /// What the application can read.
    incoming: VecDeque<Bytes>,
    unread: u64,
    bytes_received: u64,
    /// The application has handed over everything.
    closing: bool,
    /// There was no room for more when something was last handed over.
    write_blocked: bool,
    peer_finished: bool,
    /// The peer is told at once that nothing more comes.
    reset_due: bool,
    events: VecDeque<Event>,
}

/// What is known of a connection.
#[derive(Clone, Debug)]
pub struct ConnectionStatistics {
    /// Where it is in its life.
    pub state: State,
    /// What was counted.
    pub counters: FlowCounters,
    /// Bytes that arrived in order.
    pub bytes_received: u64,
    /// Bytes that arrived and wait for others before them.
    pub out_of_order_bytes: u64,
    /// Bytes of the send buffer in use.
    pub send_buffer_used: u64,
    /// Bytes that it holds.
    pub send_buffer_size: u64,
    /// Round-trip time, window and more.
    pub facts: PathFacts,
}

/// What a connection begins with.
pub(crate) struct Beginning {
    pub(crate) tuple: FourTuple,
    pub(crate) initial: SequenceNumber,
    pub(crate) config: TcpConfig,
}

impl Connection {
    /// A connection that sends a SYN.
    pub(crate) fn connect(beginning: Beginning) -> Self {
        Self::new(beginning, Flow::connect)
    }

    /// A connection that answers `syn`.
    pub(crate) fn accept(beginning: Beginning, syn: &Segment<'_>) -> Self {
        Self::new(beginning, |hello, config| Flow::accept(hello, syn, config))
    }

    fn new(beginning: Beginning, flow: impl FnOnce(Hello, &TcpConfig) -> Flow) -> Self {
        let Beginning {
            tuple,
            initial,
            config,
        } = beginning;
        let max_segment = Flow::max_segment_for(config.mtu, tuple.remote.is_ipv4());
        let hello = Hello {
            id: PathId(0),
            initial,
            max_segment,
        };
        let rto = config.rto().initial;
        let mut facts = PathFacts::new(PathId(0), config.mtu, max_segment, rto);
        facts.reachability = Reachability::Unconfirmed;
        facts.primary = true;
        Self {
            tuple,
            policies: config.policies.build(),
            facts: [facts],
            flow: flow(hello, &config),
            outgoing: SendBuffer::new(config.send_buffer),
            incoming: VecDeque::new(),
            unread: 0,
            bytes_received: 0,
            closing: false,
            write_blocked: false,
            peer_finished: false,
            reset_due: false,
            events: VecDeque::new(),
            config,
        }
    }

    pub(crate) const fn tuple(&self) -> FourTuple {
        self.tuple
    }

    /// Whether nothing is left of it but what the application has not read.
    pub(crate) fn is_gone(&self) -> bool {
        self.flow.state() == State::Closed && !self.reset_due
    }

    /// The flow, and what it works with.
    fn split(&mut self, now: Instant) -> (&mut Flow, Context<'_>) {
        let context = Context {
            now,
            config: &self.config,
            policies: &mut self.policies,
            facts: &mut self.facts,
        };
        (&mut self.flow, context)
    }

    /// Takes a segment that belongs to this connection. Returns whether it must be answered by a reset.
    pub(crate) fn handle_segment(&mut self, now: Instant, segment: &Segment<'_>) -> bool {
        let mut news = News::default();
        let (flow, mut context) = self.split(now);
        let refused = flow.on_segment(segment, &mut context, &mut news);
        self.act_on(news);
        refused
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let mut news = News::default();
        let (flow, mut context) = self.split(now);
        flow.on_deadline(&mut context, &mut news);
        self.act_on(news);
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.flow.deadline()
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn act_on(&mut self, news: News) {
        if news.opened {
            self.events.push_back(Event::Connected);
        }
        let readable = !news.ready.is_empty();
        for (_, bytes) in news.ready {
            self.unread += bytes.len() as u64;
            self.bytes_received += bytes.len() as u64;
            self.incoming.push_back(bytes);
        }
        if readable {
            self.events.push_back(Event::Readable);
        }
        self.outgoing.release(news.freed);
        if self.write_blocked && self.outgoing.room() > 0 {
            self.write_blocked = false;
            self.events.push_back(Event::Writable);
        }
        if news.peer_finished {
            self.peer_finished = true;
            self.events.push_back(Event::PeerFinished);
        }
        if let Some(reason) = news.closed {
            self.outgoing.clear();
            self.events.push_back(Event::Closed(reason));
        }
    }
}

//! One connection: the desk where the application hands over and reads, and what carries the bytes.
//!
//! Plain TCP has one flow and Multipath TCP several with a second sequence space above them. The application sees no
//! difference, so both stand behind the same desk.

mod commands;
mod desk;
mod single;

use alloc::vec::Vec;

use anabranch_policy::{PathFacts, Reachability};
use anabranch_types::Instant;

pub(crate) use desk::Desk;
use single::Single;

use crate::TcpConfig;
use crate::endpoint::FourTuple;
use crate::flow::{CloseReason, Flow, FlowCounters, Hello, State};
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
    config: TcpConfig,
    desk: Desk,
    carrier: Carrier,
}

/// What carries the bytes.
#[derive(Debug)]
enum Carrier {
    /// Plain TCP.
    Single(Single),
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

/// What is known of a flow that has not said anything yet.
pub(crate) fn first_facts(hello: &Hello, config: &TcpConfig) -> PathFacts {
    let rto = config.rto().initial;
    let mut facts = PathFacts::new(hello.id, config.mtu, hello.max_segment, rto);
    facts.reachability = Reachability::Unconfirmed;
    facts
}

impl Connection {
    /// A connection that sends a SYN.
    pub(crate) fn connect(beginning: Beginning) -> Self {
        let carrier = Carrier::Single(Single::new(&beginning, Flow::connect));
        Self::new(beginning.config, carrier)
    }

    /// A connection that answers `syn`.
    pub(crate) fn accept(beginning: Beginning, syn: &Segment<'_>) -> Self {
        let flow = |hello, config: &TcpConfig| Flow::accept(hello, syn, config);
        let carrier = Carrier::Single(Single::new(&beginning, flow));
        Self::new(beginning.config, carrier)
    }

    fn new(config: TcpConfig, carrier: Carrier) -> Self {
        Self {
            desk: Desk::new(&config),
            config,
            carrier,
        }
    }

    pub(crate) const fn tuple(&self) -> FourTuple {
        match &self.carrier {
            Carrier::Single(single) => single.tuple(),
        }
    }

    /// Whether nothing is left of it but what the application has not read.
    pub(crate) fn is_gone(&self) -> bool {
        match &self.carrier {
            Carrier::Single(single) => single.is_gone(),
        }
    }

    /// Takes a segment that belongs to this connection. Returns whether it must be answered by a reset.
    pub(crate) fn handle_segment(&mut self, now: Instant, segment: &Segment<'_>) -> bool {
        let Self {
            config,
            desk,
            carrier,
        } = self;
        match carrier {
            Carrier::Single(single) => single.handle_segment(now, segment, desk, config),
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let Self {
            config,
            desk,
            carrier,
        } = self;
        match carrier {
            Carrier::Single(single) => single.handle_timeout(now, desk, config),
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match &self.carrier {
            Carrier::Single(single) => single.flow().deadline(),
        }
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.desk.next_event()
    }

    /// Appends the next segment to `out`; `false` if there is none now.
    pub(crate) fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        let Self {
            config,
            desk,
            carrier,
        } = self;
        match carrier {
            Carrier::Single(single) => single.poll_transmit(now, desk, config, out),
        }
    }
}

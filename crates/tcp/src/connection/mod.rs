//! One connection: the desk where the application hands over and reads, and what carries the bytes.
//!
//! Plain TCP has one flow and Multipath TCP several with a second sequence space above them. The application sees no
//! difference, so both stand behind the same desk.

mod commands;
mod desk;
mod single;

use alloc::boxed::Box;
use alloc::vec::Vec;

use anabranch_policy::{PathFacts, Reachability};
use anabranch_types::{Instant, PathId};

pub(crate) use desk::Desk;
use single::Single;

use crate::TcpConfig;
use crate::endpoint::FourTuple;
use crate::flow::{CloseReason, Flow, FlowCounters, Hello, State};
use crate::multipath::{Bundle, DataStatistics, Ends, Joining, Wish};
use crate::sequence::SequenceNumber;
use crate::wire::{Key, Lead, Segment, Token};

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
    /// A further flow is part of the connection now, over a path of its own.
    PathOpened(PathId),
    /// A flow of several is over; the connection goes on.
    PathClosed(PathId, CloseReason),
    /// The connection is over.
    Closed(CloseReason),
}

/// A TCP connection, or one of Multipath TCP.
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
    Single(Box<Single>),
    /// Multipath TCP.
    Bundle(Box<Bundle>),
}

/// What is known of a connection.
#[derive(Clone, Debug)]
pub struct ConnectionStatistics {
    /// Where it is in its life.
    pub state: State,
    /// What was counted, of all flows together.
    pub counters: FlowCounters,
    /// Bytes that arrived in order.
    pub bytes_received: u64,
    /// Bytes that arrived and wait for others before them.
    pub out_of_order_bytes: u64,
    /// Bytes of the send buffer in use.
    pub send_buffer_used: u64,
    /// Of them those that were sent: the retransmission queue.
    pub send_buffer_sent: u64,
    /// Bytes that it holds.
    pub send_buffer_size: u64,
    /// Round-trip time, window and more, of the first flow.
    pub facts: PathFacts,
    /// What was counted of the data, if several flows may carry it.
    pub data: Option<DataStatistics>,
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
    /// A connection that sends a SYN. `key` is asked for where several flows are wanted.
    pub(crate) fn connect(beginning: Beginning, key: impl FnOnce() -> Key) -> Self {
        let carrier = match &beginning.config.multipath {
            None => Carrier::Single(Box::new(Single::new(&beginning, Flow::connect))),
            Some(settings) => Carrier::Bundle(Box::new(Bundle::connect(&beginning, settings, key()))),
        };
        Self::new(beginning.config, carrier)
    }

    /// A connection that answers `syn`; `None` if that does not offer what it must.
    pub(crate) fn accept(beginning: Beginning, syn: &Segment<'_>, key: impl FnOnce() -> Key) -> Option<Self> {
        let carrier = match &beginning.config.multipath {
            None => {
                let flow = |hello, config: &TcpConfig| Flow::accept(hello, syn, config);
                Carrier::Single(Box::new(Single::new(&beginning, flow)))
            }
            Some(settings) if matches!(syn.options.multipath.lead, Some(Lead::Capable(_))) => {
                Carrier::Bundle(Box::new(Bundle::accept(&beginning, settings, key(), syn)))
            }
            Some(_) => return None,
        };
        Some(Self::new(beginning.config, carrier))
    }

    fn new(config: TcpConfig, carrier: Carrier) -> Self {
        Self {
            desk: Desk::new(&config),
            config,
            carrier,
        }
    }

    /// The ends of its first flow.
    pub(crate) fn tuple(&self) -> FourTuple {
        match &self.carrier {
            Carrier::Single(single) => single.tuple(),
            Carrier::Bundle(bundle) => bundle.tuple(),
        }
    }

    /// The ends of all its flows.
    pub(crate) fn tuples(&self) -> Vec<FourTuple> {
        match &self.carrier {
            Carrier::Single(single) => [single.tuple()].into(),
            Carrier::Bundle(bundle) => bundle.paths().map(|path| path.ends).collect(),
        }
    }

    /// What further flows name it by, if it may have them.
    pub(crate) fn token(&self) -> Option<Token> {
        match &self.carrier {
            Carrier::Single(_) => None,
            Carrier::Bundle(bundle) => Some(bundle.token()),
        }
    }

    /// Whether nothing is left of it but what the application has not read.
    pub(crate) fn is_gone(&self) -> bool {
        match &self.carrier {
            Carrier::Single(single) => single.is_gone(),
            Carrier::Bundle(bundle) => bundle.is_gone(),
        }
    }

    /// Addresses that its flows took or gave back, in the order in which they did.
    pub(crate) fn next_ends(&mut self) -> Option<Ends> {
        match &mut self.carrier {
            Carrier::Single(_) => None,
            Carrier::Bundle(bundle) => bundle.next_ends(),
        }
    }

    /// A further flow that it would have begun now.
    pub(crate) fn next_wish(&mut self, now: Instant) -> Option<Wish> {
        match &mut self.carrier {
            Carrier::Single(_) => None,
            Carrier::Bundle(bundle) => bundle.next_wish(now),
        }
    }

    /// Begins a further flow.
    pub(crate) fn join(&mut self, joining: Joining) {
        if let Carrier::Bundle(bundle) = &mut self.carrier {
            bundle.join(joining, &self.config);
        }
    }

    /// The peer begins a further flow with `syn`. Returns whether it may.
    pub(crate) fn accept_join(&mut self, joining: Joining, syn: &Segment<'_>) -> bool {
        match &mut self.carrier {
            Carrier::Single(_) => false,
            Carrier::Bundle(bundle) => bundle.accept_join(joining, syn, &self.config),
        }
    }

    /// Takes a segment that belongs to a flow of this connection. Returns whether it must be answered by a reset.
    pub(crate) fn handle_segment(&mut self, now: Instant, path: PathId, segment: &Segment<'_>) -> bool {
        self.begin_burst();
        let Self {
            config,
            desk,
            carrier,
        } = self;
        match carrier {
            Carrier::Single(single) => single.handle_segment(now, segment, desk, config),
            Carrier::Bundle(bundle) => bundle.handle_segment(now, path, segment, desk, config),
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.begin_burst();
        let Self {
            config,
            desk,
            carrier,
        } = self;
        match carrier {
            Carrier::Single(single) => single.handle_timeout(now, desk, config),
            Carrier::Bundle(bundle) => bundle.handle_timeout(now, desk, config),
        }
    }

    /// An occasion to send: what leaves until the next one is one burst.
    fn begin_burst(&mut self) {
        match &mut self.carrier {
            Carrier::Single(single) => single.policies.burst.on_occasion(),
            Carrier::Bundle(bundle) => bundle.policies.burst.on_occasion(),
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match &self.carrier {
            Carrier::Single(single) => single.flow().deadline(),
            Carrier::Bundle(bundle) => bundle.deadline(),
        }
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.desk.next_event()
    }

    /// Appends the next segment to `out` and says where it goes; `None` if there is none now.
    pub(crate) fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<FourTuple> {
        let Self {
            config,
            desk,
            carrier,
        } = self;
        match carrier {
            Carrier::Single(single) => {
                let left = single.poll_transmit(now, desk, config, out);
                left.then(|| single.tuple())
            }
            Carrier::Bundle(bundle) => bundle.poll_transmit(now, desk, config, out),
        }
    }
}

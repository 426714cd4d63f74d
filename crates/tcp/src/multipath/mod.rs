//! Who carries the bytes of Multipath TCP (RFC 8684)? A bundle of flows under one sequence of data.
//!
//! Each flow is a TCP of its own: it numbers, acknowledges, loses and repeats what was put on it. Above them the data has
//! numbers of its own, one send window and one receive buffer. A segment that carries data says which data (a mapping),
//! and every segment says what of the data has arrived (DATA_ACK).
//!
//! | where | what |
//! |---|---|
//! | `handshake` | who may open a connection or join it |
//! | `lane` | one flow and its part in the connection |
//! | `input`, `mappings`, `receiving` | from a segment to the application |
//! | `output`, `sending`, `moving` | from the application to a segment; what goes over another flow |
//! | `addresses`, `notices` | between which addresses flows go |
//! | `ending`, `timers` | what ends, and what is overdue |

mod addresses;
mod config;
mod ending;
mod handshake;
mod input;
mod lane;
mod mappings;
mod moving;
mod notices;
mod origin;
mod output;
mod receiving;
mod sending;
mod statistics;
mod timers;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use anabranch_policy::{PathFacts, PolicySet, Reachability};
use anabranch_types::{Instant, PathId};

use addresses::Addresses;
pub(crate) use addresses::Wish;
pub use config::{MultipathConfig, PathPairs};
use handshake::Terms;
use lane::{Lane, Role};
use notices::Advertisement;
use receiving::Receiving;
use sending::Sending;
pub use statistics::{DataStatistics, PathStatistics};

use crate::TcpConfig;
use crate::connection::{Beginning, first_facts};
use crate::endpoint::FourTuple;
use crate::flow::{Context, Flow, Hello, State};
use crate::sequence::SequenceNumber;
use crate::wire::{Join, Key, Lead, Nonce, Segment, Token};

/// Room for what data carries: an acknowledgement of eight bytes and a mapping of four, with a checksum; or both keys.
const RESERVED: u16 = 24;
/// Most flows that a connection ever has at a time.
const MOST_FLOWS: usize = 32;

/// All flows of a connection, and its data.
#[derive(Debug)]
pub(crate) struct Bundle {
    settings: MultipathConfig,
    pub(crate) policies: PolicySet,
    /// By the numbers of flows, as `lanes`.
    facts: Vec<PathFacts>,
    lanes: Vec<Lane>,
    terms: Terms,
    sending: Sending,
    receiving: Receiving,
    addresses: Addresses,
    advertisements: Vec<Advertisement>,
    /// When further flows may be begun, once the first one is confirmed.
    joins_from: Option<Instant>,
    /// Where the whole connection is in its life.
    state: State,
    /// When flows that have still not ended are reset, once all data is through.
    leave_by: Option<Instant>,
    /// Addresses that flows took or gave back.
    ends: VecDeque<Ends>,
    /// Nothing could be sent since the last question.
    new_round: bool,
    /// What flows counted whose place was taken by others.
    past: statistics::Past,
}

/// A change in which addresses a connection has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ends {
    pub(crate) tuple: FourTuple,
    /// The flow that has them now; `None` if they are free.
    pub(crate) path: Option<PathId>,
}

/// What a flow begins with that joins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joining {
    pub(crate) tuple: FourTuple,
    pub(crate) initial: SequenceNumber,
    pub(crate) nonce: Nonce,
}

impl Bundle {
    /// A bundle whose first flow sends a SYN.
    pub(crate) fn connect(beginning: &Beginning, settings: &MultipathConfig, key: Key) -> Self {
        let mut bundle = Self::new(beginning, settings, key, State::SynSent);
        let hello = bundle.hello(PathId(0), beginning.tuple, beginning.initial, &beginning.config);
        let flow = Flow::connect(hello, &beginning.config);
        bundle.add(
            hello,
            Lane::new(beginning.tuple, flow, Role::Opens),
            &beginning.config,
        );
        bundle
    }

    /// A bundle whose first flow answers `syn`, which offers it.
    pub(crate) fn accept(
        beginning: &Beginning,
        settings: &MultipathConfig,
        key: Key,
        syn: &Segment<'_>,
    ) -> Self {
        let mut bundle = Self::new(beginning, settings, key, State::SynReceived);
        if let Some(Lead::Capable(capable)) = &syn.options.multipath.lead {
            bundle.terms.learn(capable);
        }
        let hello = bundle.hello(PathId(0), beginning.tuple, beginning.initial, &beginning.config);
        let flow = Flow::accept(hello, syn, &beginning.config);
        bundle.sending.widen(1, flow.offered(syn));
        bundle.add(
            hello,
            Lane::new(beginning.tuple, flow, Role::Opened),
            &beginning.config,
        );
        bundle
    }

    fn new(beginning: &Beginning, settings: &MultipathConfig, key: Key, state: State) -> Self {
        let terms = Terms {
            own: key,
            peer: None,
            checksum: settings.checksum,
            nr_sack: settings.nr_sack,
        };
        Self {
            policies: beginning.config.policies.build(),
            facts: Vec::new(),
            lanes: Vec::new(),
            sending: Sending::new(terms.origin()),
            receiving: Receiving::new(&beginning.config),
            addresses: Addresses::new(beginning.tuple, settings),
            advertisements: Vec::new(),
            joins_from: None,
            leave_by: None,
            state,
            ends: VecDeque::new(),
            new_round: true,
            past: statistics::Past::default(),
            settings: settings.clone(),
            terms,
        }
    }

    fn hello(&self, id: PathId, tuple: FourTuple, initial: SequenceNumber, config: &TcpConfig) -> Hello {
        Hello {
            id,
            initial,
            max_segment: Flow::max_segment_for(config.mtu, tuple.remote.is_ipv4()),
            reserved: RESERVED,
        }
    }

    /// A flow is part of the connection from now on, in the place that `hello` names.
    fn add(&mut self, hello: Hello, lane: Lane, config: &TcpConfig) {
        let mut facts = first_facts(&hello, config);
        facts.primary = self.lanes.is_empty();
        self.ends.push_back(Ends {
            tuple: lane.tuple,
            path: Some(hello.id),
        });
        match self.lanes.get_mut(hello.id.index()) {
            Some(place) => {
                self.past.count(place);
                *place = lane;
                self.facts[hello.id.index()] = facts;
            }
            None => {
                self.lanes.push(lane);
                self.facts.push(facts);
            }
        }
    }

    /// The number of a flow that may be added; `None` if there are enough.
    fn free_place(&self) -> Option<PathId> {
        let most = usize::from(self.settings.most_flows).min(MOST_FLOWS);
        let taken = self.lanes.iter().filter(|lane| !lane.gone).count();
        let reused = self.lanes.iter().position(|lane| lane.gone);
        let place = reused.unwrap_or(self.lanes.len());
        (taken < most && place < MOST_FLOWS).then_some(PathId(place as u8))
    }

    /// A pair of addresses between which a flow is to be begun now.
    pub(crate) fn next_wish(&mut self, now: Instant) -> Option<Wish> {
        let is_time = self.joins_from.is_some_and(|from| from <= now);
        if !is_time || !self.may_join() {
            return None;
        }
        self.addresses.next_wish()
    }

    /// Whether another flow would be of use and has a place.
    fn may_join(&self) -> bool {
        self.state.sends_data() && self.free_place().is_some()
    }

    /// A flow that this end begins.
    pub(crate) fn join(&mut self, joining: Joining, config: &TcpConfig) {
        let Some(path) = self.free_place() else { return };
        let Joining {
            tuple,
            initial,
            nonce,
        } = joining;
        let hello = self.hello(path, tuple, initial, config);
        let flow = Flow::connect(hello, config);
        let mut lane = Lane::new(tuple, flow, Role::Joins { own: nonce });
        lane.local_id = self.addresses.local_id(tuple.local.ip());
        self.add(hello, lane, config);
    }

    /// A flow that the peer begins with `syn`, which names this connection. Returns whether it is taken.
    pub(crate) fn accept_join(&mut self, joining: Joining, syn: &Segment<'_>, config: &TcpConfig) -> bool {
        let lead = &syn.options.multipath.lead;
        let (
            Some(path),
            Some(Lead::Join(Join::Syn {
                backup,
                address,
                nonce,
                ..
            })),
            false,
        ) = (self.free_place(), lead, self.state == State::TimeWait)
        else {
            return false;
        };
        let hello = self.hello(path, joining.tuple, joining.initial, config);
        let flow = Flow::accept(hello, syn, config);
        let role = Role::Joined {
            own: joining.nonce,
            peer: *nonce,
        };
        let mut lane = Lane::new(joining.tuple, flow, role);
        lane.local_id = self.addresses.local_id(joining.tuple.local.ip());
        lane.remote_id = *address;
        lane.backup = *backup;
        self.add(hello, lane, config);
        true
    }

    /// What the peer names this connection by when a flow joins.
    pub(crate) fn token(&self) -> Token {
        self.terms.own.token()
    }

    /// The ends of the first flow, which stand for the connection.
    pub(crate) fn tuple(&self) -> FourTuple {
        self.lanes[0].tuple
    }

    pub(crate) const fn state(&self) -> State {
        self.state
    }

    pub(crate) fn facts(&self) -> &[PathFacts] {
        &self.facts
    }

    pub(crate) fn next_ends(&mut self) -> Option<Ends> {
        self.ends.pop_front()
    }

    /// Whether nothing is left of it but what the application has not read.
    pub(crate) fn is_gone(&self) -> bool {
        self.state == State::Closed && self.lanes.iter().all(|lane| lane.gone)
    }

    /// One flow, what it works with, and what it shares with the others.
    fn split<'a>(
        &'a mut self,
        at: usize,
        now: Instant,
        config: &'a TcpConfig,
    ) -> (&'a mut Lane, Context<'a>) {
        let context = Context {
            now,
            config,
            policies: &mut self.policies,
            facts: &mut self.facts,
        };
        (&mut self.lanes[at], context)
    }

    /// The flow on which something is best said: one that was answered lately, and quickly.
    fn best_speaker(&self) -> Option<usize> {
        let speaking = (0..self.lanes.len()).filter(|at| self.lanes[*at].speaks());
        speaking.min_by_key(|at| {
            let facts = &self.facts[*at];
            (facts.errors, facts.srtt.is_none(), facts.srtt, *at)
        })
    }

    /// A flow has no more part in anything.
    fn retire(&mut self, at: usize) {
        let lane = &mut self.lanes[at];
        if lane.gone || !lane.is_closed() || lane.reset.is_some() {
            return;
        }
        lane.gone = true;
        self.ends.push_back(Ends {
            tuple: lane.tuple,
            path: None,
        });
        let facts = &mut self.facts[at];
        facts.reachability = Reachability::Unconfirmed;
        facts.sendable = 0;
        facts.in_flight = 0;
        self.policies.remove_path(PathId(at as u8));
    }
}

#[cfg(test)]
mod tests;

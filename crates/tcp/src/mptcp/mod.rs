//! Multipath TCP connection (RFC 8684): several subflows under one data sequence space.
//!
//! Each subflow is a TCP connection with its own sequence numbers, acknowledgements and retransmissions. Above them, the data has
//! its own sequence numbers, one send window and one receive buffer. A segment with data carries a mapping to data sequence
//! numbers, and every segment acknowledges data (DATA_ACK).
//!
//! | module | content |
//! |---|---|
//! | `handshake` | MP_CAPABLE and MP_JOIN |
//! | `subflow` | a control block and its part in the connection |
//! | `input`, `mappings`, `data_receiver` | from a segment to the application |
//! | `output`, `data_sender`, `reinjection` | from the application to a segment |
//! | `addresses`, `options` | addresses of further subflows, and the options that advertise them |
//! | `close`, `timers` | close of subflows and of the connection, timers |

mod addresses;
mod close;
mod config;
mod data_receiver;
mod data_sender;
mod handshake;
mod initial_dsn;
mod input;
mod mappings;
mod options;
mod output;
mod reinjection;
mod statistics;
mod subflow;
mod timers;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use anabranch_policy::{PathFacts, PolicySet, Reachability};
use anabranch_types::{Instant, PathId};

use addresses::Addresses;
pub(crate) use addresses::PendingJoin;
pub use config::{AddressPairing, MptcpConfig};
use data_receiver::DataReceiver;
use data_sender::DataSender;
use handshake::Handshake;
use options::Advertisement;
pub use statistics::{DataStatistics, PathStatistics};
use subflow::{Role, Subflow};

use crate::TcpConfig;
use crate::connection::{NewConnection, initial_facts};
use crate::endpoint::FourTuple;
use crate::sequence::SequenceNumber;
use crate::tcb::{Context, ControlBlock, OpenParameters, State};
use crate::wire::{Key, MpJoin, Nonce, PrimaryOption, Segment, Token};

/// Option space of a segment with data: an acknowledgement of eight bytes and a mapping of four, with a checksum; or both keys.
const RESERVED: u16 = 24;
/// Maximum number of simultaneous subflows of a connection.
const MAX_SUBFLOWS: usize = 32;

/// All subflows of a connection, and its data.
#[derive(Debug)]
pub(crate) struct MptcpConnection {
    settings: MptcpConfig,
    pub(crate) policies: PolicySet,
    /// By subflow number, as `subflows`.
    facts: Vec<PathFacts>,
    subflows: Vec<Subflow>,
    handshake: Handshake,
    sender: DataSender,
    receiver: DataReceiver,
    addresses: Addresses,
    advertisements: Vec<Advertisement>,
    /// When further subflows may be opened, after the first one is confirmed.
    joins_from: Option<Instant>,
    /// State of the whole connection.
    state: State,
    /// When subflows that are still open are reset, after all data is acknowledged.
    leave_by: Option<Instant>,
    /// Addresses that subflows acquired or released.
    tuple_changes: VecDeque<TupleChange>,
    /// Nothing could be sent at the last poll.
    new_round: bool,
    /// Counters of subflows whose numbers were reused.
    retired: statistics::RetiredSubflows,
}

/// A change in the addresses of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TupleChange {
    pub(crate) tuple: FourTuple,
    /// The subflow that acquired them; `None` if they are free.
    pub(crate) path: Option<PathId>,
}

/// Parameters of a subflow that joins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewSubflow {
    pub(crate) tuple: FourTuple,
    pub(crate) iss: SequenceNumber,
    pub(crate) nonce: Nonce,
}

impl MptcpConnection {
    /// Creates a connection whose first subflow sends a SYN.
    pub(crate) fn connect(new_connection: &NewConnection, settings: &MptcpConfig, key: Key) -> Self {
        let mut mptcp = Self::new(new_connection, settings, key, State::SynSent);
        let parameters = mptcp.parameters(
            PathId(0),
            new_connection.tuple,
            new_connection.iss,
            &new_connection.config,
        );
        let tcb = ControlBlock::connect(parameters, &new_connection.config);
        mptcp.add(
            parameters,
            Subflow::new(new_connection.tuple, tcb, Role::CapableInitiator),
            &new_connection.config,
        );
        mptcp
    }

    /// Creates a connection whose first subflow answers `syn`, which offers MP_CAPABLE.
    pub(crate) fn accept(
        new_connection: &NewConnection,
        settings: &MptcpConfig,
        key: Key,
        syn: &Segment<'_>,
    ) -> Self {
        let mut mptcp = Self::new(new_connection, settings, key, State::SynReceived);
        if let Some(PrimaryOption::MpCapable(capable)) = &syn.options.mptcp.primary {
            mptcp.handshake.learn(capable);
        }
        let parameters = mptcp.parameters(
            PathId(0),
            new_connection.tuple,
            new_connection.iss,
            &new_connection.config,
        );
        let tcb = ControlBlock::accept(parameters, syn, &new_connection.config);
        mptcp.sender.widen(1, tcb.offered(syn));
        mptcp.add(
            parameters,
            Subflow::new(new_connection.tuple, tcb, Role::CapableResponder),
            &new_connection.config,
        );
        mptcp
    }

    fn new(new_connection: &NewConnection, settings: &MptcpConfig, key: Key, state: State) -> Self {
        let handshake = Handshake {
            own: key,
            peer: None,
            checksum: settings.checksum,
            nr_sack: settings.nr_sack,
        };
        Self {
            policies: new_connection.config.policies.build(),
            facts: Vec::new(),
            subflows: Vec::new(),
            sender: DataSender::new(handshake.idsn()),
            receiver: DataReceiver::new(&new_connection.config),
            addresses: Addresses::new(new_connection.tuple, settings),
            advertisements: Vec::new(),
            joins_from: None,
            leave_by: None,
            state,
            tuple_changes: VecDeque::new(),
            new_round: true,
            retired: statistics::RetiredSubflows::default(),
            settings: settings.clone(),
            handshake,
        }
    }

    fn parameters(
        &self,
        id: PathId,
        tuple: FourTuple,
        iss: SequenceNumber,
        config: &TcpConfig,
    ) -> OpenParameters {
        OpenParameters {
            id,
            iss,
            mss: ControlBlock::mss_for(config.mtu, tuple.remote.is_ipv4()),
            reserved: RESERVED,
        }
    }

    /// Adds a subflow to the connection under the number in `hello`.
    fn add(&mut self, parameters: OpenParameters, subflow: Subflow, config: &TcpConfig) {
        let mut facts = initial_facts(&parameters, config);
        facts.primary = self.subflows.is_empty();
        self.tuple_changes.push_back(TupleChange {
            tuple: subflow.tuple,
            path: Some(parameters.id),
        });
        match self.subflows.get_mut(parameters.id.index()) {
            Some(place) => {
                self.retired.count(place);
                *place = subflow;
                self.facts[parameters.id.index()] = facts;
            }
            None => {
                self.subflows.push(subflow);
                self.facts.push(facts);
            }
        }
    }

    /// The number for a further subflow; `None` if there are enough.
    fn free_place(&self) -> Option<PathId> {
        let most = usize::from(self.settings.max_subflows).min(MAX_SUBFLOWS);
        let taken = self.subflows.iter().filter(|subflow| !subflow.gone).count();
        let reused = self.subflows.iter().position(|subflow| subflow.gone);
        let place = reused.unwrap_or(self.subflows.len());
        (taken < most && place < MAX_SUBFLOWS).then_some(PathId(place as u8))
    }

    /// An address pair on which a subflow is to be opened now.
    pub(crate) fn next_pending_join(&mut self, now: Instant) -> Option<PendingJoin> {
        let is_time = self.joins_from.is_some_and(|from| from <= now);
        if !is_time || !self.may_join() {
            return None;
        }
        self.addresses.next_pending_join()
    }

    /// Whether another subflow would be useful and has a free number.
    fn may_join(&self) -> bool {
        self.state.sends_data() && self.free_place().is_some()
    }

    /// Opens a subflow from this end.
    pub(crate) fn join(&mut self, new_subflow: NewSubflow, config: &TcpConfig) {
        let Some(path) = self.free_place() else { return };
        let NewSubflow { tuple, iss, nonce } = new_subflow;
        let parameters = self.parameters(path, tuple, iss, config);
        let tcb = ControlBlock::connect(parameters, config);
        let mut subflow = Subflow::new(tuple, tcb, Role::JoinInitiator { own: nonce });
        subflow.local_id = self.addresses.local_id(tuple.local.ip());
        self.add(parameters, subflow, config);
    }

    /// Accepts a subflow that the peer opens with `syn`, whose token names this connection. Returns whether it is accepted.
    pub(crate) fn accept_join(
        &mut self,
        new_subflow: NewSubflow,
        syn: &Segment<'_>,
        config: &TcpConfig,
    ) -> bool {
        let primary = &syn.options.mptcp.primary;
        let (
            Some(path),
            Some(PrimaryOption::MpJoin(MpJoin::Syn {
                backup,
                address,
                nonce,
                ..
            })),
            false,
        ) = (self.free_place(), primary, self.state == State::TimeWait)
        else {
            return false;
        };
        let parameters = self.parameters(path, new_subflow.tuple, new_subflow.iss, config);
        let tcb = ControlBlock::accept(parameters, syn, config);
        let role = Role::JoinResponder {
            own: new_subflow.nonce,
            peer: *nonce,
        };
        let mut subflow = Subflow::new(new_subflow.tuple, tcb, role);
        subflow.local_id = self.addresses.local_id(new_subflow.tuple.local.ip());
        subflow.remote_id = *address;
        subflow.backup = *backup;
        self.add(parameters, subflow, config);
        true
    }

    /// The token by which the peer identifies this connection when a subflow joins.
    pub(crate) fn token(&self) -> Token {
        self.handshake.own.token()
    }

    /// The addresses of the first subflow, which stand for the connection.
    pub(crate) fn tuple(&self) -> FourTuple {
        self.subflows[0].tuple
    }

    pub(crate) const fn state(&self) -> State {
        self.state
    }

    pub(crate) fn facts(&self) -> &[PathFacts] {
        &self.facts
    }

    pub(crate) fn next_tuple_change(&mut self) -> Option<TupleChange> {
        self.tuple_changes.pop_front()
    }

    /// Whether the connection is closed, apart from data that the application has not read.
    pub(crate) fn is_gone(&self) -> bool {
        self.state == State::Closed && self.subflows.iter().all(|subflow| subflow.gone)
    }

    /// One subflow, its context, and the state it shares with the others.
    fn split<'a>(
        &'a mut self,
        at: usize,
        now: Instant,
        config: &'a TcpConfig,
    ) -> (&'a mut Subflow, Context<'a>) {
        let context = Context {
            now,
            config,
            policies: &mut self.policies,
            facts: &mut self.facts,
        };
        (&mut self.subflows[at], context)
    }

    /// The best subflow for a notice: one that was answered lately and has a low RTT.
    fn best_subflow(&self) -> Option<usize> {
        let speaking = (0..self.subflows.len()).filter(|at| self.subflows[*at].can_acknowledge());
        speaking.min_by_key(|at| {
            let facts = &self.facts[*at];
            (facts.errors, facts.srtt().is_none(), facts.srtt(), *at)
        })
    }

    /// Detaches a closed subflow from the connection.
    fn retire(&mut self, at: usize) {
        let subflow = &mut self.subflows[at];
        if subflow.gone || !subflow.is_closed() || subflow.reset.is_some() {
            return;
        }
        subflow.gone = true;
        self.tuple_changes.push_back(TupleChange {
            tuple: subflow.tuple,
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

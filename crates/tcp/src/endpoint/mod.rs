//! Endpoint: all connections of a host, demultiplexing of segments, and answers to segments that belong to none.

mod reset;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, SocketAddr};

use anabranch_types::{Instant, PathId, Rng, Seed};
use thiserror::Error;

use crate::TcpConfig;
use crate::connection::{Connection, Event, NewConnection};
use crate::mptcp::{NewSubflow, PendingJoin, TupleChange};
use crate::sequence::SequenceNumber;
use crate::wire::{Key, Kind, MpJoin, Nonce, PrimaryOption, Segment, Token, checksum};

/// Maximum number of half-open connections from peers.
const MAX_HALF_OPEN: usize = 1_024;
/// Maximum number of queued answers to unknown peers; more are dropped.
const MAX_RESETS: usize = 256;
/// Ephemeral ports (RFC 6335 §6).
const EPHEMERAL_PORTS: core::ops::RangeInclusive<u16> = 49_152..=65_535;

/// Identifies a connection of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

impl fmt::Debug for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection {}", self.0)
    }
}

/// Addresses of the two ends of a connection, including TCP ports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FourTuple {
    /// Local address.
    pub local: SocketAddr,
    /// Remote address.
    pub remote: SocketAddr,
}

/// Source and destination of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressPair {
    /// Source.
    pub source: IpAddr,
    /// Destination.
    pub destination: IpAddr,
}

/// Error of [`Endpoint::connect`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
pub enum ConnectError {
    /// The two addresses are of different IP versions.
    #[error("the two ends are of different IP versions")]
    MixedAddresses,
    /// A connection between these two addresses exists.
    #[error("there is a connection between these two ends")]
    InUse,
    /// All ports are in use.
    #[error("all ports are taken")]
    NoPort,
}

/// All connections of a host, sans-IO: segments and timer expiries in, segments and events out.
///
/// ```
/// use anabranch_tcp::{Endpoint, AddressPair, Event, TcpConfig};
/// use anabranch_types::{Instant, Seed};
/// let (near, far) = ("192.0.2.1:0".parse()?, "192.0.2.2:80".parse()?);
/// let mut client = Endpoint::new(Seed(1));
/// let mut server = Endpoint::new(Seed(2));
/// server.listen(80, TcpConfig::default());
/// let id = client.connect(near, far, TcpConfig::default())?;
///
/// let mut segment = Vec::new();
/// for _ in 0..2 {
///     while let Some(addresses) = client.poll_transmit(Instant::ZERO, &mut segment) {
///         server.handle_segment(Instant::ZERO, addresses, &segment);
///         segment.clear();
///     }
///     while let Some(addresses) = server.poll_transmit(Instant::ZERO, &mut segment) {
///         client.handle_segment(Instant::ZERO, addresses, &segment);
///         segment.clear();
///     }
/// }
/// assert_eq!(client.poll_event(), Some((id, Event::Connected)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Endpoint {
    rng: Rng,
    /// Checksums are neither written nor verified.
    checksum_offload: bool,
    listeners: BTreeMap<u16, TcpConfig>,
    connections: BTreeMap<ConnectionId, Connection>,
    by_tuple: BTreeMap<FourTuple, (ConnectionId, PathId)>,
    /// Connections that further subflows may join, by token.
    by_token: BTreeMap<Token, ConnectionId>,
    next_id: u32,
    next_port: u16,
    /// Connections that may have segments to send, in order. Mostly there is one at a time, for which a set would be allocated again and
    /// again.
    send_ready: Vec<ConnectionId>,
    /// Segments to unknown peers.
    resets: VecDeque<(AddressPair, Vec<u8>)>,
    events: VecDeque<(ConnectionId, Event)>,
    /// Half-open connections from peers.
    half_open: BTreeSet<ConnectionId>,
}

impl Endpoint {
    /// Creates an endpoint without connections. Its initial sequence numbers come from `seed`, which a real driver takes from the
    /// operating system.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        Self {
            rng: seed.rng(),
            checksum_offload: false,
            listeners: BTreeMap::new(),
            connections: BTreeMap::new(),
            by_tuple: BTreeMap::new(),
            by_token: BTreeMap::new(),
            next_id: 0,
            next_port: *EPHEMERAL_PORTS.start(),
            send_ready: Vec::new(),
            resets: VecDeque::new(),
            events: VecDeque::new(),
            half_open: BTreeSet::new(),
        }
    }

    /// Leaves checksums to the driver: they are neither written nor verified.
    #[must_use]
    pub fn offload_checksums(self) -> Self {
        Self {
            checksum_offload: true,
            ..self
        }
    }

    /// Accepts connections on `port`.
    pub fn listen(&mut self, port: u16, config: TcpConfig) {
        self.listeners.insert(port, config);
    }

    /// Opens a connection; [`Event::Connected`] or [`Event::Closed`] will follow. Local port 0 selects a free port.
    ///
    /// # Errors
    ///
    /// [`ConnectError`].
    pub fn connect(
        &mut self,
        local: SocketAddr,
        remote: SocketAddr,
        config: TcpConfig,
    ) -> Result<ConnectionId, ConnectError> {
        if local.is_ipv4() != remote.is_ipv4() {
            return Err(ConnectError::MixedAddresses);
        }
        let mut tuple = FourTuple { local, remote };
        if local.port() == 0 {
            tuple.local.set_port(self.free_port(tuple)?);
        }
        if self.by_tuple.contains_key(&tuple) {
            return Err(ConnectError::InUse);
        }
        let new_connection = self.new_connection(tuple, config);
        let connection = Connection::connect(new_connection, || self.key());
        Ok(self.add(connection))
    }

    /// A key whose token no other connection has (RFC 8684 §3.1).
    fn key(&mut self) -> Key {
        loop {
            let key = Key(self.rng.next_u64().to_be_bytes());
            if !self.by_token.contains_key(&key.token()) {
                return key;
            }
        }
    }

    fn free_port(&mut self, tuple: FourTuple) -> Result<u16, ConnectError> {
        for _ in EPHEMERAL_PORTS {
            let port = self.next_port;
            self.next_port = port.checked_add(1).unwrap_or(*EPHEMERAL_PORTS.start());
            let local = SocketAddr::new(tuple.local.ip(), port);
            if !self.by_tuple.contains_key(&FourTuple { local, ..tuple }) {
                return Ok(port);
            }
        }
        Err(ConnectError::NoPort)
    }

    fn new_connection(&mut self, tuple: FourTuple, config: TcpConfig) -> NewConnection {
        NewConnection {
            tuple,
            iss: SequenceNumber(self.rng.next_u32()),
            config,
        }
    }

    fn add(&mut self, connection: Connection) -> ConnectionId {
        let id = ConnectionId(self.next_id);
        self.next_id += 1;
        self.by_tuple.insert(connection.tuple(), (id, PathId(0)));
        if let Some(token) = connection.token() {
            self.by_token.insert(token, id);
        }
        self.connections.insert(id, connection);
        note_ready(&mut self.send_ready, id);
        id
    }

    /// Processes a received segment. Damaged or invalid segments are dropped.
    pub fn handle_segment(&mut self, now: Instant, addresses: AddressPair, bytes: &[u8]) {
        let parsed = if self.checksum_offload {
            Segment::parse_unverified(bytes)
        } else {
            Segment::parse(bytes, addresses.source, addresses.destination)
        };
        let Ok(segment) = parsed else { return };
        let tuple = FourTuple {
            local: SocketAddr::new(addresses.destination, segment.destination_port),
            remote: SocketAddr::new(addresses.source, segment.source_port),
        };
        match self.by_tuple.get(&tuple) {
            Some((id, path)) => {
                let (id, path) = (*id, *path);
                let connection = self.connections.get_mut(&id);
                if connection.is_some_and(|connection| connection.handle_segment(now, path, &segment)) {
                    self.answer(addresses, &segment);
                }
                self.collect_events(id);
                self.start_pending_joins(id, now);
            }
            None => self.on_unknown_tuple(tuple, addresses, &segment),
        }
    }

    fn on_unknown_tuple(&mut self, tuple: FourTuple, addresses: AddressPair, segment: &Segment<'_>) {
        let is_first = segment.kind == Kind::Syn && segment.acknowledgement.is_none();
        if !is_first {
            return self.answer(addresses, segment);
        }
        if let Some(PrimaryOption::MpJoin(MpJoin::Syn { token, .. })) = segment.options.mptcp.primary {
            return self.on_join(token, tuple, addresses, segment);
        }
        let Some(config) = self.listeners.get(&segment.destination_port) else {
            return self.answer(addresses, segment);
        };
        if self.half_open.len() < MAX_HALF_OPEN {
            let new_connection = self.new_connection(tuple, config.clone());
            match Connection::accept(new_connection, segment, || self.key()) {
                Some(connection) => {
                    let id = self.add(connection);
                    self.half_open.insert(id);
                }
                None => self.answer(addresses, segment),
            }
        }
    }

    /// A SYN with MP_JOIN for the connection with this `token`.
    fn on_join(&mut self, token: Token, tuple: FourTuple, addresses: AddressPair, segment: &Segment<'_>) {
        let new_subflow = self.new_subflow(tuple);
        let known = self.by_token.get(&token).copied();
        let connection = known.and_then(|id| self.connections.get_mut(&id));
        // Subflows cannot join on a port without a listener.
        let joins = connection.is_some_and(|connection| {
            connection.local().port() == tuple.local.port() && connection.accept_join(new_subflow, segment)
        });
        match known.filter(|_| joins) {
            Some(id) => self.collect_events(id),
            None => self.answer(addresses, segment),
        }
    }

    fn new_subflow(&mut self, tuple: FourTuple) -> NewSubflow {
        NewSubflow {
            tuple,
            iss: SequenceNumber(self.rng.next_u32()),
            nonce: Nonce(self.rng.next_u32()),
        }
    }

    /// Opens the further subflows that a connection requests, and assigns their ports.
    fn start_pending_joins(&mut self, id: ConnectionId, now: Instant) {
        while let Some(PendingJoin { local, remote }) = self
            .connections
            .get_mut(&id)
            .and_then(|connection| connection.next_pending_join(now))
        {
            let local = SocketAddr::new(local, 0);
            let mut tuple = FourTuple { local, remote };
            let Ok(port) = self.free_port(tuple) else { return };
            tuple.local.set_port(port);
            let new_subflow = self.new_subflow(tuple);
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.join(new_subflow);
            }
            self.collect_events(id);
        }
    }

    fn answer(&mut self, addresses: AddressPair, segment: &Segment<'_>) {
        if self.resets.len() < MAX_RESETS
            && let Some(answer) = reset::reply_to(addresses, segment)
        {
            self.resets.push_back(answer);
        }
    }

    /// Collects the events of a connection, and frees its addresses if it is closed.
    fn collect_events(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        note_ready(&mut self.send_ready, id);
        while let Some(event) = connection.poll_event() {
            let was_opening =
                matches!(event, Event::Connected | Event::Closed(_)) && self.half_open.remove(&id);
            // The application was never told of a connection that was not established.
            if !was_opening || event == Event::Connected {
                self.events.push_back((id, event));
            }
            if was_opening && event != Event::Connected {
                self.forget(id);
                return;
            }
        }
        self.apply_tuple_changes(id);
    }

    /// Updates the map from addresses to connections after subflows opened or closed.
    fn apply_tuple_changes(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        while let Some(TupleChange { tuple, path }) = connection.next_tuple_change() {
            match path {
                Some(path) => {
                    self.by_tuple.insert(tuple, (id, path));
                }
                None => {
                    self.by_tuple.remove(&tuple);
                }
            }
        }
        if connection.is_gone() {
            self.by_tuple.remove(&connection.tuple());
            if let Some(token) = connection.token() {
                self.by_token.remove(&token);
            }
        }
    }

    /// Appends the next segment to `out` and returns its addresses; `None` if there is nothing to send now.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<AddressPair> {
        let start = out.len();
        let addresses = self.write_next(now, out)?;
        if !self.checksum_offload {
            checksum::seal(&mut out[start..], addresses.source, addresses.destination);
        }
        Some(addresses)
    }

    /// Appends the next segment without checksum.
    fn write_next(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<AddressPair> {
        if let Some((addresses, bytes)) = self.resets.pop_front() {
            out.extend_from_slice(&bytes);
            return Some(addresses);
        }
        while let Some(id) = self.send_ready.first().copied() {
            let Some(connection) = self.connections.get_mut(&id) else {
                self.send_ready.remove(0);
                continue;
            };
            if let Some(FourTuple { local, remote }) = connection.poll_transmit(now, out) {
                return Some(AddressPair {
                    source: local.ip(),
                    destination: remote.ip(),
                });
            }
            self.send_ready.remove(0);
            self.apply_tuple_changes(id);
        }
        None
    }

    /// Time of the next [`Endpoint::handle_timeout`], if any.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.connections
            .values()
            .filter_map(Connection::poll_timeout)
            .min()
    }

    /// Handles all expired timers.
    pub fn handle_timeout(&mut self, now: Instant) {
        let is_due = |connection: &Connection| connection.poll_timeout().is_some_and(|due| due <= now);
        let due: Vec<ConnectionId> = self
            .connections
            .iter()
            .filter(|(_, connection)| is_due(connection))
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.handle_timeout(now);
            }
            self.collect_events(id);
            self.start_pending_joins(id, now);
        }
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<(ConnectionId, Event)> {
        self.events.pop_front()
    }

    /// A connection, read-only.
    #[must_use]
    pub fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.connections.get(&id)
    }

    /// Gives the application access to a connection; `None` if there is none with this number.
    pub fn with<R>(&mut self, id: ConnectionId, act: impl FnOnce(&mut Connection) -> R) -> Option<R> {
        let result = act(self.connections.get_mut(&id)?);
        self.collect_events(id);
        Some(result)
    }

    /// All connections, oldest first; closed ones remain until they are dropped.
    pub fn connections(&self) -> impl DoubleEndedIterator<Item = (ConnectionId, &Connection)> {
        self.connections.iter().map(|(id, connection)| (*id, connection))
    }

    /// Drops a connection immediately, without closing it.
    pub fn forget(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.remove(&id) {
            for tuple in connection.tuples() {
                if self.by_tuple.get(&tuple).is_some_and(|(owner, _)| *owner == id) {
                    self.by_tuple.remove(&tuple);
                }
            }
            if let Some(token) = connection.token() {
                self.by_token.remove(&token);
            }
        }
        self.send_ready.retain(|ready| *ready != id);
        self.half_open.remove(&id);
    }
}

fn note_ready(send_ready: &mut Vec<ConnectionId>, id: ConnectionId) {
    if let Err(at) = send_ready.binary_search(&id) {
        send_ready.insert(at, id);
    }
}

#[cfg(test)]
mod tests;

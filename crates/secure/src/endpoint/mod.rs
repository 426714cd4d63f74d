//! Endpoint. Which connection does a datagram belong to, and what is to be sent?
//!
//! Sans-IO: a driver passes datagrams and time, and fetches datagrams, events and the next deadline.

mod client;
mod data;
mod server;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use anabranch_types::{Instant, PathAddr};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ServerConfig, Side};

use self::data::ResetBudget;
use crate::balancer::MACHINE_LEN;
use crate::config::Config;
use crate::cookie::CookieKey;
use crate::error::{Dropped, HandshakeError};
use crate::handshake::{ALPN, Handshake, Level, PeerInfo, Sealed, Transmit};
use crate::index::Index;
use crate::keys::DataKeys;
use crate::number::SpaceId;
use crate::packet::Packet;
use crate::reset::ResetKey;

/// Stateless replies that wait to be fetched.
const MAX_REPLIES: usize = 1_024;

/// What a datagram was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Received {
    /// Part of a handshake, or a reset; events tell the outcome.
    Control,
    /// A payload, decrypted in place.
    Data {
        /// The connection that it belongs to.
        connection: Index,
        /// The packet number space, by which the peer distinguishes its paths.
        space: SpaceId,
        /// Where the payload is in the datagram.
        payload: Range<usize>,
    },
}

/// What happened to a connection.
#[derive(Debug)]
pub enum Event {
    /// The handshake is complete here, and packets can be sealed. A client learns only later whether the server
    /// accepted its identity: then [`Event::Failed`] may follow.
    Connected {
        /// Our index of the connection.
        connection: Index,
        /// Whether we are its client or server.
        side: Side,
        /// The paths on which the peer receives what we send, in the order in which they proved it. They need no
        /// further validation.
        paths: Vec<PathAddr>,
    },
    /// A payload that had arrived before the handshake was complete. It follows [`Event::Connected`].
    Data {
        /// Our index of the connection.
        connection: Index,
        /// The path on which it arrived.
        from: PathAddr,
        /// The payload, decrypted.
        payload: Vec<u8>,
    },
    /// The handshake failed. The connection no longer exists.
    Failed {
        /// Our index of the connection.
        connection: Index,
        /// The reason.
        error: HandshakeError,
    },
    /// The peer has lost its state (RFC 9000 §10.3). The connection no longer exists.
    Reset {
        /// Our index of the connection.
        connection: Index,
    },
    /// Too many packets were not authentic (RFC 9001 §6.6). The connection no longer exists.
    IntegrityLimit {
        /// Our index of the connection.
        connection: Index,
    },
}

/// A connection. Before the handshake is complete it has no keys, and some time after it has no handshake.
struct Connection {
    handshake: Option<Box<Handshake>>,
    /// The deadline of the handshake that the endpoint lists.
    listed: Option<Instant>,
    /// To begin again with another version.
    attempt: Option<Box<Attempt>>,
    established: Option<Box<EstablishedConnection>>,
}

struct EstablishedConnection {
    keys: DataKeys,
    peer: Index,
    info: PeerInfo,
    /// Key of the peer's reset token in the map of all.
    reset: [u8; 16],
}

/// A client's arguments.
struct Attempt {
    tls: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// The server's TLS configuration with our ALPN, without session tickets and early data.
fn as_server(given: &ServerConfig) -> Arc<ServerConfig> {
    let mut tls = given.clone();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    tls.send_tls13_tickets = 0;
    tls.max_early_data_size = 0;
    Arc::new(tls)
}

/// All connections of one host or one of its cores, as client and as server.
pub struct Endpoint {
    config: Config,
    /// The server's TLS configuration with our ALPN.
    server: Option<Arc<ServerConfig>>,
    cookies: CookieKey,
    resets: ResetKey,
    reset_budget: ResetBudget,
    connections: BTreeMap<Index, Connection>,
    /// A server's connections by their clients' indexes, while handshakes last.
    clients: BTreeMap<Index, Index>,
    /// A server's handshakes that are complete, and answer repetitions until then.
    lingering: BTreeSet<(Instant, Index)>,
    /// Deadlines of handshakes.
    deadlines: BTreeSet<(Instant, Index)>,
    /// Handshakes that may have something to send.
    sendable: BTreeSet<Index>,
    /// Connections by the hashes of their peers' reset tokens.
    reset_tokens: BTreeMap<[u8; 16], Index>,
    outgoing: VecDeque<Transmit>,
    events: VecDeque<Event>,
}

impl Endpoint {
    /// An endpoint without connections.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            server: config.server.as_deref().map(as_server),
            cookies: CookieKey::new(&config.cookie_secret),
            resets: ResetKey::new(&config.secret),
            reset_budget: ResetBudget::default(),
            config,
            connections: BTreeMap::new(),
            clients: BTreeMap::new(),
            lingering: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            sendable: BTreeSet::new(),
            reset_tokens: BTreeMap::new(),
            outgoing: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Accepts connections with this configuration from now on; with `None`, none. Existing ones stay.
    pub fn set_server(&mut self, server: Option<&ServerConfig>) {
        self.server = server.map(as_server);
    }

    /// Takes a datagram that arrived on the path `from`. A payload is decrypted in place.
    ///
    /// # Errors
    ///
    /// The reason if the datagram changed nothing.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        from: PathAddr,
        datagram: &mut [u8],
    ) -> Result<Received, Dropped> {
        let packet = match Packet::parse(datagram)? {
            Packet::Data(header) => return self.on_data(now, from, header, datagram),
            packet => packet,
        };
        match packet {
            Packet::Request(request) => self.on_request(now, from, &request),
            Packet::ClientInitial(initial) => self.on_client_initial(now, from, &initial, datagram),
            Packet::Retry(retry) => self.on_retry(now, from, retry),
            Packet::VersionNegotiation(list) => self.on_version_negotiation(now, &list),
            Packet::ServerInitial(initial) => self.on_server_initial(now, from, &initial, datagram),
            Packet::Handshake(packet) => {
                let sealed = Sealed {
                    from,
                    level: Level::Handshake,
                    number: packet.number,
                    header: packet.header,
                };
                self.on_sealed(now, packet.receiver, sealed, datagram)
            }
            Packet::Data(_) => Ok(()),
        }
        .map(|()| Received::Control)
    }

    /// Takes several datagrams of `segment` bytes each, the last of which may be shorter, as generic receive offload
    /// delivers them, and passes each with its result to `each`.
    pub fn handle_segments(
        &mut self,
        now: Instant,
        from: PathAddr,
        buffer: &mut [u8],
        segment: usize,
        mut each: impl FnMut(Result<Received, Dropped>, &mut [u8]),
    ) {
        for datagram in buffer.chunks_mut(segment.max(1)) {
            let received = self.handle_datagram(now, from, datagram);
            each(received, datagram);
        }
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(transmit) = self.outgoing.pop_front() {
            return Some(transmit);
        }
        while let Some(index) = self.sendable.first().copied() {
            let handshake = self.handshake_mut(index);
            let transmit = handshake.and_then(|handshake| handshake.poll_transmit(now));
            // Packets that were sent start the timer of their retransmission.
            self.list_deadline(index);
            if transmit.is_some() {
                return transmit;
            }
            self.sendable.remove(&index);
        }
        None
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`Endpoint::handle_deadline`] is due.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(due, _)| *due)
    }

    /// Acts on expired timers.
    pub fn handle_deadline(&mut self, now: Instant) {
        let due: Vec<Index> = self
            .deadlines
            .iter()
            .take_while(|(due, _)| *due <= now)
            .map(|(_, index)| *index)
            .collect();
        for index in due {
            let result = self
                .handshake_mut(index)
                .map_or(Ok(()), |handshake| handshake.on_deadline(now));
            self.finish(now, index, result);
        }
    }

    /// Forgets a connection, without a word to the peer: the protocol inside has its own.
    pub fn close(&mut self, connection: Index) {
        self.forget_handshake(connection);
        if let Some(established) = self
            .connections
            .remove(&connection)
            .and_then(|gone| gone.established)
        {
            self.reset_tokens.remove(&established.reset);
        }
    }

    /// What the handshake found out about the peer.
    #[must_use]
    pub fn peer(&self, connection: Index) -> Option<&PeerInfo> {
        let established = self.connections.get(&connection)?.established.as_ref()?;
        Some(&established.info)
    }

    /// Number of key updates of a connection.
    #[must_use]
    pub fn key_phase(&self, connection: Index) -> Option<u64> {
        let established = self.connections.get(&connection)?.established.as_ref()?;
        Some(established.keys.phase())
    }

    /// Number of connections, complete or not.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Handshakes that are complete, and answer repetitions.
    #[cfg(test)]
    pub(crate) fn lingering(&self) -> usize {
        self.lingering.len()
    }

    fn handshake(&self, index: Index) -> Option<&Handshake> {
        self.connections.get(&index)?.handshake.as_deref()
    }

    fn handshake_mut(&mut self, index: Index) -> Option<&mut Handshake> {
        self.connections.get_mut(&index)?.handshake.as_deref_mut()
    }

    /// An index that no connection has.
    fn new_index(&self) -> Result<Index, Dropped> {
        loop {
            let mut bytes = [0; 8];
            self.config.random.fill(&mut bytes).map_err(|_| Dropped::Busy)?;
            if let Some(machine) = self.config.machine {
                bytes[..MACHINE_LEN].copy_from_slice(&machine.to_be_bytes());
            }
            if !self.connections.contains_key(&Index(bytes)) {
                return Ok(Index(bytes));
            }
        }
    }

    fn reply(&mut self, path: PathAddr, datagram: Vec<u8>) -> Result<(), Dropped> {
        if self.outgoing.len() >= MAX_REPLIES {
            return Err(Dropped::Busy);
        }
        self.outgoing.push_back(Transmit { path, datagram });
        Ok(())
    }

    /// A sealed handshake packet for our connection `index`.
    fn on_sealed(
        &mut self,
        now: Instant,
        index: Index,
        sealed: Sealed,
        datagram: &mut [u8],
    ) -> Result<(), Dropped> {
        let handshake = self.handshake_mut(index).ok_or(Dropped::UnknownConnection)?;
        let result = handshake.on_sealed(now, sealed, datagram);
        let authentic = !matches!(result, Ok(false));
        self.finish(now, index, result.map(|_| ()));
        if authentic { Ok(()) } else { Err(Dropped::Forged) }
    }

    /// Applies the outcome of a step of a handshake.
    fn finish(&mut self, now: Instant, index: Index, result: Result<(), HandshakeError>) {
        let established = result.and_then(|()| {
            let handshake = self.handshake_mut(index);
            handshake.map_or(Ok(None), Handshake::take_established)
        });
        match established {
            Ok(Some(established)) => {
                let reset = self.resets.lookup(established.reset);
                let keys = DataKeys::new(
                    established.keys,
                    established.secrets,
                    self.config.key_update_after,
                );
                if let Some(connection) = self.connections.get_mut(&index) {
                    let (peer, info) = (established.peer, established.info);
                    connection.established = Some(Box::new(EstablishedConnection {
                        keys,
                        peer,
                        info,
                        reset,
                    }));
                    connection.attempt = None;
                }
                self.reset_tokens.insert(reset, index);
                let (side, paths) = (established.side, established.paths);
                if side == Side::Server {
                    self.linger(index);
                }
                self.events.push_back(Event::Connected {
                    connection: index,
                    side,
                    paths,
                });
                self.open_early(now, index);
            }
            Ok(None) => {}
            Err(error) => {
                let packets = self
                    .handshake_mut(index)
                    .map(|handshake| handshake.close(&error))
                    .unwrap_or_default();
                self.outgoing.extend(packets);
                self.close(index);
                self.events.push_back(Event::Failed {
                    connection: index,
                    error,
                });
            }
        }
        if self
            .handshake(index)
            .is_some_and(|handshake| handshake.is_done(now))
        {
            self.forget_handshake(index);
        }
        self.relist(index);
    }

    /// A server's handshake is complete. The oldest of them is forgotten if there are too many: data of the server confirms it as well.
    fn linger(&mut self, index: Index) {
        let ends_at = self.handshake(index).map(Handshake::ends_at);
        self.lingering.extend(ends_at.map(|ends_at| (ends_at, index)));
        if self.lingering.len() > self.config.max_handshakes
            && let Some((_, oldest)) = self.lingering.first().copied()
        {
            self.forget_handshake(oldest);
        }
    }

    /// Lists a handshake after it may have changed.
    fn relist(&mut self, index: Index) {
        if self.handshake(index).is_some() {
            self.sendable.insert(index);
        }
        self.list_deadline(index);
    }

    fn list_deadline(&mut self, index: Index) {
        let Some(connection) = self.connections.get_mut(&index) else {
            return;
        };
        let deadline = connection.handshake.as_deref().and_then(Handshake::deadline);
        if connection.listed != deadline {
            if let Some(due) = mem::replace(&mut connection.listed, deadline) {
                self.deadlines.remove(&(due, index));
            }
            self.deadlines.extend(deadline.map(|due| (due, index)));
        }
    }

    fn forget_handshake(&mut self, index: Index) {
        let Some(connection) = self.connections.get_mut(&index) else {
            return;
        };
        if let Some(handshake) = connection.handshake.take()
            && self.clients.get(&handshake.client_index()) == Some(&index)
        {
            self.clients.remove(&handshake.client_index());
            self.lingering.remove(&(handshake.ends_at(), index));
        }
        self.relist(index);
    }
}

//! Seal between sockets and core: opens received datagrams in place, and seals packets in place before they are sent.
//!
//! The sealed layer has a lock of its own, so that handles can call the core while packets are opened and sealed. A thread that holds
//! it does not take that of the state; the other order is permitted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::mem;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anabranch_io::{IcmpKind, IcmpMessage, Incoming};
use anabranch_proto::{Transmit, pair_addresses};
use anabranch_secure::rustls::{ClientConfig, ServerConfig, Side, pki_types::ServerName};
use anabranch_secure::{
    self as secure, DATA_HEADER_LEN, Event, HandshakeError, Index, OVERHEAD, PeerInfo, PublicKey, Received,
    SpaceId,
};
use anabranch_types::{ChannelId, Instant, PathAddr, earliest};

/// Greatest UDP payload of handshake packets: what every IPv6 link carries (RFC 8200 §5). It fits IPv4 as well, except very old links,
/// for which the handshake makes its packets smaller.
const HANDSHAKE_PAYLOAD: usize = 1_280 - 40 - 8;

/// Segments of a sealed batch, so that it fits one system call (65,507 bytes) at the usual MTU of 1,500 bytes.
const MAX_SEGMENTS: usize = 44;

/// How long a session outlives its association, to answer repetitions of the peer's last packets.
const LINGER: Duration = Duration::from_secs(10);

/// How long a client may take from the handshake to its association.
const UNUSED: Duration = Duration::from_secs(30);

/// The sealed layer of one endpoint.
pub(crate) struct Seal {
    sessions: Mutex<Sessions>,
    client: Option<(ClientConfig, ServerName<'static>)>,
    server: Option<Arc<ServerConfig>>,
    own_key: Option<PublicKey>,
}

struct Sessions {
    layer: secure::Endpoint,
    /// The packet number spaces of each session: one for each path that was sent on.
    spaces: BTreeMap<ChannelId, Spaces>,
    /// Sessions that end then, unless an association uses them.
    expiring: BTreeSet<(Instant, ChannelId)>,
    news: Vec<News>,
}

/// The paths of a session; the place of a path is its packet number space.
#[derive(Default)]
struct Spaces {
    paths: Vec<PathAddr>,
    /// The space that the next path takes over when all are used. Spaces that several paths have used keep nonces apart all the same.
    next: usize,
}

impl Spaces {
    fn of(&mut self, path: PathAddr) -> SpaceId {
        let known = self.paths.iter().position(|known| *known == path);
        let index = known.unwrap_or_else(|| {
            if self.paths.len() < SpaceId::COUNT {
                self.paths.push(path);
                return self.paths.len() - 1;
            }
            let index = self.next;
            self.next = (index + 1) % SpaceId::COUNT;
            self.paths[index] = path;
            index
        });
        let space = u8::try_from(index).ok().and_then(SpaceId::new);
        space.expect("invariant: there is a path for each space at most")
    }
}

/// A packet that was opened: its batch, and where it is in the bytes of that.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub(crate) batch: usize,
    pub(crate) channel: ChannelId,
    pub(crate) range: Range<usize>,
}

/// What happened to a session.
#[derive(Debug)]
pub(crate) enum News {
    /// The peer has proven its identity. `paths` are those on which it receives what we send.
    Connected {
        channel: ChannelId,
        paths: Vec<PathAddr>,
        peer: Arc<PeerInfo>,
    },
    /// A packet that had arrived before its session was complete.
    Packet {
        channel: ChannelId,
        from: PathAddr,
        packet: Vec<u8>,
    },
    Ended {
        channel: ChannelId,
        end: SessionEnd,
    },
}

/// Why a session ended.
#[derive(Clone, Debug)]
pub(crate) enum SessionEnd {
    /// The handshake failed.
    Failed(HandshakeError),
    /// The peer has lost its keys.
    Reset,
    /// Too many packets were forged.
    IntegrityLimit,
}

const fn channel_of(index: Index) -> ChannelId {
    ChannelId(*index.as_bytes())
}

fn index_of(channel: ChannelId) -> Index {
    Index::from(channel.0)
}

impl Seal {
    /// `server` is for [`listen`](Self::listen); that of `config` accepts from the beginning.
    pub(crate) fn new(
        config: secure::Config,
        client: Option<(ClientConfig, ServerName<'static>)>,
        server: Option<Arc<ServerConfig>>,
        own_key: Option<PublicKey>,
    ) -> Self {
        let sessions = Sessions {
            layer: secure::Endpoint::new(config),
            spaces: BTreeMap::new(),
            expiring: BTreeSet::new(),
            news: Vec::new(),
        };
        Self {
            sessions: Mutex::new(sessions),
            client,
            server,
            own_key,
        }
    }

    /// Whether handshakes of clients are answered from now on.
    pub(crate) fn listen(&self, listens: bool) {
        let server = self.server.as_deref().filter(|_| listens);
        self.lock().layer.set_server(server);
    }

    /// Our raw public key, if that is our identity.
    pub(crate) const fn own_key(&self) -> Option<PublicKey> {
        self.own_key
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a handshake that races over the paths between `locals` and `remotes`, and over all other pairs of them if no path answers.
    /// `None` if this endpoint has no configuration for that.
    pub(crate) fn connect(
        &self,
        now: Instant,
        locals: &[SocketAddr],
        remotes: &[SocketAddr],
    ) -> Option<Result<ChannelId, HandshakeError>> {
        let (tls, name) = self.client.as_ref()?;
        let sized = |path: PathAddr| (path, HANDSHAKE_PAYLOAD);
        let paths: Vec<_> = pair_addresses(locals, remotes).into_iter().map(sized).collect();
        let others: Vec<_> = other_pairs(locals, remotes).into_iter().map(sized).collect();
        let layer = &mut self.lock().layer;
        let begun = layer.connect(now, tls, name.clone(), &paths);
        Some(begun.map(|index| {
            layer.add_alternatives(index, &others);
            channel_of(index)
        }))
    }

    /// Opens the datagrams of `batches` in place and lists their packets.
    pub(crate) fn open(&self, now: Instant, batches: &mut [Incoming], opened: &mut Vec<Opened>) {
        opened.clear();
        let mut sessions = self.lock();
        for (index, batch) in batches.iter_mut().enumerate() {
            let from = batch.path();
            let mut start = 0;
            for datagram in batch.datagrams_mut() {
                // What is dropped changes nothing.
                let received = sessions.layer.handle_datagram(now, from, datagram);
                if let Ok(Received::Data {
                    connection, payload, ..
                }) = received
                {
                    opened.push(Opened {
                        batch: index,
                        channel: channel_of(connection),
                        range: start + payload.start..start + payload.end,
                    });
                }
                start += datagram.len();
            }
        }
        sessions.collect(now);
    }

    /// A host reports a packet of a handshake: what it quotes of the packets of an association is sealed.
    pub(crate) fn handle_icmp(&self, now: Instant, message: &IcmpMessage) {
        let by_destination = message.reporter == Some(message.destination.ip());
        if message.kind == IcmpKind::PortUnreachable && by_destination {
            let mut sessions = self.lock();
            sessions
                .layer
                .handle_refused(now, message.destination, &message.quoted);
            sessions.collect(now);
        }
    }

    /// Seals the packets of `transmit` in place; `false` if they cannot be sent because their session has ended.
    pub(crate) fn seal(&self, transmit: &mut Transmit, buffer: &mut Vec<u8>) -> bool {
        let segment = transmit.segment_size.unwrap_or(transmit.size).max(1);
        spread(buffer, segment);
        transmit.size = buffer.len();
        transmit.segment_size = transmit.segment_size.map(|segment| segment + OVERHEAD);
        let Sessions { layer, spaces, .. } = &mut *self.lock();
        let space = spaces.entry(transmit.channel).or_default().of(transmit.path);
        let sealed = layer.seal_segments(index_of(transmit.channel), space, buffer, segment + OVERHEAD);
        if matches!(sealed, Err(secure::SealError::NoKeys)) {
            spaces.remove(&transmit.channel);
        }
        sealed.is_ok()
    }

    /// The next packet of a handshake, or of an answer without state.
    pub(crate) fn poll_transmit(&self, now: Instant) -> Option<secure::Transmit> {
        self.lock().layer.poll_transmit(now)
    }

    /// Segments of a batch, given that the sockets take `most`.
    pub(crate) fn max_segments(most: usize) -> usize {
        most.min(MAX_SEGMENTS)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        let sessions = self.lock();
        earliest([
            sessions.layer.deadline(),
            sessions.expiring.first().map(|(due, _)| *due),
        ])
    }

    /// Acts on expired timers. Returns the sessions that end unless an association uses them: pass those that none uses to
    /// [`forget`](Self::forget).
    pub(crate) fn handle_deadline(&self, now: Instant) -> Vec<ChannelId> {
        let mut sessions = self.lock();
        if sessions.layer.deadline().is_some_and(|due| due <= now) {
            sessions.layer.handle_deadline(now);
            sessions.collect(now);
        }
        let mut expired = Vec::new();
        while let Some((due, channel)) = sessions.expiring.first().copied()
            && due <= now
        {
            sessions.expiring.pop_first();
            expired.push(channel);
        }
        expired
    }

    /// What happened since the last call.
    pub(crate) fn take_news(&self) -> Vec<News> {
        mem::take(&mut self.lock().news)
    }

    /// The association of a session has ended.
    pub(crate) fn linger(&self, now: Instant, channel: ChannelId) {
        self.lock().expiring.insert((now + LINGER, channel));
    }

    /// Ends a session.
    pub(crate) fn forget(&self, channel: ChannelId) {
        let mut sessions = self.lock();
        sessions.layer.close(index_of(channel));
        sessions.spaces.remove(&channel);
    }
}

impl Sessions {
    /// Translates the events of the layer.
    fn collect(&mut self, now: Instant) {
        while let Some(event) = self.layer.poll_event() {
            let (connection, end) = match event {
                Event::Connected {
                    connection,
                    side,
                    paths,
                } => {
                    let channel = channel_of(connection);
                    if side == Side::Server {
                        self.expiring.insert((now + UNUSED, channel));
                    }
                    if let Some(peer) = self.layer.peer(connection) {
                        let peer = Arc::new(peer.clone());
                        self.news.push(News::Connected { channel, paths, peer });
                    }
                    continue;
                }
                Event::Data {
                    connection,
                    from,
                    payload: packet,
                } => {
                    let channel = channel_of(connection);
                    self.news.push(News::Packet {
                        channel,
                        from,
                        packet,
                    });
                    continue;
                }
                Event::Failed { connection, error } => (connection, SessionEnd::Failed(error)),
                Event::Reset { connection } => (connection, SessionEnd::Reset),
                Event::IntegrityLimit { connection } => (connection, SessionEnd::IntegrityLimit),
            };
            let channel = channel_of(connection);
            self.spaces.remove(&channel);
            self.news.push(News::Ended { channel, end });
        }
    }
}

/// The pairs of addresses of one IP version that are no paths of an association ([`pair_addresses`]). Packets of such a pair may leave by one
/// link and the answers arrive by another, and an association that begins on it has paths that all need both links.
fn other_pairs(locals: &[SocketAddr], remotes: &[SocketAddr]) -> Vec<PathAddr> {
    let paths = pair_addresses(locals, remotes);
    let of_remote = |&remote: &SocketAddr| locals.iter().map(move |&local| PathAddr { local, remote });
    let is_other = |pair: &PathAddr| pair.local.is_ipv4() == pair.remote.is_ipv4() && !paths.contains(pair);
    remotes.iter().flat_map(of_remote).filter(is_other).collect()
}

/// Makes room for header and tag around each packet of `segment` bytes, the last of which may be shorter.
fn spread(buffer: &mut Vec<u8>, segment: usize) {
    let size = buffer.len();
    let count = size.div_ceil(segment);
    buffer.resize(size + count * OVERHEAD, 0);
    // From the last one: each moves to the right of all that were not moved yet.
    for index in (0..count).rev() {
        let packet = index * segment..size.min((index + 1) * segment);
        buffer.copy_within(packet, index * (segment + OVERHEAD) + DATA_HEADER_LEN);
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seal").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_spread_without_overlap() {
        for (size, segment) in [(1, 1), (10, 10), (25, 10), (30, 10), (1_000, 100), (4_404, 1_443)] {
            let bytes: Vec<u8> = (0..size).map(|index| index as u8).collect();
            let mut buffer = bytes.clone();
            spread(&mut buffer, segment);
            let packets = buffer.chunks(segment + OVERHEAD);
            let inner = packets.map(|packet| &packet[DATA_HEADER_LEN..packet.len() - 16]);
            assert!(inner.eq(bytes.chunks(segment)));
        }
    }

    #[test]
    fn pairs_of_unequal_positions_are_no_paths() {
        let address = |link: u8, host: u8| SocketAddr::from(([10, 0, link, host], 1));
        let locals = ["[2001:db8::1]:1".parse().unwrap(), address(1, 1), address(2, 1)];
        let remotes = [address(1, 2), address(2, 2), "[2001:db8::2]:1".parse().unwrap()];
        let others = other_pairs(&locals, &remotes);
        let others: Vec<_> = others.iter().map(PathAddr::to_string).collect();
        assert_eq!(others, ["10.0.2.1:1 -> 10.0.1.2:1", "10.0.1.1:1 -> 10.0.2.2:1"]);
        assert!(other_pairs(&locals, &remotes[..1]).is_empty(), "each is a path");
    }

    #[test]
    fn path_keeps_its_space_until_there_are_more_paths_than_spaces() {
        let path = |port: u16| PathAddr {
            local: ([192, 0, 2, 1], 1).into(),
            remote: ([192, 0, 2, 2], port).into(),
        };
        let mut spaces = Spaces::default();
        for port in 0..32 {
            assert_eq!(u16::from(spaces.of(path(port)).get()), port);
        }
        assert_eq!(spaces.of(path(40)).get(), 0);
        assert_eq!(spaces.of(path(41)).get(), 1);
        assert_eq!(spaces.of(path(31)).get(), 31);
        assert_eq!(spaces.of(path(40)).get(), 0);
    }
}

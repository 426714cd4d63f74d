//! Handshake. How do two ends agree on keys over paths that lose packets?
//!
//! TLS 1.3 writes bytes for two levels, Initial and Handshake (RFC 9001 §4). Each path sends them from its own cursor, cut to
//! its own size, so the same bytes race over all paths. One timer sends again what no acknowledgement covers.

mod early;
mod race;
mod stream;
mod tls;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use anabranch_types::{Instant, PathAddr, earliest};
use rustls::quic::{Connection, Keys, Secrets};
use rustls::{AlertDescription, Side};

use self::early::EarlyData;
use self::race::{MAX_PATHS, RETRIES, RacePath};
use self::stream::{ReceiveStream, SendStream};
pub(crate) use self::tls::ALPN;
pub use self::tls::{ExporterSecret, PeerInfo};
use crate::error::HandshakeError;
use crate::index::Index;
use crate::keys::LevelKeys;
use crate::packet::{
    ACK_LEN, CRYPTO_HEADER, Frame, Frames, TAG_LEN, write_ack, write_client_initial, write_close,
    write_crypto, write_handshake, write_request, write_server_initial,
};
use crate::version::Version;

/// Least UDP payload of a path, and that which a server assumes before the first packet.
pub(crate) const MIN_SIZE: usize = 256;
/// Interval before the first retransmission without a round-trip time (RFC 9002 §6.2.2 gives nearly the same).
const INITIAL_INTERVAL: Duration = Duration::from_secs(1);
/// Delay after which alternatives are tried (Connection Attempt Delay, RFC 8305 §5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
const MIN_INTERVAL: Duration = Duration::from_millis(100);
const MAX_INTERVAL: Duration = Duration::from_secs(8);
/// A handshake that takes longer fails.
const GIVE_UP: Duration = Duration::from_secs(30);
/// How long a server answers repetitions of the client's last packets. Longer than cookies are valid, so that no cookie
/// of this handshake begins another one.
const LINGER: Duration = Duration::from_secs(20);
/// Timer expiries in a row after which packets become smaller, as paths may drop large ones.
const SHRINK_AFTER: u32 = 2;
/// Packets do not become smaller than this (RFC 791: every host accepts 576 bytes).
const SHRUNK_SIZE: usize = 548;
/// Handshake packets that wait for the ServerHello.
const MAX_HELD: usize = 16;

/// The two encryption levels of a handshake (RFC 9001 §2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    /// Sealed with keys that both ends derive from the client's index.
    Initial,
    /// Sealed with keys of the TLS handshake.
    Handshake,
}

/// A datagram to send.
#[derive(Debug)]
pub struct Transmit {
    /// On this path.
    pub path: PathAddr,
    /// The UDP payload.
    pub datagram: Vec<u8>,
}

struct LevelState {
    keys: LevelKeys,
    send: SendStream,
    receive: ReceiveStream,
}

impl LevelState {
    fn new(keys: LevelKeys) -> Self {
        Self {
            keys,
            send: SendStream::default(),
            receive: ReceiveStream::default(),
        }
    }
}

/// The clear fields of a sealed handshake packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sealed {
    pub(crate) from: PathAddr,
    pub(crate) level: Level,
    pub(crate) number: u32,
    pub(crate) header: usize,
}

/// What both ends must agree on.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) version: Version,
    /// Our versions, the preferred first.
    pub(crate) available: Vec<Version>,
    pub(crate) client: Index,
    /// Known to a client when the ServerHello arrives.
    pub(crate) server: Option<Index>,
}

/// A handshake in progress.
pub(crate) struct Handshake {
    side: Side,
    /// `None` after the handshake is complete: what answers repetitions is a hundredth of it.
    tls: Option<Box<Connection>>,
    terms: Terms,
    levels: [Option<LevelState>; 2],
    write_level: Level,
    paths: Vec<RacePath>,
    /// Paths that are tried if no other answers.
    alternatives: Vec<RacePath>,
    /// When they are tried, unless a path has answered by then.
    alternatives_due: Option<Instant>,
    began: Instant,
    /// When to send again what is not acknowledged.
    retransmit_at: Option<Instant>,
    base_interval: Duration,
    interval: Duration,
    /// Timer expiries since the last progress.
    expiries: u32,
    /// When the handshake fails, or, once complete, when a server forgets it.
    ends_at: Instant,
    one_rtt: Option<(Keys, Secrets)>,
    complete: bool,
    confirmed: bool,
    held: VecDeque<(Sealed, Vec<u8>)>,
    early: EarlyData,
}

impl Handshake {
    /// A client that races over `paths`, each with its greatest UDP payload.
    pub(crate) fn client(now: Instant, tls: Connection, terms: Terms, paths: &[(PathAddr, usize)]) -> Self {
        let mut handshake = Self::new(now, Side::Client, tls, terms);
        for &(addr, size) in paths.iter().take(MAX_PATHS) {
            handshake
                .paths
                .push(RacePath::requesting(addr, size.max(MIN_SIZE)));
        }
        handshake.pull();
        handshake.retransmit_at = Some(now + INITIAL_INTERVAL);
        handshake
    }

    /// A server whose client returned a cookie of the age `age`.
    pub(crate) fn server(now: Instant, tls: Connection, terms: Terms, age: Duration) -> Self {
        let mut handshake = Self::new(now, Side::Server, tls, terms);
        handshake.set_interval(age);
        handshake
    }

    fn new(now: Instant, side: Side, tls: Connection, terms: Terms) -> Self {
        let initial = LevelKeys::initial(terms.client, side);
        Self {
            side,
            tls: Some(Box::new(tls)),
            terms,
            levels: [Some(LevelState::new(initial)), None],
            write_level: Level::Initial,
            paths: Vec::new(),
            alternatives: Vec::new(),
            alternatives_due: None,
            began: now,
            retransmit_at: None,
            base_interval: INITIAL_INTERVAL,
            interval: INITIAL_INTERVAL,
            expiries: 0,
            ends_at: now + GIVE_UP,
            one_rtt: None,
            complete: false,
            confirmed: false,
            held: VecDeque::new(),
            early: EarlyData::default(),
        }
    }

    pub(crate) const fn client_index(&self) -> Index {
        self.terms.client
    }

    pub(crate) const fn version(&self) -> Version {
        self.terms.version
    }

    /// When a complete handshake of a server is forgotten.
    pub(crate) const fn ends_at(&self) -> Instant {
        self.ends_at
    }

    /// Whether nothing remains to do.
    pub(crate) fn is_done(&self, now: Instant) -> bool {
        self.complete && (self.confirmed || now >= self.ends_at)
    }

    /// The paths on which the peer receives what we send, in the order in which they proved it.
    fn proven_paths(&self) -> Vec<PathAddr> {
        self.paths
            .iter()
            .filter(|path| path.proven)
            .map(|path| path.addr)
            .collect()
    }

    /// Whether a client's address has returned a valid cookie.
    pub(crate) fn is_proven(&self, addr: PathAddr) -> bool {
        self.paths.iter().any(|path| path.addr == addr && path.proven)
    }

    /// A server learns that `addr` returned a valid cookie.
    pub(crate) fn add_proven_path(&mut self, addr: PathAddr) {
        if let Some(path) = self.paths.iter_mut().find(|path| path.addr == addr) {
            path.proven = true;
        } else if self.paths.len() < MAX_PATHS {
            let mut path = RacePath::new(addr, MIN_SIZE);
            path.proven = true;
            self.paths.push(path);
        }
    }

    /// A client adds a path, for example after its address changed.
    pub(crate) fn add_path(&mut self, addr: PathAddr, size: usize) {
        if self.paths.len() < MAX_PATHS && self.find(addr).is_none() {
            self.paths.push(RacePath::requesting(addr, size.max(MIN_SIZE)));
        }
    }

    /// Paths that a client tries when no other has answered after [`ATTEMPT_DELAY`], or when it has to send again.
    pub(crate) fn add_alternatives(&mut self, paths: &[(PathAddr, usize)]) {
        let alternatives = paths
            .iter()
            .map(|(addr, size)| RacePath::requesting(*addr, (*size).max(MIN_SIZE)));
        self.alternatives.extend(alternatives);
        self.alternatives_due = (!self.alternatives.is_empty()).then_some(self.began + ATTEMPT_DELAY);
    }

    fn try_alternatives(&mut self) {
        let room = MAX_PATHS.saturating_sub(self.paths.len());
        self.paths.extend(self.alternatives.drain(..).take(room));
        self.alternatives_due = None;
    }

    /// Whether a server has answered on any path, so that its list of versions no longer matters.
    pub(crate) fn has_answer(&self) -> bool {
        self.paths.iter().any(|path| path.cookie.is_some())
    }

    /// The paths and their alternatives, with their sizes, for a new attempt.
    pub(crate) fn paths(&self) -> [Vec<(PathAddr, usize)>; 2] {
        let listed = |paths: &[RacePath]| paths.iter().map(|path| (path.addr, path.size)).collect();
        [&self.paths, &self.alternatives].map(|paths| listed(paths))
    }

    /// A server answered a Request.
    pub(crate) fn on_retry(&mut self, now: Instant, from: PathAddr, cookie: Vec<u8>) {
        let first = !self.has_answer();
        let Some(path) = self.find(from).and_then(|index| self.paths.get_mut(index)) else {
            return;
        };
        if path.retries_left == 0 {
            return;
        }
        path.retries_left -= 1;
        path.request_due = false;
        path.cookie = Some(cookie);
        path.rewind();
        if first {
            self.set_interval(now - self.began);
            self.retransmit_at = Some(now + self.interval);
        }
    }

    /// A client learns that no program listens at `remote`, and goes on with its other paths. It is too late for that once a server
    /// has answered.
    pub(crate) fn on_refused(&mut self, remote: SocketAddr) -> Result<(), HandshakeError> {
        if self.side == Side::Server || self.has_answer() {
            return Ok(());
        }
        self.paths.retain(|path| path.addr.remote != remote);
        self.alternatives.retain(|path| path.addr.remote != remote);
        if self.paths.is_empty() {
            self.try_alternatives();
        }
        if self.paths.is_empty() {
            return Err(HandshakeError::Refused);
        }
        Ok(())
    }

    /// A packet of the peer arrived. `Ok(false)` if it is not authentic.
    pub(crate) fn on_sealed(
        &mut self,
        now: Instant,
        sealed: Sealed,
        datagram: &mut [u8],
    ) -> Result<bool, HandshakeError> {
        let Some(state) = &self.levels[sealed.level as usize] else {
            if self.held.len() < MAX_HELD {
                self.held.push_back((sealed, datagram.to_vec()));
            }
            return Ok(true);
        };
        let len = datagram.len();
        let Ok(payload) = state.keys.open(sealed.number, sealed.header, datagram) else {
            return Ok(false);
        };
        let Ok(frames) = Frames::new(payload).collect::<Result<Vec<_>, _>>() else {
            return Ok(false);
        };
        let path = self.path_of(sealed.from, len);
        self.on_frames(now, path, sealed.level, &frames)?;
        self.on_held(now)?;
        Ok(true)
    }

    /// A client learns the server's index; transport parameters verify it later.
    pub(crate) fn on_server_index(&mut self, server: Index) {
        self.terms.server.get_or_insert(server);
    }

    /// A data packet arrived before the keys that open it (RFC 9001 §5.7); whether it waits for them.
    pub(crate) fn hold_early(&mut self, from: PathAddr, datagram: &[u8]) -> bool {
        self.early.hold(from, datagram)
    }

    /// The data packets that wait.
    pub(crate) fn take_early(&mut self) -> Vec<(PathAddr, Vec<u8>)> {
        self.early.take()
    }

    fn on_held(&mut self, now: Instant) -> Result<(), HandshakeError> {
        if self.levels[Level::Handshake as usize].is_none() {
            return Ok(());
        }
        while let Some((sealed, mut datagram)) = self.held.pop_front() {
            self.on_sealed(now, sealed, &mut datagram)?;
        }
        Ok(())
    }

    fn find(&self, addr: PathAddr) -> Option<usize> {
        let exact = self.paths.iter().position(|path| path.addr == addr);
        // A client that named no source address learns it from the first answer.
        exact.or_else(|| {
            let same =
                |path: &RacePath| path.addr.remote == addr.remote && path.addr.local.ip().is_unspecified();
            self.paths.iter().position(same)
        })
    }

    /// The path of an authentic packet. A server may learn an address this way: it stays unproven.
    fn path_of(&mut self, from: PathAddr, len: usize) -> Option<usize> {
        let found = self.find(from);
        if found.is_none() && self.side == Side::Server && self.paths.len() < MAX_PATHS {
            self.paths.push(RacePath::new(from, MIN_SIZE));
        }
        let index = self.find(from)?;
        let path = self.paths.get_mut(index)?;
        path.on_received(len);
        match self.side {
            Side::Client => path.proven = true,
            // The client fills its first packets up to the size of the path.
            Side::Server if self.expiries < SHRINK_AFTER => path.size = path.size.max(len),
            Side::Server => {}
        }
        Some(index)
    }

    fn on_frames(
        &mut self,
        now: Instant,
        path: Option<usize>,
        level: Level,
        frames: &[Frame<'_>],
    ) -> Result<(), HandshakeError> {
        if level == Level::Handshake && self.side == Side::Server {
            // The client has our ServerHello, or it would not have these keys (RFC 9001 §4.9.1).
            self.ack_all(Level::Initial);
        }
        let Some(state) = &mut self.levels[level as usize] else {
            return Ok(());
        };
        let mut progress = false;
        for frame in frames {
            match *frame {
                Frame::Crypto { offset, data } => {
                    state
                        .receive
                        .insert(offset, data)
                        .map_err(|_| HandshakeError::TooLong)?;
                    if let Some(path) = path.and_then(|index| self.paths.get_mut(index)) {
                        path.ack_due[level as usize] = true;
                    }
                }
                Frame::Ack { received } => progress |= state.send.on_ack(received),
                Frame::Close { alert } => {
                    return Err(HandshakeError::ClosedByPeer(AlertDescription::from(alert)));
                }
            }
        }
        let bytes = state.receive.take();
        progress |= !bytes.is_empty();
        // TLS has left the Initial level when it has Handshake keys.
        if !bytes.is_empty() && (level == Level::Handshake || self.levels[1].is_none()) {
            self.read(now, &bytes)?;
        }
        if progress {
            self.expiries = 0;
            self.interval = self.base_interval;
            self.retransmit_at = Some(now + self.interval);
        }
        let finished = self.levels[1].as_ref().is_some_and(|state| state.send.is_acked());
        self.confirmed |= self.complete && self.side == Side::Client && finished;
        Ok(())
    }

    fn ack_all(&mut self, level: Level) {
        if let Some(state) = &mut self.levels[level as usize] {
            state.send.ack_all();
        }
    }

    /// A client received data sealed with the final keys: the server has its Finished.
    pub(crate) const fn confirm(&mut self) {
        if matches!(self.side, Side::Client) {
            self.confirmed = self.complete;
        }
    }

    fn set_interval(&mut self, round_trip: Duration) {
        self.base_interval = (round_trip * 3).clamp(MIN_INTERVAL, INITIAL_INTERVAL);
        self.interval = self.base_interval;
    }

    /// When [`Handshake::on_deadline`] is due.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        earliest([self.retransmit_at, self.alternatives_due, Some(self.ends_at)])
    }

    /// Time passed.
    pub(crate) fn on_deadline(&mut self, now: Instant) -> Result<(), HandshakeError> {
        if now >= self.ends_at {
            let failed = !self.complete || (self.side == Side::Client && !self.confirmed);
            return if failed {
                Err(HandshakeError::TimedOut)
            } else {
                Ok(())
            };
        }
        if self.alternatives_due.is_some_and(|due| due <= now) {
            self.alternatives_due = None;
            if !self.has_answer() {
                self.try_alternatives();
            }
        }
        if self.retransmit_at.is_none_or(|due| now < due) {
            return Ok(());
        }
        if !self.complete {
            self.try_alternatives();
        }
        let unacked = self.levels.iter().flatten().any(|state| !state.send.is_acked());
        self.interval = (self.interval * 2).min(MAX_INTERVAL);
        self.retransmit_at = (unacked || self.side == Side::Client).then_some(now + self.interval);
        self.expiries += 1;
        for path in &mut self.paths {
            path.rewind();
            if self.expiries >= SHRINK_AFTER {
                path.size = path.size.min((path.size / 2).max(SHRUNK_SIZE));
            }
            if self.side == Side::Client {
                path.retries_left = RETRIES;
                path.request_due = path.cookie.is_none();
                // Without bytes to send again, an ACK asks the server to go on.
                path.ack_due[self.write_level as usize] |= !unacked;
            }
        }
        Ok(())
    }

    /// The next packet to send.
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        for index in 0..self.paths.len() {
            if let Some(datagram) = self.next_packet(index) {
                let path = self.paths.get_mut(index)?;
                path.on_sent(datagram.len());
                let path = path.addr;
                self.retransmit_at.get_or_insert(now + self.interval);
                return Some(Transmit { path, datagram });
            }
        }
        None
    }

    fn next_packet(&mut self, index: usize) -> Option<Vec<u8>> {
        let path = self.paths.get_mut(index)?;
        if self.side == Side::Client {
            if core::mem::take(&mut path.request_due) {
                return Some(write_request(self.terms.version, self.terms.client));
            }
            path.cookie.as_ref()?;
        }
        [Level::Initial, Level::Handshake]
            .into_iter()
            .find_map(|level| self.sealed_packet(index, level))
    }

    fn header(&self, path: &RacePath, level: Level) -> Option<Vec<u8>> {
        let Terms {
            version,
            client,
            server,
            ..
        } = self.terms;
        Some(match (level, self.side) {
            (Level::Initial, Side::Client) => {
                write_client_initial(version, client, path.cookie.as_deref().unwrap_or_default(), 0)
            }
            (Level::Initial, Side::Server) => write_server_initial(client, server?, 0),
            (Level::Handshake, Side::Client) => write_handshake(server?, 0),
            (Level::Handshake, Side::Server) => write_handshake(client, 0),
        })
    }

    fn sealed_packet(&mut self, index: usize, level: Level) -> Option<Vec<u8>> {
        let mut datagram = self.header(self.paths.get(index)?, level)?;
        let header = datagram.len();
        let path = self.paths.get_mut(index)?;
        let state = self.levels[level as usize].as_mut()?;
        let (cursor, end) = path.window(level, state.send.acked(), state.send.end());
        let ack = path.ack_due[level as usize];
        let room = path
            .allowance(self.side == Side::Client)
            .checked_sub(header + ACK_LEN + TAG_LEN)?;
        let len = room
            .saturating_sub(CRYPTO_HEADER)
            .min(end.saturating_sub(cursor) as usize);
        if len == 0 && !ack {
            return None;
        }
        write_ack(&mut datagram, state.receive.received());
        if len > 0 {
            let fragment = state.send.fragment(cursor, len);
            write_crypto(&mut datagram, cursor, fragment);
            path.cursor[level as usize] += fragment.len() as u32;
            if level == Level::Initial && self.side == Side::Client {
                // Zeros are PADDING frames. The server learns the size of the path.
                datagram.resize(path.size - TAG_LEN, 0);
            }
        }
        path.ack_due[level as usize] = false;
        seal(state, header, datagram)
    }

    /// Packets that tell the peer that we give up, one for each path.
    pub(crate) fn close(&mut self, error: &HandshakeError) -> Vec<Transmit> {
        if matches!(error, HandshakeError::ClosedByPeer(_) | HandshakeError::TimedOut) {
            return Vec::new();
        }
        let alert = self.tls.as_ref().and_then(|tls| tls.alert());
        let alert = u8::from(error.alert(alert));
        let level = if self.levels[1].is_some() {
            Level::Handshake
        } else {
            Level::Initial
        };
        let mut packets = Vec::new();
        for index in 0..self.paths.len() {
            let path = self.paths.get(index);
            let usable =
                |path: &&RacePath| path.proven || (self.side == Side::Client && path.cookie.is_some());
            let Some(path) = path.filter(usable) else { continue };
            let (addr, header) = (path.addr, self.header(path, level));
            let (Some(mut datagram), Some(state)) = (header, self.levels[level as usize].as_mut()) else {
                continue;
            };
            let header = datagram.len();
            write_close(&mut datagram, alert);
            packets.extend(seal(state, header, datagram).map(|datagram| Transmit { path: addr, datagram }));
        }
        packets
    }
}

/// Seals `datagram` behind its header.
fn seal(state: &mut LevelState, header: usize, mut datagram: Vec<u8>) -> Option<Vec<u8>> {
    datagram.resize(datagram.len() + TAG_LEN, 0);
    state
        .keys
        .sealer
        .seal(LevelKeys::SPACE, header, &mut datagram)
        .ok()?;
    Some(datagram)
}

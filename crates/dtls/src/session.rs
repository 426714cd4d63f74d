//! A DTLS session. Which records carry a packet, and which packets are in a record?

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant as SystemInstant};

use anabranch_types::Instant;
use dimpl::{Config, Dtls, Error, Output, UnexpectedMessageError};

use crate::certificate::{Certificate, Fingerprint};

/// Bytes of the largest record: its content, header, nonce and tag.
const LARGEST_RECORD: usize = (1 << 14) + 256;

/// Bytes that a certificate of the peer may have: `dimpl` keeps 30 datagrams of a handshake at most, and panics if a buffer is too small
/// for the certificate.
const LARGEST_CERTIFICATE: usize = 30 * 65_535;

/// How long a client waits before it starts again.
const PAUSE: Duration = Duration::from_secs(1);

/// How long the handshake may take, with all attempts.
const HANDSHAKE_TIME: Duration = Duration::from_secs(40);

/// A session with one peer, on the way or connected.
///
/// Feed it what arrives and what is to be sent. After each call, send what [`poll_transmit`](Self::poll_transmit) returns, take the packets
/// from [`poll_packet`](Self::poll_packet), and call [`handle_timeout`](Self::handle_timeout) at the [`deadline`](Self::deadline). Every error
/// is the end of the session.
///
/// A host that forges the address of the peer can make the handshake start again, as long as the peer has presented no certificate; afterwards,
/// its datagrams are dropped. A server answers no client with more than a cookie before the client has
/// returned it (RFC 6347 §4.2.1, RFC 9147 §5.1).
pub struct Session {
    dtls: Dtls,
    role: Role,
    certificate: Certificate,
    peer: Fingerprint,
    state: State,
    /// `dimpl` counts in the system's time: this one was `created`.
    start: SystemInstant,
    created: Instant,
    deadline: Option<Instant>,
    /// Until then, the client waits before it starts again.
    pause: Option<Instant>,
    /// Why the last attempt failed; it may have been forged.
    refusal: Option<SessionError>,
    transmits: VecDeque<Vec<u8>>,
    packets: VecDeque<Vec<u8>>,
    buffer: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The peer has presented no certificate yet.
    Unproven,
    /// Its certificate is the one that was announced.
    Proven,
    Connected,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Client,
    Server,
}

fn new_dtls(role: Role, certificate: &Certificate, at: SystemInstant) -> Dtls {
    let mut dtls = Dtls::new_auto(Arc::new(Config::default()), certificate.to_dimpl(), at);
    dtls.set_active(role == Role::Client);
    dtls
}

impl Session {
    /// The end that begins the handshake: call [`handle_timeout`](Self::handle_timeout) at once.
    #[must_use]
    pub fn client(certificate: &Certificate, peer: Fingerprint, now: Instant) -> Self {
        Self::new(Role::Client, certificate, peer, now)
    }

    /// The end that waits for the client.
    #[must_use]
    pub fn server(certificate: &Certificate, peer: Fingerprint, now: Instant) -> Self {
        Self::new(Role::Server, certificate, peer, now)
    }

    fn new(role: Role, certificate: &Certificate, peer: Fingerprint, now: Instant) -> Self {
        let start = SystemInstant::now();
        Self {
            dtls: new_dtls(role, certificate, start),
            role,
            certificate: certificate.clone(),
            peer,
            state: State::Unproven,
            start,
            created: now,
            deadline: Some(match role {
                Role::Client => now,
                Role::Server => now + HANDSHAKE_TIME,
            }),
            pause: None,
            refusal: None,
            transmits: VecDeque::new(),
            packets: VecDeque::new(),
            buffer: vec![0; LARGEST_CERTIFICATE],
        }
    }

    /// Reads a datagram of the peer. Others than DTLS, such as STUN, are ignored (RFC 7983 §7).
    ///
    /// # Errors
    ///
    /// See [`SessionError`]. A datagram that is not authentic is no error.
    pub fn handle_datagram(&mut self, datagram: &[u8], now: Instant) -> Result<(), SessionError> {
        if !datagram.first().is_some_and(|first| (20..64).contains(first)) {
            return Ok(());
        }
        if self.pause.is_some_and(|until| now < until) {
            return Ok(());
        }
        match self.read(datagram, now) {
            // Anybody can send it: nothing is authentic before the certificate.
            Err(refusal @ (SessionError::Dtls(_) | SessionError::Closed))
                if self.state == State::Unproven =>
            {
                self.start_again(refusal, now);
                Ok(())
            }
            other => other,
        }
    }

    fn read(&mut self, datagram: &[u8], now: Instant) -> Result<(), SessionError> {
        self.dtls.handle_timeout(self.system_time(now))?;
        match self.dtls.handle_packet(datagram) {
            // It answers no ClientHello of ours, and the client still waits for the server.
            Err(Error::UnexpectedMessage(UnexpectedMessageError::UnrecognizedAutoServerResponse)) => {}
            handled => handled?,
        }
        self.drain()
    }

    /// The client pauses first: a peer that refuses each ClientHello would otherwise get them without end.
    fn start_again(&mut self, refusal: SessionError, now: Instant) {
        self.dtls = new_dtls(self.role, &self.certificate, self.system_time(now));
        self.refusal = Some(refusal);
        let limit = self.created + HANDSHAKE_TIME;
        self.pause = (self.role == Role::Client).then_some(limit.min(now + PAUSE));
        self.deadline = Some(self.pause.unwrap_or(limit));
    }

    /// Sends again what was lost, or begins the handshake.
    ///
    /// # Errors
    ///
    /// There is no session 40 s after this was made: why the last attempt failed, or that there was no answer.
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), SessionError> {
        if !self.is_connected() && now >= self.created + HANDSHAKE_TIME {
            return Err(self.refusal.take().unwrap_or(SessionError::TimedOut));
        }
        self.pause = None;
        self.dtls.handle_timeout(self.system_time(now))?;
        self.drain()
    }

    /// Encrypts a packet. Call it when [connected](Self::is_connected).
    ///
    /// # Errors
    ///
    /// [`SessionError::Closed`], or the keys have reached their limit.
    pub fn send(&mut self, packet: &[u8], now: Instant) -> Result<(), SessionError> {
        self.dtls.handle_timeout(self.system_time(now))?;
        self.dtls.send_application_data(packet)?;
        self.drain()
    }

    /// Tells the peer that this end closes the session.
    ///
    /// # Errors
    ///
    /// The session has failed before.
    pub fn close(&mut self) -> Result<(), SessionError> {
        self.dtls.close()?;
        match self.drain() {
            Err(SessionError::Closed) => Ok(()),
            drained => drained,
        }
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmits.pop_front()
    }

    /// The next packet that the peer has sent.
    pub fn poll_packet(&mut self) -> Option<Vec<u8>> {
        self.packets.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    #[must_use]
    pub const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether the handshake is complete, with the peer whose fingerprint is known.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.state == State::Connected
    }

    fn system_time(&self, now: Instant) -> SystemInstant {
        self.start + (now - self.created)
    }

    /// Takes all that the last call has brought about.
    fn drain(&mut self) -> Result<(), SessionError> {
        loop {
            match self.dtls.poll_output(&mut self.buffer) {
                Output::Packet(record) => self.transmits.push_back(record.to_vec()),
                Output::ApplicationData(packet) => self.packets.push_back(packet.to_vec()),
                Output::PeerCert(certificate) => {
                    let presented = Fingerprint::of(certificate);
                    if presented != self.peer {
                        return Err(SessionError::OtherCertificate(presented));
                    }
                    self.state = State::Proven;
                }
                Output::Connected if self.state == State::Proven => {
                    self.state = State::Connected;
                    self.buffer.truncate(LARGEST_RECORD);
                    self.buffer.shrink_to_fit();
                }
                Output::Connected => return Err(SessionError::NoCertificate),
                Output::CloseNotify => return Err(SessionError::Closed),
                Output::Timeout(at) => {
                    let at = self.created + at.saturating_duration_since(self.start);
                    let limit = (!self.is_connected()).then_some(self.created + HANDSHAKE_TIME);
                    self.deadline = limit.map_or(Some(at), |limit| Some(at.min(limit)));
                    return Ok(());
                }
                Output::BufferTooSmall { needed } => self.buffer.resize(needed, 0),
                // Keys for media (RFC 5764), which we do not send.
                _ => {}
            }
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("dtls", &self.dtls)
            .field("state", &self.state)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// Why a session has ended.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The peer's certificate is not the one that was announced. Nothing of the peer was delivered.
    #[error("the peer has the certificate with the fingerprint {0}, which is not the one that was announced")]
    OtherCertificate(Fingerprint),
    /// The peer has presented no certificate.
    #[error("the peer has presented no certificate")]
    NoCertificate,
    /// Either end has closed the session.
    #[error("the DTLS session is closed")]
    Closed,
    /// No answer in time.
    #[error("the peer has not answered the DTLS handshake in time")]
    TimedOut,
    /// The peer has violated the protocol, has no algorithm in common with us, or the keys have reached their limit.
    #[error("DTLS: {0}")]
    Dtls(Error),
}

impl From<Error> for SessionError {
    fn from(error: Error) -> Self {
        match error {
            Error::ConnectionClosed => Self::Closed,
            Error::Timeout(_) => Self::TimedOut,
            other => Self::Dtls(other),
        }
    }
}

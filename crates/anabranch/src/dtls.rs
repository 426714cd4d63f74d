//! DTLS below SCTP, for WebRTC (RFC 8261): a socket that encrypts what it sends to one peer.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use anabranch_dtls::Session;
pub use anabranch_dtls::{Certificate, CertificateError, Fingerprint, FingerprintParseError, SessionError};
use anabranch_io::{ErrorClass, Incoming, Outgoing, Socket, broken, classify};
use anabranch_types::{Ecn, PathAddr};

use crate::Role;
use crate::runtime::{Clock, Timer};

//= rfc8831 6.1-1
/// A socket with a DTLS session to one peer. [`EndpointBuilder::dtls`](crate::EndpointBuilder::dtls) takes it.
///
/// Each end knows the [`Fingerprint`] of the other one's certificate beforehand, from the session description. The socket below may be one
/// of [`udp_socket`](crate::udp_socket), or the one that ICE has found; datagrams that are neither DTLS nor from the peer are ignored.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use anabranch::dtls::{Certificate, DtlsSocket};
/// use anabranch::{ChannelOptions, DataChannels, Endpoint, Role, udp_socket};
///
/// // Both ends are here, so there is no signalling.
/// let certificates = [Certificate::generate()?, Certificate::generate()?];
/// let sockets = [udp_socket("127.0.0.1:0".parse()?)?, udp_socket("127.0.0.1:0".parse()?)?];
/// let addresses = sockets.clone().map(|socket| socket.local_addr());
/// let [client, server] = sockets;
/// let (client, server) = tokio::try_join!(
///     DtlsSocket::handshake(client, addresses[1], Role::Client, &certificates[0], certificates[1].fingerprint()),
///     DtlsSocket::handshake(server, addresses[0], Role::Server, &certificates[1], certificates[0].fingerprint()),
/// )?;
///
/// let client = Endpoint::builder().dtls(client).bind().await?;
/// let server = Endpoint::builder().dtls(server).listen().bind().await?;
/// let (ours, theirs) = tokio::join!(client.connect(addresses[1]), server.accept());
/// let channels = DataChannels::new(ours?, Role::Client);
/// channels.open(ChannelOptions::new("chat"))?.send_text("hello").await?;
/// # let theirs = DataChannels::new(theirs.ok_or("closed")?, Role::Server);
/// # let chat = theirs.accept().await.ok_or("closed")?;
/// # assert_eq!(chat.recv().await, Some("hello".into()));
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Debug)]
pub struct DtlsSocket {
    socket: Arc<dyn Socket>,
    peer: SocketAddr,
    clock: Clock,
    state: Mutex<State>,
}

/// The session, and what waits on its two sides.
#[derive(Debug)]
struct State {
    session: Session,
    timer: Timer,
    /// Buffers of the socket below.
    scratch: Vec<Incoming>,
    received: VecDeque<Packet>,
    /// Datagrams for which the socket below had no space. Nothing else is encrypted before they are sent.
    held: VecDeque<Vec<u8>>,
    /// How datagrams to the peer are marked.
    ecn: Ecn,
    /// Our address, as far as the socket below states it.
    path: PathAddr,
    failed: Option<SessionError>,
}

/// A packet that the peer has encrypted, with what IP said about its datagram.
#[derive(Debug)]
struct Packet {
    bytes: Vec<u8>,
    path: PathAddr,
    ecn: Ecn,
}

impl DtlsSocket {
    /// Proves to the peer at `peer` who we are, and waits until it has done the same. The client begins; in WebRTC, the attribute
    /// `a=setup` of the session descriptions decides who that is (RFC 8842 §5.2).
    ///
    /// # Errors
    ///
    /// The peer has another certificate, or there is no session within 40 s: the peer does not answer, or has no algorithm in common with us. Or the
    /// socket is broken.
    pub async fn handshake(
        socket: Arc<dyn Socket>,
        peer: SocketAddr,
        role: Role,
        certificate: &Certificate,
        fingerprint: Fingerprint,
    ) -> Result<Self, DtlsError> {
        let clock = Clock::start();
        let session = match role {
            Role::Client => Session::client(certificate, fingerprint, clock.now()),
            Role::Server => Session::server(certificate, fingerprint, clock.now()),
        };
        let path = PathAddr {
            local: socket.local_addr(),
            remote: peer,
        };
        let state = State {
            session,
            timer: Timer::new(clock),
            scratch: vec![Incoming::new()],
            received: VecDeque::new(),
            held: VecDeque::new(),
            ecn: Ecn::NotCapable,
            path,
            failed: None,
        };
        let dtls = Self {
            socket,
            peer,
            clock,
            state: Mutex::new(state),
        };
        poll_fn(|cx| dtls.poll_connected(cx)).await?;
        Ok(dtls)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn poll_connected(&self, cx: &mut Context<'_>) -> Poll<Result<(), DtlsError>> {
        let mut state = self.state();
        loop {
            let moved = state.poll_step(self, cx);
            if let Some(error) = state.failed.clone() {
                return Poll::Ready(Err(DtlsError::Session(error)));
            }
            if state.session.is_connected() {
                return Poll::Ready(Ok(()));
            }
            ready!(moved)?;
        }
    }
}

impl State {
    /// Fires the timer, or reads what has arrived.
    fn poll_step(&mut self, dtls: &DtlsSocket, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(deadline) = self.session.deadline().filter(|_| self.failed.is_none())
            && self.timer.poll(cx, deadline).is_ready()
        {
            // The timer may be early.
            if deadline <= dtls.clock.now() {
                let handled = self.session.handle_timeout(dtls.clock.now());
                self.after(handled, dtls);
            }
            return Poll::Ready(Ok(()));
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let polled = dtls.socket.poll_receive(cx, &mut scratch);
        if let Poll::Ready(Ok(filled)) = &polled {
            for incoming in scratch.iter().take(*filled) {
                self.read(incoming, dtls);
            }
        }
        self.scratch = scratch;
        match ready!(polled) {
            Err(error) if classify(&error) == ErrorClass::Broken => Poll::Ready(Err(error)),
            // An ICMP error, for instance, because the peer is not there yet.
            Err(_) | Ok(_) => Poll::Ready(Ok(())),
        }
    }

    fn read(&mut self, incoming: &Incoming, dtls: &DtlsSocket) {
        if incoming.path().remote != dtls.peer || self.failed.is_some() {
            return;
        }
        self.path = incoming.path();
        for datagram in incoming.datagrams() {
            let handled = self.session.handle_datagram(datagram, dtls.clock.now());
            while let Some(bytes) = self.session.poll_packet() {
                self.received.push_back(Packet {
                    bytes,
                    path: incoming.path(),
                    ecn: incoming.ecn(),
                });
            }
            self.after(handled, dtls);
        }
    }

    /// Sends what a call of the session has brought about. What finds no space is lost, and the handshake sends it again.
    fn after(&mut self, handled: Result<(), SessionError>, dtls: &DtlsSocket) {
        if let Err(error) = handled {
            self.failed = Some(error);
        }
        while let Some(datagram) = self.session.poll_transmit() {
            let _ = self.transmit(&datagram, dtls);
        }
    }

    fn transmit(&self, datagram: &[u8], dtls: &DtlsSocket) -> io::Result<()> {
        dtls.socket.try_send(&Outgoing {
            path: self.path,
            ecn: self.ecn,
            bytes: datagram,
            segment_size: None,
            may_fragment: false,
        })
    }

    /// Sends the datagrams that are held back.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if there is still no space.
    fn send_held(&mut self, dtls: &DtlsSocket) -> io::Result<()> {
        while let Some(datagram) = self.held.front() {
            let sent = self.transmit(datagram, dtls);
            if is_full(&sent) {
                return sent;
            }
            // Another error says that it is lost.
            self.held.pop_front();
        }
        Ok(())
    }

    /// Encrypts one packet and sends it, or holds it back until there is space.
    fn send(&mut self, packet: &[u8], dtls: &DtlsSocket) -> io::Result<()> {
        let sealed = self.session.send(packet, dtls.clock.now());
        if let Err(error) = sealed {
            self.failed = Some(error);
            return Err(broken());
        }
        let mut result = Ok(());
        while let Some(datagram) = self.session.poll_transmit() {
            let sent = self.transmit(&datagram, dtls);
            if is_full(&sent) || !self.held.is_empty() {
                self.held.push_back(datagram);
            } else {
                result = result.and(sent);
            }
        }
        result
    }

    /// Moves received packets into `incoming`; returns how many.
    fn deliver(&mut self, incoming: &mut [Incoming]) -> usize {
        let mut filled = 0;
        for (slot, packet) in incoming.iter_mut().zip(&mut self.received) {
            let len = packet.bytes.len().min(slot.buffer_mut().len());
            slot.buffer_mut()[..len].copy_from_slice(&packet.bytes[..len]);
            slot.filled(0..len, len, packet.path, packet.ecn);
            filled += 1;
        }
        self.received.drain(..filled);
        filled
    }
}

fn is_full(sent: &io::Result<()>) -> bool {
    sent.as_ref()
        .is_err_and(|error| classify(error) == ErrorClass::WouldBlock)
}

impl Socket for DtlsSocket {
    fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr()
    }

    fn max_segments(&self) -> usize {
        1
    }

    fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        let mut state = self.state();
        if state.failed.is_some() {
            return Err(broken());
        }
        if outgoing.path.remote != self.peer {
            return Err(io::ErrorKind::HostUnreachable.into());
        }
        state.send_held(self)?;
        state.ecn = outgoing.ecn;
        outgoing
            .datagrams()
            .try_for_each(|packet| state.send(packet, self))
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_writable(cx)
    }

    fn poll_receive(&self, cx: &mut Context<'_>, incoming: &mut [Incoming]) -> Poll<io::Result<usize>> {
        let mut state = self.state();
        // The driver waits for space only if a call was refused.
        while !state.held.is_empty() && self.socket.poll_writable(cx)?.is_ready() {
            let _ = state.send_held(self);
        }
        loop {
            let filled = state.deliver(incoming);
            if filled > 0 {
                return Poll::Ready(Ok(filled));
            }
            if state.failed.is_some() {
                return Poll::Ready(Err(broken()));
            }
            ready!(state.poll_step(self, cx))?;
        }
    }
}

/// Tells the peer, if there is space for it.
impl Drop for DtlsSocket {
    fn drop(&mut self) {
        let mut state = self.state();
        if state.failed.is_none() && state.send_held(self).is_ok() {
            let closed = state.session.close();
            state.after(closed, self);
        }
    }
}

/// Why there is no DTLS session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DtlsError {
    /// The handshake failed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The socket is broken.
    #[error("the socket below DTLS: {0}")]
    Socket(#[from] io::Error),
}

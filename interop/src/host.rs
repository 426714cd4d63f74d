//! What is our side? The core on a UDP socket of the loopback interface, everything that passes recorded.

use std::fs::File;
use std::io::{self, BufWriter};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant as Wall};

use anabranch_netsim::Datagram;
use anabranch_netsim::capture::{Direction, InterfaceId, PcapngWriter};
use anabranch_proto::{AssociationConfig, CloseReason, Endpoint, EndpointConfig, Event};
use anabranch_types::{AssociationId, Ecn, Instant, PathAddr};
use tempfile::NamedTempFile;

/// The longest time without looking around.
const TICK: Duration = Duration::from_millis(5);

/// Our core, a socket, a clock and a recorder.
#[derive(Debug)]
pub struct Host {
    /// The core.
    pub endpoint: Endpoint,
    /// The association, once there is one.
    pub association: Option<AssociationId>,
    /// Why it ended, once it has.
    pub closed: Option<CloseReason>,
    socket: UdpSocket,
    start: Wall,
    buffer: Vec<u8>,
    recorder: PcapngWriter<BufWriter<File>>,
    interface: InterfaceId,
    record: NamedTempFile,
}

impl Host {
    /// On a free UDP port, listening on `sctp_port`.
    ///
    /// # Errors
    ///
    /// No socket, no file, or no randomness.
    pub fn new(sctp_port: u16, config: &AssociationConfig) -> io::Result<Self> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        let endpoint = EndpointConfig {
            local: vec![socket.local_addr()?],
            sctp_port,
            accept: Some(config.clone()),
            ..EndpointConfig::default()
        };
        // Nobody attacks a test; the port makes the secrets of two tests differ.
        let seed = anabranch_types::Seed(socket.local_addr()?.port().into());
        let record = NamedTempFile::with_suffix(".pcapng")?;
        let mut recorder = PcapngWriter::new(BufWriter::new(record.reopen()?))?;
        let interface = recorder.add_interface("loopback")?;
        Ok(Self {
            endpoint: Endpoint::new(endpoint, seed),
            association: None,
            closed: None,
            socket,
            start: Wall::now(),
            buffer: Vec::new(),
            recorder,
            interface,
            record,
        })
    }

    /// Where the socket is.
    ///
    /// # Errors
    ///
    /// Those of the operating system.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Now, as the core sees it.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant::ZERO + self.start.elapsed()
    }

    /// Talks until `done` says so, or the association ends, or `patience` does; `act` is called again and again
    /// to do what the application would do. Tells whether it was done in time.
    ///
    /// # Errors
    ///
    /// Those of the socket and of the file.
    pub fn talk(&mut self, patience: Duration, mut act: impl FnMut(&mut Self) -> bool) -> io::Result<bool> {
        let end = Wall::now() + patience;
        while Wall::now() < end {
            self.hear_events();
            let done = act(self);
            self.transmit()?;
            if done {
                return Ok(true);
            }
            self.receive()?;
            let now = self.now();
            if self
                .endpoint
                .poll_timeout()
                .is_some_and(|deadline| deadline <= now)
            {
                self.endpoint.handle_timeout(now);
            }
        }
        Ok(false)
    }

    fn hear_events(&mut self) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Connected { .. } => self.association = Some(id),
                Event::Closed(reason) => self.closed = Some(reason),
                _ => {}
            }
        }
    }

    fn transmit(&mut self) -> io::Result<()> {
        let now = self.now();
        loop {
            self.buffer.clear();
            let Some(transmit) = self.endpoint.poll_transmit(now, &mut self.buffer, 1) else {
                return Ok(());
            };
            self.note(Direction::Out, transmit.path, self.buffer.clone())?;
            // A full socket buffer is a loss like any other.
            let _ = self.socket.send_to(&self.buffer, transmit.path.remote);
        }
    }

    /// Waits for the first datagram, takes all.
    fn receive(&mut self) -> io::Result<()> {
        let mut datagram = [0; 1 << 16];
        let mut wait = TICK;
        if let Some(deadline) = self.endpoint.poll_timeout() {
            wait = wait.min(deadline.saturating_duration_since(self.now()));
        }
        // Zero would mean to wait for ever.
        self.socket
            .set_read_timeout(Some(wait.max(Duration::from_micros(50))))?;
        self.socket.set_nonblocking(false)?;
        let mut received = self.socket.recv_from(&mut datagram);
        self.socket.set_nonblocking(true)?;
        while let Ok((length, remote)) = received {
            let path = PathAddr {
                local: self.address()?,
                remote,
            };
            self.note(Direction::In, path.reversed(), datagram[..length].to_vec())?;
            let now = self.now();
            self.endpoint
                .handle_datagram(now, path, Ecn::NotCapable, &datagram[..length]);
            received = self.socket.recv_from(&mut datagram);
        }
        Ok(())
    }

    fn note(&mut self, direction: Direction, path: PathAddr, payload: Vec<u8>) -> io::Result<()> {
        let datagram = Datagram {
            path,
            ecn: Ecn::NotCapable,
            may_fragment: false,
            payload,
        };
        let at = self.now();
        self.recorder.write(at, self.interface, direction, &datagram)
    }

    /// Ends the recording and gives it to `look`.
    ///
    /// # Errors
    ///
    /// Those of the file and of `look`.
    pub fn judge<T>(self, look: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
        self.recorder.finish()?;
        look(self.record.path())
    }
}

//! Our side of a test: the core on real sockets, with a capture.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter};
use std::net::IpAddr;
use std::path::Path;
use std::time::{Duration, Instant as Wall};

use anabranch_io::{Incoming, Outgoing, RawSocket, Transport, UdpSocket};
use anabranch_netsim::capture::{Direction, InterfaceId, PcapngWriter};
use anabranch_netsim::{Datagram, Protocol};
use anabranch_proto::{CloseReason, Endpoint, EndpointConfig, Event};
use anabranch_types::{AssociationId, Ecn, Instant, PathAddr, StreamId};
use anabranch_wire::chunk::kind;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tempfile::NamedTempFile;

use crate::dissect;

/// Maximum time between two calls of the application.
const TICK: Duration = Duration::from_millis(5);

/// Our core with sockets, clock and capture.
#[derive(Debug)]
pub struct Host {
    /// The core.
    pub endpoint: Endpoint,
    /// The association, once there is one.
    pub association: Option<AssociationId>,
    /// Why the association ended, once it has.
    pub closed: Option<CloseReason>,
    /// Streams that the peer has reset.
    pub reset: Vec<StreamId>,
    /// Types of chunks that the peer sent.
    pub received: BTreeSet<u8>,
    /// Whether data was sent with a COOKIE ECHO.
    pub sent_early: bool,
    /// Every how many packets with data are marked as by a router, in both directions (ECN); 0 for none.
    pub mark_every: u32,
    /// Packets that our dissector cannot decode completely, except for one known error of pion.
    pub undissected: Vec<String>,
    /// After the handshake, each packet whose number is a multiple of this is lost, in both directions together; 0 for none.
    pub loses_each: u32,
    packets: u32,
    sockets: Vec<Box<dyn Transport>>,
    port: u16,
    start: Wall,
    buffer: Vec<u8>,
    /// Packets that could be marked, sent and received.
    capable: [u32; 2],
    recorder: PcapngWriter<BufWriter<File>>,
    interface: InterfaceId,
    record: NamedTempFile,
}

impl Host {
    /// Creates a host with a UDP socket at each of `addresses`, all with the same free port.
    ///
    /// # Errors
    ///
    /// Errors of sockets and files.
    pub fn new(addresses: &[IpAddr], config: EndpointConfig) -> io::Result<Self> {
        let mut sockets: Vec<Box<dyn Transport>> = Vec::new();
        let mut port = 0;
        for address in addresses {
            let socket = UdpSocket::bind((*address, port).into())?;
            port = socket.local_addr().port();
            sockets.push(Box::new(socket));
        }
        Self::on(sockets, port, config)
    }

    /// Creates a host directly over IP, which needs root; in a namespace, since raw sockets see all SCTP packets.
    ///
    /// # Errors
    ///
    /// As [`Host::new`].
    pub fn raw(addresses: &[IpAddr], config: EndpointConfig) -> io::Result<Self> {
        let mut sockets: Vec<Box<dyn Transport>> = Vec::new();
        for address in addresses {
            sockets.push(Box::new(RawSocket::bind(*address)?));
        }
        Self::on(sockets, 0, config)
    }

    fn on(sockets: Vec<Box<dyn Transport>>, port: u16, config: EndpointConfig) -> io::Result<Self> {
        let config = EndpointConfig {
            local: sockets.iter().map(|socket| socket.local_addr()).collect(),
            ..config
        };
        // A test needs no secure seed; the port makes the secrets of two tests differ.
        let seed = anabranch_types::Seed(port.into());
        let record = NamedTempFile::with_suffix(".pcapng")?;
        let mut recorder = PcapngWriter::new(BufWriter::new(record.reopen()?))?;
        let interface = recorder.add_interface("sockets")?;
        Ok(Self {
            endpoint: Endpoint::new(config, seed),
            association: None,
            closed: None,
            reset: Vec::new(),
            received: BTreeSet::new(),
            sent_early: false,
            mark_every: 0,
            capable: [0; 2],
            undissected: Vec::new(),
            loses_each: 0,
            packets: 0,
            sockets,
            port,
            start: Wall::now(),
            buffer: Vec::new(),
            recorder,
            interface,
            record,
        })
    }

    /// The UDP port of all its sockets; 0 if there is no UDP.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Now, as the core sees it.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant::ZERO + self.start.elapsed()
    }

    /// Runs until `act`, the application, returns `true`, at most for `patience`. Returns whether it did.
    ///
    /// # Errors
    ///
    /// Those of the socket and of the file.
    pub fn talk(&mut self, patience: Duration, mut act: impl FnMut(&mut Self) -> bool) -> io::Result<bool> {
        let end = Wall::now() + patience;
        while Wall::now() < end {
            self.poll_events();
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

    fn poll_events(&mut self) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Connected { .. } => self.association = Some(id),
                Event::Closed(reason) => self.closed = Some(reason),
                Event::InboundReset { streams } => self.reset.extend(streams),
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
            if self.is_lost() {
                continue;
            }
            self.sent_early |= has_early_data(&self.buffer);
            self.note(Direction::Out, transmit.path, self.buffer.clone())?;
            let ecn = self.marked(0, transmit.ecn, transmit.ecn == Ecn::Capable0);
            let mut locals = self.endpoint.local().iter();
            let socket = locals.position(|local| *local == transmit.path.local);
            let socket = &self.sockets[socket.unwrap_or_default()];
            // A full socket buffer counts as packet loss.
            let _ = socket.try_send(&Outgoing {
                path: transmit.path,
                ecn,
                bytes: &self.buffer,
                segment_size: None,
                may_fragment: transmit.may_fragment,
            });
        }
    }

    /// Waits for datagrams and handles all that have arrived.
    fn receive(&mut self) -> io::Result<()> {
        let mut wait = TICK;
        if let Some(deadline) = self.endpoint.poll_timeout() {
            wait = wait.min(deadline.saturating_duration_since(self.now()));
        }
        let sockets = self.sockets.iter();
        let mut polled: Vec<PollFd<'_>> = sockets
            .map(|socket| PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN))
            .collect();
        let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
        poll(&mut polled, Some(&wait))?;
        for index in 0..self.sockets.len() {
            self.receive_at(index)?;
        }
        Ok(())
    }

    fn receive_at(&mut self, index: usize) -> io::Result<()> {
        let mut incoming = [Incoming::new()];
        let local = self.endpoint.local()[index];
        while self.sockets[index]
            .try_receive(&mut incoming)
            .is_ok_and(|count| count > 0)
        {
            let [batch] = &incoming;
            let path = PathAddr {
                local,
                ..batch.path()
            };
            for datagram in batch.datagrams() {
                if self.is_lost() {
                    continue;
                }
                if !dissect::is_empty_heartbeat(datagram) {
                    self.note(Direction::In, path.reversed(), datagram.to_vec())?;
                }
                let kinds = dissect::kinds(datagram);
                let ecn = self.marked(1, batch.ecn(), kinds.contains(&kind::DATA));
                self.received.extend(kinds);
                let now = self.now();
                self.endpoint.handle_datagram(now, path, ecn, datagram);
            }
        }
        Ok(())
    }

    fn is_lost(&mut self) -> bool {
        if self.association.is_none() || self.loses_each == 0 {
            return false;
        }
        self.packets += 1;
        self.packets.is_multiple_of(self.loses_each)
    }

    /// The ECN bits of a packet behind the simulated router, which marks some of those that are `capable`.
    fn marked(&mut self, direction: usize, ecn: Ecn, capable: bool) -> Ecn {
        self.capable[direction] += u32::from(capable);
        if capable && self.mark_every > 0 && self.capable[direction].is_multiple_of(self.mark_every) {
            Ecn::CongestionExperienced
        } else {
            ecn
        }
    }

    fn note(&mut self, direction: Direction, path: PathAddr, payload: Vec<u8>) -> io::Result<()> {
        self.undissected.extend(dissect::error(&payload));
        let datagram = Datagram {
            path,
            protocol: Protocol::SCTP,
            ecn: Ecn::NotCapable,
            may_fragment: false,
            payload,
        };
        let at = self.now();
        self.recorder.write(at, self.interface, direction, &datagram)
    }

    /// Finishes the capture and passes its file to `look`.
    ///
    /// # Errors
    ///
    /// Those of the file and of `look`.
    pub fn judge<T>(self, look: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
        self.recorder.finish()?;
        look(self.record.path())
    }
}

/// Whether a packet has data behind a COOKIE ECHO.
fn has_early_data(packet: &[u8]) -> bool {
    let kinds = dissect::kinds(packet);
    kinds.contains(&kind::COOKIE_ECHO) && (kinds.contains(&kind::DATA) || kinds.contains(&kind::I_DATA))
}

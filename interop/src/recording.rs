//! Capture of the packets of an endpoint of the library, which tshark checks.

use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anabranch::{AssociationStatistics, Direction, Observer};
use anabranch_netsim::capture::{self, InterfaceId, PcapngWriter, SharedBuffer};
use anabranch_netsim::{Datagram, Protocol};
use anabranch_policy::PathFacts;
use anabranch_types::{AssociationId, Ecn, Instant, PathAddr};
use tempfile::NamedTempFile;

use crate::dissect;

/// A capture of one endpoint. Clones write to the same capture.
#[derive(Clone, Debug)]
pub struct Recording {
    state: Arc<Mutex<State>>,
    buffer: SharedBuffer,
}

#[derive(Debug)]
struct State {
    writer: PcapngWriter<SharedBuffer>,
    interface: InterfaceId,
    undissected: Vec<String>,
    received: Vec<u8>,
}

impl Recording {
    /// An empty capture.
    ///
    /// # Panics
    ///
    /// Never: it is in memory.
    #[must_use]
    pub fn new() -> Self {
        let buffer = SharedBuffer::default();
        let mut writer = PcapngWriter::new(buffer.clone()).expect("memory");
        let interface = writer.add_interface("sockets").expect("memory");
        Self {
            state: Arc::new(Mutex::new(State {
                writer,
                interface,
                undissected: Vec::new(),
                received: Vec::new(),
            })),
            buffer,
        }
    }

    /// Types of the chunks that the peer sent.
    #[must_use]
    pub fn received(&self) -> Vec<u8> {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .received
            .clone()
    }

    /// Packets that our dissector cannot decode completely, except for one known error of pion.
    #[must_use]
    pub fn undissected(&self) -> Vec<String> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.undissected.clone()
    }

    /// Passes the capture so far to `look`, as a file.
    ///
    /// # Panics
    ///
    /// If there is no space for a file.
    pub fn judge<T>(&self, look: impl FnOnce(&Path) -> T) -> T {
        let mut file = NamedTempFile::with_suffix(".pcapng").expect("space for a file");
        file.write_all(&self.buffer.take()).expect("space for a file");
        look(file.path())
    }
}

impl Default for Recording {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for Recording {
    fn on_packet(&mut self, at: Instant, direction: Direction, path: PathAddr, packet: &[u8]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (direction, path) = match direction {
            Direction::Sent => (capture::Direction::Out, path),
            Direction::Received if dissect::is_empty_heartbeat(packet) => return,
            Direction::Received => {
                state.received.extend(dissect::kinds(packet));
                (capture::Direction::In, path.reversed())
            }
        };
        state.undissected.extend(dissect::error(packet));
        let datagram = Datagram {
            path,
            protocol: Protocol::SCTP,
            ecn: Ecn::NotCapable,
            may_fragment: false,
            payload: packet.to_vec(),
        };
        let interface = state.interface;
        let written = state.writer.write(at, interface, direction, &datagram);
        written.expect("memory");
    }

    fn on_association(&mut self, _: Instant, _: AssociationId, _: &AssociationStatistics, _: &[PathFacts]) {}
}

//! How is sctp-proto spoken to? The SCTP of `str0m`, a descendant of pion's in Rust.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant as Wall;

use anabranch_types::{Instant, PathAddr, StreamId};
use bytes::Bytes;
use sctp_proto::{
    Association, AssociationError, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, EndpointConfig,
    Event, Payload, PayloadProtocolIdentifier, ReliabilityType, ServerConfig, StreamEvent, Transmit,
    TransportConfig,
};

use super::{Core, Ending, LARGEST_PACKET, LONGEST_MESSAGE, Letter};

/// Bytes that may wait on a stream: it has no limit itself.
const BACKLOG: usize = 1 << 20;

/// An endpoint of sctp-proto with one association.
#[derive(Debug)]
pub struct SctpProto {
    endpoint: Endpoint,
    association: Option<(AssociationHandle, Association)>,
    transport: Arc<TransportConfig>,
    remote: SocketAddr,
    /// Virtual time begins here.
    epoch: Wall,
    packets: VecDeque<Vec<u8>>,
    readable: VecDeque<u16>,
    connected: bool,
    ending: Option<Ending>,
    /// One of the sides wants to finish: what it calls a loss is the good end.
    finishing: bool,
}

impl SctpProto {
    /// At the local end of `path`.
    #[must_use]
    pub fn new(path: PathAddr) -> Self {
        let longest = LONGEST_MESSAGE as u32;
        let transport = TransportConfig::default()
            .with_max_receive_buffer_size(2 * longest)
            .with_max_send_message_size(longest)
            .with_max_receive_message_size(longest);
        let transport = Arc::new(transport);
        let mut config = EndpointConfig::new();
        config.max_payload_size(u32::from(LARGEST_PACKET));
        let mut server = ServerConfig::new();
        server.transport = transport.clone();
        Self {
            endpoint: Endpoint::new(Arc::new(config), Some(Arc::new(server))),
            association: None,
            transport,
            remote: path.remote,
            epoch: Wall::now(),
            packets: VecDeque::new(),
            readable: VecDeque::new(),
            connected: false,
            ending: None,
            finishing: false,
        }
    }

    fn wall(&self, now: Instant) -> Wall {
        self.epoch + now.saturating_duration_since(Instant::ZERO)
    }

    fn hear(&mut self) {
        let Some((handle, association)) = &mut self.association else {
            return;
        };
        while let Some(event) = association.poll_endpoint_event() {
            // "Drained" comes with the wish to finish already, and the endpoint would forget an association that still
            // has its SHUTDOWN to exchange.
            let is_over = association.is_closed();
            if is_over && let Some(event) = self.endpoint.handle_event(*handle, event) {
                association.handle_event(event);
            }
        }
        self.finishing |= association.is_closing();
        while let Some(event) = association.poll() {
            match event {
                Event::Connected => self.connected = true,
                Event::Stream(StreamEvent::Readable { id }) => self.readable.push_back(id),
                Event::AssociationLost { reason } => {
                    let finishing = self.finishing;
                    self.ending.get_or_insert_with(|| ending_of(&reason, finishing));
                }
                Event::HandshakeFailed { reason } => {
                    self.ending = Some(Ending::Failed(reason.to_string()));
                }
                _ => {}
            }
        }
    }

    fn drain(&mut self, now: Instant) {
        let wall = self.wall(now);
        while let Some(transmit) = self.endpoint.poll_transmit() {
            self.packets.extend(packets_of(transmit));
        }
        if let Some((_, association)) = &mut self.association {
            while let Some(transmit) = association.poll_transmit(wall) {
                self.packets.extend(packets_of(transmit));
            }
        }
        self.hear();
    }
}

fn packets_of(transmit: Transmit) -> Vec<Vec<u8>> {
    match transmit.payload {
        Payload::RawEncode(packets) => packets.iter().map(|packet| packet.to_vec()).collect(),
        Payload::PartialDecode(_) => Vec::new(),
    }
}

/// It has one word for "the peer aborted" and for "both finished".
fn ending_of(reason: &AssociationError, finishing: bool) -> Ending {
    match reason {
        AssociationError::AssociationClosed if finishing => Ending::Finished,
        AssociationError::AssociationClosed
        | AssociationError::ApplicationClosed
        | AssociationError::LocallyClosed
        | AssociationError::Reset => Ending::Aborted,
        _ => Ending::Failed(reason.to_string()),
    }
}

impl Core for SctpProto {
    fn connect(&mut self, now: Instant) {
        let mut config = ClientConfig::new();
        config.transport = self.transport.clone();
        let association = self.endpoint.connect(config, self.remote);
        self.association = Some(association.expect("ports and an address"));
        self.drain(now);
    }

    fn on_packet(&mut self, now: Instant, packet: &[u8]) {
        let wall = self.wall(now);
        let packet = Bytes::copy_from_slice(packet);
        match self.endpoint.handle(wall, self.remote, None, None, packet) {
            Some((handle, DatagramEvent::NewAssociation(association))) => {
                self.association = Some((handle, association));
            }
            Some((_, DatagramEvent::AssociationEvent(event))) => {
                if let Some((_, association)) = &mut self.association {
                    association.handle_event(event);
                }
            }
            None => {}
        }
        self.drain(now);
    }

    fn on_deadline(&mut self, now: Instant) {
        let wall = self.wall(now);
        if let Some((_, association)) = &mut self.association {
            association.handle_timeout(wall);
        }
        self.drain(now);
    }

    fn poll_packet(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.drain(now);
        self.packets.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        let deadline = self.association.as_ref()?.1.poll_timeout()?;
        Some(Instant::ZERO + deadline.saturating_duration_since(self.epoch))
    }

    /// Whether a message is ordered is a property of its stream here, as it is of a data channel.
    fn send(&mut self, letter: &Letter) -> bool {
        let Some((_, association)) = &mut self.association else {
            return false;
        };
        let (id, kind) = (letter.stream.0, PayloadProtocolIdentifier::Binary);
        if association.stream(id).is_err() && association.open_stream(id, kind).is_err() {
            return false;
        }
        let Ok(mut stream) = association.stream(id) else {
            return false;
        };
        let has_room = stream.buffered_amount().is_ok_and(|waiting| waiting < BACKLOG);
        let shaped = stream.set_reliability_params(letter.unordered, ReliabilityType::Reliable, 0);
        has_room && shaped.is_ok() && stream.write_with_ppi(&letter.payload, kind).is_ok()
    }

    fn read(&mut self) -> Option<(StreamId, Bytes)> {
        let (_, association) = self.association.as_mut()?;
        while let Some(id) = self.readable.front().copied() {
            let read = association.stream(id).and_then(|mut stream| stream.read());
            if let Ok(Some(chunks)) = read {
                let mut payload = vec![0; chunks.len()];
                chunks.read(&mut payload).expect("room for the message");
                return Some((StreamId(id), payload.into()));
            }
            self.readable.pop_front();
        }
        None
    }

    fn is_connected(&self) -> bool {
        self.connected && self.ending.is_none()
    }

    fn is_flushed(&mut self) -> bool {
        let Some((_, association)) = &mut self.association else {
            return true;
        };
        let ids = association.stream_ids();
        ids.into_iter().all(|id| {
            let waiting = association.stream(id).and_then(|stream| stream.buffered_amount());
            waiting.unwrap_or(0) == 0
        })
    }

    fn shutdown(&mut self) {
        if let Some((_, association)) = &mut self.association {
            self.finishing = true;
            association.shutdown().expect("it is established");
        }
    }

    /// It has no word for that to the peer: it vanishes.
    fn abort(&mut self) {
        if let Some((_, association)) = &mut self.association {
            association.close().expect("it always can");
        }
        self.ending = Some(Ending::Aborted);
    }

    fn ending(&self) -> Option<Ending> {
        self.ending.clone()
    }
}

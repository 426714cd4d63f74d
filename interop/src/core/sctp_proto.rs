//! sctp-proto, the SCTP stack of `str0m` (a port of pion's to Rust), as a test core.

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

use super::{Core, Ending, MAX_MESSAGE, MAX_PACKET, TestMessage};

/// Maximum bytes queued on a stream: sctp-proto itself has no limit.
const BACKLOG: usize = 1 << 20;

/// A sctp-proto endpoint with one association.
#[derive(Debug)]
pub struct SctpProto {
    endpoint: Endpoint,
    association: Option<(AssociationHandle, Association)>,
    transport: Arc<TransportConfig>,
    remote: SocketAddr,
    /// Origin of virtual time.
    epoch: Wall,
    packets: VecDeque<Vec<u8>>,
    readable: VecDeque<u16>,
    connected: bool,
    ending: Option<Ending>,
    /// Whether a side has started a shutdown: then a reported loss is a graceful end.
    finishing: bool,
}

impl SctpProto {
    /// Creates an endpoint at the local end of `path`.
    #[must_use]
    pub fn new(path: PathAddr) -> Self {
        let longest = MAX_MESSAGE as u32;
        let transport = TransportConfig::default()
            .with_max_receive_buffer_size(2 * longest)
            .with_max_send_message_size(longest)
            .with_max_receive_message_size(longest);
        let transport = Arc::new(transport);
        let mut config = EndpointConfig::new();
        config.max_payload_size(u32::from(MAX_PACKET));
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
            // `Drained` comes when the shutdown starts; the endpoint would drop an association that still has to
            // exchange SHUTDOWN chunks.
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

/// sctp-proto reports an abort by the peer and a graceful end in the same way.
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

    /// In sctp-proto a stream is ordered or unordered, like a data channel.
    fn send(&mut self, message: &TestMessage) -> bool {
        let Some((_, association)) = &mut self.association else {
            return false;
        };
        let (id, kind) = (message.stream.0, PayloadProtocolIdentifier::Binary);
        if association.stream(id).is_err() && association.open_stream(id, kind).is_err() {
            return false;
        }
        let Ok(mut stream) = association.stream(id) else {
            return false;
        };
        let has_room = stream.buffered_amount().is_ok_and(|waiting| waiting < BACKLOG);
        let shaped = stream.set_reliability_params(message.unordered, ReliabilityType::Reliable, 0);
        has_room && shaped.is_ok() && stream.write_with_ppi(&message.payload, kind).is_ok()
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

    /// sctp-proto cannot send an ABORT: it falls silent.
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

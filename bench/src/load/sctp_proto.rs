//! sctp-proto under load.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sctp_proto::{
    Association, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, Payload,
    PayloadProtocolIdentifier, TransportConfig, generate_snap_token,
};

use super::{BACKLOG, Delivered, LARGEST_PACKET, Load, ROUND_MICROS};

const STREAM: u16 = 0;

struct SctpProto {
    alice: Side,
    bob: Side,
    now: Instant,
    payload: Bytes,
    taken: Vec<u8>,
    forward: Vec<Bytes>,
    reverse: Vec<Bytes>,
}

struct Side {
    endpoint: Endpoint,
    association: Association,
    handle: AssociationHandle,
    address: SocketAddr,
}

pub(super) fn start(message: usize, window: usize) -> Box<dyn Load> {
    let window = u32::try_from(window).expect("a window that fits the wire");
    let transport = Arc::new(TransportConfig::default().with_max_receive_buffer_size(window));
    let token = || generate_snap_token(&transport).expect("a token");
    let (mine, theirs) = (token(), token());
    let addresses = [
        SocketAddr::from(([10, 0, 0, 1], 9_899)),
        SocketAddr::from(([10, 0, 0, 2], 9_899)),
    ];
    let side = |own: usize, local: &Bytes, remote: &Bytes| {
        let mut config = EndpointConfig::new();
        config.max_payload_size(u32::from(LARGEST_PACKET));
        let mut endpoint = Endpoint::new(Arc::new(config), None);
        let mut client = ClientConfig::new().with_snap(local.clone(), remote.clone());
        client.transport = transport.clone();
        let (handle, mut association) = endpoint.connect(client, addresses[1 - own]).expect("connects");
        association
            .open_stream(STREAM, PayloadProtocolIdentifier::Binary)
            .expect("a stream");
        Side {
            endpoint,
            association,
            handle,
            address: addresses[own],
        }
    };
    Box::new(SctpProto {
        alice: side(0, &mine, &theirs),
        bob: side(1, &theirs, &mine),
        now: Instant::now(),
        payload: Bytes::from(vec![7; message]),
        taken: vec![0; message],
        forward: Vec::new(),
        reverse: Vec::new(),
    })
}

impl Side {
    /// Appends all packets that can be sent to `out`.
    fn drain(&mut self, now: Instant, out: &mut Vec<Bytes>) {
        loop {
            while let Some(event) = self.association.poll_endpoint_event() {
                if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                    self.association.handle_event(event);
                }
            }
            while self.association.poll().is_some() {}
            let own = self.association.poll_transmit(now);
            let Some(transmit) = own.or_else(|| self.endpoint.poll_transmit()) else {
                return;
            };
            if let Payload::RawEncode(packets) = transmit.payload {
                out.extend(packets);
            }
        }
    }

    fn handle(&mut self, now: Instant, remote: SocketAddr, packet: Bytes) {
        let event = self.endpoint.handle(now, remote, None, None, packet);
        if let Some((_, DatagramEvent::AssociationEvent(event))) = event {
            self.association.handle_event(event);
        }
    }

    fn fire(&mut self, now: Instant) {
        if self
            .association
            .poll_timeout()
            .is_some_and(|deadline| deadline <= now)
        {
            self.association.handle_timeout(now);
        }
    }
}

impl SctpProto {
    fn fill(&mut self) {
        let mut stream = self.alice.association.stream(STREAM).expect("it is open");
        while stream.buffered_amount().is_ok_and(|waiting| waiting < BACKLOG)
            && stream
                .write_with_ppi(&self.payload, PayloadProtocolIdentifier::Binary)
                .is_ok()
        {}
    }

    fn take(&mut self) -> u64 {
        let mut stream = self.bob.association.stream(STREAM).expect("it is open");
        let mut messages = 0;
        while let Ok(Some(chunks)) = stream.read() {
            chunks.read(&mut self.taken).expect("room for a message");
            messages += 1;
        }
        messages
    }

    fn pass(&mut self, idle: bool) {
        self.now += Duration::from_micros(ROUND_MICROS);
        if idle {
            let deadlines = [
                self.alice.association.poll_timeout(),
                self.bob.association.poll_timeout(),
            ];
            self.now = deadlines
                .into_iter()
                .flatten()
                .min()
                .map_or(self.now, |deadline| self.now.max(deadline));
        }
        self.alice.fire(self.now);
        self.bob.fire(self.now);
    }
}

impl Load for SctpProto {
    fn round(&mut self) -> Delivered {
        self.fill();
        self.alice.drain(self.now, &mut self.forward);
        let packets = self.forward.len() as u64;
        for packet in self.forward.drain(..) {
            self.bob.handle(self.now, self.alice.address, packet);
            self.bob.drain(self.now, &mut self.reverse);
        }
        let messages = self.take();
        self.bob.drain(self.now, &mut self.reverse);
        let answers = self.reverse.len() as u64;
        for packet in self.reverse.drain(..) {
            self.alice.handle(self.now, self.bob.address, packet);
        }
        self.pass(packets + answers == 0);
        Delivered {
            messages,
            packets,
            answers,
        }
    }
}

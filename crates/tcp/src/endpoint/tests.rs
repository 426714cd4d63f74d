//! Tests of blind attacks on the endpoint: two endpoints are connected, and an off-path attacker forges segments.

use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use anabranch_types::{Instant, Seed};
use bytes::Bytes;

use super::*;
use crate::tcb::{CloseReason, State};
use crate::wire::{Options, SackBlock};

struct Fixture {
    now: Instant,
    client: Endpoint,
    server: Endpoint,
    id: ConnectionId,
    /// The last segment sent by each endpoint.
    last: [Option<(AddressPair, Vec<u8>)>; 2],
}

const SERVER: &str = "192.0.2.2:80";

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

impl Fixture {
    fn connected() -> Self {
        let mut client = Endpoint::new(Seed(1));
        let mut server = Endpoint::new(Seed(2));
        server.listen(80, TcpConfig::default());
        let config = TcpConfig::default();
        let id = client
            .connect(address("192.0.2.1:4000"), address(SERVER), config)
            .unwrap();
        let mut fixture = Self {
            now: Instant::ZERO,
            client,
            server,
            id,
            last: [None, None],
        };
        fixture.talk();
        assert_eq!(fixture.client.poll_event(), Some((id, Event::Connected)));
        fixture
    }

    /// Exchanges segments until both endpoints are idle, without advancing time.
    fn talk(&mut self) -> usize {
        let mut count = 0;
        loop {
            let mut bytes = Vec::new();
            let (from, to, last) = match self.client.poll_transmit(self.now, &mut bytes) {
                Some(addresses) => (addresses, &mut self.server, &mut self.last[0]),
                None => match self.server.poll_transmit(self.now, &mut bytes) {
                    Some(addresses) => (addresses, &mut self.client, &mut self.last[1]),
                    None => return count,
                },
            };
            to.handle_segment(self.now, from, &bytes);
            *last = Some((from, bytes));
            count += 1;
        }
    }

    fn says(&mut self, text: &'static str) {
        self.client.with(self.id, |connection| {
            connection.write(Bytes::from_static(text.as_bytes()))
        });
        self.talk();
    }

    /// Delivers a modified copy of the client's last segment to the server. Returns the number of segments that follow.
    fn forged(&mut self, change: impl FnOnce(&mut Segment<'static>)) -> usize {
        self.now += Duration::from_secs(1);
        let (addresses, bytes) = self.last[0].clone().unwrap();
        let copied = Segment::parse(&bytes, addresses.source, addresses.destination).unwrap();
        let mut segment = Segment {
            payload: &[],
            ..copied
        };
        if let Some(timestamps) = &mut segment.options.timestamps {
            timestamps.value += 1;
        }
        segment.kind = Kind::Plain;
        change(&mut segment);
        let mut forged = Vec::new();
        segment.write(addresses.source, addresses.destination, &mut forged);
        self.server.handle_segment(self.now, addresses, &forged);
        self.talk()
    }

    fn server_state(&self) -> State {
        self.server.connections().next().unwrap().1.state()
    }
}

#[test]
fn invalid_segment_in_the_handshake_causes_no_busy_loop() {
    let (now, mut bytes) = (Instant::ZERO, Vec::new());
    let (mut client, mut server) = (Endpoint::new(Seed(1)), Endpoint::new(Seed(2)));
    server.listen(80, TcpConfig::default());
    let begun = client.connect(address("192.0.2.1:4000"), address(SERVER), TcpConfig::default());
    begun.unwrap();
    let addresses = client.poll_transmit(now, &mut bytes).unwrap();
    server.handle_segment(now, addresses, &bytes);
    let mut nonsense = Segment::parse(&bytes, addresses.source, addresses.destination).unwrap();
    nonsense.kind = Kind::Plain;
    nonsense.sequence = nonsense.sequence + (1 << 30);
    let mut forged = Vec::new();
    nonsense.write(addresses.source, addresses.destination, &mut forged);
    server.handle_segment(now, addresses, &forged);
    while server.poll_transmit(now, &mut Vec::new()).is_some() {}
    assert!(server.poll_timeout().is_some_and(|due| due > now));
}

#[test]
fn offloaded_checksums_are_neither_written_nor_verified() {
    let (now, mut bytes) = (Instant::ZERO, Vec::new());
    let mut client = Endpoint::new(Seed(1)).offload_checksums();
    let connected = client.connect(address("192.0.2.1:4000"), address(SERVER), TcpConfig::default());
    connected.unwrap();
    let addresses = client.poll_transmit(now, &mut bytes).unwrap();
    assert_eq!(bytes[16..18], [0, 0]);
    let answers_to = |mut server: Endpoint| {
        server.listen(80, TcpConfig::default());
        server.handle_segment(now, addresses, &bytes);
        server.poll_transmit(now, &mut Vec::new()).is_some()
    };
    assert!(answers_to(Endpoint::new(Seed(2)).offload_checksums()));
    assert!(!answers_to(Endpoint::new(Seed(2))));
}

#[test]
fn reset_needs_the_exact_sequence_number() {
    let mut fixture = Fixture::connected();
    fixture.says("hello");
    let end = 5;
    for ahead in [1, 1_000] {
        let asked = fixture.forged(|segment| {
            segment.kind = Kind::Reset;
            segment.sequence = segment.sequence + end + ahead;
        });
        assert_eq!(asked, 1, "in the window: asked whether it is true");
    }
    let outside = fixture.forged(|segment| {
        segment.kind = Kind::Reset;
        segment.sequence = segment.sequence + (1 << 30);
    });
    assert_eq!(outside, 0);
    assert_eq!(fixture.server_state(), State::Established);
    fixture.forged(|segment| {
        segment.kind = Kind::Reset;
        segment.sequence = segment.sequence + end;
    });
    assert_eq!(fixture.server_state(), State::Closed);
    let events: Vec<Event> = core::iter::from_fn(|| fixture.server.poll_event())
        .map(|(_, event)| event)
        .collect();
    assert_eq!(events.last(), Some(&Event::Closed(CloseReason::Reset)));
}

#[test]
fn syn_in_established_gets_a_challenge_ack() {
    let mut fixture = Fixture::connected();
    fixture.says("hello");
    let asked = fixture.forged(|segment| {
        segment.kind = Kind::Syn;
        segment.sequence = segment.sequence + 5;
    });
    assert_eq!(asked, 1);
    assert_eq!(fixture.server_state(), State::Established);
    fixture.says("still there");
    assert_eq!(fixture.server.connections().next().unwrap().1.unread(), 16);
}

#[test]
fn challenge_acks_are_rate_limited() {
    let mut fixture = Fixture::connected();
    fixture.says("hello");
    let mut resets = 0;
    for _ in 0..100 {
        fixture.now = fixture.now - Duration::from_secs(1);
        resets += fixture.forged(|segment| {
            segment.kind = Kind::Syn;
            segment.sequence = segment.sequence + 5;
        });
    }
    assert_eq!(resets, 1);
}

#[test]
fn acknowledgement_of_unsent_data_is_discarded() {
    let mut fixture = Fixture::connected();
    fixture.says("hello");
    fixture.forged(|segment| {
        segment.sequence = segment.sequence + 5;
        segment.acknowledgement = segment.acknowledgement.map(|ack| ack + 1_000);
        segment.payload = b"evil";
    });
    assert_eq!(fixture.server.connections().next().unwrap().1.unread(), 5);
}

#[test]
fn sack_blocks_of_unsent_data_are_ignored() {
    let mut fixture = Fixture::connected();
    fixture.says("hello");
    fixture.forged(|segment| {
        segment.sequence = segment.sequence + 5;
        let at = segment.acknowledgement.unwrap_or_default();
        let block = |start, end| SackBlock {
            start: at + start,
            end: at + end,
        };
        segment.options = Options {
            timestamps: segment.options.timestamps,
            sack: [block(10, 20), block(30, 5), block(u32::MAX / 2, u32::MAX)]
                .into_iter()
                .collect(),
            ..Options::default()
        };
    });
    assert_eq!(fixture.server_state(), State::Established);
}

#[test]
fn half_open_connections_are_limited_and_not_reported() {
    let mut server = Endpoint::new(Seed(2));
    server.listen(80, TcpConfig::default());
    let addresses = AddressPair {
        source: address("192.0.2.9:0").ip(),
        destination: address(SERVER).ip(),
    };
    for port in 1..=3_000 {
        let syn = Segment {
            source_port: port,
            destination_port: 80,
            kind: Kind::Syn,
            ..Segment::default()
        };
        let mut bytes = Vec::new();
        syn.write(addresses.source, addresses.destination, &mut bytes);
        server.handle_segment(Instant::ZERO, addresses, &bytes);
    }
    assert_eq!(server.connections().count(), MAX_HALF_OPEN);
    let mut now = Instant::ZERO;
    loop {
        let mut bytes = Vec::new();
        while server.poll_transmit(now, &mut bytes).is_some() {
            bytes.clear();
        }
        let Some(deadline) = server.poll_timeout() else {
            break;
        };
        now = deadline;
        server.handle_timeout(now);
    }
    assert_eq!(now - Instant::ZERO, Duration::from_secs(93));
    assert_eq!(server.connections().count(), 0);
    assert_eq!(server.poll_event(), None);
}

#[test]
fn random_segments_do_not_panic() {
    static PAYLOAD: [u8; 90] = [7; 90];
    for seed in 0..200 {
        let mut rng = Seed(seed).rng();
        let mut fixture = Fixture::connected();
        fixture.says("hello");
        for _ in 0..100 {
            let (kind, ahead, ack, length) = (
                rng.below(4),
                rng.below(100),
                rng.below(20),
                rng.below(90) as usize,
            );
            fixture.forged(|segment| {
                segment.kind = [Kind::Plain, Kind::Syn, Kind::Fin, Kind::Plain][kind as usize];
                segment.sequence = segment.sequence + (ahead as u32);
                segment.acknowledgement = segment.acknowledgement.map(|at| at + (ack as u32));
                segment.window = (ahead * 300) as u16;
                segment.payload = &PAYLOAD[..length];
            });
            if let Some(deadline) = fixture.server.poll_timeout()
                && rng.chance(1, 4)
            {
                fixture.now = fixture.now.max(deadline);
                fixture.server.handle_timeout(fixture.now);
                fixture.talk();
            }
        }
    }
}

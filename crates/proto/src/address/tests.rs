//! Tests of address reconfiguration (ASCONF): what a peer may change, and that an attacker who poses as the peer may not.

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

use anabranch_policy::Reachability;
use anabranch_types::{AsconfNumber, AssociationId, Ecn, Instant, PathAddr, PathId, Seed, StreamId};
use anabranch_wire::chunk::kind;
use anabranch_wire::{
    AddressRequest, Chunk, CommonHeader, CorrelationId, OutboundAbort, OutboundAsconf, OutboundAsconfAck,
    Packet, PacketBuilder, ParameterWriter, RawChunk, ShutdownAck, WriteChunk, dissect,
};

use crate::{Association, AssociationConfig, DEFAULT_PORT, Endpoint, EndpointConfig, Event, Message};

mod joins;
mod replacement;
mod rules;
mod waiting;

const ID: AssociationId = AssociationId(0);
/// A time after the handshake and the first heartbeats.
const LATER: Instant = Instant::from_nanos(5_000_000_000);

fn at(network: u8, host: u8) -> SocketAddr {
    SocketAddr::from(([10, network, 0, host], DEFAULT_PORT))
}

/// Two endpoints and a network between them without loss and delay.
struct Pair {
    alice: Endpoint,
    bob: Endpoint,
}

impl Pair {
    /// Both endpoints have an address in each of `networks` networks, and an association.
    fn with(networks: u8) -> Self {
        let mut pair = Self::connecting(networks);
        pair.exchange(Instant::ZERO);
        pair.exchange(LATER);
        pair
    }

    /// The same before the first packet.
    fn connecting(networks: u8) -> Self {
        let endpoint = |host: u8| {
            let config = EndpointConfig {
                local: (0..networks).map(|network| at(network, host)).collect(),
                accept: Some(AssociationConfig::default()),
                ..EndpointConfig::default()
            };
            Endpoint::new(config, Seed(host.into()))
        };
        let mut pair = Self {
            alice: endpoint(1),
            bob: endpoint(2),
        };
        let connected = pair
            .alice
            .connect(Instant::ZERO, &[at(0, 2)], &AssociationConfig::default());
        assert_eq!(connected, Ok(ID));
        pair
    }

    /// Exchanges packets until neither endpoint sends anything more.
    fn exchange(&mut self, now: Instant) {
        for endpoint in [&mut self.alice, &mut self.bob] {
            endpoint.handle_timeout(now);
        }
        loop {
            let (there, back) = (
                poll_packets(&mut self.alice, now),
                poll_packets(&mut self.bob, now),
            );
            if there.is_empty() && back.is_empty() {
                return;
            }
            for (path, bytes) in there {
                self.bob
                    .handle_datagram(now, path.reversed(), Ecn::NotCapable, &bytes);
            }
            for (path, bytes) in back {
                self.alice
                    .handle_datagram(now, path.reversed(), Ecn::NotCapable, &bytes);
            }
        }
    }

    /// Bob loses his state and sends Alice an INIT from the same address.
    fn restart_bob(&mut self) {
        let Association { local, peer, .. } = self.alices();
        let config = AssociationConfig {
            local_sctp_port: Some(peer.port),
            peer_sctp_port: local.port,
            ..AssociationConfig::default()
        };
        let alone = EndpointConfig {
            local: vec![at(0, 2)],
            ..EndpointConfig::default()
        };
        self.bob = Endpoint::new(alone, Seed(9));
        let called = self.bob.connect(LATER, &[at(0, 1)], &config);
        assert_eq!(called, Ok(ID));
        self.exchange(LATER);
        let is_restart = |event: &Event| matches!(event, Event::Restarted { .. });
        let mut events = core::iter::from_fn(|| self.alice.poll_event()).map(|(_, event)| event);
        assert!(events.any(|event| is_restart(&event)));
        self.exchange(LATER);
    }

    fn alices(&self) -> &Association {
        self.alice.association(ID).expect("it lives")
    }

    fn bobs(&self) -> &Association {
        self.bob.association(ID).expect("it lives")
    }

    /// Alice's addresses, as Bob knows them.
    fn alice_addresses_at_bob(&self) -> Vec<IpAddr> {
        let mut known: Vec<IpAddr> = self
            .bobs()
            .transfer
            .paths
            .remotes()
            .map(|remote| remote.ip())
            .collect();
        known.sort();
        known.dedup();
        known
    }

    /// A packet from Alice with the chunks that `fill` writes.
    fn packet_from_alice(&self, fill: impl FnOnce(&Association, &mut PacketBuilder<'_>)) -> Vec<u8> {
        let alice = self.alices();
        let header = CommonHeader {
            source_port: alice.local.port,
            destination_port: alice.peer.port,
            tag: alice.peer.tag,
        };
        let mut bytes = Vec::new();
        let mut packet = PacketBuilder::new(&mut bytes, header, 1_400);
        fill(alice, &mut packet);
        packet.finish();
        bytes
    }

    /// The same with one chunk, authenticated with the association's key.
    fn authenticated(&self, chunk: &impl WriteChunk) -> Vec<u8> {
        self.packet_from_alice(|alice, packet| {
            let authentication = alice.authentication.as_ref().expect("offered");
            authentication.push(packet, &[Any(chunk)]).expect("room");
        })
    }

    /// Delivers a packet to Bob from an address in `network`. Returns his reply as text.
    fn deliver_to_bob(&mut self, network: u8, bytes: &[u8]) -> Vec<String> {
        let path = PathAddr {
            local: at(network.min(1), 2),
            remote: at(network, 1),
        };
        self.bob.handle_datagram(LATER, path, Ecn::NotCapable, bytes);
        let answers = poll_packets(&mut self.bob, LATER);
        answers.iter().map(|(_, bytes)| words(bytes)).collect()
    }

    /// The next ASCONF chunk of Alice, with these requests.
    fn asconf(&self, requests: &ParameterWriter) -> OutboundAsconf {
        OutboundAsconf {
            number: AsconfNumber(self.alices().local.initial_tsn.0),
            address: at(0, 1).ip(),
            requests: requests.clone().finish(),
        }
    }

    /// Bob's reply to these requests, without the names of its chunks.
    fn response_to(&mut self, requests: &ParameterWriter) -> String {
        let question = self.authenticated(&self.asconf(requests));
        let answers = self.deliver_to_bob(0, &question);
        let answer = answers.iter().find(|answer| answer.contains("ASCONF-ACK"));
        let answer = answer.expect("an answer");
        answer[answer.find('[').expect("a list")..].to_string()
    }
}

struct Any<'a, C>(&'a C);

impl<C: WriteChunk> WriteChunk for Any<'_, C> {
    fn wire_len(&self) -> usize {
        self.0.wire_len()
    }

    fn write(&self, writer: &mut anabranch_wire::Writer<'_>) {
        self.0.write(writer);
    }
}

fn poll_packets(endpoint: &mut Endpoint, now: Instant) -> Vec<(PathAddr, Vec<u8>)> {
    let mut packets = Vec::new();
    let mut bytes = Vec::new();
    while let Some(transmit) = endpoint.poll_transmit(now, &mut bytes, 1) {
        packets.push((transmit.path, core::mem::take(&mut bytes)));
    }
    packets
}

fn words(bytes: &[u8]) -> String {
    dissect::line(bytes)
}

fn about(id: u32, address: &str) -> AddressRequest {
    AddressRequest {
        id: CorrelationId(id),
        address: address.parse().expect("an address"),
    }
}

fn one(push: impl FnOnce(&mut ParameterWriter) -> &mut ParameterWriter) -> ParameterWriter {
    let mut writer = ParameterWriter::new();
    push(&mut writer);
    writer
}

//= rfc5061 4.1.1-1, 5.2-4, 5.3-25
#[test]
fn successful_requests_get_an_empty_asconf_ack() {
    let mut pair = Pair::with(2);
    let mut requests = ParameterWriter::new();
    requests
        .push_add_address(about(1, "10.2.0.1"))
        .push_delete_address(about(2, "10.1.0.1"))
        .push_set_primary(about(3, "10.2.0.1"));
    assert_eq!(pair.response_to(&requests), "[]");
    assert_eq!(pair.alice_addresses_at_bob(), [at(0, 1).ip(), at(2, 1).ip()]);
}

//= rfc5061 4.2.1-1, 4.2.2-1, 4.2.3-1, 4.2.4-1, 5.2-5, 5.3-20, 5.3-21, 5.4-3
#[test]
fn unauthorized_requests_are_refused_without_effect() {
    for (requests, answer) in [
        (
            one(|list| list.push_delete_address(about(1, "10.0.0.1"))),
            "source address not deleted",
        ),
        (
            one(|list| list.push_add_address(about(1, "127.0.0.1"))),
            "no authorization",
        ),
        (
            one(|list| list.push_add_address(about(1, "224.0.0.1"))),
            "no authorization",
        ),
        (
            one(|list| list.push_set_primary(about(1, "10.9.0.1"))),
            "no authorization",
        ),
    ] {
        let mut pair = Pair::with(2);
        let said = pair.response_to(&requests);
        assert!(said.contains(answer) && said.contains("failed id=1"), "{said}");
        assert_eq!(pair.alice_addresses_at_bob(), [at(0, 1).ip(), at(1, 1).ip()]);
    }
}

//= rfc5061 4.2.1-1, 4.2.2-1, 4.2.3-1, 4.2.4-1, 5.2-4, 5.2-5, 5.3-18, 5.3-19, 5.3-21
#[test]
fn deletion_of_the_last_address_is_refused() {
    let mut pair = Pair::with(1);
    let said = pair.response_to(&one(|list| list.push_delete_address(about(1, "10.0.0.1"))));
    assert!(said.contains("last address not deleted"), "{said}");
    let mut pair = Pair::with(2);
    let mut both = one(|list| list.push_delete_address(about(1, "10.1.0.1")));
    both.push_delete_address(about(2, "10.0.0.1"));
    let said = pair.response_to(&both);
    assert!(
        said.starts_with("[failed id=2 [last address not deleted"),
        "{said}"
    );
    assert_eq!(pair.alice_addresses_at_bob(), [at(0, 1).ip()]);
}

//= rfc5061 4.2.2-3
#[test]
fn wildcard_deletion_keeps_only_the_source_address() {
    let mut pair = Pair::with(2);
    assert_eq!(
        pair.response_to(&one(|list| list.push_delete_address(about(1, "0.0.0.0")))),
        "[]"
    );
    assert_eq!(pair.alice_addresses_at_bob(), [at(0, 1).ip()]);
}

//= rfc5061 5.3-22, 5.3-23, 5.3-24
#[test]
fn more_than_sixteen_addresses_get_resource_shortage() {
    let mut pair = Pair::with(1);
    let mut requests = ParameterWriter::new();
    for number in 0..40 {
        requests.push_add_address(about(number, &alloc::format!("10.0.1.{number}")));
    }
    requests.push_delete_address(about(99, "10.0.1.0"));
    let said = pair.response_to(&requests);
    assert!(said.starts_with("[failed id=15 [resource shortage"), "{said}");
    assert_eq!(pair.bobs().addresses.peer_addrs.len(), 16);
    assert!(pair.bobs().transfer.paths.facts().len() <= 16);
}

#[test]
fn unknown_requests_follow_their_upper_two_bits() {
    let unknown = |kind: u16| {
        let mut list = one(|list| list.push_raw(kind, &[0, 0, 0, 7]));
        list.push_add_address(about(8, "10.0.1.1"));
        list
    };
    for (kind, reported, goes_on) in [
        (0x00ff, false, false),
        (0x40ff, true, false),
        (0x80ff, false, true),
        (0xc0ff, true, true),
    ] {
        let mut pair = Pair::with(1);
        let said = pair.response_to(&unknown(kind));
        assert_eq!(said.contains("failed id=7"), reported, "{kind:x}: {said}");
        assert_eq!(
            pair.alice_addresses_at_bob().len(),
            if goes_on { 2 } else { 1 },
            "{kind:x}: {said}"
        );
    }
}

#[test]
fn repeated_asconf_gets_the_same_asconf_ack() {
    let mut pair = Pair::with(2);
    let requests = one(|list| list.push_delete_address(about(1, "10.1.0.1")));
    let question = pair.authenticated(&pair.asconf(&requests));
    let first = pair.deliver_to_bob(0, &question);
    assert_eq!(pair.alice_addresses_at_bob(), [at(0, 1).ip()]);
    let again = pair.deliver_to_bob(0, &question);
    let answer = |said: &[String]| said.iter().find(|line| line.contains("ASCONF-ACK")).cloned();
    assert_eq!(answer(&first), answer(&again));
    for ahead in [2, 1_000, u32::MAX] {
        let mut other = pair.asconf(&requests);
        other.number = AsconfNumber(other.number.0.wrapping_add(ahead));
        let packet = pair.authenticated(&other);
        assert_eq!(pair.deliver_to_bob(0, &packet), Vec::<String>::new(), "{ahead}");
    }
}

//= rfc4895 5.1-7, 6.3-1
//= rfc5061 4.1.1-3, 5.2-2, 5.2-3
#[test]
fn asconf_without_valid_auth_is_discarded() {
    let mut pair = Pair::with(2);
    let requests = one(|list| list.push_add_address(about(1, "10.6.6.6")));
    let question = pair.asconf(&requests);
    let bare = pair.packet_from_alice(|_, packet| packet.push(&question).expect("room"));
    let mut damaged = pair.authenticated(&question);
    let at = damaged.len() - 1;
    damaged[at] ^= 1;
    reseal(&mut damaged);
    let twice = pair.packet_from_alice(|alice, packet| {
        let authentication = alice.authentication.as_ref().expect("offered");
        authentication.push(packet, &[ShutdownAck]).expect("room");
        authentication
            .push(packet, core::slice::from_ref(&question))
            .expect("room");
    });
    for packet in [bare, damaged, twice] {
        assert_eq!(pair.deliver_to_bob(0, &packet), Vec::<String>::new());
        assert_eq!(pair.alice_addresses_at_bob().len(), 2);
    }
    assert!(pair.bobs().is_connected());
}

/// Corrects the checksum of a packet that was changed.
fn reseal(bytes: &mut Vec<u8>) {
    let packet = Packet::parse_unverified(bytes).expect("a packet");
    let mut copy = Vec::new();
    let mut builder = PacketBuilder::new(&mut copy, packet.header(), bytes.len());
    for chunk in packet.chunks().flatten() {
        builder.push(&chunk).expect("as long as before");
    }
    builder.finish();
    *bytes = copy;
}

//= rfc4895 6.3-8
//= rfc5061 5.2-3
#[test]
fn chunks_after_a_forged_auth_are_discarded() {
    let mut pair = Pair::with(1);
    let abort = OutboundAbort {
        tag_reflected: false,
        causes: Vec::new(),
    };
    let mut forged = pair.authenticated(&abort);
    forged[CommonHeader::LEN + 8] ^= 1;
    reseal(&mut forged);
    assert_eq!(pair.deliver_to_bob(0, &forged), Vec::<String>::new());
    assert!(pair.bobs().is_connected());
    let genuine = pair.authenticated(&abort);
    pair.deliver_to_bob(0, &genuine);
    assert!(pair.bobs().is_closed());
}

//= rfc4895 6.3-3, 6.3-4
#[test]
fn unsupported_hmac_is_reported_in_an_error() {
    let mut pair = Pair::with(1);
    let mut packet = pair.authenticated(&pair.asconf(&ParameterWriter::new()));
    packet[CommonHeader::LEN + 7] = 9;
    reseal(&mut packet);
    let said = pair.deliver_to_bob(0, &packet);
    assert!(
        said.iter()
            .any(|line| line.contains("ERROR [unsupported hmac 9]")),
        "{said:?}"
    );
}

//= rfc5061 5.3-2
#[test]
fn asconf_ack_of_an_unsent_asconf_ends_the_association() {
    for (ahead, ends) in [(0, true), (7, true), (u32::MAX, false)] {
        let mut pair = Pair::with(1);
        let answer = OutboundAsconfAck {
            number: AsconfNumber(pair.bobs().local.initial_tsn.0.wrapping_add(ahead)),
            responses: Vec::new(),
        };
        let packet = pair.authenticated(&answer);
        let said = pair.deliver_to_bob(0, &packet);
        assert_eq!(pair.bobs().is_closed(), ends, "{ahead}");
        assert_eq!(
            said.iter().any(|line| line.contains("illegal ASCONF-ACK")),
            ends,
            "{said:?}"
        );
    }
}

//= rfc4895 6.3-12, 6.3-15
//= rfc5061 5.2-1, 5.2-7, 5.3.2-2, 5.3.2-3, 5.3-30
#[test]
fn authenticated_asconf_from_a_new_address_is_accepted() {
    let mut pair = Pair::with(1);
    let moved = {
        let mut list = one(|list| list.push_add_address(about(1, "10.7.0.1")));
        list.push_delete_address(about(2, "10.0.0.1"));
        list
    };
    let question = pair.asconf(&moved);
    // Bob's socket still receives at its old address.
    let path = PathAddr {
        local: at(0, 2),
        remote: at(7, 1),
    };
    let unknown = OutboundAsconf {
        address: [10, 8, 0, 1].into(),
        ..question.clone()
    };
    let packets = [
        pair.packet_from_alice(|_, packet| packet.push(&question).expect("room")),
        pair.authenticated(&unknown),
        pair.authenticated(&pair.asconf(&ParameterWriter::new())),
    ];
    for packet in packets {
        pair.bob.handle_datagram(LATER, path, Ecn::NotCapable, &packet);
        assert!(
            poll_packets(&mut pair.bob, LATER).is_empty(),
            "{}",
            words(&packet)
        );
        assert_eq!(pair.alice_addresses_at_bob(), [at(0, 1).ip()]);
    }
    let genuine = pair.authenticated(&question);
    pair.bob.handle_datagram(LATER, path, Ecn::NotCapable, &genuine);
    let answers = poll_packets(&mut pair.bob, LATER);
    let answer = answers
        .iter()
        .find(|(_, bytes)| words(bytes).contains("ASCONF-ACK"));
    assert_eq!(
        answer.map(|(path, _)| path.remote),
        Some(at(7, 1)),
        "to where it came from"
    );
    assert_eq!(pair.alice_addresses_at_bob(), [at(7, 1).ip()]);
}

//= rfc5061 5.3-4, 5.3-5, 5.3-28, 5.3-29
/// RFC 5061 §5.3 F14: an added address is used only after it was confirmed, even if it is the only one left.
#[test]
fn unconfirmed_only_address_gets_only_heartbeats() {
    let mut pair = Pair::with(1);
    let mut moved = one(|list| list.push_add_address(about(1, "10.0.7.1")));
    moved.push_delete_address(about(2, "10.0.0.1"));
    let question = pair.authenticated(&pair.asconf(&moved));
    let path = PathAddr {
        local: at(0, 2),
        remote: SocketAddr::from(([10, 0, 7, 1], DEFAULT_PORT)),
    };
    pair.bob.handle_datagram(LATER, path, Ecn::NotCapable, &question);
    let first = poll_packets(&mut pair.bob, LATER);
    let mut bob = pair.bob.association_mut(ID).expect("it lives");
    bob.send(Message::new(StreamId(0), "where are you?"))
        .expect("room");
    bob.shutdown();
    bob.control.report(Vec::new());
    bob.transfer.receiver.force_sack();
    drop(bob);
    let then = poll_packets(&mut pair.bob, LATER);
    for (_, bytes) in first.iter().chain(&then) {
        let kinds = Packet::parse(bytes).expect("in order").chunks().flatten();
        let kinds: Vec<u8> = kinds.map(|raw| raw.kind).collect();
        let allowed = [kind::AUTH, kind::ASCONF_ACK, kind::HEARTBEAT];
        assert!(kinds.iter().all(|kind| allowed.contains(kind)), "{kinds:?}");
    }
    assert!(
        pair.bob.poll_timeout() > Some(LATER),
        "nothing is due that cannot be done"
    );
    let heartbeat = first.iter().chain(&then).find_map(|(_, bytes)| {
        let raw = Packet::parse(bytes)
            .expect("in order")
            .chunks()
            .flatten()
            .find(|raw| raw.kind == kind::HEARTBEAT);
        raw.map(|raw| raw.value.to_vec())
    });
    let answer = RawChunk {
        kind: kind::HEARTBEAT_ACK,
        flags: 0,
        value: &heartbeat.expect("a heartbeat"),
        bytes: &[],
        at: 0,
    };
    let packet = pair.packet_from_alice(|_, packet| packet.push(&answer).expect("room"));
    pair.bob.handle_datagram(LATER, path, Ecn::NotCapable, &packet);
    let freed = poll_packets(&mut pair.bob, LATER);
    let words: Vec<String> = freed.iter().map(|(_, bytes)| words(bytes)).collect();
    assert!(
        words
            .iter()
            .any(|line| line.contains("DATA") && line.contains("ERROR")),
        "{words:?}"
    );
}

//= rfc5061 5.3.1-1, 5.3-13
#[test]
fn abort_to_an_address_being_deleted_is_ignored() {
    let mut pair = Pair::with(2);
    let mut bob = pair.bob.association_mut(ID).expect("it lives");
    assert_eq!(bob.remove_local_address(at(1, 2)), Ok(()));
    drop(bob);
    let abort = OutboundAbort {
        tag_reflected: false,
        causes: Vec::new(),
    };
    let packet = pair.packet_from_alice(|_, packet| packet.push(&abort).expect("room"));
    pair.deliver_to_bob(1, &packet);
    assert!(pair.bobs().is_connected());
    pair.deliver_to_bob(0, &packet);
    assert!(pair.bobs().is_closed());
}

//= rfc5061 5.1-12, 5.1-13, 5.1-14
#[test]
fn asconf_is_retransmitted_unchanged_with_back_off() {
    let mut pair = Pair::with(2);
    let mut alice = pair.alice.association_mut(ID).expect("it lives");
    alice.add_local_address(at(2, 1)).expect("agreed");
    drop(alice);
    let mut now = LATER;
    let mut questions: Vec<(Instant, Vec<u8>)> = Vec::new();
    while questions.len() < 50 {
        pair.alice.handle_timeout(now);
        for (_, bytes) in poll_packets(&mut pair.alice, now) {
            let packet = Packet::parse(&bytes).expect("in order");
            let asconf = packet.chunks().flatten().find(|raw| raw.kind == kind::ASCONF);
            questions.extend(asconf.map(|raw| (now, raw.bytes.to_vec())));
        }
        // A second change is queued.
        let _ = pair
            .alice
            .association_mut(ID)
            .expect("it lives")
            .add_local_address(at(3, 1));
        now += Duration::from_millis(10);
        assert!(now < LATER + Duration::from_secs(100), "{questions:?}");
    }
    assert!(questions.windows(2).all(|pair| pair[0].1 == pair[1].1));
    // On all paths together.
    let lasted = |questions: &[(Instant, Vec<u8>)]| questions[9].0 - questions[0].0;
    assert!(lasted(&questions[40..]) > 4 * lasted(&questions[..10]));
}

//= rfc5061 5.1.1-6
#[test]
fn changes_beyond_one_packet_are_refused() {
    let mut pair = Pair::with(1);
    let mut alice = pair.alice.association_mut(ID).expect("it lives");
    let refused = (1..=200).map(|network| alice.add_local_address(at(network, 1)).is_err());
    assert!(refused.filter(|refused| *refused).count() > 180);
    drop(alice);
    pair.exchange(LATER);
    let added = pair.bobs().addresses.peer_addrs.len();
    assert!((8..=16).contains(&added), "{added}");
}

//= rfc5061 4.1.1-9, 5.1.1-7, 5.1-10, 5.1-11
#[test]
fn peer_that_rejects_asconf_gets_no_more() {
    let mut pair = Pair::with(1);
    let mut bob = pair.bob.association_mut(ID).expect("it lives");
    bob.add_local_address(at(2, 2)).expect("agreed");
    drop(bob);
    let asked = poll_packets(&mut pair.bob, LATER);
    let asconf = asked.iter().find_map(|(_, bytes)| {
        let packet = Packet::parse(bytes).expect("in order");
        packet
            .chunks()
            .flatten()
            .find(|raw| raw.kind == kind::ASCONF)
            .map(|raw| raw.bytes.to_vec())
    });
    let error_chunk = anabranch_wire::OutboundError {
        causes: anabranch_wire::CauseWriter::one(anabranch_wire::Cause::UnrecognizedChunk(
            &asconf.expect("a question"),
        )),
    };
    let packet = pair.packet_from_alice(|_, packet| packet.push(&error_chunk).expect("room"));
    pair.deliver_to_bob(0, &packet);
    assert_eq!(pair.bobs().addresses.deadline(), None);
    let mut bob = pair.bob.association_mut(ID).expect("it lives");
    assert_eq!(
        bob.add_local_address(at(3, 2)),
        Err(crate::AddressError::NotAgreed)
    );
}

//= rfc5061 4.1.1-2
#[test]
fn handshake_negotiates_authentication_without_errors() {
    let mut pair = Pair::with(1);
    for association in [pair.alices(), pair.bobs()] {
        assert!(association.may_change_addresses());
    }
    let mut events = vec![];
    while let Some((_, event)) = pair.bob.poll_event() {
        events.push(event);
    }
    assert!(
        events.iter().all(|event| !matches!(event, Event::PeerError(_))),
        "{events:?}"
    );
    let chunk = pair.authenticated(&ShutdownAck);
    let packet = Packet::parse(&chunk).expect("in order");
    let first = packet.chunks().flatten().next().map(RawChunk::decode);
    assert!(matches!(first, Some(Ok(Chunk::Auth(_)))));
}

/// The id of a removed path may soon belong to another path, so a late ASCONF ACK could confirm another host's address.
/// Only the answer to a HEARTBEAT sent to an address confirms it (RFC 9260 §5.4).
#[test]
fn asconf_ack_does_not_confirm_a_reused_path_id() {
    let mut pair = Pair::with(2);
    let mut alice = pair.alice.association_mut(ID).expect("it lives");
    assert_eq!(alice.add_local_address(at(5, 1)), Ok(()));
    drop(alice);
    let question = poll_packets(&mut pair.alice, LATER);
    assert_eq!(question[0].0.remote, at(0, 2), "over the path that will be gone");

    let mut bob = pair.bob.association_mut(ID).expect("it lives");
    assert_eq!(bob.remove_local_address(at(0, 2)), Ok(()));
    drop(bob);
    deliver(poll_packets(&mut pair.bob, LATER), &mut pair.alice);
    let first = |pair: &Pair| {
        let path = pair.alices().transfer.paths.path(PathId(0)).addr;
        (
            path.remote,
            pair.alices().transfer.paths.fact(PathId(0)).reachability,
        )
    };
    assert_eq!(first(&pair), (at(1, 2), Reachability::Unconfirmed));

    deliver(question, &mut pair.bob);
    let answers = poll_packets(&mut pair.bob, LATER);
    assert!(
        answers
            .iter()
            .any(|(_, bytes)| words(bytes).contains("ASCONF-ACK"))
    );
    deliver(answers, &mut pair.alice);
    assert_eq!(first(&pair), (at(1, 2), Reachability::Unconfirmed));
}

fn deliver(packets: Vec<(PathAddr, Vec<u8>)>, to: &mut Endpoint) {
    for (path, bytes) in packets {
        to.handle_datagram(LATER, path.reversed(), Ecn::NotCapable, &bytes);
    }
}

#[test]
fn address_being_added_is_kept_when_the_peer_restarts() {
    let mut pair = Pair::with(1);
    pair.alice.add_local(at(1, 1));
    let mut alices = pair.alice.association_mut(ID).expect("it lives");
    alices.add_local_address(at(1, 1)).expect("it may be asked for");
    drop(alices);
    pair.restart_bob();
    assert!(pair.alices().addresses.local_addrs.contains(&at(1, 1)));
}

#[test]
fn restarted_peer_does_not_learn_a_removed_address() {
    let mut pair = Pair::with(2);
    let mut alices = pair.alice.association_mut(ID).expect("it lives");
    alices.remove_local_address(at(1, 1)).expect("there is another");
    drop(alices);
    // The ASCONF is lost.
    poll_packets(&mut pair.alice, LATER);
    pair.restart_bob();
    assert_eq!(pair.alice_addresses_at_bob(), [at(0, 1).ip()]);
    assert_eq!(
        pair.alices().addresses.deadline(),
        None,
        "there is nothing to ask"
    );
}

#[test]
fn peer_restarted_at_a_removed_address_learns_the_other() {
    let mut pair = Pair::with(2);
    let removed = |pair: &mut Pair, local| {
        let mut alices = pair.alice.association_mut(ID).expect("it lives");
        alices.remove_local_address(local)
    };
    assert_eq!(removed(&mut pair, at(0, 1)), Ok(()));
    pair.exchange(LATER);
    pair.restart_bob();
    let both = [at(0, 1).ip(), at(1, 1).ip()];
    assert_eq!(pair.alice_addresses_at_bob(), both);
    pair.exchange(LATER + Duration::from_secs(2));
    assert_eq!(removed(&mut pair, at(0, 1)), Ok(()), "it may be removed again");
}

//! Tests of the rules of RFC 5061 for both ends of an address change: serial numbers, timers, and which addresses are used
//! meanwhile.

use super::*;
use crate::AddressError;

/// Alice has a socket at `address` and adds it to the association.
pub(super) fn add_alice_address(pair: &mut Pair, address: SocketAddr) {
    pair.alice.add_local(address);
    let mut alice = pair.alice.association_mut(ID).expect("it lives");
    alice.add_local_address(address).expect("agreed");
}

pub(super) fn send_message(endpoint: &mut Endpoint, text: &'static str) -> Vec<(PathAddr, Vec<u8>)> {
    let mut association = endpoint.association_mut(ID).expect("it lives");
    association.send(Message::new(StreamId(0), text)).expect("room");
    drop(association);
    poll_packets(endpoint, LATER)
}

/// The ASCONF chunks among `packets`: serial number, address, and correlation ids of the requests.
pub(super) fn asconfs(packets: &[(PathAddr, Vec<u8>)]) -> Vec<(u32, IpAddr, Vec<u32>)> {
    let mut found = Vec::new();
    for (_, bytes) in packets {
        let packet = Packet::parse(bytes).expect("in order");
        for chunk in packet.chunks().flatten().flat_map(RawChunk::decode) {
            if let Chunk::Asconf(asconf) = chunk {
                let values = asconf.requests.iter().flatten().map(|raw| raw.value);
                let id = |value: &[u8]| u32::from_be_bytes(*value.first_chunk().expect("an id"));
                found.push((asconf.number.0, asconf.address, values.map(id).collect()));
            }
        }
    }
    found
}

//= rfc5061 4.1.1-4, 5.1-1, 5.1-2, 5.1-3, 5.1-4, 5.1-5, 5.1-6, 5.1-7, 5.1-8, 5.3.2-1
#[test]
fn asconf_numbers_start_at_the_initial_tsn() {
    let mut pair = Pair::with(1);
    let first = pair.alices().local.initial_tsn.0;
    add_alice_address(&mut pair, at(2, 1));
    add_alice_address(&mut pair, at(3, 1));
    let sent = poll_packets(&mut pair.alice, LATER);
    // The request to add the source address of the packet follows them.
    assert_eq!(asconfs(&sent), [(first, at(0, 1).ip(), vec![0, 1, 2])]);
    let rto = pair.alices().path_facts()[0].rto();
    assert_eq!(pair.alices().addresses.deadline(), Some(LATER + rto), "T4 runs");
    // The ASCONF ACK is late, and the timeout counts as an error until it arrives.
    pair.alice.handle_timeout(LATER + rto);
    assert_eq!(pair.alices().path_facts()[0].errors, 1);
    deliver(sent, &mut pair.bob);
    let answer = poll_packets(&mut pair.bob, LATER);
    deliver(answer, &mut pair.alice);
    assert_eq!(pair.alices().addresses.deadline(), None, "T4 is stopped");
    assert_eq!(
        (
            pair.alices().transfer.errors,
            pair.alices().path_facts()[0].errors
        ),
        (0, 0)
    );
    pair.exchange(LATER);
    add_alice_address(&mut pair, at(4, 1));
    let sent = poll_packets(&mut pair.alice, LATER);
    assert_eq!(
        asconfs(&sent),
        [(first.wrapping_add(1), at(0, 1).ip(), vec![0, 1])]
    );
}

//= rfc5061 5.1.1-1, 5.1.1-2
/// A second change waits for the ASCONF ACK of the first.
#[test]
fn one_asconf_is_outstanding_at_a_time() {
    let mut pair = Pair::with(1);
    add_alice_address(&mut pair, at(2, 1));
    let sent = poll_packets(&mut pair.alice, LATER);
    assert_eq!(asconfs(&sent).len(), 1);
    add_alice_address(&mut pair, at(3, 1));
    assert_eq!(asconfs(&poll_packets(&mut pair.alice, LATER)), []);
    deliver(sent, &mut pair.bob);
    let answer = poll_packets(&mut pair.bob, LATER);
    deliver(answer, &mut pair.alice);
    assert_eq!(asconfs(&poll_packets(&mut pair.alice, LATER)).len(), 1);
}

//= rfc5061 5.3-3, 5.3-31
#[test]
fn added_address_is_no_source_before_the_asconf_ack() {
    let mut pair = Pair::with(1);
    add_alice_address(&mut pair, at(2, 1));
    let mut sent = poll_packets(&mut pair.alice, LATER);
    sent.extend(send_message(&mut pair.alice, "from the old address"));
    assert!(sent.iter().all(|(path, _)| path.local == at(0, 1)), "{sent:?}");
    deliver(sent, &mut pair.bob);
    let answer = poll_packets(&mut pair.bob, LATER);
    deliver(answer, &mut pair.alice);
    let then = poll_packets(&mut pair.alice, LATER);
    assert!(then.iter().any(|(path, _)| path.local == at(2, 1)), "{then:?}");
}

//= rfc5061 5.3-10, 5.3-11, 5.3-12, 5.3-17
#[test]
fn address_being_deleted_receives_but_is_no_source() {
    let mut pair = Pair::with(2);
    let data = send_message(&mut pair.bob, "to whatever address");
    let (_, data) = data.into_iter().next().expect("a packet");
    let mut alice = pair.alice.association_mut(ID).expect("it lives");
    alice.remove_local_address(at(1, 1)).expect("there is another");
    drop(alice);
    let mut sent = poll_packets(&mut pair.alice, LATER);
    assert_eq!(asconfs(&sent)[0].1, at(0, 1).ip(), "the address that stays");
    let late = PathAddr {
        local: at(1, 1),
        remote: at(1, 2),
    };
    pair.alice.handle_datagram(LATER, late, Ecn::NotCapable, &data);
    sent.extend(poll_packets(&mut pair.alice, LATER));
    sent.extend(send_message(&mut pair.alice, "and more"));
    assert!(sent.iter().all(|(path, _)| path.local == at(0, 1)), "{sent:?}");
    let mut alice = pair.alice.association_mut(ID).expect("it lives");
    assert!(alice.receive().is_some());
}

//= rfc5061 5.3-32, 5.3-33
/// Bob may use the address before Alice has his ASCONF ACK (RFC 5061 §5.3).
#[test]
fn data_to_an_address_being_added_is_accepted() {
    let mut pair = Pair::with(1);
    add_alice_address(&mut pair, at(2, 1));
    poll_packets(&mut pair.alice, LATER);
    let data = send_message(&mut pair.bob, "to the new address");
    let early = PathAddr {
        local: at(2, 1),
        remote: at(0, 2),
    };
    for (_, bytes) in &data {
        pair.alice.handle_datagram(LATER, early, Ecn::NotCapable, bytes);
    }
    let answers = poll_packets(&mut pair.alice, LATER);
    assert!(!answers.iter().any(|(_, bytes)| words(bytes).contains("ABORT")));
    let mut alice = pair.alice.association_mut(ID).expect("it lives");
    assert!(alice.receive().is_some());
}

//= rfc5061 5.3-6, 5.3-7, 5.3-9
#[test]
fn peer_with_unrecognized_requests_gets_no_more_asconfs() {
    let mut pair = Pair::with(1);
    let mut bob = pair.bob.association_mut(ID).expect("it lives");
    bob.add_local_address(at(2, 2)).expect("agreed");
    drop(bob);
    let asked = asconfs(&poll_packets(&mut pair.bob, LATER));
    let why = anabranch_wire::CauseWriter::one(anabranch_wire::Cause::UnrecognizedParameters(&[]));
    let mut responses = ParameterWriter::new();
    responses.push_error_indication(CorrelationId(0), &why);
    let refusal = OutboundAsconfAck {
        number: AsconfNumber(asked[0].0),
        responses: responses.finish(),
    };
    let refusal = pair.authenticated(&refusal);
    pair.deliver_to_bob(0, &refusal);
    assert!(
        !pair.bobs().addresses.local_addrs.contains(&at(2, 2)),
        "it failed"
    );
    let mut bob = pair.bob.association_mut(ID).expect("it lives");
    assert_eq!(bob.add_local_address(at(3, 2)), Err(AddressError::NotAgreed));
    assert_eq!(bob.request_peer_primary(at(0, 2)), Err(AddressError::NotAgreed));
}

//= rfc5061 4.2.1-2, 4.2.2-2, 5.4-1, 6-2
#[test]
fn only_addresses_of_this_host_are_requested() {
    let mut pair = Pair::with(2);
    let mut alice = pair.alice.association_mut(ID).expect("it lives");
    for address in [[224, 0, 0, 1], [255, 255, 255, 255], [0, 0, 0, 0]] {
        let address = SocketAddr::from((address, DEFAULT_PORT));
        let refused = alice.add_local_address(address);
        assert_eq!(refused, Err(AddressError::InvalidAddress(address)));
        let refused = alice.remove_local_address(address);
        assert_eq!(refused, Err(AddressError::UnknownAddress(address)));
    }
    let strange = at(9, 9);
    assert_eq!(
        alice.request_peer_primary(strange),
        Err(AddressError::UnknownAddress(strange))
    );
    drop(alice);
    assert_eq!(asconfs(&poll_packets(&mut pair.alice, LATER)), []);
}

//= rfc5061 4.2.1-3
#[test]
fn wildcard_adds_the_source_of_the_packet() {
    let mut pair = Pair::with(1);
    let question = pair.asconf(&one(|list| list.push_add_address(about(1, "0.0.0.0"))));
    let packet = pair.authenticated(&question);
    let moved = PathAddr {
        local: at(0, 2),
        remote: at(7, 1),
    };
    pair.bob.handle_datagram(LATER, moved, Ecn::NotCapable, &packet);
    poll_packets(&mut pair.bob, LATER);
    assert_eq!(pair.alice_addresses_at_bob(), [at(0, 1).ip(), at(7, 1).ip()]);
}

//= rfc5061 5.1.1-4, 5.1.1-6, 5.2-6, 5.2-8, 5.2-9
/// ASCONF ACKs that do not fit in the reply are kept until the ASCONF is retransmitted.
#[test]
fn bundled_asconfs_are_all_applied_and_acked_in_order() {
    let mut pair = Pair::with(1);
    let mut numbers = Vec::new();
    let mut asconfs = Vec::new();
    for number in 0..4_u32 {
        let mut requests = ParameterWriter::new();
        for id in 0..5 {
            requests.push_raw(0xc0ff, &[0, 0, 0, id]);
        }
        requests.push_add_address(about(9, &alloc::format!("10.0.1.{}", number + 1)));
        let mut question = pair.asconf(&requests);
        question.number = AsconfNumber(question.number.0.wrapping_add(number));
        numbers.push(question.number.0);
        asconfs.push(question);
    }
    let packet = pair.packet_from_alice(|alice, packet| {
        let authentication = alice.authentication.as_ref().expect("offered");
        authentication.push(packet, &asconfs).expect("room");
    });
    let answered = |pair: &mut Pair, packet: &[u8]| {
        let path = PathAddr {
            local: at(0, 2),
            remote: at(0, 1),
        };
        pair.bob.handle_datagram(LATER, path, Ecn::NotCapable, packet);
        let mut found = Vec::new();
        for (_, bytes) in poll_packets(&mut pair.bob, LATER) {
            let packet = Packet::parse(&bytes).expect("in order");
            for chunk in packet.chunks().flatten().flat_map(RawChunk::decode) {
                if let Chunk::AsconfAck(answer) = chunk {
                    found.push(answer.number.0);
                }
            }
        }
        found
    };
    let first = answered(&mut pair, &packet);
    assert!((1..4).contains(&first.len()), "{first:?}");
    assert_eq!(first, numbers[..first.len()]);
    assert_eq!(pair.alice_addresses_at_bob().len(), 5, "all were carried out");
    let last = pair.authenticated(&asconfs[3]);
    assert_eq!(answered(&mut pair, &last), [numbers[3]]);
}

//= rfc5061 4.1.1-2, 4.1.2-1
#[test]
fn asconf_and_asconf_ack_follow_auth() {
    let mut pair = Pair::with(1);
    add_alice_address(&mut pair, at(2, 1));
    let question = poll_packets(&mut pair.alice, LATER);
    deliver(question.clone(), &mut pair.bob);
    let answer = poll_packets(&mut pair.bob, LATER);
    for (packets, wanted) in [(question, kind::ASCONF), (answer, kind::ASCONF_ACK)] {
        let kinds = packets.iter().map(|(_, bytes)| {
            let chunks = Packet::parse(bytes).expect("in order").chunks().flatten();
            chunks.map(|raw| raw.kind).collect::<Vec<u8>>()
        });
        let with_it: Vec<_> = kinds.filter(|kinds| kinds.contains(&wanted)).collect();
        assert_eq!(with_it, [[kind::AUTH, wanted]]);
    }
}

//= rfc5061 4.1.2-2
#[test]
fn asconf_ack_without_auth_is_discarded() {
    let mut pair = Pair::with(1);
    let mut bob = pair.bob.association_mut(ID).expect("it lives");
    bob.add_local_address(at(2, 2)).expect("agreed");
    drop(bob);
    let asked = asconfs(&poll_packets(&mut pair.bob, LATER));
    let answer = OutboundAsconfAck {
        number: AsconfNumber(asked[0].0),
        responses: Vec::new(),
    };
    let bare = pair.packet_from_alice(|_, packet| packet.push(&answer).expect("room"));
    assert_eq!(pair.deliver_to_bob(0, &bare), Vec::<String>::new());
    assert!(!pair.bobs().addresses.local_addrs.contains(&at(2, 2)));
    let genuine = pair.authenticated(&answer);
    pair.deliver_to_bob(0, &genuine);
    assert!(pair.bobs().addresses.local_addrs.contains(&at(2, 2)));
}

//= rfc5061 5.3-16
#[test]
fn removing_all_addresses_one_by_one_is_refused() {
    let mut pair = Pair::with(2);
    let mut alice = pair.alice.association_mut(ID).expect("it lives");
    assert_eq!(alice.remove_local_address(at(0, 1)), Ok(()));
    let refused = alice.remove_local_address(at(1, 1));
    assert_eq!(refused, Err(AddressError::LastAddress(at(1, 1))));
}

//= rfc5061 4.2.6-5
#[test]
fn adaptation_layer_indication_in_an_asconf_is_ignored() {
    let mut pair = Pair::with(1);
    let mut requests = one(|list| list.push_raw(0xc006, &[0, 0, 0, 7]));
    requests.push_add_address(about(8, "10.0.1.1"));
    assert_eq!(pair.response_to(&requests), "[]");
    assert_eq!(pair.alice_addresses_at_bob().len(), 2);
}

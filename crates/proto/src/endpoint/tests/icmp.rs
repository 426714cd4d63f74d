//! Tests of ICMP messages: forged ones change nothing, and genuine ones end an attempt to connect or trigger a heartbeat.

use anabranch_wire::HeartbeatAck;

use super::*;
use crate::association::CloseReason;
use crate::endpoint::{IcmpKind, IcmpMessage};

fn port_unreachable(reporter: SocketAddr) -> IcmpKind {
    IcmpKind::PortUnreachable(reporter.ip())
}

fn deliver_icmp(endpoint: &mut Endpoint, destination: SocketAddr, kind: IcmpKind, quoted: &[u8]) {
    let message = IcmpMessage {
        destination,
        kind,
        quoted,
    };
    endpoint.handle_icmp(START, message);
}

/// Starts an association with these addresses. Returns its first packet.
fn start_association(endpoint: &mut Endpoint, remotes: &[SocketAddr]) -> (AssociationId, Vec<u8>) {
    let id = endpoint.connect(START, remotes, &config()).expect("a path");
    (id, poll_packets(endpoint, START).remove(0))
}

fn close_reasons(endpoint: &mut Endpoint) -> Vec<CloseReason> {
    let reason = |event| match event {
        Event::Closed(reason) => Some(reason),
        _ => None,
    };
    events(endpoint).into_iter().filter_map(reason).collect()
}

//= rfc9260 10-1, 10-3, 12.4-1
//= rfc6951 5.5-3, 5.5-4, 5.5-5
#[test]
fn port_unreachable_about_the_init_ends_the_attempt() {
    let mut endpoint = endpoint();
    let (_, init) = start_association(&mut endpoint, &[peer(2)]);
    // RFC 1812 requires longer quotations, but the tag is in the first 20 bytes.
    deliver_icmp(&mut endpoint, peer(2), port_unreachable(peer(2)), &init[..20]);
    assert_eq!(close_reasons(&mut endpoint), [CloseReason::Refused]);
    assert!(poll_packets(&mut endpoint, START).is_empty());
}

#[test]
fn init_goes_to_the_next_address_if_nobody_listens_at_the_first() {
    let mut endpoint = endpoint();
    let (_, init) = start_association(&mut endpoint, &[peer(2), peer(3)]);
    deliver_icmp(&mut endpoint, peer(2), port_unreachable(peer(2)), &init);
    let mut buffer = Vec::new();
    let transmit = endpoint
        .poll_transmit(START, &mut buffer, 1)
        .expect("another INIT");
    assert_eq!(transmit.path.remote, peer(3));
    assert_eq!(kinds(&[buffer.clone()]), [kind::INIT]);
    deliver_icmp(&mut endpoint, peer(3), port_unreachable(peer(3)), &buffer);
    assert_eq!(close_reasons(&mut endpoint), [CloseReason::Refused]);
}

/// The association is still being set up with another address, which says nothing about a peer at this one.
#[test]
fn init_from_an_address_that_refused_ours_is_a_new_association() {
    let mut endpoint = endpoint();
    let (_, init_of_ours) = start_association(&mut endpoint, &[peer(2), peer(3)]);
    let (ours, _) = tag_and_cookie(core::slice::from_ref(&init_of_ours));
    deliver_icmp(&mut endpoint, peer(2), port_unreachable(peer(2)), &init_of_ours);
    poll_packets(&mut endpoint, START);
    let init_of_theirs = init(77, Vec::new());
    let answer = deliver(
        &mut endpoint,
        START,
        peer(2),
        VerificationTag::ZERO,
        &init_of_theirs,
    );
    assert_eq!(kinds(&answer), [kind::INIT_ACK]);
    assert_ne!(tag_and_cookie(&answer).0, ours);
}

//= rfc9260 10-4, 10-5
//= rfc6951 5.5-1
#[test]
fn icmp_about_packets_never_sent_is_ignored() {
    let mut endpoint = endpoint();
    let (id, init) = start_association(&mut endpoint, &[peer(2)]);
    let closed = port_unreachable(peer(2));
    let mut other_tag = init.clone();
    other_tag[19] ^= 1;
    let mut other_port = init.clone();
    other_port[1] ^= 1;
    let mut no_init = init.clone();
    no_init[12] = kind::DATA;
    for quoted in [&other_tag[..], &other_port, &no_init, &init[..16], &[]] {
        deliver_icmp(&mut endpoint, peer(2), closed, quoted);
    }
    // A message about another destination, and one sent by another host than the destination.
    deliver_icmp(&mut endpoint, peer(3), port_unreachable(peer(3)), &init);
    deliver_icmp(&mut endpoint, peer(2), port_unreachable(peer(9)), &init);
    assert_eq!(close_reasons(&mut endpoint), []);
    assert!(
        endpoint
            .association(id)
            .is_some_and(|association| !association.is_closed())
    );
}

#[test]
fn unreachable_network_does_not_end_the_attempt() {
    let mut endpoint = endpoint();
    let (_, init) = start_association(&mut endpoint, &[peer(2)]);
    deliver_icmp(&mut endpoint, peer(2), IcmpKind::Unreachable, &init);
    assert_eq!(close_reasons(&mut endpoint), []);
}

/// A packet of the endpoint to the peer with this `tag`.
fn sent_packet(tag: VerificationTag) -> Vec<u8> {
    packet(tag, |packet| packet.push(&CookieAck).expect("a small chunk"))
}

#[test]
fn port_unreachable_of_an_association_triggers_a_heartbeat() {
    let mut endpoint = endpoint();
    accept_peer(&mut endpoint, 77, &[]);
    poll_packets(&mut endpoint, START);
    let closed = port_unreachable(peer(2));
    deliver_icmp(&mut endpoint, peer(2), closed, &sent_packet(VerificationTag(78)));
    assert_eq!(kinds(&poll_packets(&mut endpoint, START)), []);
    deliver_icmp(&mut endpoint, peer(2), closed, &sent_packet(VerificationTag(77)));
    assert_eq!(kinds(&poll_packets(&mut endpoint, START)), [kind::HEARTBEAT]);
    assert_eq!(close_reasons(&mut endpoint), []);
}

/// The next probe of the path MTU that is longer than `bytes`; shorter ones and heartbeats are answered.
fn next_probe_above(endpoint: &mut Endpoint, tag: VerificationTag, bytes: usize) -> Vec<u8> {
    let mut now = START;
    let mut sent = poll_packets(endpoint, now);
    for _ in 0..100 {
        let Some(probe) = sent.pop() else {
            now = endpoint.poll_timeout().expect("heartbeats never end");
            endpoint.handle_timeout(now);
            sent = poll_packets(endpoint, now);
            continue;
        };
        if probe.len() > bytes {
            return probe;
        }
        let packet = Packet::parse(&probe).expect("a packet in order");
        let chunk = packet.chunks().flatten().next().expect("a chunk");
        if let Ok(Chunk::Heartbeat(Heartbeat { info })) = chunk.decode() {
            sent.extend(deliver(endpoint, now, peer(2), tag, &HeartbeatAck { info }));
        }
    }
    panic!("no probe above {bytes} bytes");
}

//= rfc9260 10-6
#[test]
fn packet_too_big_sets_the_size_of_the_next_probe() {
    /// The length of the headers of IPv4 and UDP.
    const HEADERS: usize = 28;
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 77, &[]);
    // Path MTU probes start with the first data.
    let id = endpoint.associations().next().expect("it is there").id();
    let mut association = endpoint.association_mut(id).expect("it is there");
    association
        .send(Message::new(StreamId(0), "data"))
        .expect("room for it");
    drop(association);
    let probe = next_probe_above(&mut endpoint, tag, 1_300 - HEADERS);
    let mut forged = probe.clone();
    forged[7] ^= 1;
    deliver_icmp(&mut endpoint, peer(2), IcmpKind::PacketTooBig(1_250), &forged);
    deliver_icmp(&mut endpoint, peer(2), IcmpKind::PacketTooBig(1_300), &probe);
    let next = next_probe_above(&mut endpoint, tag, 1_200 - HEADERS);
    assert_eq!(next.len(), 1_300 - HEADERS);
}

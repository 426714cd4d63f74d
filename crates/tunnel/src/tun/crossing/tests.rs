//! Tests of crossings: packets of clients and legs as the kernel would send them.

use std::collections::BTreeMap;

use anabranch_types::Seed;
use etherparse::{TcpHeader, TcpOptionElement};

use super::*;
use crate::tun::packet::parse;
use crate::tun::packet::tests::ends;

const OPTIONS: [TcpOptionElement; 4] = [
    TcpOptionElement::MaximumSegmentSize(1_460),
    TcpOptionElement::SelectiveAcknowledgementPermitted,
    TcpOptionElement::Timestamp(1_000, 0),
    TcpOptionElement::WindowScale(7),
];

fn crossings() -> Crossings {
    Crossings::new(Doors {
        v4: Some(Ipv4Addr::new(10, 9, 0, 2)),
        v6: Some("fd09::2".parse().unwrap()),
    })
}

fn packet(ends: Ends, change: impl FnOnce(&mut TcpHeader), payload: &[u8]) -> Vec<u8> {
    let mut header = TcpHeader::new(ends.source.port(), ends.destination.port(), 0, 500);
    change(&mut header);
    let builder = answer::ip(ends.source.ip(), ends.destination.ip()).unwrap();
    let mut out = Vec::new();
    builder.tcp_header(header).write(&mut out, payload).unwrap();
    out
}

fn syn(ends: Ends, isn: u32, options: &[TcpOptionElement]) -> Vec<u8> {
    let set = |header: &mut TcpHeader| {
        (header.syn, header.sequence_number) = (true, isn);
        header.set_options(options).unwrap();
    };
    packet(ends, set, &[])
}

fn data(ends: Ends, payload: &[u8]) -> Vec<u8> {
    packet(
        ends,
        |header| (header.ack, header.acknowledgment_number) = (true, 77),
        payload,
    )
}

/// Ends, header and data of a packet that is valid.
fn read(bytes: &[u8]) -> (Ends, TcpHeader, Vec<u8>) {
    let packet = parse(bytes).unwrap();
    let (header, payload) = TcpHeader::from_slice(&bytes[packet.transport..packet.end]).unwrap();
    (packet.ends, header, payload.to_vec())
}

fn handle(crossings: &mut Crossings, bytes: &mut [u8], now: Instant) -> Verdict {
    let packet = parse(bytes).unwrap();
    crossings.handle(bytes, &packet, false, now)
}

/// A client's connection to its target.
fn client() -> Ends {
    ends("10.9.0.1:4000", "192.0.2.1:80")
}

fn leg() -> SocketAddr {
    "10.9.0.1:5000".parse().unwrap()
}

fn open(crossings: &mut Crossings, client: Ends, isn: u32, now: Instant) -> CrossingId {
    let verdict = handle(crossings, &mut syn(client, isn, &OPTIONS), now);
    let Verdict::Open { id, target, .. } = verdict else {
        panic!("{verdict:?}")
    };
    assert_eq!(target, client.destination);
    id
}

/// A crossing whose SYNs have crossed, and the ends of its leg.
fn crossed(crossings: &mut Crossings, now: Instant) -> (CrossingId, Ends) {
    let id = open(crossings, client(), 100, now);
    let door = crossings.expect(id, leg()).unwrap();
    let leg = Ends {
        source: leg(),
        destination: door,
    };
    let verdict = handle(crossings, &mut syn(leg, 900, &OPTIONS), now);
    assert!(
        matches!(&verdict, Verdict::Answer(packets) if packets.len() == 2),
        "{verdict:?}"
    );
    (id, leg)
}

#[test]
fn syns_of_client_and_leg_answer_each_other() {
    let (mut crossings, now) = (crossings(), Instant::now());
    let id = open(&mut crossings, client(), 100, now);
    // Sent again while the far side connects, with a later timestamp.
    let later = [
        OPTIONS[0].clone(),
        OPTIONS[1].clone(),
        TcpOptionElement::Timestamp(2_000, 0),
        OPTIONS[3].clone(),
    ];
    let again = handle(&mut crossings, &mut syn(client(), 100, &later), now);
    assert_eq!(again, Verdict::Answer(Vec::new()));
    let door = crossings.expect(id, leg()).unwrap();
    let leg = Ends {
        source: leg(),
        destination: door,
    };
    // The leg does not scale its window.
    let offer = [
        TcpOptionElement::MaximumSegmentSize(1_400),
        TcpOptionElement::SelectiveAcknowledgementPermitted,
        TcpOptionElement::Timestamp(7, 0),
    ];
    let Verdict::Answer(packets) = handle(&mut crossings, &mut syn(leg, 900, &offer), now) else {
        panic!()
    };
    let [to_client, to_leg] = &packets[..] else {
        panic!("{packets:?}")
    };
    let (ends, header, _) = read(to_client);
    assert_eq!(ends, client().reversed());
    assert!(header.syn && header.ack);
    assert_eq!((header.sequence_number, header.acknowledgment_number), (900, 101));
    let options: Vec<_> = header.options_iterator().map(Result::unwrap).collect();
    assert!(options.contains(&TcpOptionElement::MaximumSegmentSize(1_400)));
    assert!(options.contains(&TcpOptionElement::Timestamp(7, 2_000)));
    assert!(!options.contains(&TcpOptionElement::WindowScale(7)));
    let (ends, header, _) = read(to_leg);
    assert_eq!(ends, leg.reversed());
    assert_eq!((header.sequence_number, header.acknowledgment_number), (100, 901));
    let options: Vec<_> = header.options_iterator().map(Result::unwrap).collect();
    assert!(options.contains(&TcpOptionElement::Timestamp(2_000, 7)));
    assert!(!options.contains(&TcpOptionElement::WindowScale(7)));
    // A SYN that is sent again means that the SYN-ACK was lost.
    let Verdict::Answer(packets) = handle(&mut crossings, &mut syn(client(), 100, &later), now) else {
        panic!()
    };
    assert_eq!(
        packets.iter().map(|packet| read(packet).0).collect::<Vec<_>>(),
        [client().reversed()]
    );
}

#[test]
fn segments_pass_in_both_directions_until_long_after_the_end() {
    let (mut crossings, now) = (crossings(), Instant::now());
    let (id, leg) = crossed(&mut crossings, now);
    let pairs = [(client(), leg.reversed()), (leg, client().reversed())];
    let pass = |crossings: &mut Crossings, now| {
        for (from, to) in pairs {
            let mut bytes = data(from, b"hello");
            assert_eq!(handle(crossings, &mut bytes, now), Verdict::Pass);
            let (ends, header, payload) = read(&bytes);
            assert_eq!(
                (ends, header.acknowledgment_number, &payload[..]),
                (to, 77, &b"hello"[..])
            );
        }
    };
    pass(&mut crossings, now);
    // Silence does not end it as long as the leg is open.
    crossings.expire(now + LINGER * 100);
    pass(&mut crossings, now);
    crossings.end(id, now);
    let later = now + LINGER / 2;
    crossings.expire(later);
    pass(&mut crossings, later);
    crossings.expire(later + LINGER);
    assert_eq!(crossings.len(), 0);
    let Verdict::Answer(packets) = handle(&mut crossings, &mut data(client(), b"late"), now) else {
        panic!()
    };
    let (ends, header, _) = read(&packets[0]);
    assert!(header.rst && ends == client().reversed() && header.sequence_number == 77);
}

#[test]
fn refused_client_gets_a_reset_or_an_icmp_error() {
    let (mut crossings, now) = (crossings(), Instant::now());
    let id = open(&mut crossings, client(), 100, now);
    let (ends, header, _) = read(&crossings.refuse(id, Reason::Refused).unwrap());
    assert!(header.rst && header.ack && header.acknowledgment_number == 101);
    assert_eq!(ends, client().reversed());
    assert_eq!(
        (crossings.refuse(id, Reason::Refused), crossings.len()),
        (None, 0)
    );
    let v6 = super::super::packet::tests::ends("[fd09::1]:4000", "[2001:db8::1]:80");
    for (client, kind) in [(client(), 3), (v6, 1)] {
        let id = open(&mut crossings, client, 100, now);
        let packet = crossings.refuse(id, Reason::HostUnreachable).unwrap();
        let icmp = if client.source.is_ipv4() { 20 } else { 40 };
        assert_eq!(packet[icmp], kind);
        // It quotes the SYN, by which the kernel finds the connection.
        let quoted = &packet[icmp + 8..];
        let place = if client.source.is_ipv4() { 20 } else { 40 };
        assert_eq!(quoted[place..place + 2], client.source.port().to_be_bytes());
    }
}

#[test]
fn next_connection_of_a_client_replaces_the_former_one() {
    let (mut crossings, now) = (crossings(), Instant::now());
    let (former, leg) = crossed(&mut crossings, now);
    let verdict = handle(&mut crossings, &mut syn(client(), 5_000, &OPTIONS), now);
    let Verdict::Open { id, replaces, .. } = verdict else {
        panic!("{verdict:?}")
    };
    assert!(replaces == Some(former) && id != former);
    // What the former leg sends reaches nobody.
    let verdict = handle(&mut crossings, &mut data(leg, b"old"), now);
    assert!(
        matches!(&verdict, Verdict::Answer(packets) if read(&packets[0]).1.rst),
        "{verdict:?}"
    );
    crossings.end(former, now);
    assert_eq!(
        (
            crossings.expect(former, "10.9.0.1:5001".parse().unwrap()),
            crossings.len()
        ),
        (None, 1)
    );
}

#[test]
fn nobody_gets_a_connection_by_the_door() {
    let (mut crossings, now) = (crossings(), Instant::now());
    let id = open(&mut crossings, client(), 100, now);
    let door = crossings.expect(id, leg()).unwrap();
    // Another program, to the same door, or to one of its choice.
    for (source, destination) in [
        ("10.9.0.1:6000".parse().unwrap(), door),
        (leg(), "10.9.0.2:9999".parse().unwrap()),
    ] {
        let from = Ends { source, destination };
        let verdict = handle(&mut crossings, &mut syn(from, 1, &OPTIONS), now);
        let Verdict::Answer(packets) = verdict else {
            panic!("{verdict:?}")
        };
        let (ends, header, _) = read(&packets[0]);
        assert!(header.rst && ends == from.reversed() && header.acknowledgment_number == 2);
    }
    // Segments before both SYNs have crossed lead nowhere.
    let mut early = data(client(), b"early");
    assert_eq!(handle(&mut crossings, &mut early, now), Verdict::Drop);
    let reset = packet(ends("10.9.0.1:1", "192.0.2.9:1"), |header| header.rst = true, &[]);
    assert_eq!(handle(&mut crossings, &mut reset.clone(), now), Verdict::Drop);
}

/// What the model knows of a client's connection.
struct Model {
    id: CrossingId,
    leg: Option<Ends>,
    has_crossed: bool,
}

/// A client at this port, of one of both IP versions.
fn client_at(port: u16) -> Ends {
    match port % 2 {
        0 => ends(&format!("10.9.0.1:{port}"), "192.0.2.1:80"),
        _ => ends(&format!("[fd09::1]:{port}"), "[2001:db8::1]:80"),
    }
}

/// Clients open, are refused, cross and send at random. A packet that passes always comes out at the other end of its own connection, and of no other one.
#[expect(clippy::too_many_lines, reason = "a step of the model for each case")]
#[test]
fn randomized_segments_come_out_at_the_other_end_of_their_connection() {
    for seed in 0..20 {
        let (mut rng, mut crossings, mut now) = (Seed(seed).rng(), crossings(), Instant::now());
        let mut model: BTreeMap<u16, Model> = BTreeMap::new();
        let mut port_of_legs = 20_000;
        for step in 0..2_000 {
            now += Duration::from_millis(100);
            let port = 1_000 + rng.below(20) as u16;
            let client = client_at(port);
            match (rng.below(6), model.get_mut(&port)) {
                (0 | 1, None) => {
                    let id = open(&mut crossings, client, step, now);
                    model.insert(
                        port,
                        Model {
                            id,
                            leg: None,
                            has_crossed: false,
                        },
                    );
                }
                (0, Some(known)) if known.leg.is_none() => {
                    port_of_legs += 1;
                    let source = SocketAddr::new(client.source.ip(), port_of_legs);
                    let destination = crossings.expect(known.id, source).unwrap();
                    known.leg = Some(Ends { source, destination });
                }
                (1, Some(known)) => {
                    if let Some(leg) = known.leg {
                        handle(&mut crossings, &mut syn(leg, 1, &OPTIONS), now);
                        known.has_crossed = true;
                    }
                }
                (2, Some(known)) if !known.has_crossed => {
                    assert!(crossings.refuse(known.id, Reason::Refused).is_some());
                    model.remove(&port);
                }
                (3, Some(_)) => {
                    let known = model.remove(&port).unwrap();
                    crossings.end(known.id, now);
                    // Nothing of it is left when the next connection of the port begins.
                    crossings.refuse(known.id, Reason::Refused);
                }
                (_, known) => {
                    let leg = known.as_ref().and_then(|known| known.leg);
                    let has_crossed = known.is_some_and(|known| known.has_crossed);
                    let pairs = [
                        Some((client, leg.map(Ends::reversed))),
                        leg.map(|leg| (leg, Some(client.reversed()))),
                    ];
                    for (from, to) in pairs.into_iter().flatten() {
                        let mut bytes = data(from, &port.to_be_bytes());
                        match handle(&mut crossings, &mut bytes, now) {
                            Verdict::Pass => {
                                let (ends, _, payload) = read(&bytes);
                                assert!(has_crossed && Some(ends) == to && payload == port.to_be_bytes());
                            }
                            verdict => assert!(!has_crossed, "{verdict:?}"),
                        }
                    }
                }
            }
            assert_eq!(crossings.len(), model.len());
        }
    }
}

//! Tests of unverified MPTCP peers: which handshakes are accepted, and how others are rejected.

use super::*;
use crate::sequence::SequenceNumber;
use crate::tcb::CloseReason;
use crate::wire::{AddressId, Kind, MpJoin, MptcpOption, Nonce, PrimaryOption, ResetReason, Token};

#[test]
fn mptcp_client_refuses_a_plain_tcp_server() {
    let mut fixture = Fixture::with(config(2, 0), TcpConfig::default(), 2);
    fixture.run_for(ms(1_000));
    assert_eq!(fixture.events[0], [Event::Closed(CloseReason::NoMptcp)]);
    assert_eq!(fixture.hosts[1].connections().count(), 0, "nobody was told of it");
}

#[test]
fn mptcp_server_refuses_a_plain_tcp_client() {
    let mut fixture = Fixture::with(TcpConfig::default(), config(2, 1), 2);
    fixture.run_for(ms(1_000));
    assert_eq!(fixture.events[0], [Event::Closed(CloseReason::Refused)]);
    assert_eq!(fixture.hosts[1].connections().count(), 0);
}

/// The far host receives a forged segment in the near host's name, and answers.
fn forged(fixture: &mut Fixture, local: SocketAddr, segment: Segment<'_>) -> Vec<Vec<u8>> {
    let addresses = AddressPair {
        source: local.ip(),
        destination: ip(usize::from(path_of(local)), 1),
    };
    let segment = Segment {
        source_port: local.port(),
        destination_port: 80,
        ..segment
    };
    let mut bytes = Vec::new();
    segment.write(addresses.source, addresses.destination, &mut bytes);
    fixture.hosts[1].handle_segment(fixture.now, addresses, &bytes);
    let mut resets = Vec::new();
    let mut answer = Vec::new();
    while let Some(back) = fixture.hosts[1].poll_transmit(fixture.now, &mut answer) {
        if back.destination == local.ip() {
            resets.push(core::mem::take(&mut answer));
        }
        answer.clear();
    }
    resets
}

fn path_of(local: SocketAddr) -> u8 {
    let IpAddr::V4(ip) = local.ip() else {
        unreachable!("the network has IP version 4")
    };
    ip.octets()[2]
}

fn read(local: SocketAddr, answer: &[u8]) -> Segment<'_> {
    Segment::parse(answer, ip(usize::from(path_of(local)), 1), local.ip()).unwrap()
}

fn join_syn(token: Token) -> Segment<'static> {
    let mut segment = Segment {
        kind: Kind::Syn,
        sequence: SequenceNumber(100),
        window: 1_000,
        ..Segment::default()
    };
    segment.options.mptcp.primary = Some(PrimaryOption::MpJoin(MpJoin::Syn {
        backup: false,
        address: AddressId(1),
        token,
        nonce: Nonce(5),
    }));
    segment
}

fn is_refused(segment: &Segment<'_>) -> bool {
    let why = MptcpOption::Reset {
        transient: false,
        reason: ResetReason::PROTOCOL,
    };
    segment.kind == Kind::Reset && segment.options.mptcp.others.contains(&why)
}

#[test]
fn join_with_an_unknown_token_gets_reset() {
    let mut fixture = Fixture::new(1);
    fixture.run_for(ms(500));
    let local = "10.0.0.9:4000".parse().unwrap();
    let resets = forged(&mut fixture, local, join_syn(Token(7)));
    assert_eq!(resets.len(), 1);
    assert!(is_refused(&read(local, &resets[0])));
}

#[test]
fn join_with_a_wrong_hmac_gets_reset() {
    let mut fixture = Fixture::new(1);
    fixture.run_for(ms(500));
    let token = fixture.connection(1).token().unwrap();
    let local = "10.0.0.9:4000".parse().unwrap();
    let resets = forged(&mut fixture, local, join_syn(token));
    let mut number = SequenceNumber::default();
    let segment = read(local, &resets[0]);
    assert!(matches!(
        segment.options.mptcp.primary,
        Some(PrimaryOption::MpJoin(MpJoin::SynAck { .. }))
    ));
    number.0 = segment.sequence.0.wrapping_add(1);
    let mut third = Segment {
        sequence: SequenceNumber(101),
        acknowledgement: Some(number),
        window: 1_000,
        ..Segment::default()
    };
    third.options.mptcp.primary = Some(PrimaryOption::MpJoin(MpJoin::Ack { code: [7; 20] }));
    let resets = forged(&mut fixture, local, third.clone());
    assert!(is_refused(&read(local, &resets[0])));
    assert!(
        forged(&mut fixture, local, third)[0].len() >= 20,
        "an unknown peer from now on"
    );
    let mut fixture = fixture.sends(50_000, 50_000);
    fixture.finish(ms(5_000));
    assert!(
        !fixture.events[1]
            .iter()
            .any(|event| matches!(event, Event::PathOpened(_)))
    );
}

#[test]
fn flood_of_join_syns_creates_at_most_eight_subflows() {
    let mut fixture = Fixture::new(1);
    fixture.run_for(ms(500));
    let token = fixture.connection(1).token().unwrap();
    for port in 1..1_000 {
        let local = SocketAddr::new("10.0.0.9".parse().unwrap(), port);
        forged(&mut fixture, local, join_syn(token));
    }
    assert_eq!(fixture.connection(1).paths().count(), 8);
}

#[test]
fn random_mptcp_options_do_not_panic() {
    for seed in 0..300 {
        let mut fixture = Fixture::new(2).sends(30_000, 30_000);
        for (number, way) in fixture.ways.iter_mut().flatten().enumerate() {
            way.mangles = Some(Seed(seed).nth(number as u64).rng());
        }
        fixture.run_for(ms(3_000));
        for host in &fixture.hosts {
            for (_, connection) in host.connections() {
                assert!(connection.statistics().out_of_order_bytes <= 3 << 20);
            }
        }
    }
}

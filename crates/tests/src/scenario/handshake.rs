//! Association setup (RFC 9260 §5.1), also with lost packets.

use std::net::SocketAddr;

use anabranch_policy::Reachability;
use anabranch_proto::{AssociationConfig, CloseReason, Event};
use anabranch_sim::Side;
use anabranch_sim::app::Draft;
use anabranch_wire::chunk::kind;
use anabranch_wire::{Cause, CauseWriter, OutboundError, ParameterWriter};

use crate::fixture::{Forger, Pair, Reply, mbit, ms, secs};

//= rfc9260 3.3.3-25
#[test]
fn handshake_takes_four_packets() {
    let mut pair = Pair::one_path(mbit(10), ms(20)).build();
    pair.alice().connect();
    pair.run_for(ms(100));
    assert!(pair.is_connected());
    assert!(
        pair.alice()
            .has_event(|event| *event == Event::Connected { incoming: false })
    );
    assert!(
        pair.bob()
            .has_event(|event| *event == Event::Connected { incoming: true })
    );
    assert_eq!(
        (pair.alice().tally().packets_sent, pair.bob().tally().packets_sent),
        (2, 2)
    );
}

#[test]
fn message_sent_before_handshake_completes_is_delivered() {
    let mut pair = Pair::one_path(mbit(10), ms(20)).build();
    pair.alice().connect();
    pair.alice().send(Draft::new(0, 500));
    pair.run_for(ms(200));
    assert_eq!(pair.bob().inbox().messages(), 1);
    pair.assert_all_delivered();
}

//= rfc9260 4-3, 4-6, 5.1.4-3
#[test]
fn lost_handshake_packet_costs_one_timeout() {
    for lost in [kind::INIT, kind::INIT_ACK, kind::COOKIE_ECHO, kind::COOKIE_ACK] {
        let mut pair = Pair::one_path(mbit(10), ms(20)).build();
        pair.drop_next(1, lost);
        pair.alice().connect();
        pair.alice().send(Draft::new(0, 500));
        // The INIT ACK gives a first RTT sample, so the second timeout is shorter than the first.
        pair.run_for(ms(350));
        assert!(!pair.is_connected(), "chunk type {lost} was lost and not missed");
        pair.run_for(ms(900));
        assert!(pair.is_connected(), "chunk type {lost} was lost for good");
        pair.deliver_all(secs(1));
        assert_eq!(pair.bob().associations(), 1);
    }
}

//= rfc9260 5.1-13, 5.1.6-1
#[test]
fn many_lost_handshake_packets_only_delay_the_handshake() {
    for lost in [kind::INIT, kind::COOKIE_ECHO] {
        let mut pair = Pair::two_paths(mbit(10), ms(20)).build();
        pair.drop_next(5, lost);
        pair.alice().connect();
        pair.run_until(|pair| pair.is_connected(), secs(32));
        assert_eq!(pair.bob().associations(), 1);
    }
}

//= rfc9260 5.1-15
#[test]
fn init_is_retransmitted_on_another_path() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).build();
    pair.cut_path(0);
    pair.alice().connect();
    pair.alice().send(Draft::new(0, 500));
    pair.run_until(|pair| pair.is_connected(), secs(2));
    pair.deliver_all(secs(1));
}

/// Bob sends the COOKIE ACK to a confirmed address. Alice answers his heartbeats before she is connected (RFC 9260
/// §8.3), so the other address is confirmed in time.
#[test]
fn handshake_survives_path_failure_after_cookie_echo() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).build();
    pair.alice().connect();
    pair.run_for(ms(65));
    assert!(pair.bob().is_connected() && !pair.alice().is_connected());
    pair.cut_path(0);
    pair.run_for(secs(2));
    assert!(pair.alice().is_connected());
}

#[test]
fn stale_cookie_is_replaced_by_a_new_one() {
    let patient = |config: &mut AssociationConfig| config.max_init_retransmits = 20;
    let mut pair = Pair::one_path(mbit(10), ms(20)).with(patient).build();
    pair.drop_next(8, kind::COOKIE_ECHO);
    pair.alice().connect();
    // T1-cookie doubles from 0.4 s, so the ninth COOKIE ECHO comes after 102 s; the cookie lives 60 s.
    pair.run_for(secs(100));
    assert!(!pair.is_connected());
    pair.run_until(|pair| pair.is_connected(), secs(10));
    assert_eq!(pair.bob().associations(), 1);
    pair.alice().send(Draft::new(0, 500));
    pair.deliver_all(secs(1));
}

/// By then the key that could verify it has been replaced.
#[test]
fn old_cookie_of_established_association_is_acknowledged() {
    let patient = |config: &mut AssociationConfig| config.max_init_retransmits = 20;
    let mut pair = Pair::two_paths(mbit(10), ms(20)).with(patient).build();
    pair.drop_next(9, kind::COOKIE_ACK);
    pair.alice().connect();
    pair.run_for(secs(150));
    assert!(!pair.alice().is_connected());
    pair.run_until(|pair| pair.is_connected(), secs(20));
    assert_eq!(pair.bob().associations(), 1);
    pair.alice().send(Draft::new(0, 500));
    pair.deliver_all(secs(1));
}

#[test]
fn unanswered_init_gives_up() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).build();
    pair.cut_path(0);
    pair.cut_path(1);
    pair.alice().connect();
    pair.run_until(|pair| pair.alice().is_closed(), secs(600));
    assert_eq!(pair.alice().close_reason(), Some(CloseReason::NoAnswer));
}

#[test]
fn refused_connect_fails_at_once() {
    let refusing = |scenario: anabranch_sim::Scenario| scenario.accepts(Side::Far, false);
    let mut pair = Pair::one_path(mbit(10), ms(20)).scenario(refusing).build();
    pair.alice().connect();
    pair.run_for(ms(50));
    assert!(matches!(
        pair.alice().close_reason(),
        Some(CloseReason::AbortedByPeer { .. })
    ));
    assert_eq!(pair.bob().associations(), 0);
}

//= rfc9260 5.1.1-1, 5.1.1-2, 5.1.1-3, 5.1.1-4, 6.5-1
#[test]
fn smaller_number_of_streams_is_negotiated() {
    let mut pair = Pair::one_path(mbit(10), ms(20))
        .with(|config| {
            config.outbound_streams = 10;
            config.max_inbound_streams = 4;
        })
        .connected();
    pair.alice().send(Draft::new(3, 100));
    let refused = pair
        .alice()
        .act(|alice, association, now| alice.send(Draft::new(4, 100), association, now));
    assert!(refused.is_err(), "Bob takes four streams, 0 to 3");
    pair.deliver_all(secs(1));
}

#[test]
fn association_works_directly_over_ip() {
    let bare = |scenario: anabranch_sim::Scenario| scenario.encapsulation_port(0);
    let mut pair = Pair::two_paths(mbit(10), ms(20)).scenario(bare).connected();
    pair.alice()
        .send_messages(100, 1_000, anabranch_sim::app::Streams::one(0));
    pair.deliver_all(secs(2));
}

/// A second address that the peer lists.
fn elsewhere() -> SocketAddr {
    SocketAddr::from(([198, 51, 100, 1], 4_000))
}

fn listing_both() -> ParameterWriter {
    let mut parameters = ParameterWriter::new();
    for address in [Forger::address(), elsewhere()] {
        parameters.push_address(address.ip());
    }
    parameters
}

fn kinds_sent_to(whom: SocketAddr, sent: &[Reply]) -> Vec<Vec<u8>> {
    let sent = sent.iter().filter(|packet| packet.to == whom);
    sent.map(Reply::kinds).collect()
}

//= rfc9260 3.2.2-3, 5.1-7, 5.4-5, 5.4-6, 5.4-7
/// RFC 9260 §5.4: the initiated address may be dead by then, and the listed one may belong to another host.
#[test]
fn cookie_echo_to_unconfirmed_address_needs_a_heartbeat() {
    let mtu = 1_472;
    let cookie_that_fills_all = mtu - 12 - 4;
    for (cookie, goes) in [
        (40, true),
        (cookie_that_fills_all - 20, true),
        (cookie_that_fills_all, false),
    ] {
        let mut forger = Forger::initiated_to();
        forger.send(forger.tag(), &[&Forger::init_ack(&listing_both(), cookie)]);
        let sent = forger.run_for(secs(20));
        assert!(kinds_sent_to(Forger::address(), &sent).contains(&vec![kind::COOKIE_ECHO]));
        let forward = kinds_sent_to(elsewhere(), &sent);
        assert_eq!(!forward.is_empty(), goes, "{cookie}");
        assert!(sent.len() > 4, "{sent:?}");
        assert!(
            forward
                .iter()
                .all(|kinds| *kinds == [kind::COOKIE_ECHO, kind::HEARTBEAT]),
            "{forward:?}"
        );
        assert!(sent.iter().all(|packet| packet.bytes.len() <= mtu));
    }
}

/// RFC 9260 §5.4 lists the chunks that may be sent to an unconfirmed address; INIT is not among them.
#[test]
fn init_after_stale_cookie_goes_only_to_named_addresses() {
    let mut forger = Forger::initiated_to();
    forger.send(forger.tag(), &[&Forger::init_ack(&listing_both(), 40)]);
    let causes = CauseWriter::one(Cause::StaleCookie { staleness: 1 });
    let mut sent = forger.send(forger.tag(), &[&OutboundError { causes }]);
    sent.append(&mut forger.run_for(secs(600)));
    assert!(kinds_sent_to(Forger::address(), &sent).len() > 2);
    assert!(kinds_sent_to(elsewhere(), &sent).is_empty(), "{sent:?}");
}

//= rfc9260 5.1.2-4
/// RFC 9260 §5.1.2 D.
#[test]
fn init_ack_from_another_listed_address_is_accepted() {
    let mut forger = Forger::initiated_to();
    let answer = forger.packet(forger.tag(), &[&Forger::init_ack(&listing_both(), 40)]);
    let sent = forger.send_bytes_from(elsewhere(), &answer);
    assert_eq!(kinds_sent_to(Forger::address(), &sent), [[kind::COOKIE_ECHO]]);
    assert_eq!(sent.len(), 1);
    let reachability = |path: usize| forger.statistics().paths[path].reachability;
    assert_eq!(reachability(0), Reachability::Active);
    assert_eq!(reachability(1), Reachability::Unconfirmed);
}

#[test]
fn init_ack_not_listing_the_initiated_address_is_dropped() {
    let mut forger = Forger::initiated_to();
    let mut parameters = ParameterWriter::new();
    parameters.push_address(elsewhere().ip());
    let answer = forger.packet(forger.tag(), &[&Forger::init_ack(&parameters, 40)]);
    assert_eq!(forger.send_bytes_from(elsewhere(), &answer), []);
    assert_eq!(forger.statistics().packets_dropped, 1);
}

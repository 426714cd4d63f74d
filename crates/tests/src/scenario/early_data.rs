//! Early data (RFC 9260 §5.1 C): messages that are queued before the handshake is complete are sent with the COOKIE ECHO.

use anabranch_policy::PolicyRecipe;
use anabranch_proto::{AssociationConfig, Event};
use anabranch_sim::app::Draft;
use anabranch_wire::chunk::kind;

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

fn one_path() -> PairBuilder {
    Pair::one_path(mbit(10), ms(20))
}

fn arrives_with_the_cookie_echo(builder: PairBuilder) {
    let mut pair = builder.build();
    pair.alice().connect();
    for stream in [0, 1, 0] {
        pair.alice().send(Draft::new(stream, 100));
    }
    // INIT, INIT ACK and COOKIE ECHO take 20 ms each.
    pair.run_for(ms(65));
    assert!(!pair.alice().is_connected());
    assert_eq!(pair.bob().inbox().messages(), 3);
    pair.run_for(ms(20));
    assert!(
        pair.alice().has_flushed(),
        "the SACK is in the packet of the COOKIE ACK"
    );
    pair.assert_all_delivered();
}

#[test]
fn short_messages_arrive_with_the_cookie_echo() {
    let interleaving = |config: &mut AssociationConfig| {
        let choice = config.policies.set("interleaving", "on");
        choice.expect("an option of the catalog");
    };
    let authenticated = |config: &mut AssociationConfig| {
        config.authenticated_chunks = vec![kind::DATA];
    };
    let webrtc = |config: &mut AssociationConfig| {
        *config = AssociationConfig {
            peer_sctp_port: config.peer_sctp_port,
            local_sctp_port: None,
            ..AssociationConfig::webrtc()
        };
    };
    arrives_with_the_cookie_echo(one_path());
    arrives_with_the_cookie_echo(one_path().with(interleaving));
    arrives_with_the_cookie_echo(one_path().with(authenticated));
    arrives_with_the_cookie_echo(one_path().with(webrtc));
    arrives_with_the_cookie_echo(Pair::two_paths(mbit(10), ms(20)));
}

//= rfc9260 4-6
#[test]
fn early_data_is_lost_and_repeated_with_its_cookie_echo() {
    for count in 1..5 {
        let mut pair = one_path().build();
        pair.drop_next(count, kind::COOKIE_ECHO);
        pair.alice().connect();
        pair.alice().send(Draft::new(0, 500));
        pair.run_until(|pair| pair.bob().is_connected(), secs(10));
        assert_eq!(pair.bob().inbox().messages(), 1);
        pair.run_for(ms(50));
        assert!(pair.alice().has_flushed());
        assert_eq!(pair.alice().path(0).counters.timeouts, 0, "T3 did not run");
        pair.assert_all_delivered();
    }
}

#[test]
fn early_data_arrives_once_if_cookie_acks_are_lost() {
    for count in 1..5 {
        let mut pair = one_path().build();
        pair.drop_next(count, kind::COOKIE_ACK);
        pair.alice().connect();
        pair.alice().send(Draft::new(0, 500));
        pair.run_until(Pair::is_connected, secs(10));
        pair.deliver_all(secs(1));
        assert_eq!(pair.bob().inbox().messages(), 1);
    }
}

/// The second COOKIE ECHO goes to the other address, which may not be Bob's.
#[test]
fn early_data_is_not_sent_to_an_unconfirmed_address() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).build();
    pair.drop_next(1, kind::COOKIE_ECHO);
    pair.alice().connect();
    pair.alice().send(Draft::new(0, 500));
    pair.run_for(ms(45));
    pair.cut_path(0);
    pair.run_until(|pair| pair.bob().is_connected(), secs(5));
    assert_eq!(pair.bob().inbox().messages(), 0);
    pair.run_until(Pair::is_connected, secs(5));
    pair.deliver_all(secs(5));
}

/// The cookies live 60 s. After that the handshake begins again, and all data is numbered again.
#[test]
fn early_data_survives_a_stale_cookie() {
    for (interleaving, authenticated) in [("on", false), ("off", false), ("off", true)] {
        let mut policies = PolicyRecipe::recommended();
        let choice = policies.set("interleaving", interleaving);
        choice.expect("an option of the catalog");
        let patient = |config: &mut AssociationConfig| {
            config.max_init_retransmits = 20;
            config.authenticated_chunks = authenticated.then_some(kind::DATA).into_iter().collect();
        };
        let mut pair = one_path().policies(policies).with(patient).build();
        pair.drop_next(8, kind::COOKIE_ECHO);
        pair.alice().connect();
        for (stream, bytes) in [(0, 100), (1, 200), (0, 5_000), (1, 300), (2, 50)] {
            pair.alice().send(Draft::new(stream, bytes));
        }
        pair.run_until(Pair::is_connected, secs(120));
        pair.deliver_all(secs(5));
        assert_eq!(pair.bob().associations(), 1);
    }
}

//= rfc9260 5.2.4-4
/// Bob's application learns of the restart before it receives data of the new association.
#[test]
fn early_data_of_a_restarted_peer_is_received_after_the_restart() {
    let from_the_same_port = |config: &mut AssociationConfig| config.local_sctp_port = Some(40_000);
    let mut pair = one_path().build();
    pair.alice().connect_with(from_the_same_port);
    pair.run_until(Pair::is_connected, secs(1));
    pair.alice().lose_all_state();
    pair.alice().connect_with(from_the_same_port);
    pair.alice().send(Draft::new(0, 100));
    let is_restart = |event: &Event| matches!(event, Event::Restarted { .. });
    pair.run_until(|pair| pair.bob().has_event(is_restart), ms(100));
    assert_eq!(pair.bob().inbox().messages(), 0);
    pair.deliver_all(secs(2));
    assert_eq!(pair.bob().inbox().messages(), 1);
}

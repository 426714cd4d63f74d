//! Shutdown and abort (RFC 9260 §9).

use anabranch_policy::PolicyRecipe;
use anabranch_proto::{CloseReason, Event};
use anabranch_sim::app::{Draft, Streams};
use anabranch_wire::chunk::kind;

use crate::fixture::{Pair, mbit, ms, secs};

fn both_finished(pair: &mut Pair) {
    pair.run_until(
        |pair| pair.alice().is_closed() && pair.bob().is_closed(),
        secs(60),
    );
    assert_eq!(pair.alice().close_reason(), Some(CloseReason::Finished));
    assert_eq!(pair.bob().close_reason(), Some(CloseReason::Finished));
}

//= rfc9260 3.3.8-1, 3.3.9-1, 3.3.13-1
#[test]
fn either_side_can_shut_down() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().shutdown();
    both_finished(&mut pair);
    assert!(pair.bob().has_event(|event| *event == Event::PeerShutdown));

    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.bob().shutdown();
    both_finished(&mut pair);
    assert!(pair.alice().has_event(|event| *event == Event::PeerShutdown));
}

#[test]
fn simultaneous_shutdown_completes() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().shutdown();
    pair.bob().shutdown();
    both_finished(&mut pair);
}

//= rfc9260 9.2-24
#[test]
fn shutdown_delivers_queued_data_first() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().send_messages(300, 1_400, Streams::in_turn(3));
    pair.bob().send_messages(200, 1_400, Streams::in_turn(3));
    pair.run_for(ms(50));
    pair.alice().shutdown();
    both_finished(&mut pair);
    pair.assert_all_delivered();
    assert_eq!((pair.alice().sent(), pair.bob().sent()), (300, 200));
}

#[test]
fn simultaneous_shutdown_under_loss_delivers_all_data() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.set_loss(0, 0.05);
    pair.set_loss(1, 0.05);
    pair.alice().send_messages(300, 1_400, Streams::in_turn(3));
    pair.bob().send_messages(200, 1_400, Streams::in_turn(3));
    pair.run_for(ms(50));
    pair.alice().shutdown();
    pair.bob().shutdown();
    both_finished(&mut pair);
    pair.assert_all_delivered();
}

#[test]
fn send_after_shutdown_is_refused() {
    let mut pair = Pair::one_path(mbit(10), ms(20)).connected();
    pair.alice().shutdown();
    let refused = pair
        .alice()
        .act(|alice, association, now| alice.send(Draft::new(0, 1), association, now));
    assert!(refused.is_err());
    both_finished(&mut pair);
}

#[test]
fn lost_shutdown_packets_are_retransmitted() {
    for lost in [kind::SHUTDOWN, kind::SHUTDOWN_ACK, kind::SHUTDOWN_COMPLETE] {
        let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
        pair.drop_next(2, lost);
        pair.alice().shutdown();
        both_finished(&mut pair);
    }
}

/// Each side prefers a path that is dead; RFC 9260 alone would keep trying it for a minute.
#[test]
fn shutdown_uses_another_path_than_a_dead_one() {
    for policies in [PolicyRecipe::recommended(), PolicyRecipe::rfc9260()] {
        let mut pair = Pair::two_paths(mbit(10), ms(20)).policies(policies).connected();
        pair.run_for(secs(5));
        pair.cut_path(0);
        pair.alice().shutdown();
        pair.run_until(|pair| pair.alice().is_closed(), secs(2));
        both_finished(&mut pair);
    }
}

/// Bob's heartbeats keep the association alive (RFC 9260 §9.2); the retransmission must not wait for a backed-off T2.
#[test]
fn shutdown_is_retransmitted_while_heartbeats_arrive() {
    for policies in [PolicyRecipe::recommended(), PolicyRecipe::rfc9260()] {
        for outage in [31, 45, 55] {
            let mut pair = Pair::one_path(mbit(10), ms(20)).policies(policies).connected();
            pair.run_for(secs(5));
            pair.cut_path(0);
            pair.alice().shutdown();
            pair.run_for(secs(outage));
            pair.heal_path(0);
            pair.run_until(|pair| pair.alice().is_closed(), secs(70));
            assert_eq!(
                pair.alice().close_reason(),
                Some(CloseReason::Finished),
                "{outage} s"
            );
        }
    }
}

/// RFC 9260 §8.3: no heartbeats after SHUTDOWN, even if duplicates arrive, which would otherwise trigger one.
#[test]
fn no_heartbeats_after_shutdown_is_sent() {
    let mut policies = PolicyRecipe::recommended();
    policies.set("pmtu", "fixed").unwrap();
    let mut pair = Pair::two_paths(mbit(10), ms(20)).policies(policies).connected();
    pair.run_for(secs(5));
    pair.alice().send_messages(2_000, 1_400, Streams::one(0));
    pair.run_for(ms(100));
    pair.set_loss(0, 0.2);
    pair.set_loss(1, 0.2);
    let sent = pair.record_chunks_of_bob(0);
    pair.bob().shutdown();
    both_finished(&mut pair);
    assert!(sent.kinds().contains(&kind::SHUTDOWN));
    assert!(!sent.kinds().contains(&kind::HEARTBEAT), "{:?}", sent.kinds());
}

#[test]
fn shutdown_before_handshake_completes_delivers_data() {
    let mut pair = Pair::one_path(mbit(10), ms(20)).build();
    pair.alice().connect();
    pair.alice().send(Draft::new(0, 2_000));
    pair.alice().shutdown();
    both_finished(&mut pair);
    pair.assert_all_delivered();
}

#[test]
fn unanswered_shutdown_gives_up() {
    let mut pair = Pair::one_path(mbit(10), ms(20)).connected();
    pair.cut_path(0);
    pair.alice().shutdown();
    pair.run_until(|pair| pair.alice().is_closed(), secs(600));
    let why = pair.alice().close_reason();
    assert!(
        matches!(
            why,
            Some(CloseReason::ShutdownTimeout | CloseReason::PeerUnreachable)
        ),
        "{why:?}"
    );
}

//= rfc9260 9.1-7, 9.1-8, 9.1-9
#[test]
fn abort_ends_both_sides_with_its_reason() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().send_forever();
    pair.run_for(secs(1));
    pair.bob().abort();
    pair.run_for(ms(100));
    assert_eq!(pair.bob().close_reason(), Some(CloseReason::Aborted));
    match pair.alice().close_reason() {
        Some(CloseReason::AbortedByPeer { causes, reason }) => {
            assert_eq!(reason.as_deref(), Some("no more"));
            assert_eq!(causes, "user abort \"no more\"");
        }
        other => panic!("{other:?}"),
    }
    let after = pair.alice().tally().packets_sent;
    pair.run_for(secs(100));
    assert_eq!(pair.alice().tally().packets_sent, after, "the dead say nothing");
}

#[test]
fn lost_abort_is_detected_by_the_next_packet() {
    let mut pair = Pair::one_path(mbit(10), ms(20)).connected();
    pair.drop_next(1, kind::ABORT);
    pair.bob().abort();
    pair.run_for(ms(100));
    assert!(!pair.alice().is_closed());
    pair.alice().send(Draft::new(0, 100));
    pair.run_for(ms(100));
    assert!(matches!(
        pair.alice().close_reason(),
        Some(CloseReason::AbortedByPeer { .. })
    ));
}

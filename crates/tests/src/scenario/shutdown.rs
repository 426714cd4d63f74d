//! How do Alice and Bob part (RFC 9260 §9)?

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

#[test]
fn either_side_may_finish() {
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
fn both_may_finish_at_once() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().shutdown();
    pair.bob().shutdown();
    both_finished(&mut pair);
}

#[test]
fn everything_handed_over_is_delivered_before_the_end() {
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
fn everything_is_delivered_though_both_finish_in_the_middle_and_packets_are_lost() {
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
fn nothing_more_is_taken_once_the_end_was_begun() {
    let mut pair = Pair::one_path(mbit(10), ms(20)).connected();
    pair.alice().shutdown();
    let refused = pair
        .alice()
        .act(|alice, association, now| alice.send(Draft::new(0, 1), association, now));
    assert!(refused.is_err());
    both_finished(&mut pair);
}

#[test]
fn lost_shutdown_packets_are_repeated() {
    for lost in [kind::SHUTDOWN, kind::SHUTDOWN_ACK, kind::SHUTDOWN_COMPLETE] {
        let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
        pair.drop_next(2, lost);
        pair.alice().shutdown();
        both_finished(&mut pair);
    }
}

/// Each of them has a path that it prefers and that is dead; by the letter of RFC 9260 it would be tried for a minute.
#[test]
fn the_end_takes_another_path_than_one_that_died() {
    for policies in [PolicyRecipe::recommended(), PolicyRecipe::rfc9260()] {
        let mut pair = Pair::two_paths(mbit(10), ms(20)).policies(policies).connected();
        pair.run_for(secs(5));
        pair.cut_path(0);
        pair.alice().shutdown();
        pair.run_until(|pair| pair.alice().is_closed(), secs(2));
        both_finished(&mut pair);
    }
}

/// Each of Bob's heartbeats gives him more time (RFC 9260 §9.2), but not as much as a timer that has backed off.
#[test]
fn a_shutdown_that_nobody_heard_for_long_is_repeated_though_bobs_heartbeats_come() {
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

/// "The sending of HEARTBEAT chunks […] is discontinued after sending […] a SHUTDOWN chunk" (RFC 9260 §8.3), though what comes
/// twice would be a reason to ask.
#[test]
fn who_has_sent_a_shutdown_asks_no_more_by_heartbeats() {
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
fn finishing_before_the_handshake_is_complete_still_delivers() {
    let mut pair = Pair::one_path(mbit(10), ms(20)).build();
    pair.alice().connect();
    pair.alice().send(Draft::new(0, 2_000));
    pair.alice().shutdown();
    both_finished(&mut pair);
    pair.assert_all_delivered();
}

#[test]
fn a_peer_that_never_answers_a_shutdown_is_given_up() {
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

#[test]
fn an_abort_ends_it_at_once_and_says_why() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().send_forever();
    pair.run_for(secs(1));
    pair.bob().abort();
    pair.run_for(ms(100));
    assert_eq!(pair.bob().close_reason(), Some(CloseReason::Aborted));
    match pair.alice().close_reason() {
        Some(CloseReason::AbortedByPeer(why)) => assert!(why.contains("no more"), "{why}"),
        other => panic!("{other:?}"),
    }
    let after = pair.alice().tally().packets_sent;
    pair.run_for(secs(100));
    assert_eq!(pair.alice().tally().packets_sent, after, "the dead say nothing");
}

#[test]
fn a_lost_abort_is_noticed_with_the_next_packet() {
    let mut pair = Pair::one_path(mbit(10), ms(20)).connected();
    pair.drop_next(1, kind::ABORT);
    pair.bob().abort();
    pair.run_for(ms(100));
    assert!(!pair.alice().is_closed());
    pair.alice().send(Draft::new(0, 100));
    pair.run_for(ms(100));
    assert!(matches!(
        pair.alice().close_reason(),
        Some(CloseReason::AbortedByPeer(_))
    ));
}

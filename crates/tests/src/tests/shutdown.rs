//! How do Alice and Bob part (RFC 9260 §9)?

use anabranch_policy::PolicyRecipe;
use anabranch_proto::{CloseReason, Event};
use anabranch_sim::app::{Draft, Streams};
use anabranch_wire::chunk::kind;

use crate::story::{World, mbit, ms, secs};

fn both_finished(world: &mut World) {
    world.runs_until(
        |world| world.alice().is_closed() && world.bob().is_closed(),
        secs(60),
    );
    assert_eq!(world.alice().closed_because(), Some(CloseReason::Finished));
    assert_eq!(world.bob().closed_because(), Some(CloseReason::Finished));
}

#[test]
fn either_side_may_finish() {
    let mut world = World::two_paths(mbit(10), ms(20)).connected();
    world.alice().shuts_down();
    both_finished(&mut world);
    assert!(world.bob().saw(|event| *event == Event::PeerShutdown));

    let mut world = World::two_paths(mbit(10), ms(20)).connected();
    world.bob().shuts_down();
    both_finished(&mut world);
    assert!(world.alice().saw(|event| *event == Event::PeerShutdown));
}

#[test]
fn both_may_finish_at_once() {
    let mut world = World::two_paths(mbit(10), ms(20)).connected();
    world.alice().shuts_down();
    world.bob().shuts_down();
    both_finished(&mut world);
}

#[test]
fn everything_handed_over_is_delivered_before_the_end() {
    let mut world = World::two_paths(mbit(10), ms(20)).connected();
    world.alice().sends_messages(300, 1_400, Streams::in_turn(3));
    world.bob().sends_messages(200, 1_400, Streams::in_turn(3));
    world.runs_for(ms(50));
    world.alice().shuts_down();
    both_finished(&mut world);
    world.everything_arrived();
    assert_eq!((world.alice().sent(), world.bob().sent()), (300, 200));
}

#[test]
fn everything_is_delivered_though_both_finish_in_the_middle_and_packets_are_lost() {
    let mut world = World::two_paths(mbit(10), ms(20)).connected();
    world.path_becomes_lossy(0, 0.05);
    world.path_becomes_lossy(1, 0.05);
    world.alice().sends_messages(300, 1_400, Streams::in_turn(3));
    world.bob().sends_messages(200, 1_400, Streams::in_turn(3));
    world.runs_for(ms(50));
    world.alice().shuts_down();
    world.bob().shuts_down();
    both_finished(&mut world);
    world.everything_arrived();
}

#[test]
fn nothing_more_is_taken_once_the_end_was_begun() {
    let mut world = World::one_path(mbit(10), ms(20)).connected();
    world.alice().shuts_down();
    let refused = world
        .alice()
        .talks(|alice, association, now| alice.send(Draft::new(0, 1), association, now));
    assert!(refused.is_err());
    both_finished(&mut world);
}

#[test]
fn lost_shutdown_packets_are_repeated() {
    for lost in [kind::SHUTDOWN, kind::SHUTDOWN_ACK, kind::SHUTDOWN_COMPLETE] {
        let mut world = World::two_paths(mbit(10), ms(20)).connected();
        world.loses_next(2, lost);
        world.alice().shuts_down();
        both_finished(&mut world);
    }
}

/// Each of them has a path that it prefers and that is dead; by the letter of RFC 9260 it would be tried for a minute.
#[test]
fn the_end_takes_another_path_than_one_that_died() {
    for policies in [PolicyRecipe::recommended(), PolicyRecipe::rfc9260()] {
        let mut world = World::two_paths(mbit(10), ms(20)).policies(policies).connected();
        world.runs_for(secs(5));
        world.path_is_cut(0);
        world.alice().shuts_down();
        world.runs_until(|world| world.alice().is_closed(), secs(2));
        both_finished(&mut world);
    }
}

/// Each of Bob's heartbeats gives him more time (RFC 9260 §9.2), but not as much as a timer that has backed off.
#[test]
fn a_shutdown_that_nobody_heard_for_long_is_repeated_though_bobs_heartbeats_come() {
    for policies in [PolicyRecipe::recommended(), PolicyRecipe::rfc9260()] {
        for outage in [31, 45, 55] {
            let mut world = World::one_path(mbit(10), ms(20)).policies(policies).connected();
            world.runs_for(secs(5));
            world.path_is_cut(0);
            world.alice().shuts_down();
            world.runs_for(secs(outage));
            world.path_heals(0);
            world.runs_until(|world| world.alice().is_closed(), secs(70));
            assert_eq!(
                world.alice().closed_because(),
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
    let mut world = World::two_paths(mbit(10), ms(20)).policies(policies).connected();
    world.runs_for(secs(5));
    world.alice().sends_messages(2_000, 1_400, Streams::one(0));
    world.runs_for(ms(100));
    world.path_becomes_lossy(0, 0.2);
    world.path_becomes_lossy(1, 0.2);
    let sent = world.notes_what_bob_sends(0);
    world.bob().shuts_down();
    both_finished(&mut world);
    assert!(sent.kinds().contains(&kind::SHUTDOWN));
    assert!(!sent.kinds().contains(&kind::HEARTBEAT), "{:?}", sent.kinds());
}

#[test]
fn finishing_before_the_handshake_is_complete_still_delivers() {
    let mut world = World::one_path(mbit(10), ms(20)).begins();
    world.alice().connects();
    world.alice().sends(Draft::new(0, 2_000));
    world.alice().shuts_down();
    both_finished(&mut world);
    world.everything_arrived();
}

#[test]
fn a_peer_that_never_answers_a_shutdown_is_given_up() {
    let mut world = World::one_path(mbit(10), ms(20)).connected();
    world.path_is_cut(0);
    world.alice().shuts_down();
    world.runs_until(|world| world.alice().is_closed(), secs(600));
    let why = world.alice().closed_because();
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
    let mut world = World::two_paths(mbit(10), ms(20)).connected();
    world.alice().sends_forever();
    world.runs_for(secs(1));
    world.bob().aborts();
    world.runs_for(ms(100));
    assert_eq!(world.bob().closed_because(), Some(CloseReason::Aborted));
    match world.alice().closed_because() {
        Some(CloseReason::AbortedByPeer(why)) => assert!(why.contains("no more"), "{why}"),
        other => panic!("{other:?}"),
    }
    let after = world.alice().tally().packets_sent;
    world.runs_for(secs(100));
    assert_eq!(world.alice().tally().packets_sent, after, "the dead say nothing");
}

#[test]
fn a_lost_abort_is_noticed_with_the_next_packet() {
    let mut world = World::one_path(mbit(10), ms(20)).connected();
    world.loses_next(1, kind::ABORT);
    world.bob().aborts();
    world.runs_for(ms(100));
    assert!(!world.alice().is_closed());
    world.alice().sends(Draft::new(0, 100));
    world.runs_for(ms(100));
    assert!(matches!(
        world.alice().closed_because(),
        Some(CloseReason::AbortedByPeer(_))
    ));
}

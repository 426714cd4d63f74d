//! What if a translator between Alice and Bob forgets a binding (RFC 6951 §5.4)?

use anabranch_policy::Reachability;
use anabranch_proto::PathChange;
use anabranch_sim::app::Streams;

use crate::story::{World, mbit, ms, secs};

#[test]
fn a_rebound_path_goes_on_when_alice_sends() {
    let mut world = World::two_paths(mbit(10), ms(20)).connected();
    world.alice().sends_forever();
    world.runs_for(secs(3));
    world.path_is_rebound(1, 23_456);
    world.runs_for(secs(3));
    assert!(world.bob().saw_path(1, PathChange::Rebound));
    assert_eq!(world.bob().path(1).addr.remote.port(), 23_456);
    assert!(world.bob().goodput_of_last(secs(2)) > mbit(17));
    assert_eq!(world.alice().reachability(1), Reachability::Active);
    world.alice().falls_silent();
    world.delivers_everything(secs(5));
}

#[test]
fn all_paths_may_be_rebound_at_once_in_the_middle_of_a_transfer() {
    let mut world = World::two_paths(mbit(10), ms(20)).connected();
    world.alice().sends_messages(5_000, 1_400, Streams::in_turn(4));
    world.runs_for(secs(1));
    world.path_is_rebound(0, 20_001);
    world.path_is_rebound(1, 20_002);
    world.delivers_everything(secs(20));
    world.path_is_rebound(0, 20_003);
    world.bob().sends_messages(100, 1_400, Streams::in_turn(4));
    world.delivers_everything(secs(60));
}

/// The heartbeats of a dead path are rare, and the last one went to where nobody is.
#[test]
fn a_dead_path_is_asked_as_soon_as_alice_is_heard_from_elsewhere() {
    let mut world = World::two_paths(mbit(10), ms(20)).connected();
    world.bob().sends_forever();
    world.runs_for(secs(2));
    world.path_is_cut(1);
    world.runs_until(
        |world| world.bob().reachability(1) == Reachability::Inactive,
        secs(120),
    );
    world.path_is_rebound(1, 23_456);
    world.path_heals(1);
    world.runs_until(|world| world.bob().saw_path(1, PathChange::Rebound), secs(120));
    world.runs_for(ms(60));
    assert_eq!(world.bob().reachability(1), Reachability::Active);
}

#[test]
fn what_bob_sends_meanwhile_waits_for_a_word_from_alice() {
    let mut world = World::one_path(mbit(10), ms(20)).connected();
    world.runs_for(secs(1));
    world.path_is_rebound(0, 20_001);
    world.bob().sends_messages(10, 1_400, Streams::one(0));
    world.runs_for(secs(5));
    assert_eq!(world.alice().inbox().messages(), 0, "nobody knows where Alice is");
    world.alice().sends_messages(1, 1, Streams::one(0));
    world.delivers_everything(secs(20));
}

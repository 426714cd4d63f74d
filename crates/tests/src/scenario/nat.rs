//! NAT rebinding with UDP encapsulation (RFC 6951 §5.4).

use anabranch_policy::Reachability;
use anabranch_proto::PathChange;
use anabranch_sim::app::Streams;

use crate::fixture::{Pair, mbit, ms, secs};

#[test]
fn transfer_continues_after_nat_rebinding() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().send_forever();
    pair.run_for(secs(3));
    pair.rebind_path(1, 23_456);
    pair.run_for(secs(3));
    assert!(pair.bob().has_path_change(1, PathChange::Rebound));
    assert_eq!(pair.bob().path(1).addr.remote.port(), 23_456);
    assert!(pair.bob().goodput_in_last(secs(2)) > mbit(17));
    assert_eq!(pair.alice().reachability(1), Reachability::Active);
    pair.alice().stop_sending();
    pair.deliver_all(secs(5));
}

#[test]
fn transfer_survives_rebinding_of_all_paths() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().send_messages(5_000, 1_400, Streams::in_turn(4));
    pair.run_for(secs(1));
    pair.rebind_path(0, 20_001);
    pair.rebind_path(1, 20_002);
    pair.deliver_all(secs(20));
    pair.rebind_path(0, 20_003);
    pair.bob().send_messages(100, 1_400, Streams::in_turn(4));
    pair.deliver_all(secs(60));
}

/// Heartbeats of an inactive path are rare, and the last one went to the old address.
#[test]
fn inactive_path_is_probed_after_rebinding_is_seen() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.bob().send_forever();
    pair.run_for(secs(2));
    pair.cut_path(1);
    pair.run_until(
        |pair| pair.bob().reachability(1) == Reachability::Inactive,
        secs(120),
    );
    pair.rebind_path(1, 23_456);
    pair.heal_path(1);
    pair.run_until(
        |pair| pair.bob().has_path_change(1, PathChange::Rebound),
        secs(120),
    );
    pair.run_for(ms(60));
    assert_eq!(pair.bob().reachability(1), Reachability::Active);
}

#[test]
fn data_to_rebound_peer_waits_until_it_sends() {
    let mut pair = Pair::one_path(mbit(10), ms(20)).connected();
    pair.run_for(secs(1));
    pair.rebind_path(0, 20_001);
    pair.bob().send_messages(10, 1_400, Streams::one(0));
    pair.run_for(secs(5));
    assert_eq!(pair.alice().inbox().messages(), 0, "nobody knows where Alice is");
    pair.alice().send_messages(1, 1, Streams::one(0));
    pair.deliver_all(secs(20));
}

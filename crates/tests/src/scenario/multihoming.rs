//! Address pairing (RFC 9260 §5.1.2). Which addresses form which paths?

use anabranch_netsim::LinkConfig;
use anabranch_policy::Reachability;
use anabranch_sim::app::Streams;
use anabranch_sim::{Scenario, Side};

use crate::fixture::{Pair, mbit, ms, secs};

fn link() -> LinkConfig {
    LinkConfig::new(mbit(10), ms(20))
}

#[test]
fn two_local_addresses_to_one_peer_address_are_two_paths() {
    let one_sided = |scenario: Scenario| scenario.path(link()).path_to_the_same_address(link());
    let mut pair = Pair::paths([]).scenario(one_sided).connected();
    assert_eq!(pair.alice().statistics().paths.len(), 2);
    assert_eq!(pair.bob().statistics().paths.len(), 2);
    pair.alice().send_forever();
    pair.run_for(secs(10));
    assert!(pair.bob().goodput_in_last(secs(5)) > mbit(17));
    pair.cut_path(0);
    pair.run_for(secs(5));
    assert!(pair.bob().goodput_in_last(secs(2)) > mbit(9));
}

#[test]
fn initiator_with_fewer_addresses_gets_the_same_paths() {
    let one_sided = |scenario: Scenario| {
        scenario
            .path(link())
            .path_to_the_same_address(link())
            .accepts(Side::Near, true)
    };
    let mut pair = Pair::paths([]).scenario(one_sided).build();
    pair.bob().connect();
    pair.run_until(Pair::is_connected, secs(2));
    pair.bob().send_forever();
    pair.run_for(secs(10));
    assert!(pair.alice().goodput_in_last(secs(5)) > mbit(17));
}

#[test]
fn ipv4_and_ipv6_paths_coexist() {
    let mixed = |scenario: Scenario| scenario.path(link()).path_v6(link());
    let mut pair = Pair::paths([]).scenario(mixed).connected();
    pair.run_for(ms(200));
    assert_eq!(pair.alice().reachability(1), Reachability::Active);
    pair.alice().send_forever();
    pair.bob().send_forever();
    pair.run_for(secs(10));
    assert!(pair.bob().goodput_in_last(secs(5)) > mbit(17));
}

#[test]
fn four_paths_are_used_in_both_directions() {
    let mut pair = Pair::paths((0..4).map(|_| link())).connected();
    pair.run_for(ms(500));
    for path in 0..4 {
        assert_eq!(pair.alice().reachability(path), Reachability::Active);
        assert_eq!(pair.bob().reachability(path), Reachability::Active);
    }
    pair.alice().send_messages(4_000, 1_400, Streams::in_turn(8));
    pair.bob().send_messages(4_000, 1_400, Streams::in_turn(8));
    pair.deliver_all(secs(10));
    for path in 0..4 {
        assert!(pair.alice().path(path).counters.payload_sent > 500_000);
        assert!(pair.bob().path(path).counters.payload_sent > 500_000);
    }
}

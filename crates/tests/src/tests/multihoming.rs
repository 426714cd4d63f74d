//! Which addresses make which paths (RFC 9260 §5.1.2)?

use anabranch_netsim::LinkConfig;
use anabranch_policy::Reachability;
use anabranch_sim::app::Streams;
use anabranch_sim::{Scenario, Side};

use crate::story::{World, mbit, ms, secs};

fn link() -> LinkConfig {
    LinkConfig::new(mbit(10), ms(20))
}

#[test]
fn two_links_to_one_address_are_two_paths() {
    let one_sided = |scenario: Scenario| scenario.path(link()).path_to_the_same_address(link());
    let mut world = World::paths([]).shaped(one_sided).connected();
    assert_eq!(world.alice().statistics().paths.len(), 2);
    assert_eq!(world.bob().statistics().paths.len(), 2);
    world.alice().sends_forever();
    world.runs_for(secs(10));
    assert!(world.bob().goodput_of_last(secs(5)) > mbit(17));
    world.path_is_cut(0);
    world.runs_for(secs(5));
    assert!(world.bob().goodput_of_last(secs(2)) > mbit(9));
}

#[test]
fn one_link_less_on_the_calling_side_works_the_same() {
    let one_sided = |scenario: Scenario| {
        scenario
            .path(link())
            .path_to_the_same_address(link())
            .accepts(Side::Near, true)
    };
    let mut world = World::paths([]).shaped(one_sided).begins();
    world.bob().connects();
    world.runs_until(World::is_connected, secs(2));
    world.bob().sends_forever();
    world.runs_for(secs(10));
    assert!(world.alice().goodput_of_last(secs(5)) > mbit(17));
}

#[test]
fn both_ip_versions_may_be_used_at_once() {
    let mixed = |scenario: Scenario| scenario.path(link()).path_v6(link());
    let mut world = World::paths([]).shaped(mixed).connected();
    world.runs_for(ms(200));
    assert_eq!(world.alice().reachability(1), Reachability::Active);
    world.alice().sends_forever();
    world.bob().sends_forever();
    world.runs_for(secs(10));
    assert!(world.bob().goodput_of_last(secs(5)) > mbit(17));
}

#[test]
fn four_paths_on_both_sides_are_found_and_used_in_both_directions() {
    let mut world = World::paths((0..4).map(|_| link())).connected();
    world.runs_for(ms(500));
    for path in 0..4 {
        assert_eq!(world.alice().reachability(path), Reachability::Active);
        assert_eq!(world.bob().reachability(path), Reachability::Active);
    }
    world.alice().sends_messages(4_000, 1_400, Streams::in_turn(8));
    world.bob().sends_messages(4_000, 1_400, Streams::in_turn(8));
    world.delivers_everything(secs(10));
    for path in 0..4 {
        assert!(world.alice().path(path).counters.payload_sent > 500_000);
        assert!(world.bob().path(path).counters.payload_sent > 500_000);
    }
}

//! Dynamic address reconfiguration (RFC 5061). What happens if addresses are added and removed?

use anabranch_netsim::LinkConfig;
use anabranch_policy::{PolicyRecipe, Reachability};
use anabranch_proto::{AddressError, AssociationConfig, CloseReason, Event, PathChange};
use anabranch_sim::app::Streams;
use anabranch_sim::{Side, Step};
use anabranch_types::PathId;
use anabranch_wire::chunk::kind;

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

fn link() -> LinkConfig {
    LinkConfig::new(mbit(10), ms(20))
}

/// Adds address changes to a profile.
fn with_address_changes(mut policies: PolicyRecipe) -> PolicyRecipe {
    policies.set("add-ip", "on").unwrap();
    policies
}

fn with_a_spare_path(used: usize) -> PairBuilder {
    Pair::paths((0..used).map(|_| link())).scenario(|scenario| scenario.spare_path(link()))
}

/// Number of active paths of each side.
fn active(pair: &mut Pair) -> [usize; 2] {
    let count = |paths: Vec<anabranch_proto::PathStatistics>| {
        let is_active = |path: &&anabranch_proto::PathStatistics| path.reachability == Reachability::Active;
        paths.iter().filter(is_active).count()
    };
    [
        count(pair.alice().statistics().paths),
        count(pair.bob().statistics().paths),
    ]
}

#[test]
fn added_address_creates_a_path_in_mid_transfer() {
    let mut pair = with_a_spare_path(2).connected();
    pair.alice().send_forever();
    pair.run_for(secs(5));
    assert!(pair.bob().goodput_in_last(secs(3)) < mbit(20));

    pair.apply(Step::Join(Side::Near, 2));
    pair.apply(Step::Join(Side::Far, 2));
    pair.run_until(|pair| active(pair) == [3, 3], secs(3));
    pair.run_for(secs(8));
    assert!(
        pair.bob().goodput_in_last(secs(4)) > mbit(26),
        "{}",
        pair.bob().goodput_in_last(secs(4))
    );
    assert_eq!(
        pair.alice().statistics().paths.len(),
        3,
        "no pair across the links is left"
    );
    assert_eq!(pair.bob().statistics().paths.len(), 3);
    pair.alice().stop_sending();
    pair.deliver_all(secs(10));
}

/// The first cookie is stale when it arrives. Serial numbers of ASCONF and keys follow from the INIT sent after it.
#[test]
fn address_is_added_to_an_association_whose_handshake_started_again() {
    let patient = |config: &mut AssociationConfig| config.max_init_retransmits = 20;
    let mut pair = with_a_spare_path(1).with(patient).build();
    pair.drop_next(8, kind::COOKIE_ECHO);
    pair.alice().connect();
    pair.run_until(Pair::is_connected, secs(120));
    pair.apply(Step::Join(Side::Near, 1));
    pair.apply(Step::Join(Side::Far, 1));
    pair.run_until(|pair| active(pair) == [2, 2], secs(3));
    pair.alice().send_messages(10, 1_400, Streams::one(0));
    pair.deliver_all(secs(5));
}

#[test]
fn added_address_of_one_side_alone_creates_a_path() {
    let mut pair = Pair::paths([link()])
        .scenario(|scenario| scenario.path_to_the_same_address(link()))
        .connected();
    pair.alice().send_forever();
    pair.apply(Step::Leave(Side::Near, 1));
    pair.run_until(|pair| active(pair) == [1, 1], secs(1));
    pair.run_for(secs(4));
    assert!(pair.bob().goodput_in_last(secs(2)) < mbit(10));
    pair.apply(Step::Join(Side::Near, 1));
    pair.run_for(secs(8));
    assert_eq!(active(&mut pair), [2, 2]);
    assert!(pair.bob().goodput_in_last(secs(3)) > mbit(17));
    pair.alice().stop_sending();
    pair.deliver_all(secs(10));
}

//= rfc5061 5.3-26
#[test]
fn removing_an_address_in_mid_transfer_loses_no_data() {
    for leaving in [0, 1] {
        for side in Side::BOTH {
            for policies in [
                PolicyRecipe::recommended(),
                PolicyRecipe::cmt(),
                PolicyRecipe::rfc9260(),
            ] {
                let policies = with_address_changes(policies);
                let mut pair = Pair::two_paths(mbit(10), ms(20)).policies(policies).connected();
                pair.alice().send_messages(4_000, 1_400, Streams::in_turn(4));
                pair.bob().send_messages(1_000, 1_400, Streams::in_turn(4));
                pair.run_for(ms(700));
                pair.apply(Step::Leave(side, leaving));
                pair.cut_path(leaving);
                pair.deliver_all(secs(60));
                let id = PathId(leaving as u8);
                assert!(
                    pair.alice().has_path_change(id.0, PathChange::Removed),
                    "{side:?} {leaving}"
                );
                assert!(
                    pair.bob().has_path_change(id.0, PathChange::Removed),
                    "{side:?} {leaving}"
                );
            }
        }
    }
}

//= rfc5061 5.3-1
#[test]
fn path_ids_are_reused_after_removal() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().send_forever();
    pair.bob().send_forever();
    pair.run_for(secs(1));
    for round in 0..60 {
        let (side, path) = (Side::BOTH[round % 2], round / 2 % 2);
        pair.apply(Step::Leave(side, path));
        pair.run_for(ms(300));
        pair.apply(Step::Join(side, path));
        pair.run_until(|pair| active(pair) == [2, 2], secs(10));
    }
    pair.alice().stop_sending();
    pair.bob().stop_sending();
    pair.deliver_all(secs(30));
    pair.run_for(secs(3));
    let highest = pair.alice().statistics().paths.iter().map(|path| path.id.0).max();
    assert!(highest < Some(16), "numbers of paths are used again: {highest:?}");
}

#[test]
fn lost_asconf_and_lost_asconf_ack_are_recovered() {
    for lost in [kind::ASCONF, kind::ASCONF_ACK] {
        let mut pair = with_a_spare_path(1).connected();
        pair.alice().send_messages(1_000, 1_400, Streams::one(0));
        pair.run_for(ms(500));
        pair.drop_next(2, lost);
        pair.apply(Step::Join(Side::Near, 1));
        pair.apply(Step::Join(Side::Far, 1));
        pair.run_until(|pair| active(pair) == [2, 2], secs(10));
        pair.deliver_all(secs(10));
        assert_eq!(pair.bob().statistics().paths.len(), 2);
    }
}

//= rfc5061 5.3-14, 5.3-15
#[test]
fn removing_the_last_address_is_refused() {
    let mut pair = Pair::one_path(mbit(10), ms(20)).connected();
    let address = pair.simulation.end_of(0, Side::Near);
    let refused = pair
        .alice()
        .act(|_, association, _| association.remove_local_address(address));
    assert_eq!(refused, Err(AddressError::LastAddress(address)));
    let peer_address = pair.simulation.end_of(0, Side::Far);
    let refused = pair
        .alice()
        .act(|_, association, _| association.remove_local_address(peer_address));
    assert_eq!(refused, Err(AddressError::UnknownAddress(peer_address)));
    pair.alice().send_messages(10, 1_400, Streams::one(0));
    pair.deliver_all(secs(5));
}

#[test]
fn add_ip_not_negotiated_is_refused() {
    for (near, far) in [(true, false), (false, true), (false, false)] {
        let mut pair = with_a_spare_path(1)
            .scenario(move |scenario| {
                let config = |on| {
                    let mut config = AssociationConfig::default();
                    config
                        .policies
                        .set("add-ip", if on { "on" } else { "off" })
                        .unwrap();
                    config
                };
                scenario
                    .config_of(Side::Near, config(near))
                    .config_of(Side::Far, config(far))
            })
            .connected();
        let address = pair.simulation.end_of(1, Side::Near);
        let refused = pair
            .alice()
            .act(|_, association, _| association.add_local_address(address));
        assert_eq!(refused, Err(AddressError::NotAgreed));
        pair.alice().send_messages(10, 1_400, Streams::one(0));
        pair.deliver_all(secs(5));
    }
}

//= rfc5061 6-1
#[test]
fn different_shared_keys_prevent_only_address_changes() {
    let keyed = |key: &[u8]| AssociationConfig {
        authentication_key: key.into(),
        ..Default::default()
    };
    let (good, bad) = (keyed(b"good"), keyed(b"bad"));
    let mut pair = with_a_spare_path(1)
        .scenario(move |scenario| scenario.config_of(Side::Near, good).config_of(Side::Far, bad))
        .connected();
    pair.apply(Step::Join(Side::Near, 1));
    pair.alice().send_messages(500, 1_400, Streams::one(0));
    pair.deliver_all(secs(5));
    assert_eq!(pair.bob().statistics().paths.len(), 1);
    assert_eq!(pair.alice().statistics().paths.len(), 1);
    assert!(pair.bob().statistics().packets_dropped > 0);
}

//= rfc5061 5.4-2
#[test]
fn set_primary_moves_the_peers_data() {
    let mut pair = with_a_spare_path(1)
        .policies(with_address_changes(PolicyRecipe::rfc9260()))
        .connected();
    pair.apply(Step::Join(Side::Far, 1));
    pair.apply(Step::Join(Side::Near, 1));
    let address = pair.simulation.end_of(1, Side::Far);
    let asked = pair
        .bob()
        .act(|_, association, _| association.request_peer_primary(address));
    assert_eq!(asked, Ok(()));
    let to_there = |path: &anabranch_proto::PathStatistics| path.addr.remote == address && path.primary;
    pair.run_until(
        |pair| pair.alice().statistics().paths.iter().any(to_there),
        secs(5),
    );
    pair.alice().send_messages(100, 1_400, Streams::one(0));
    pair.deliver_all(secs(5));
    let paths = pair.alice().statistics().paths;
    let forward = paths.iter().find(|path| to_there(path)).expect("it was there");
    assert_eq!(forward.counters.payload_sent, 140_000);
}

#[test]
fn address_is_added_while_the_only_path_is_lossy() {
    let mut pair = with_a_spare_path(1).connected();
    pair.alice().send_messages(2_000, 1_400, Streams::in_turn(4));
    pair.set_loss(0, 0.3);
    pair.apply(Step::Join(Side::Near, 1));
    pair.apply(Step::Join(Side::Far, 1));
    pair.run_until(|pair| active(pair) == [2, 2], secs(60));
    pair.deliver_all(secs(60));
}

/// An ASCONF sent in an outage is acknowledged when it ends; retransmission of data must resume then too.
#[test]
fn data_resumes_soon_after_asconf_ack_ends_an_outage() {
    let mut policies = PolicyRecipe::recommended();
    policies.set("pmtu", "fixed").unwrap();
    for outage in (500..10_000).step_by(100) {
        let mut pair = with_a_spare_path(1).policies(policies).connected();
        pair.alice().send_forever();
        pair.run_for(secs(2));
        pair.cut_path(0);
        pair.cut_path(1);
        pair.run_for(ms(300));
        pair.apply(Step::Join(Side::Near, 1));
        pair.run_for(ms(outage));

        pair.heal_path(0);
        pair.run_until(
            |pair| pair.alice().reachability(0) == Reachability::Active,
            secs(60),
        );
        let before = pair.bob().inbox().messages();
        pair.run_for(ms(120));
        assert!(pair.bob().inbox().messages() > before, "{outage} ms");
    }
}

/// No heartbeats are sent after SHUTDOWN (RFC 9260 §8.3), so its retransmission must find Bob's new address.
#[test]
fn shutdown_completes_after_peer_moved_to_a_new_address() {
    let mut pair = with_a_spare_path(1).connected();
    pair.apply(Step::Join(Side::Near, 1));
    pair.run_for(secs(5));
    pair.drop_all_to_bob(0, kind::SHUTDOWN);
    pair.alice().shutdown();
    pair.run_for(ms(100));
    pair.apply(Step::Join(Side::Far, 1));
    pair.run_for(ms(100));
    pair.cut_path(0);
    pair.run_until(|pair| pair.alice().is_closed(), secs(20));
    assert_eq!(pair.alice().close_reason(), Some(CloseReason::Finished));
}

//= rfc5061 5.1.1-5
#[test]
fn address_change_is_refused_unless_established() {
    let mut pair = with_a_spare_path(1).build();
    let address = pair.simulation.end_of(1, Side::Near);
    pair.alice().connect();
    let add = |pair: &mut Pair| {
        pair.alice()
            .act(|_, association, _| association.add_local_address(address))
    };
    assert_eq!(add(&mut pair), Err(AddressError::NotConnected));
    pair.run_until(Pair::is_connected, secs(2));
    assert_eq!(add(&mut pair), Ok(()));
    pair.run_for(secs(1));
    pair.alice().shutdown();
    pair.run_until(|pair| pair.alice().is_closed(), secs(5));
    assert_eq!(add(&mut pair), Err(AddressError::NotConnected));
    assert!(
        !pair
            .alice()
            .has_event(|event| matches!(event, Event::PeerError(_)))
    );
}

/// Runs for some seconds. The hosts repeat each second what an association has refused, as drivers do.
fn run_with_retries(pair: &mut Pair, seconds: u64) {
    for _ in 0..seconds {
        pair.run_for(secs(1));
        for side in Side::BOTH {
            pair.simulation.act(side, |host, now| {
                let _ = host.remove_former(now);
            });
        }
    }
}

#[test]
fn only_uplink_that_is_renumbered_goes_on() {
    for side in Side::BOTH {
        let mut pair = Pair::one_path(mbit(10), ms(20)).connected();
        pair.alice().send_forever();
        pair.run_for(secs(3));
        for address in ["10.0.9.1", "10.0.9.2", "10.0.9.3"] {
            pair.simulation
                .renumber(side, 0, address.parse().expect("an address"));
            run_with_retries(&mut pair, 12);
            let goodput = pair.bob().goodput_in_last(secs(2));
            assert!(goodput > mbit(8), "{side:?}, {address}: {goodput}");
            assert_eq!(pair.path_counts(), [1, 1], "{side:?}, {address}");
        }
        pair.alice().stop_sending();
        pair.deliver_all(secs(10));
    }
}

#[test]
fn renumbered_uplinks_of_both_sides_leave_one_path_each() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().send_forever();
    pair.run_for(secs(3));
    for round in 0..12_u8 {
        let (side, path) = (Side::BOTH[usize::from(round % 2)], usize::from(round / 2 % 2));
        let address = std::net::Ipv4Addr::new(10, path as u8, 9, round + 1);
        pair.simulation.renumber(side, path, address.into());
        run_with_retries(&mut pair, 6);
    }
    run_with_retries(&mut pair, 10);
    assert_eq!(pair.path_counts(), [2, 2]);
    let goodput = pair.bob().goodput_in_last(secs(3));
    assert!(goodput > mbit(17), "{goodput}");
    pair.alice().stop_sending();
    pair.deliver_all(secs(10));
}

/// Neither end can tell the other its new address.
#[test]
fn association_ends_if_both_ends_of_its_only_path_are_renumbered() {
    let mut pair = Pair::one_path(mbit(10), ms(20)).connected();
    pair.alice().send_messages(10, 1_000, Streams::one(0));
    pair.run_for(secs(3));
    for (side, address) in [(Side::Near, "10.0.8.1"), (Side::Far, "10.0.9.1")] {
        pair.simulation
            .renumber(side, 0, address.parse().expect("an address"));
    }
    run_with_retries(&mut pair, 1_500);
    assert_eq!(pair.alice().close_reason(), Some(CloseReason::PeerUnreachable));
    assert_eq!(pair.bob().close_reason(), Some(CloseReason::PeerUnreachable));
}

/// The second path was not confirmed yet when the address of the first one was replaced.
#[test]
fn both_uplinks_renumbered_before_the_second_is_confirmed_go_on() {
    for side in Side::BOTH {
        let slow = LinkConfig::new(mbit(10), ms(300));
        let mut pair = Pair::paths([link(), slow]).build();
        pair.alice().connect();
        pair.run_for(ms(100));
        assert!(pair.is_connected());
        for path in 0..2_u8 {
            let address = std::net::Ipv4Addr::new(10, path, 9, 1);
            pair.simulation.renumber(side, path.into(), address.into());
        }
        pair.alice().send_forever();
        run_with_retries(&mut pair, 20);
        let goodput = pair.bob().goodput_in_last(secs(2));
        assert!(goodput > mbit(8), "{side:?}: {goodput}");
    }
}

/// The ASCONF is sent from the new address at once: its acknowledgement and that of a heartbeat take two round trips of 40 ms, and the
/// request to delete half of one.
#[test]
fn only_uplink_that_is_renumbered_carries_data_within_round_trips() {
    for policies in [
        PolicyRecipe::recommended(),
        PolicyRecipe::cmt(),
        PolicyRecipe::rfc9260(),
    ] {
        for (side, sender) in [
            (Side::Near, Side::Near),
            (Side::Near, Side::Far),
            (Side::Far, Side::Near),
            (Side::Far, Side::Far),
        ] {
            let policies = with_address_changes(policies);
            let mut pair = Pair::one_path(mbit(10), ms(20)).policies(policies).connected();
            let send = |pair: &mut Pair| match sender {
                Side::Near => pair.alice().send_messages(1, 1_000, Streams::one(0)),
                Side::Far => pair.bob().send_messages(1, 1_000, Streams::one(0)),
            };
            let read = |pair: &mut Pair| pair.alice().inbox().messages() + pair.bob().inbox().messages();
            send(&mut pair);
            pair.run_for(secs(3));
            assert_eq!(read(&mut pair), 1);
            pair.simulation
                .renumber(side, 0, "10.0.9.1".parse().expect("an address"));
            send(&mut pair);
            pair.run_for(ms(300));
            assert_eq!(read(&mut pair), 2, "{side:?} moves, {sender:?} sends");
            pair.run_for(secs(1));
            assert_eq!(pair.path_counts(), [1, 1], "the former path is removed");
        }
    }
}

/// A pair across the links is no longer needed when the path works that was in an outage while the others were confirmed.
#[test]
fn superfluous_paths_are_removed_after_an_outage() {
    let mut pair = with_a_spare_path(2).connected();
    pair.bob().send_messages(10, 1_000, Streams::one(0));
    pair.run_for(secs(3));
    pair.cut_path(1);
    pair.alice().send_forever();
    pair.run_for(secs(5));
    for side in Side::BOTH {
        pair.apply(Step::Join(side, 2));
    }
    pair.run_for(secs(30));
    pair.heal_path(1);
    pair.run_until(|pair| active(pair) == [3, 3], secs(60));
    pair.run_for(secs(1));
    assert_eq!(pair.path_counts(), [3, 3]);
}

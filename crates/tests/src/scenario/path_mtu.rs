//! Path MTU discovery (RFC 8899). What if a path carries smaller packets than its ends?

use anabranch_netsim::LinkConfig;
use anabranch_netsim::link::DropCause;
use anabranch_policy::PolicyRecipe;
use anabranch_proto::PathChange;
use anabranch_sim::app::Streams;
use anabranch_types::Rate;
use anabranch_wire::chunk::kind;

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

fn paths(mtus: impl IntoIterator<Item = u32>) -> PairBuilder {
    Pair::paths(
        mtus.into_iter()
            .map(|mtu| LinkConfig::new(mbit(10), ms(20)).mtu(mtu)),
    )
}

fn with_fixed_packets() -> PolicyRecipe {
    let mut policies = PolicyRecipe::recommended();
    policies.set("pmtu", "fixed").unwrap();
    policies
}

/// Packets dropped because they exceed the MTU of `path` towards Bob.
fn too_large(pair: &Pair, path: usize) -> u64 {
    let link = pair.simulation.paths()[path].forward[0];
    let link = pair.simulation.network().link(link);
    link.stats().dropped(DropCause::TooBig).packets
}

//= rfc9260 7.3-1
//= rfc6951 5.5-2, 5.6-3
//= rfc8831 5-4
#[test]
fn plpmtud_passes_a_black_hole() {
    let mut pair = paths([1_300]).connected();
    pair.alice().send_messages(1_000, 1_400, Streams::one(0));
    pair.deliver_all(secs(10));
    assert!(too_large(&pair, 0) <= 3, "nothing but probes is lost");
    pair.alice().send_messages(5_000, 1_400, Streams::one(0));
    pair.run_until(|pair| pair.alice().path(0).mtu >= 1_275, secs(20));
    pair.deliver_all(secs(10));
    assert!(too_large(&pair, 0) <= 10, "nothing but probes is lost");
    assert!(pair.alice().path(0).mtu <= 1_300);
    assert_eq!(pair.alice().path(0).counters.timeouts, 0);
}

#[test]
fn black_hole_blocks_transfer_without_plpmtud() {
    let mut pair = paths([1_300]).policies(with_fixed_packets()).connected();
    pair.alice().send_messages(1_000, 1_400, Streams::one(0));
    pair.run_for(secs(20));
    assert_eq!(pair.bob().inbox().messages(), 0);
}

#[test]
fn clean_path_needs_two_mtu_probes() {
    let time_of = |policies| {
        let mut pair = paths([1_500]).policies(policies).connected();
        let began = pair.simulation.now();
        pair.alice().send_messages(4_000, 1_400, Streams::one(0));
        pair.deliver_all(secs(30));
        (
            pair.alice().path(0).counters.mtu_probes,
            pair.simulation.now() - began,
        )
    };
    let (probes, with) = time_of(PolicyRecipe::recommended());
    let (none, without) = time_of(with_fixed_packets());
    println!("{with:?} with discovery, {without:?} without");
    assert_eq!((probes, none), (2, 0));
    assert!(with < without + without / 100);
}

#[test]
fn raised_path_mtu_is_discovered() {
    let mut pair = paths([1_300]).connected();
    pair.alice().send_messages(100, 1_400, Streams::one(0));
    pair.deliver_all(secs(10));
    pair.run_for(secs(60));
    pair.set_mtu(0, 1_500);
    pair.run_for(secs(600));
    assert_eq!(pair.alice().path(0).mtu, 1_500);
    assert!(pair.alice().has_path_change(0, PathChange::Mtu(1_500)));
}

#[test]
fn lowered_path_mtu_loses_no_data() {
    let mut pair = paths([1_500]).connected();
    pair.alice().send_forever();
    pair.run_for(secs(5));
    pair.set_mtu(0, 1_400);
    pair.run_until(|pair| pair.alice().path(0).mtu < 1_400, secs(3));
    pair.run_for(secs(15));
    assert!((1_375..=1_400).contains(&pair.alice().path(0).mtu));
    let goodput = pair.bob().goodput_in_last(secs(5));
    assert!(goodput > mbit(9), "{goodput}");
    pair.alice().stop_sending();
    pair.deliver_all(secs(10));
}

//= rfc9260 6-9, 6.9-6, 6.9-11
#[test]
fn chunks_too_large_for_lowered_mtu_move_to_another_path() {
    let mut pair = paths([1_500, 1_500]).connected();
    pair.alice().send_forever();
    pair.run_for(secs(5));
    pair.set_mtu(1, 1_300);
    pair.run_for(secs(15));
    assert!((1_275..=1_300).contains(&pair.alice().path(1).mtu));
    assert_eq!(pair.alice().path(0).mtu, 1_500);
    let goodput = pair.bob().goodput_in_last(secs(5));
    assert!(goodput > mbit(17), "{goodput}");
    pair.alice().stop_sending();
    pair.deliver_all(secs(10));
}

#[test]
fn bundled_small_messages_reveal_a_black_hole() {
    let mut pair = paths([1_500]).connected();
    pair.alice().send_messages(20_000, 100, Streams::one(0));
    pair.run_for(ms(500));
    pair.set_mtu(0, 1_300);
    pair.deliver_all(secs(20));
}

//= rfc9260 6.9-7
#[test]
fn large_message_among_small_ones_passes_a_black_hole() {
    let mut pair = paths([1_500]).connected();
    pair.alice().send_messages(1_000, 1_400, Streams::one(0));
    pair.deliver_all(secs(10));
    pair.set_mtu(0, 1_300);
    for _ in 0..20 {
        pair.alice().send_messages(1, 1_400, Streams::one(0));
        for _ in 0..10 {
            pair.alice().send_messages(1, 50, Streams::one(1));
            pair.run_for(ms(10));
        }
    }
    pair.deliver_all(secs(10));
}

//= rfc9260 7.3-1, 7.3-2, 7.3-3, 7.3-4
#[test]
fn fragments_fit_the_smallest_path_mtu() {
    let mut pair = paths([1_500, 1_300]).connected();
    pair.alice().send_forever();
    pair.run_for(secs(20));
    assert_eq!(pair.alice().path(0).mtu, 1_500);
    assert!((1_275..=1_300).contains(&pair.alice().path(1).mtu));
    let goodput = pair.bob().goodput_in_last(secs(10));
    assert!(goodput > mbit(15), "{goodput}");
    pair.alice().stop_sending();
    pair.deliver_all(secs(10));
}

#[test]
fn inactive_path_does_not_limit_fragment_size() {
    let mut pair = paths([1_500, 1_300]).connected();
    pair.alice().send_forever();
    pair.run_for(secs(10));
    pair.cut_path(1);
    pair.run_for(secs(120));
    let payload = pair.alice().path(0).counters.payload_sent;
    let packets = pair.alice().path(0).counters.packets_sent;
    pair.run_for(secs(5));
    let payload = pair.alice().path(0).counters.payload_sent - payload;
    let packets = pair.alice().path(0).counters.packets_sent - packets;
    assert!(payload / packets > 1_300, "{} bytes in each", payload / packets);
}

#[test]
fn idle_path_is_probed_and_does_not_limit_fragment_size() {
    let mut policies = PolicyRecipe::recommended();
    policies.set("path-scheduler", "primary").unwrap();
    let mut pair = paths([1_500, 1_500]).policies(policies).connected();
    pair.alice().send_messages(4_000, 1_400, Streams::one(0));
    pair.deliver_all(secs(30));
    assert_eq!(pair.alice().path(1).counters.payload_sent, 0);
    assert_eq!(pair.alice().path(1).mtu, 1_500);
    let packets = pair.alice().path(0).counters.packets_sent;
    assert!(
        packets < 4_200,
        "{packets} packets for 4,000 messages that fit one each"
    );
}

#[test]
fn lost_mtu_probes_do_not_reduce_cwnd_or_count_errors() {
    let mut pair = paths([1_500]).build();
    pair.drop_next(2, kind::PAD);
    pair.alice().connect();
    pair.alice().send_messages(3_000, 1_400, Streams::one(0));
    pair.deliver_all(secs(30));
    let path = pair.alice().path(0);
    assert_eq!(path.mtu, 1_500);
    assert_eq!(path.counters.mtu_probes, 4);
    assert!(
        !pair
            .alice()
            .has_event(|event| matches!(event, anabranch_proto::Event::Path(seen)
        if matches!(seen.change, PathChange::Reachability(state)
            if state != anabranch_policy::Reachability::Active)))
    );
}

/// Packets of every size are lost, as when they leave by the wrong device: that says nothing about the packet size.
#[test]
fn outage_does_not_lower_path_mtu() {
    for (count, outage) in [(1, 3), (1, 10), (1, 20), (1, 50), (2, 3), (2, 50)] {
        let mut pair = paths(vec![1_500; count]).connected();
        pair.alice().send_forever();
        pair.run_for(secs(2));
        assert_eq!(pair.alice().path(0).mtu, 1_500);
        (0..count).for_each(|path| pair.cut_path(path));
        for second in 0..outage {
            pair.run_for(secs(1));
            let mtu = pair.alice().path(0).mtu;
            assert!(mtu >= 1_200, "{mtu} after {second} of {outage} s, {count} paths");
        }
        (0..count).for_each(|path| pair.heal_path(path));
        pair.run_for(secs(3));
        for path in 0..count {
            let mtu = pair.alice().path(path as u8).mtu;
            assert_eq!(mtu, 1_500, "path {path} after {outage} s, {count} paths");
        }
    }
}

/// Probes that random loss takes away may count as too large. Larger sizes are probed again 10, 20 and 40 s later.
#[test]
fn heavy_loss_lowers_mtu_for_less_than_80_s() {
    for seed in 0..12 {
        let mut pair = paths([1_500]).seed(seed).connected();
        pair.alice().send_forever();
        pair.run_for(secs(2));
        pair.set_loss(0, 0.3);
        pair.run_for(secs(30));
        let lowest = pair.alice().path(0).mtu;
        pair.set_loss(0, 0.0);
        pair.run_for(secs(80));
        let mtu = pair.alice().path(0).mtu;
        println!("seed {seed}: {lowest}, then {mtu}");
        assert_eq!(mtu, 1_500, "seed {seed}");
        assert!(pair.bob().goodput_in_last(secs(5)) > Rate::mbit(8));
    }
}

#[test]
fn jumbo_path_mtu_is_discovered() {
    let mut pair = paths([9_000]).with(|config| config.mtu = u16::MAX).connected();
    pair.alice().send_messages(2_000, 20_000, Streams::one(0));
    pair.run_for(secs(20));
    assert!(pair.alice().path(0).mtu > 8_800, "{}", pair.alice().path(0).mtu);
    pair.deliver_all(secs(60));
}

#[test]
fn idle_association_gets_no_mtu_probes() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.run_for(secs(100));
    assert_eq!(pair.alice().path(0).counters.mtu_probes, 0);
    assert_eq!(pair.bob().path(1).counters.mtu_probes, 0);
}

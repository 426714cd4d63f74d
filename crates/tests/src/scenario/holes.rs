//! Black holes: packets above a size are dropped, even if IP may fragment them. Does the transfer continue?

use anabranch_netsim::LinkConfig;
use anabranch_policy::{PolicyRecipe, Reachability};
use anabranch_proto::{AssociationConfig, CloseReason, Event, PathChange};
use anabranch_types::Rate;
use anabranch_wire::chunk::kind;

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

/// Whether IPv6 is used, the maximum packet size, and the start of the black hole in seconds.
const HOLES: [(bool, u32, u64); 5] = [
    (false, 1_280, 4),
    (false, 1_300, 0),
    (false, 1_400, 4),
    (true, 1_280, 0),
    (true, 1_400, 4),
];

fn ip_fragmentation() -> PolicyRecipe {
    let mut policies = PolicyRecipe::recommended();
    policies.set("oversize", "ip-fragmentation").unwrap();
    policies
}

/// Disjoint paths of these rates in Mbit/s.
fn paths(rates: &'static [u64], ipv6: bool) -> PairBuilder {
    Pair::paths([]).scenario(move |scenario| {
        rates.iter().fold(scenario, |scenario, rate| {
            let link = LinkConfig::new(mbit(*rate), ms(20));
            if ipv6 {
                scenario.path_v6(link)
            } else {
                scenario.path(link)
            }
        })
    })
}

/// Sends for a minute. The paths in `holed` drop packets above `size` from `seconds` on. Asserts that all data arrives, at four fifths of
/// the possible rate at least.
#[track_caller]
fn assert_goes_on(mut pair: Pair, rates: &[u64], holed: &[usize], size: u32, seconds: u64) {
    pair.alice().send_forever();
    pair.run_for(secs(seconds));
    holed.iter().for_each(|path| pair.set_hole(*path, size));
    pair.run_for(secs(60 - seconds));
    let sum: u64 = rates.iter().sum();
    let goodput = pair.bob().goodput_in_last(secs(60));
    println!("{rates:?} hole of {size} on {holed:?} after {seconds} s: {goodput}");
    for path in holed {
        // Packet lengths are multiples of four bytes, but the limit need not be.
        assert!(u32::from(pair.alice().path(*path as u8).mtu) < size + 4);
        assert_eq!(pair.alice().reachability(*path as u8), Reachability::Active);
    }
    assert!(
        goodput > Rate::bits_per_second(sum * 800_000),
        "{goodput} of {sum} Mbit/s: {size}, {holed:?}"
    );
    pair.alice().stop_sending();
    pair.deliver_all(secs(40));
}

#[test]
fn hole_on_the_only_path_shrinks_packets() {
    for (ipv6, size, seconds) in HOLES {
        let pair = paths(&[5], ipv6).connected();
        assert_goes_on(pair, &[5], &[0], size, seconds);
    }
}

/// With the 29 bytes of a seal, packets have the 1,280 bytes that every IPv6 path carries.
#[test]
fn packets_of_ipv6_below_a_lower_layer_fit_its_smallest_mtu() {
    for seconds in [0, 4] {
        let below_a_seal = |config: &mut AssociationConfig| {
            config.mtu -= 29;
            config.lower_layer_overhead = 29;
        };
        let pair = paths(&[5], true).with(below_a_seal).connected();
        assert_goes_on(pair, &[5], &[0], 1_280 - 29, seconds);
    }
}

#[test]
fn hole_on_all_paths_shrinks_packets() {
    for (ipv6, size, seconds) in HOLES {
        let pair = paths(&[5, 10], ipv6).connected();
        assert_goes_on(pair, &[5, 10], &[0, 1], size, seconds);
    }
}

#[test]
fn hole_on_one_of_two_paths_leaves_both_in_use() {
    for holed in [0, 1] {
        for (ipv6, size, seconds) in HOLES {
            let pair = paths(&[5, 10], ipv6).connected();
            assert_goes_on(pair, &[5, 10], &[holed], size, seconds);
        }
    }
}

#[test]
fn large_chunks_move_to_another_path_without_parts() {
    for holed in [0, 1] {
        let pair = paths(&[5, 10], false).policies(ip_fragmentation()).connected();
        assert_goes_on(pair, &[5, 10], &[holed], 1_300, 4);
    }
}

#[test]
fn chunk_in_parts_survives_the_loss_of_a_part() {
    let mut pair = paths(&[5], false).connected();
    pair.alice().send_forever();
    pair.run_for(secs(4));
    pair.set_hole(0, 1_300);
    pair.drop_next(5, kind::PART);
    pair.run_for(secs(10));
    pair.alice().stop_sending();
    pair.deliver_all(secs(40));
}

#[test]
fn association_without_progress_ends_with_that_reason() {
    let mut pair = paths(&[10, 10], false).policies(ip_fragmentation()).connected();
    pair.alice().send_forever();
    pair.run_for(secs(4));
    pair.set_hole(0, 1_300);
    pair.set_hole(1, 1_300);
    pair.run_until(|pair| pair.alice().is_closed(), secs(150));
    assert_eq!(pair.alice().close_reason(), Some(CloseReason::NoProgress));
    let is_change = |event: &Event| matches!(event, Event::Path(path) if matches!(path.change, PathChange::Reachability(_)));
    let alice = pair.alice();
    let events = alice.conversation().events().iter();
    let changes = events.filter(|(_, event)| is_change(event)).count();
    println!("{changes} changes of paths");
    assert!(changes < 60, "{changes}");
}

#[test]
fn receiver_without_room_is_waited_for() {
    let mut pair = paths(&[5], false).connected();
    pair.bob().set_reading(anabranch_sim::app::Reading::Paused);
    pair.alice().send_forever();
    pair.run_for(secs(600));
    assert!(pair.is_connected());
    pair.bob().set_reading(anabranch_sim::app::Reading::Eager);
    pair.alice().stop_sending();
    pair.deliver_all(secs(120));
}

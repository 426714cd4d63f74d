//! Reachability probes. How soon does a path carry data again after an outage?

use core::time::Duration;

use anabranch_policy::{PolicyRecipe, Reachability};
use anabranch_types::Rate;

use crate::fixture::{Pair, mbit, ms, secs};

/// Lengths of outages.
const OUTAGES: [u64; 6] = [1, 3, 5, 10, 20, 60];
/// Limit: a probe is sent each second, and its answer takes a round trip of 40 ms and a little queueing delay.
const RETURN: Duration = ms(1_000 + 200);

fn without_probes() -> PolicyRecipe {
    let mut policies = PolicyRecipe::recommended();
    policies.set("probing", "heartbeat").unwrap();
    policies
}

/// A transfer over two paths, of which those in `cut` fail for `outage`.
fn after_outage(cut: &[usize], outage: Duration, policies: PolicyRecipe) -> Pair {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).policies(policies).connected();
    pair.alice().send_forever();
    pair.run_for(secs(2));
    cut.iter().for_each(|path| pair.cut_path(*path));
    pair.run_for(outage);
    cut.iter().for_each(|path| pair.heal_path(*path));
    pair
}

fn is_active(pair: &mut Pair, path: u8) -> bool {
    pair.alice().reachability(path) == Reachability::Active
}

#[track_caller]
fn assert_goodput(pair: &mut Pair, expected: Rate) {
    pair.run_for(secs(4));
    let goodput = pair.bob().goodput_in_last(secs(2));
    assert!(goodput > expected, "{goodput}");
}

#[test]
fn one_of_two_paths_returns_soon_after_an_outage() {
    for outage in OUTAGES {
        let mut pair = after_outage(&[1], secs(outage), PolicyRecipe::recommended());
        pair.run_until(|pair| is_active(pair, 1), RETURN);
        let sent = pair.alice().path(1).counters.payload_sent;
        pair.run_for(ms(100));
        assert!(pair.alice().path(1).counters.payload_sent > sent, "{outage} s");
        assert_goodput(&mut pair, mbit(18));
    }
}

#[test]
fn both_paths_return_soon_after_a_common_outage() {
    for outage in OUTAGES {
        let mut pair = after_outage(&[0, 1], secs(outage), PolicyRecipe::recommended());
        pair.run_until(|pair| is_active(pair, 0) && is_active(pair, 1), RETURN);
        assert_goodput(&mut pair, mbit(18));
    }
}

#[test]
fn only_path_returns_soon_after_an_outage() {
    for outage in OUTAGES {
        let mut pair = Pair::one_path(mbit(10), ms(20)).connected();
        pair.alice().send_forever();
        pair.run_for(secs(2));
        pair.cut_path(0);
        pair.run_for(secs(outage));
        pair.heal_path(0);
        pair.run_until(|pair| is_active(pair, 0), RETURN);
        assert_goodput(&mut pair, mbit(9));
    }
}

#[test]
fn path_without_probes_returns_at_its_heartbeat() {
    let mut pair = after_outage(&[1], secs(20), without_probes());
    pair.run_for(RETURN);
    assert!(!is_active(&mut pair, 1));
}

#[test]
fn unanswered_probes_do_not_end_association_sooner() {
    for paths in [1, 2, 4] {
        let end_of = |policies: PolicyRecipe| {
            let links = [(); 4].map(|()| anabranch_netsim::LinkConfig::new(mbit(10), ms(20)));
            let links = links.into_iter().take(paths);
            let mut pair = Pair::paths(links).policies(policies).connected();
            pair.alice().send_forever();
            pair.run_for(secs(2));
            (0..paths).for_each(|path| pair.cut_path(path));
            let cut_at = pair.simulation.now();
            pair.run_until(|pair| pair.alice().is_closed(), secs(1_000));
            pair.simulation.now() - cut_at
        };
        let (with, without) = (end_of(PolicyRecipe::recommended()), end_of(without_probes()));
        println!("{paths} paths: {with:?} with probes, {without:?} without");
        assert_eq!(with, without, "{paths} paths");
    }
}

#[test]
fn idle_association_gets_no_probes() {
    let heartbeats_of = |policies: PolicyRecipe| {
        let mut pair = Pair::two_paths(mbit(10), ms(20)).policies(policies).connected();
        pair.run_for(secs(1));
        pair.cut_path(1);
        pair.run_for(secs(300));
        pair.alice().path(1).counters.packets_sent
    };
    assert_eq!(
        heartbeats_of(PolicyRecipe::recommended()),
        heartbeats_of(without_probes())
    );
}

#[test]
fn dead_path_is_probed_each_second_while_data_waits() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().send_forever();
    pair.run_for(secs(2));
    pair.cut_path(1);
    pair.run_for(secs(60));
    assert!(!is_active(&mut pair, 1));
    let before = pair.alice().path(1).counters.packets_sent;
    pair.run_for(secs(100));
    let probes = pair.alice().path(1).counters.packets_sent - before;
    assert!((99..=105).contains(&probes), "{probes}");
    pair.alice().stop_sending();
    pair.deliver_all(secs(10));
    let before = pair.alice().path(1).counters.packets_sent;
    pair.run_for(secs(25));
    assert!(pair.alice().path(1).counters.packets_sent <= before + 1);
}

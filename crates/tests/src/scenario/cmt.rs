//! Concurrent multipath transfer (CMT). What goodput do several paths reach together?

use std::time::Duration;

use anabranch_netsim::link::{Loss, QueueConfig};
use anabranch_netsim::{LinkConfig, Probability};
use anabranch_policy::PolicyRecipe;
use anabranch_types::Rate;

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

/// Steady-state goodput from Alice to Bob.
fn goodput(builder: PairBuilder) -> Rate {
    let mut pair = builder.connected();
    pair.alice().send_forever();
    pair.run_for(secs(30));
    let goodput = pair.bob().goodput_in_last(secs(20));
    assert_eq!(pair.bob().inbox().delivery_error(), None);
    goodput
}

/// User data rate of a link: 1,400 of 1,456 bytes per packet.
fn usable(rate: Rate) -> f64 {
    rate.as_bits_per_second() as f64 * 1_400.0 / 1_456.0
}

#[track_caller]
fn reaches(goodput: Rate, share: f64, of: &[Rate]) {
    let sum: f64 = of.iter().map(|rate| usable(*rate)).sum();
    let part = goodput.as_bits_per_second() as f64 / sum;
    println!("{goodput}, {:.1} % of what there is", part * 100.0);
    assert!(part >= share, "{goodput} is {part:.3} of what there is");
}

fn link(rate: Rate, delay: Duration) -> LinkConfig {
    LinkConfig::new(rate, delay)
}

fn profiles_that_use_all_paths() -> [PolicyRecipe; 2] {
    [PolicyRecipe::recommended(), PolicyRecipe::cmt()]
}

#[test]
fn single_path_reaches_link_capacity() {
    let goodput = goodput(Pair::one_path(mbit(20), ms(20)));
    reaches(goodput, 0.97, &[mbit(20)]);
}

#[test]
fn cmt_over_two_equal_paths_doubles_goodput() {
    for policies in profiles_that_use_all_paths() {
        let goodput = goodput(Pair::two_paths(mbit(10), ms(20)).policies(policies));
        reaches(goodput, 0.9, &[mbit(10), mbit(10)]);
    }
}

//= rfc9260 6.4-1
#[test]
fn standard_profile_uses_one_path_at_a_time() {
    let goodput = goodput(Pair::two_paths(mbit(10), ms(20)).policies(PolicyRecipe::rfc9260()));
    assert!(goodput < mbit(10));
    reaches(goodput, 0.85, &[mbit(10)]);
}

#[test]
fn cmt_over_unequal_paths_reaches_90_percent_of_sum() {
    let goodput = goodput(Pair::paths([link(mbit(10), ms(10)), link(mbit(40), ms(30))]));
    assert!(goodput > mbit(40));
    reaches(goodput, 0.9, &[mbit(10), mbit(40)]);
}

#[test]
fn cmt_over_three_paths_reaches_90_percent_of_sum() {
    let goodput = goodput(Pair::paths([
        link(mbit(10), ms(10)),
        link(mbit(20), ms(30)),
        link(mbit(5), ms(60)),
    ]));
    reaches(goodput, 0.9, &[mbit(10), mbit(20), mbit(5)]);
}

#[test]
fn bidirectional_transfer_fills_both_directions() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().send_forever();
    pair.bob().send_forever();
    pair.run_for(secs(30));
    reaches(pair.bob().goodput_in_last(secs(20)), 0.85, &[mbit(10), mbit(10)]);
    reaches(
        pair.alice().goodput_in_last(secs(20)),
        0.85,
        &[mbit(10), mbit(10)],
    );
}

#[test]
fn cmt_fills_a_shared_bottleneck_without_overload() {
    let builder = Pair::paths([link(mbit(100), ms(5)), link(mbit(100), ms(5))])
        .scenario(|scenario| scenario.bottleneck(LinkConfig::new(mbit(20), ms(10))));
    reaches(goodput(builder), 0.95, &[mbit(20)]);
}

#[test]
fn lossy_path_does_not_slow_the_clean_path() {
    let lossy = link(mbit(10), ms(20)).loss(Loss::Bernoulli(Probability::of(0.02)));
    let goodput = goodput(Pair::paths([link(mbit(10), ms(20)), lossy]));
    assert!(goodput > mbit(10), "{goodput}");
    reaches(goodput, 0.95, &[mbit(10)]);
}

#[test]
fn short_queue_costs_little_goodput() {
    let short = |rate| link(rate, ms(20)).queue(QueueConfig::Packets(20));
    let goodput = goodput(Pair::paths([short(mbit(10)), short(mbit(10))]));
    reaches(goodput, 0.85, &[mbit(10), mbit(10)]);
}

/// Split fast retransmit: reordering between paths does not indicate loss.
#[test]
fn split_fast_retransmit_ignores_reordering_between_paths() {
    let retransmissions = |loss: &str| {
        let mut policies = PolicyRecipe::cmt();
        policies.set("loss", loss).unwrap();
        // A fixed window that never overflows the queue, so nothing is lost.
        policies.set("cc", "fixed").unwrap();
        let paths = [link(mbit(20), ms(5)), link(mbit(20), ms(50))];
        let mut pair = Pair::paths(paths).policies(policies).connected();
        pair.alice().send_forever();
        pair.run_for(secs(10));
        pair.alice()
            .statistics()
            .paths
            .iter()
            .map(|path| path.counters.fast_retransmits)
            .sum::<u64>()
    };
    assert_eq!(retransmissions("miss-count"), 0);
    assert!(retransmissions("miss-count-association") > 100);
}

/// Delayed acknowledgement for CMT: reordering between paths does not cause immediate SACKs.
#[test]
fn dac_sends_fewer_sacks_under_reordering() {
    let sacks_per_packet = |ack: &str| {
        let mut policies = PolicyRecipe::cmt();
        policies.set("ack-policy", ack).unwrap();
        let paths = [link(mbit(20), ms(5)), link(mbit(20), ms(50))];
        let mut pair = Pair::paths(paths).policies(policies).connected();
        pair.alice().send_forever();
        pair.run_for(secs(10));
        let data = pair.alice().tally().packets_sent as f64;
        pair.bob().statistics().sacks_sent as f64 / data
    };
    let (dac, standard) = (sacks_per_packet("dac"), sacks_per_packet("rfc9260"));
    assert!(dac < 0.6, "{dac}");
    assert!(standard > 0.8, "{standard}");
}

/// Congestion window update for CMT: cwnd grows while another path blocks the cumulative TSN.
#[test]
fn cuc_grows_cwnd_while_other_path_blocks_cumulative_tsn() {
    let carried = |growth: &str| {
        let mut policies = PolicyRecipe::cmt();
        policies.set("cc.growth", growth).unwrap();
        let paths = [link(mbit(50), ms(5)), link(mbit(1), ms(400))];
        let mut pair = Pair::paths(paths).policies(policies).connected();
        pair.run_for(secs(2));
        pair.alice().send_forever();
        // Data on the long path is acknowledged after 0.8 s at the earliest.
        pair.run_for(ms(800));
        pair.alice().path(0).counters.payload_sent
    };
    let (cuc, standard) = (carried("cuc-v2"), carried("cumack"));
    println!("{cuc} bytes with, {standard} without");
    assert!(cuc > 2 * standard, "{cuc} bytes with, {standard} without");
}

/// SACKs for the long path also arrive on the short one, so its window is larger than the data of one RTT. Pacing
/// spreads the window over the RTT, so the rate grows only if cwnd grows although it is never full.
#[test]
fn long_fat_path_fills_with_sacks_on_a_shorter_path() {
    let paths = [link(mbit(10), ms(1)), link(mbit(160), ms(50))];
    let mut pair = Pair::paths(paths).connected();
    pair.alice().send_forever();
    pair.run_for(secs(20));
    let goodput = pair.bob().goodput_in_last(secs(10));
    println!("{goodput}");
    assert!(goodput > mbit(130), "{goodput}");
}

/// Proportional rate reduction: retransmissions do not overflow the same queue again.
#[test]
fn prr_loses_fewer_retransmissions() {
    let lost = |recovery: &str| {
        let mut policies = PolicyRecipe::recommended();
        policies.set("recovery", recovery).unwrap();
        let mut pair = Pair::one_path(mbit(40), ms(50)).policies(policies).connected();
        pair.alice().send_forever();
        pair.run_for(secs(20));
        pair.alice().path(0).counters.fast_retransmits
    };
    let (proportional, at_once) = (lost("prr"), lost("window"));
    println!("{proportional} chunks lost in proportion, {at_once} at once");
    assert!(proportional * 20 < at_once * 19, "{proportional} and {at_once}");
}

/// Fast recovery is per path: pending retransmissions of another path do not prolong it.
#[test]
fn fast_recovery_ends_while_another_path_is_dead() {
    let mut policies = PolicyRecipe::cmt();
    policies.set("rtx-policy", "same").unwrap();
    let mut pair = Pair::two_paths(mbit(10), ms(20)).policies(policies).connected();
    pair.alice().send_forever();
    pair.run_for(secs(5));
    pair.cut_path(1);
    let recovers = |pair: &mut Pair| {
        pair.alice()
            .act(|_, association, _| association.path_facts()[0].in_recovery)
    };
    // After T3 has declared the other path's chunks lost.
    pair.run_until(|pair| pair.alice().path(1).counters.timeouts > 0, secs(5));
    pair.set_loss(0, 0.05);
    pair.run_until(recovers, secs(2));
    pair.set_loss(0, 0.0);
    pair.run_until(|pair| !recovers(pair), ms(500));
}

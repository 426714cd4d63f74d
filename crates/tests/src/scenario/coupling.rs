//! Coupled congestion control. What share of a bottleneck do coupled paths take, and what does coupling cost?

use anabranch_netsim::link::{Loss, QueueConfig};
use anabranch_netsim::{LinkConfig, Probability};
use anabranch_policy::PolicyRecipe;
use anabranch_proto::AssociationConfig;
use anabranch_sim::CrossTraffic;
use anabranch_sim::app::{Bulk, Conversation, Streams, Workload};
use anabranch_types::Rate;

use crate::fixture::{Pair, mbit, ms, secs};

const COUPLED: [&str; 5] = ["cmt-rpv1", "cmt-rpv2", "lia", "olia", "balia"];

fn with_control(name: &str) -> PolicyRecipe {
    let mut policies = PolicyRecipe::cmt();
    policies.set("cc", name).unwrap();
    policies
}

/// The same with each path in a separate group.
fn separately(name: &str) -> PolicyRecipe {
    let mut policies = with_control(name);
    policies.set("cc.groups", "0,1").unwrap();
    policies
}

/// A standard association on one path.
fn standard() -> AssociationConfig {
    AssociationConfig {
        policies: PolicyRecipe::rfc9260(),
        ..AssociationConfig::default()
    }
}

fn access() -> LinkConfig {
    LinkConfig::new(mbit(100), ms(5)).jitter(ms(1))
}

/// Share of a full bottleneck that an association with two paths gets beside one with a single path.
fn share_at_bottleneck(policies: PolicyRecipe, seed: u64) -> f64 {
    let cross_traffic = || Conversation::new([Workload::Bulk(Bulk::new(1_400, Streams::one(0)))]);
    let builder = Pair::paths([access(), access()])
        .seed(seed)
        .policies(policies)
        .scenario(move |scenario| {
            let bottleneck = LinkConfig::new(mbit(20), ms(10)).queue(QueueConfig::Packets(50));
            scenario.bottleneck(bottleneck).cross_traffic(CrossTraffic::sctp(
                access(),
                standard(),
                cross_traffic(),
            ))
        });
    let mut pair = builder.connected();
    pair.alice().send_forever();
    pair.run_for(ms(100 * seed));
    pair.simulation.connect_cross_traffic();
    pair.run_for(secs(20));
    let before = pair.simulation.delivered_by_cross_traffic(0);
    pair.run_for(secs(100));
    let end = pair.simulation.now();
    let ours = pair.bob().inbox().bytes_between(end - secs(100), end);
    let theirs = pair.simulation.delivered_by_cross_traffic(0) - before;
    let total = Rate::of(ours + theirs, secs(100)).unwrap();
    assert!(total > mbit(18), "the bottleneck is full: {total}");
    ours as f64 / (ours + theirs) as f64
}

fn mean_share(policies: PolicyRecipe) -> f64 {
    let shares = [1, 2].map(|seed| share_at_bottleneck(policies, seed));
    shares.iter().sum::<f64>() / 2.0
}

/// Sarnow 2017, §3.2: two independent windows take two thirds beside one.
#[test]
fn two_uncoupled_paths_take_two_thirds_of_a_bottleneck() {
    let share = mean_share(with_control("cmt"));
    println!("cmt: {share:.3}");
    assert!((0.62..0.72).contains(&share), "{share}");
}

/// Goal 2 of RFC 6356 (do no harm): a multipath flow takes no more of a shared link than a single-path flow would.
#[test]
fn two_coupled_paths_take_half_of_a_bottleneck() {
    for name in COUPLED {
        let share = mean_share(with_control(name));
        println!("{name}: {share:.3}");
        assert!((0.42..0.58).contains(&share), "{name}: {share}");
    }
}

/// Two disjoint paths with 0.25 % loss, so that windows, not links, limit the rate.
fn on_disjoint_paths(policies: PolicyRecipe) -> Pair {
    let link = || LinkConfig::new(mbit(20), ms(10)).loss(Loss::Bernoulli(Probability::of(0.0025)));
    let mut pair = Pair::paths([link(), link()]).policies(policies).connected();
    pair.alice().send_forever();
    pair.run_for(secs(60));
    pair
}

/// Sarnow 2017, appendix A.2: on disjoint paths coupling costs throughput, but reaches at least that of one path.
#[test]
fn coupled_cc_on_disjoint_paths_matches_at_least_one_path() {
    let goodput = |policies| on_disjoint_paths(policies).bob().goodput_in_last(secs(50));
    let uncoupled = goodput(with_control("cmt"));
    let alone = {
        let mut policies = with_control("cmt");
        policies.set("path-scheduler", "primary").unwrap();
        goodput(policies)
    };
    println!("cmt: {uncoupled}, one path: {alone}");
    let bits = |rate: Rate| rate.as_bits_per_second() as f64;
    for name in COUPLED {
        let coupled = goodput(with_control(name));
        println!("{name}: {coupled}");
        assert!(bits(coupled) < 0.8 * bits(uncoupled), "{name}: {coupled}");
        assert!(bits(coupled) > 0.95 * bits(alone), "{name}: {coupled}");
    }
}

/// Same packets at the same times.
#[test]
fn separate_groups_equal_uncoupled_congestion_control() {
    let trace = |policies| on_disjoint_paths(policies).simulation.outcome().trace_hash;
    let uncoupled = trace(with_control("cmt"));
    for name in COUPLED {
        assert_eq!(trace(separately(name)), uncoupled, "{name}");
        assert_ne!(trace(with_control(name)), uncoupled, "{name}");
    }
}

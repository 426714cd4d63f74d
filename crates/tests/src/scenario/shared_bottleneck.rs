//! Detection of shared bottlenecks. Which paths are controlled as one flow, and what share do they take?

use anabranch_netsim::link::{Loss, QueueConfig};
use anabranch_netsim::{LinkChange, LinkConfig, Probability};
use anabranch_policy::{BufferSize, PolicyRecipe};
use anabranch_sim::tcp::{TcpApp, TcpConfig};
use anabranch_sim::{CrossTraffic, Side, Step};
use anabranch_types::Rate;

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

fn recipe(detection: &str) -> PolicyRecipe {
    let mut recipe = PolicyRecipe::recommended();
    recipe.set("shared-bottleneck", detection).unwrap();
    recipe
}

fn over(links: Vec<LinkConfig>, detection: &str) -> PairBuilder {
    Pair::paths(links).policies(recipe(detection)).with(|config| {
        config.send_buffer = BufferSize::Fixed(8 << 20);
        config.receive_buffer = BufferSize::Fixed(8 << 20);
    })
}

/// A link before the bottleneck. It delays packets by up to the time that the bottleneck takes for one: otherwise phases would decide
/// whose packets find the queue full.
fn access(delay: u64) -> LinkConfig {
    LinkConfig::unlimited(ms(delay)).jitter(core::time::Duration::from_micros(600))
}

/// 20 Mbit/s and 40 ms with all links: 67 packets.
fn bottleneck() -> LinkConfig {
    LinkConfig::new(mbit(20), ms(18)).queue(QueueConfig::Packets(134))
}

/// The bottleneck of each path as the sender knows it.
fn groups(pair: &mut Pair) -> Vec<Option<u8>> {
    let alice = pair.alice();
    let facts = alice.association().expect("she is connected").path_facts();
    facts
        .iter()
        .map(|path| path.bottleneck.map(|leader| leader.0))
        .collect()
}

/// Paths through one bottleneck beside a TCP flow with CUBIC, which started 1 s before.
fn beside_tcp(paths: u64, detection: &str) -> Pair {
    let mut policies = PolicyRecipe::tcp();
    policies.set("cc", "cubic").unwrap();
    let config = TcpConfig {
        policies,
        ..TcpConfig::default()
    };
    let links = (0..paths).map(|path| access(2 + path));
    let builder = over(links.collect(), detection).scenario(move |scenario| {
        let cross_traffic = CrossTraffic::tcp(access(2), config, TcpApp::bulk());
        scenario.bottleneck(bottleneck()).cross_traffic(cross_traffic)
    });
    let mut pair = builder.connected();
    pair.simulation.connect_cross_traffic();
    pair.run_for(secs(1));
    pair.alice().send_forever();
    pair
}

/// Our share of the bottleneck in 40 s after 30 s.
fn share(pair: &mut Pair) -> f64 {
    pair.run_for(secs(30));
    let delivered = |pair: &Pair| {
        let ours = pair.simulation.outcome().forward.bytes;
        [ours, pair.simulation.delivered_by_cross_traffic(0)]
    };
    let before = delivered(pair);
    pair.run_for(secs(40));
    let after = delivered(pair);
    let [ours, theirs] = [after[0] - before[0], after[1] - before[1]];
    assert!(
        Rate::of(ours + theirs, secs(40)).unwrap() > mbit(18),
        "the bottleneck is full"
    );
    ours as f64 / (ours + theirs) as f64
}

#[test]
fn paths_through_one_bottleneck_are_one_flow_beside_tcp() {
    for paths in [2, 4] {
        let mut pair = beside_tcp(paths, "same-queue");
        let coupled = share(&mut pair);
        assert_eq!(groups(&mut pair), vec![Some(0); paths as usize]);
        let separate = share(&mut beside_tcp(paths, "none"));
        let shares = format!("{paths} paths: {coupled:.2} as one flow, {separate:.2} separately");
        assert!(coupled < 0.7, "{shares}");
        assert!(coupled + 0.1 < separate, "{shares}");
    }
}

#[test]
fn disjoint_paths_are_used_exactly_as_without_detection() {
    let trace = |detection| {
        let links = [
            LinkConfig::new(mbit(20), ms(10)).queue(QueueConfig::Packets(60)),
            LinkConfig::new(mbit(30), ms(25)).queue(QueueConfig::Packets(80)),
        ];
        let mut pair = over(links.to_vec(), detection).connected();
        pair.alice().send_forever();
        pair.run_for(secs(60));
        pair.simulation.outcome().trace_hash
    };
    assert_eq!(trace("same-queue"), trace("none"));
}

/// A coupled congestion control couples what shares a bottleneck, and so nothing until one is found.
#[test]
fn disjoint_paths_are_not_coupled_at_any_time() {
    let trace = |detection, groups| {
        let links =
            [20, 30].map(|rate| LinkConfig::new(mbit(rate), ms(rate)).queue(QueueConfig::Packets(80)));
        let mut policies = recipe(detection);
        policies.set("cc", "lia").unwrap();
        policies.set("cc.groups", groups).unwrap();
        let mut pair = over(links.to_vec(), detection).policies(policies).connected();
        pair.alice().send_forever();
        pair.run_for(secs(20));
        pair.simulation.outcome().trace_hash
    };
    let apart = trace("none", "0,1");
    assert_ne!(trace("none", "0"), apart);
    assert_eq!(trace("same-queue", "0"), apart);
}

#[test]
fn a_path_has_a_bottleneck_of_its_own_until_a_common_one_is_found() {
    let link = || LinkConfig::new(mbit(10), ms(20));
    let mut pair = over(vec![link(), link()], "same-queue")
        .scenario(move |scenario| scenario.spare_path(link()))
        .connected();
    assert_eq!(groups(&mut pair), [Some(0), Some(1)]);
    for side in Side::BOTH {
        pair.apply(Step::Join(side, 2));
    }
    pair.run_until(|pair| pair.path_counts() == [3, 3], secs(3));
    // Ids of paths across the links, which were tried and removed, may be left out.
    let alice = pair.alice();
    let facts = alice.association().expect("she is connected").path_facts();
    assert_eq!(facts.len(), 3);
    for path in facts {
        assert_eq!(path.bottleneck, Some(path.id));
    }
}

/// Queues of equal links fill and overflow at the same times, until one path reduces its cwnd alone.
#[test]
fn equal_disjoint_paths_carry_as_much_as_without_detection() {
    let carried = |detection| {
        let link = || LinkConfig::new(mbit(20), ms(20)).queue(QueueConfig::Packets(67));
        let mut pair = over(vec![link(), link()], detection).connected();
        pair.alice().send_forever();
        for second in 1..=60 {
            pair.run_for(secs(1));
            assert_ne!(groups(&mut pair), [Some(0), Some(0)], "after {second} s");
        }
        pair.simulation.outcome().forward.bytes
    };
    let (with, without) = (carried("same-queue"), carried("none"));
    assert!(100 * with >= 99 * without, "{with} of {without}");
}

/// Random losses are at the same time now and then, while delays are alike by chance: 1 to 2 of 100 moments in 64 seeds.
#[test]
fn random_losses_alone_seldom_group() {
    let (seeds, moments) = (12, 20);
    let mut grouped = 0;
    for seed in 0..seeds {
        let link = || {
            LinkConfig::new(mbit(20), ms(20))
                .queue(QueueConfig::Packets(1_000))
                .jitter(ms(2))
                .loss(Loss::Bernoulli(Probability::of(0.01)))
        };
        let mut pair = over(vec![link(), link()], "same-queue").seed(seed).connected();
        pair.alice().send_forever();
        for _ in 0..moments {
            pair.run_for(secs(2));
            grouped += u64::from(groups(&mut pair) == [Some(0), Some(0)]);
        }
    }
    assert!(
        20 * grouped <= seeds * moments,
        "{grouped} of {}",
        seeds * moments
    );
}

#[test]
fn a_path_with_a_narrower_link_of_its_own_is_released() {
    let mut pair = beside_tcp(2, "same-queue");
    pair.run_until(|pair| groups(pair) == [Some(0), Some(0)], secs(60));
    let narrow = LinkChange::Rate(Some(mbit(3)));
    pair.simulation.happens(Step::Change(1, narrow));
    pair.run_until(|pair| groups(pair) == [Some(0), Some(1)], secs(40));
}

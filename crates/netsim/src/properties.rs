//! Property tests of the simulator: invariants for random link configurations, and agreement with queueing theory.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use anabranch_types::{Instant, Rate, Rng, Seed};

use crate::capture::SharedBuffer;
use crate::link::{
    BatchLoss, Clock, CodelConfig, DelayVariation, Distribution, DropCause, FqCodelConfig, GilbertElliott,
    Loss, Packet, PieConfig, QueueConfig, RedConfig, Verdict,
};
use crate::test_host::{TestHost, number_of, numbered};
use crate::topology::{self, Path};
use crate::traffic::{Arrivals, Pattern, Source};
use crate::{Change, Link, LinkChange, LinkConfig, Network, Probability, TraceModel};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + ms(millis)
}

/// A random link configuration.
fn any_config(rng: &mut Rng) -> LinkConfig {
    let queues = [
        QueueConfig::Packets(rng.below(20) as u32),
        QueueConfig::Bytes(rng.below(20_000)),
        QueueConfig::Red(RedConfig {
            weight: 0.1,
            gentle: rng.chance(1, 2),
            ..RedConfig::classic(30)
        }),
        QueueConfig::Codel(CodelConfig::standard(20)),
        QueueConfig::Pie(PieConfig::standard(20)),
        QueueConfig::FqCodel(FqCodelConfig {
            codel: CodelConfig::standard(1 + rng.below(30) as u32),
            flows: 4,
            ..FqCodelConfig::standard()
        }),
    ];
    let losses = [
        Loss::None,
        Loss::Bernoulli(Probability::of(rng.unit() / 5.0)),
        Loss::GilbertElliott(GilbertElliott::bursts(rng.unit() / 5.0, 1.0 + rng.unit() * 5.0)),
        Loss::Script(vec![1, 2, 3, rng.below(100)]),
        Loss::Batches(BatchLoss {
            chance: Probability::of(rng.unit() / 5.0),
            packets: 1 + rng.below(8) as u32,
        }),
    ];
    let mean = Rate::mbit(1 + rng.below(20));
    let model = TraceModel::ALL[rng.below(3) as usize];
    let trace = model.trace(mean, ms(1_000), Seed(rng.next_u64())).map(Arc::new);
    let config = LinkConfig {
        trace: trace.filter(|_| rng.chance(1, 4)),
        variation: rng.chance(1, 4).then(|| DelayVariation {
            deviation: ms(rng.below(10)),
            distribution: Distribution::Pareto,
        }),
        ..any_ordered_config(rng)
    };
    config
        .queue(queues[rng.below(6) as usize])
        .loss(losses[rng.below(5) as usize].clone())
}

/// A random link that keeps the order of packets if its queue does.
fn any_ordered_config(rng: &mut Rng) -> LinkConfig {
    let clock = Clock {
        phase: ms(rng.below(1_000)),
        drift: rng.below(200_001) as i32 - 100_000,
    };
    LinkConfig::new(Rate::mbit(1 + rng.below(20)), ms(rng.below(30)))
        .clock(if rng.chance(1, 2) { clock } else { Clock::TRUE })
        .tick(if rng.chance(1, 4) { ms(1) } else { Duration::ZERO })
        .mtu(if rng.chance(1, 10) { 900 } else { 1_500 })
        .jitter(ms(rng.below(4)))
        .reorder(Probability::of(rng.unit() / 10.0), ms(rng.below(10)))
        .duplicate(Probability::of(rng.unit() / 10.0))
        .corrupt(Probability::of(rng.unit() / 10.0))
}

/// Two hosts exchange 2,000 packets over three links; the middle one is cut, healed and carries cross traffic. Stops
/// at a random time.
fn any_network(seed: Seed) -> Network<TestHost> {
    let mut rng = seed.split("network").rng();
    let mut network = Network::new(seed);
    let (near_addr, far_addr) = (topology::near_addr(0), topology::far_addr(0));
    let links: Vec<_> = (0..3).map(|_| network.add_link(any_config(&mut rng))).collect();
    let path = Path {
        near_addr,
        far_addr,
        forward: links.clone(),
        reverse: links.clone(),
    };
    let alice = network.add_host(TestHost::sending(
        path.addr(9_899),
        1_000,
        Duration::from_micros(900),
    ));
    let bob = network.add_host(TestHost::echoing());
    topology::connect(&mut network, (alice, bob), &path);
    network.add_source(Source::endless(links[1], Pattern::Poisson, Rate::mbit(2)));
    network.schedule(at(200), Change::Link(links[1], LinkChange::Cut));
    network.schedule(at(250), Change::Link(links[1], LinkChange::Heal));
    network.schedule(
        at(400),
        Change::Link(links[0], LinkChange::Rate(Some(Rate::mbit(2)))),
    );
    network.run_until(at(1 + rng.below(1_500)));
    network
}

#[test]
fn every_packet_is_delivered_dropped_or_on_the_link() {
    for seed in 0..200 {
        let network = any_network(Seed(seed));
        for id in network.link_ids() {
            let link = network.link(id);
            let stats = link.stats();
            let came = stats.offered.packets + stats.duplicated.packets;
            let went = stats.delivered.packets + stats.dropped_in_total().packets + link.inside();
            assert_eq!(came, went, "seed {seed}, {id:?}: {stats:?}");
        }
    }
}

/// What arrives at a link that is asked each `every` microseconds, and its statistics.
fn arrivals(config: LinkConfig, every: u64) -> (Vec<Vec<u8>>, crate::link::LinkStats) {
    let mut link = Link::new(config, Seed(3));
    let mut arrived = Vec::new();
    for micros in (0..1_500_000_u64).step_by(100) {
        let now = Instant::from_nanos(micros * 1_000);
        if micros % 4_000 < 300 {
            link.offer(now, vec![(micros / 100) as u8; 30], 400 + (micros % 1_100) as u32);
        }
        if micros % every == 0 {
            arrived.extend(core::iter::from_fn(|| link.take_due(now)));
        }
    }
    arrived.extend(core::iter::from_fn(|| link.take_due(at(3_000))));
    (arrived, link.stats().clone())
}

#[test]
fn result_of_any_link_does_not_depend_on_polling_interval() {
    for seed in 0..60 {
        let config = || any_config(&mut Seed(seed).rng());
        assert_eq!(arrivals(config(), 100), arrivals(config(), 60_000), "seed {seed}");
    }
}

#[test]
fn link_without_reordering_keeps_order() {
    for seed in 0..100 {
        let config = any_config(&mut Seed(seed).rng()).reorder(Probability::NEVER, Duration::ZERO);
        let config = LinkConfig {
            variation: None,
            ..config.corrupt(Probability::NEVER)
        };
        let mut link = Link::new(config, Seed(seed));
        let path = path_of_link();
        let mut last = 0;
        for number in 0..2_000 {
            let now = Instant::ZERO + Duration::from_micros(700) * number;
            link.offer(now, numbered(path, number).payload, 1_000);
            while let Some(payload) = link.take_due(now) {
                let number = number_of(&payload);
                assert!(last <= number, "seed {seed}: {number} after {last}");
                last = number;
            }
        }
    }
}

fn path_of_link() -> anabranch_types::PathAddr {
    Path {
        near_addr: topology::near_addr(0),
        far_addr: topology::far_addr(0),
        forward: vec![],
        reverse: vec![],
    }
    .addr(9_899)
}

#[test]
fn corruption_changes_every_payload_but_not_its_length() {
    let config = LinkConfig::unlimited(ms(1)).corrupt(Probability::ALWAYS);
    let mut link = Link::new(config, Seed(1));
    for length in (1..300).chain([1_452; 300]) {
        let payload = vec![0x5a; length];
        link.offer(at(0), payload.clone(), 1_000);
        let arrived = link.take_due(at(1)).unwrap();
        assert_eq!(arrived.len(), length);
        let different = arrived
            .iter()
            .zip(&payload)
            .filter(|(one, other)| one != other)
            .count();
        assert!(
            (1..=2).contains(&different),
            "{different} bytes of {length} differ"
        );
    }
}

/// A packet that stores when it was offered.
#[derive(Clone)]
struct Stamp(Instant);

impl Packet for Stamp {
    fn corrupt(&mut self, _rng: &mut Rng) {}
}

/// Mean queueing delay of 1,000-byte packets that arrive at a link of 8 Mbit/s with the given pattern and rate.
fn mean_waiting_time(pattern: Pattern, rate: Rate) -> Duration {
    const PACKETS: u32 = 400_000;
    let config = LinkConfig::new(Rate::mbit(8), Duration::ZERO).queue(QueueConfig::Packets(u32::MAX));
    let mut link = Link::<Stamp>::new(config, Seed(3));
    let mut arrivals = Arrivals::new(pattern, rate, 1_000, Seed(8));
    let (mut now, mut waited) = (Instant::ZERO, Duration::ZERO);
    for _ in 0..PACKETS {
        now += arrivals.next_gap();
        while let Some(due) = link.deadline().filter(|due| *due <= now) {
            waited += link
                .take_due(due)
                .map_or(Duration::ZERO, |stamp| due - stamp.0 - ms(1));
        }
        link.offer(now, Stamp(now), 1_000);
    }
    waited / PACKETS
}

#[test]
fn poisson_arrivals_wait_as_in_an_m_d_1_queue() {
    for percent in [30, 50, 80] {
        let waited = mean_waiting_time(Pattern::Poisson, Rate::bits_per_second(80_000 * percent));
        // Pollaczek–Khinchine formula: W = ρ s / 2 (1 − ρ), with a service time s of one millisecond.
        let load = percent as f64 / 100.0;
        let expected = load / (2.0 * (1.0 - load));
        let ratio = waited.as_secs_f64() * 1e3 / expected;
        assert!(
            (0.97..1.03).contains(&ratio),
            "load {load}: {waited:?} is {ratio} of the theoretical value"
        );
    }
}

#[test]
fn constant_arrivals_below_capacity_do_not_wait() {
    assert_eq!(
        mean_waiting_time(Pattern::Constant, Rate::mbit(7)),
        Duration::ZERO
    );
}

#[test]
fn saturated_link_delivers_exactly_its_rate() {
    let mut network = Network::<TestHost>::new(Seed(2));
    let link = network.add_link(LinkConfig::new(Rate::mbit(10), ms(5)));
    network.add_source(Source::endless(link, Pattern::Poisson, Rate::mbit(30)));
    network.run_until(at(1_000));
    let before = network.link(link).stats().delivered.bytes;
    network.run_until(at(11_000));
    let delivered = network.link(link).stats().delivered.bytes - before;
    assert!(delivered.abs_diff(12_500_000) <= 1_500, "{delivered}");
}

#[test]
fn red_drops_start_between_its_thresholds() {
    for seed in 0..50 {
        let red = RedConfig {
            weight: 1.0,
            max_probability: 0.5,
            ..RedConfig::classic(1_000)
        };
        let config = LinkConfig::new(Rate::mbit(8), ms(1)).queue(QueueConfig::Red(red));
        let mut link = Link::new(config, Seed(seed));
        let refused = (0..1_000).find(|_| link.offer(at(0), Stamp(at(0)), 1_000) != Verdict::Accepted);
        assert!(refused.is_some());
        let length = link.waiting().packets;
        assert!(
            (5..=15).contains(&length),
            "seed {seed}: first drop at {length} packets"
        );
        assert_eq!(link.stats().dropped(DropCause::Early).packets, 1);
    }
}

/// Hash of the captures of two hosts on two paths, with `idle` unused links added.
fn trace(seed: Seed, idle: usize, look_every: Duration) -> u64 {
    let mut network = Network::new(seed);
    for _ in 0..idle {
        network.add_link(LinkConfig::new(Rate::mbit(1), ms(1)));
    }
    let alice = network.add_host(TestHost::default());
    let bob = network.add_host(TestHost::echoing());
    let lossy = |rate| {
        let config = LinkConfig::new(Rate::mbit(rate), ms(10)).loss(Loss::Bernoulli(Probability::of(0.1)));
        config
            .jitter(ms(2))
            .corrupt(Probability::of(0.05))
            .duplicate(Probability::of(0.05))
    };
    let paths = topology::disjoint_paths(&mut network, (alice, bob), &[lossy(4), lossy(2)]);
    network.add_source(Source::endless(
        paths[0].forward[0],
        Pattern::Poisson,
        Rate::mbit(1),
    ));
    let sinks = [SharedBuffer::default(), SharedBuffer::default()];
    network.capture_host(alice, "alice", sinks[0].clone());
    network.capture_host(bob, "bob", sinks[1].clone());
    for path in &paths {
        let timetable = TestHost::sending(path.addr(9_899), 500, ms(2)).timetable;
        network.act(alice, |host, _| host.timetable.extend(timetable));
    }
    network
        .host_mut(alice)
        .timetable
        .make_contiguous()
        .sort_by_key(|(at, _)| *at);
    network.touch(alice);
    while network.now() < at(3_000) {
        network.run_until(network.now() + look_every);
    }
    let mut hasher = DefaultHasher::new();
    sinks.iter().for_each(|sink| sink.take().hash(&mut hasher));
    hasher.finish()
}

#[test]
fn same_seed_gives_same_capture_other_seed_another() {
    assert_eq!(trace(Seed(1), 0, ms(3_000)), trace(Seed(1), 0, ms(3_000)));
    assert_ne!(trace(Seed(1), 0, ms(3_000)), trace(Seed(2), 0, ms(3_000)));
}

#[test]
fn unused_links_do_not_change_the_result() {
    assert_eq!(trace(Seed(1), 3, ms(3_000)), trace(Seed(1), 0, ms(3_000)));
}

#[test]
fn run_until_steps_do_not_change_the_result() {
    assert_eq!(trace(Seed(1), 0, ms(1)), trace(Seed(1), 0, ms(3_000)));
}

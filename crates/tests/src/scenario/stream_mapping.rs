//! Stream-to-path mapping (Dreibholz et al. 2010, PFLDNeT). What does a path per stream gain? Less head-of-line blocking.
//!
//! Paths, buffers and applications are the paper's: 10 Mbit/s and 10 ms unless stated, queues of 100 packets, messages
//! of 1,452 bytes, which fill an SCTP packet over IP, and a sender that knows the backlog of each stream.

use std::time::Duration;

use anabranch_netsim::LinkConfig;
use anabranch_netsim::link::QueueConfig;
use anabranch_policy::PolicyRecipe;
use anabranch_proto::BufferSize;
use anabranch_sim::app::{Bulk, Even, Refill, Streams, Workload};

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

fn path(megabits: u64, delay: u64) -> LinkConfig {
    LinkConfig::new(mbit(megabits), ms(delay)).queue(QueueConfig::Packets(100))
}

fn builder(scheduler: &str, paths: &[LinkConfig], buffer: u64) -> PairBuilder {
    let mut policies = PolicyRecipe::dre_2010();
    let (name, map) = scheduler.split_once('=').unwrap_or((scheduler, ""));
    policies.set("stream-scheduler", name).unwrap();
    if name != "rr" {
        policies.set("path-scheduler", "stream-mapped").unwrap();
    }
    if !map.is_empty() {
        policies.set("stream-scheduler.map", map).unwrap();
    }
    Pair::paths(paths.iter().cloned())
        .scenario(|scenario| scenario.encapsulation_port(0))
        .policies(policies)
        .with(move |config| {
            config.send_buffer = BufferSize::Fixed(buffer);
            config.receive_buffer = BufferSize::Fixed(buffer);
            config.max_message = 1_452;
        })
}

/// Result of a run: rate in Mbit/s and message delay of each stream.
struct Outcome {
    rates: Vec<f64>,
    delays: Vec<Duration>,
}

impl Outcome {
    fn sum(&self) -> f64 {
        self.rates.iter().sum()
    }

    fn mean_delay(&self) -> Duration {
        self.delays.iter().sum::<Duration>() / self.delays.len() as u32
    }
}

fn run(scheduler: &str, paths: &[LinkConfig], buffer: u64, streams: u16) -> Outcome {
    let even = Workload::Even(Even::new(1_452, streams));
    run_with(even, scheduler, paths, buffer, streams)
}

fn run_with(
    application: Workload,
    scheduler: &str,
    paths: &[LinkConfig],
    buffer: u64,
    streams: u16,
) -> Outcome {
    let mut pair = builder(scheduler, paths, buffer).connected();
    // Until all paths are confirmed.
    pair.run_for(secs(2));
    pair.alice().start_workload(application);
    pair.run_for(secs(10));
    let since = pair.simulation.now();
    pair.run_for(secs(20));
    let rate = |stream| pair.stream_rate(stream, since).as_bits_per_second() as f64 / 1e6;
    let result = Outcome {
        rates: (0..streams).map(rate).collect(),
        delays: (0..streams)
            .map(|stream| pair.mean_stream_delay(stream, since))
            .collect(),
    };
    assert_eq!(pair.bob().inbox().delivery_error(), None);
    println!(
        "{scheduler}, {} KiB: {:.1} Mbit/s in all, {:.1?}, {:?}",
        buffer >> 10,
        result.sum(),
        result.rates,
        result.delays
    );
    result
}

/// DRE-1 and DRE-2: paths that differ in delay.
#[test]
fn mapped_stream_on_fast_path_does_not_wait_for_slow_path() {
    let paths = [path(10, 10), path(10, 75)];
    let mapped = run("fixed-map=0,1", &paths, 128 << 10, 2);
    let in_turn = run("rr", &paths, 128 << 10, 2);
    assert!(mapped.sum() > in_turn.sum(), "the smaller buffer is enough");
    assert!(mapped.delays[0] < in_turn.delays[0] / 2);
}

/// DRE-4: a third path that is slow, seven streams.
#[test]
fn stream_mapping_isolates_a_slow_third_path() {
    let paths = [path(10, 10), path(10, 10), path(1, 50)];
    let mapped = run("fixed-map=2,0,1,0,1,0,1", &paths, 128 << 10, 7);
    let in_turn = run("rr", &paths, 128 << 10, 7);
    assert!(mapped.sum() > 19.0 && in_turn.sum() < 10.0);
    assert!(mapped.delays[1] < in_turn.delays[1] / 4);
}

/// DRE-3: paths that differ in bandwidth.
#[test]
fn mapped_streams_reach_their_paths_capacity() {
    let paths = [path(10, 10), path(50, 10)];
    let mapped = run("fixed-map=0,1", &paths, 512 << 10, 2);
    assert!(
        mapped.rates[0] > 8.5 && mapped.rates[1] > 42.0,
        "{:?}",
        mapped.rates
    );
}

/// DRE-3 again: the application must know the backlogs, whether it polls or is notified.
#[test]
fn round_robin_writer_is_limited_by_the_slow_path() {
    let paths = [path(10, 10), path(50, 10)];
    let with = |application| run_with(application, "fixed-map=0,1", &paths, 512 << 10, 2);
    let in_turn = with(Workload::Bulk(Bulk::new(1_452, Streams::in_turn(2))));
    assert!(
        in_turn.rates[1] < 10.5,
        "held to the other one: {:?}",
        in_turn.rates
    );
    let looks = with(Workload::Even(Even::new(1_452, 2)));
    let is_told = with(Workload::Refill(Refill::new(1_452, 2, 64 << 10)));
    for knows in [looks, is_told] {
        assert!(
            knows.rates[0] > 8.5 && knows.rates[1] > 42.0,
            "both are filled: {:?}",
            knows.rates
        );
    }
}

/// DRE-5 in the settings of DRE-1, DRE-3 and DRE-4: within a tenth of the best fixed map.
#[test]
fn dynamic_map_is_as_good_as_the_best_fixed_map() {
    let delays = [path(10, 10), path(10, 75)];
    let rates = [path(10, 10), path(50, 10)];
    let advanced = [path(10, 10), path(10, 10), path(1, 50)];
    let settings: [(&str, &[LinkConfig], u64, u16); 4] = [
        ("fixed-map=0,1", &delays, 224 << 10, 2),
        ("fixed-map=0,1", &rates, 512 << 10, 2),
        ("fixed-map=2,0,1,0,1,0,1", &advanced, 128 << 10, 7),
        ("fixed-map=2,0,1,0,1,0,1", &advanced, 256 << 10, 7),
    ];
    for (best, paths, buffer, streams) in settings {
        let given = run(best, paths, buffer, streams);
        let found = run("dynamic-map", paths, buffer, streams);
        assert!(found.sum() > 0.9 * given.sum());
        assert!(found.mean_delay() < given.mean_delay() * 5 / 4);
    }
}

/// Mapped streams use their path whatever the path scheduler would choose.
#[test]
fn mapped_streams_work_with_any_path_scheduler() {
    for name in [
        "primary",
        "min-rtt",
        "round-robin",
        "ecf",
        "blest",
        "within-window",
        "stream-mapped",
    ] {
        for scheduler in ["fixed-map", "dynamic-map"] {
            let mut policies = PolicyRecipe::recommended();
            policies.set("stream-scheduler", scheduler).unwrap();
            policies.set("path-scheduler", name).unwrap();
            let mut pair = Pair::paths([path(10, 10), path(5, 40), path(20, 20)])
                .policies(policies)
                .connected();
            pair.run_for(secs(2));
            pair.alice().send_messages(300, 20_000, Streams::in_turn(5));
            pair.run_for(ms(300));
            pair.cut_path(2);
            pair.deliver_all(secs(60));
        }
    }
}

//! Tests of links and clocks from plans: what they become in the simulator, and that runs with them depend on the seed alone.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anabranch_netsim::link::{Clock, Distribution, Loss, QueueConfig};
use anabranch_types::Seed;

use super::{Clocks, both_directions};
use crate::plan::{Plan, PlanOptions, Point};
use crate::run::{Record, simulate};

const PLAN: &str = r#"
title = "Links"
claim = "they carry"
repetitions = 2

[time]
warm-up = "1s"
measure = "2s"

[paths.north]
rate = "20Mbit"
delay = "10ms"
tick = "1ms"

[paths.south]
rate = "10Mbit"
delay = "20ms"

[bottleneck]
rate = "25Mbit"

[policies]
profile = "cmt"

[apps.sender]
kind = "bulk"
message = 1400

[cross-traffic.other]
transport = "tcp"
apps.sender = { kind = "bulk", message = 1400 }
"#;

fn plan(changes: &[&str]) -> Plan {
    let options = PlanOptions {
        quick: false,
        changes: changes.iter().map(ToString::to_string).collect(),
    };
    Plan::read(Path::new("x.toml"), PLAN, &options).unwrap()
}

fn run(point: &Point) -> Record {
    simulate(point, &AtomicBool::new(false)).unwrap()
}

fn links(changes: &[&str], seed: u64) -> [anabranch_netsim::LinkConfig; 2] {
    let plan = plan(changes);
    let setting = &plan.points[0].setting;
    let clocks = Clocks::new(setting, Seed(seed));
    both_directions(setting.paths.get("north").unwrap(), "north", clocks).into()
}

#[test]
fn keys_become_parts_of_the_link() {
    let [forward, reverse] = links(
        &[
            "paths.north.delay-variation.normal=2ms",
            "paths.north.queue={ pie = { target = \"20ms\", ecn = true } }",
            "paths.north.loss={ batches = { loss = \"1%\" } }",
            "paths.north.reverse={ delay-variation = { uniform = \"0s\" }, queue = { codel = {} } }",
        ],
        1,
    );
    let variation = forward.variation.unwrap();
    assert_eq!(
        (variation.deviation, variation.distribution),
        (Duration::from_millis(2), Distribution::Normal)
    );
    assert!(matches!(forward.queue, QueueConfig::Pie(pie) if pie.mark && pie.target.as_millis() == 20));
    assert!(matches!(forward.loss, Loss::Batches(batches) if batches.packets == 45));
    assert_eq!((forward.clock, reverse.clock), (Clock::TRUE, Clock::TRUE));
    assert_eq!(reverse.variation, None, "a deviation of zero keeps order");
    assert!(matches!(reverse.queue, QueueConfig::Codel(codel) if codel.limit == 1_000));
}

#[test]
fn trace_of_one_direction_leaves_the_rate_of_the_other() {
    let trace = "paths.north.reverse={ trace = { model = \"wifi\", mean = \"5Mbit\" } }";
    let [forward, reverse] = links(&[trace], 1);
    assert_eq!((forward.trace, forward.rate.is_some()), (None, true));
    assert!(reverse.trace.is_some());
    let both =
        "paths={ north = { trace = { model = \"lte\", mean = \"5Mbit\" }, reverse = { rate = \"1Mbit\" } } }";
    let text = PLAN.replace("rate = \"20Mbit\"", "");
    let options = PlanOptions {
        quick: false,
        changes: vec![both.into()],
    };
    let plan = Plan::read(Path::new("x.toml"), &text, &options).unwrap();
    let setting = &plan.points[0].setting;
    let clocks = Clocks::new(setting, Seed(1));
    let (forward, reverse) = both_directions(setting.paths.get("north").unwrap(), "north", clocks);
    assert!(forward.trace.is_some());
    assert_eq!((reverse.trace, reverse.rate.is_some()), (None, true));
}

#[test]
fn each_link_draws_a_clock_of_its_own_from_the_seed() {
    let drawn = |seed| links(&["clocks={ phases = true, drift = 50 }"], seed).map(|link| link.clock);
    let [forward, reverse] = drawn(1);
    assert_eq!(drawn(1), [forward, reverse]);
    assert_ne!(forward, reverse);
    let all: Vec<Clock> = (0..200).flat_map(drawn).collect();
    let drifts = || all.iter().map(|clock| clock.drift);
    assert!(drifts().all(|drift| drift.abs() <= 50_000));
    assert!(drifts().min() < Some(-48_000) && drifts().max() > Some(48_000));
    assert!(all.iter().all(|clock| clock.phase < Duration::from_secs(1)));
    assert!(all.iter().any(|clock| clock.phase > Duration::from_millis(980)));
}

#[test]
fn drawn_clocks_and_starts_change_results_by_seed() {
    let plan = plan(&["clocks={ phases = true, drift = 50, start = \"500ms\" }"]);
    let [one, other] = [&plan.points[0], &plan.points[1]].map(run);
    assert_eq!(run(&plan.points[0]).values, one.values);
    assert_ne!(one.values, other.values);
    for record in [one, other] {
        assert!(record.values["goodput"] > 4.0, "{record:?}");
        assert!(record.values["cross-traffic.other.goodput"] > 1.0, "{record:?}");
    }
}

#[test]
fn hosts_and_cross_traffic_start_at_times_of_their_own() {
    let plan = plan(&["clocks.start=800ms"]);
    let clocks = Clocks::new(&plan.points[0].setting, Seed(1));
    let starts = [
        clocks.start_of("near").unwrap(),
        clocks.of_cross_traffic("other").start_of("near").unwrap(),
    ];
    assert_ne!(starts[0], starts[1]);
    assert!(starts.iter().all(|start| *start < Duration::from_millis(800)));
    let without = Clocks::new(&self::plan(&[]).points[0].setting, Seed(1));
    assert_eq!(without.start_of("near"), None);
}

#[test]
fn runs_over_new_links_carry_data() {
    for link in [
        "{ delay = \"10ms\", trace = { model = \"starlink\", mean = \"20Mbit\" } }",
        "{ delay = \"10ms\", rate = \"20Mbit\", queue = { fq-codel = {} } }",
        "{ delay = \"10ms\", rate = \"20Mbit\", queue = { codel = { ecn = true } } }",
        "{ delay = \"10ms\", rate = \"20Mbit\", queue = { pie = {} } }",
        "{ delay = \"10ms\", rate = \"20Mbit\", delay-variation = { pareto = \"1ms\" } }",
        "{ delay = \"10ms\", rate = \"20Mbit\", loss = { batches = { loss = \"0.1%\" } } }",
    ] {
        let text = PLAN.replace(
            "[paths.north]\nrate = \"20Mbit\"\ndelay = \"10ms\"\ntick = \"1ms\"\n",
            "[paths]\n",
        );
        let text = text.replace("[paths]\n", &format!("[paths]\nnorth = {link}\n"));
        let plan = Plan::read(Path::new("x.toml"), &text, &PlanOptions::default()).unwrap();
        let record = run(&plan.points[0]);
        assert!(record.values["path.north.carried"] > 1.0, "{link}: {record:?}");
    }
}

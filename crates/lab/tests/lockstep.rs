//! Randomness of the experiments' networks. Do repetitions of each plan sample anything?
//!
//! Where nothing in a network is random, packets of several links keep nearly one order through all repetitions, and seeds show little of it: they
//! decide only initial values of the protocol.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anabranch_lab::plan::{BackendPlan, LinkPlan, LossPlan, Plan, PlanOptions, QueuePlan, Setting};

/// Plans that run in lockstep at some points, as their kept results did. A plan of this list that gets a table `[clocks]` leaves it.
const NOT_YET: [&str; 23] = [
    "aba-4",
    "aba-4-delay",
    "aba-4-loss",
    "aba-5",
    "aba-6",
    "aba-6-delay",
    "aba-6-loss",
    "and-1",
    "and-2",
    "and-3",
    "and-4",
    "and-5",
    "and-6",
    "rule-1-grid",
    "testbed-1",
    "testbed-2",
    "testbed-3",
    "testbed-4",
    "testbed-5",
    "yan-1",
    "yan-3",
    "yan-3-cross",
    "yan-4",
];

/// Whether the link itself differs from repetition to repetition.
fn is_random(link: &LinkPlan) -> bool {
    let loses = link.loss.as_ref().is_some_and(|loss| match loss {
        LossPlan::Random(share) => share.0 > 0.0,
        LossPlan::Bursts(_) | LossPlan::Batches(_) => true,
    });
    let reversed = link.reverse.as_deref().is_some_and(is_random);
    let drops_at_random = matches!(link.queue, Some(QueuePlan::Red(_) | QueuePlan::Pie(_)));
    loses
        || reversed
        || drops_at_random
        || link.jitter.is_some()
        || link.delay_variation.is_some()
        || link.trace.is_some()
}

fn samples(setting: &Setting) -> bool {
    let mut links = setting
        .paths
        .iter()
        .map(|(_, link)| link)
        .chain(&setting.bottleneck);
    setting.backend == BackendPlan::Testbed || links.any(is_random)
}

fn plans() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let entries = std::fs::read_dir(folder).expect("the experiments");
    let files = entries.map(|entry| entry.expect("an entry").path());
    files
        .filter(|file| file.extension().is_some_and(|ending| ending == "toml"))
        .collect()
}

#[test]
fn plans_sample_phases_or_say_that_they_do_not() {
    let mut in_lockstep = BTreeSet::new();
    for file in plans() {
        let plan = Plan::load(&file, &PlanOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let text = std::fs::read_to_string(&file).expect("a plan");
        let says = text.lines().any(|line| line.starts_with("[clocks]"));
        if !says && !plan.points.iter().all(|point| samples(&point.setting)) {
            in_lockstep.insert(plan.name);
        }
    }
    let known: BTreeSet<String> = NOT_YET.map(str::to_owned).into();
    assert_eq!(
        in_lockstep, known,
        "a plan without random loss needs `[clocks]`, with `phases = false` if it is meant to run in lockstep"
    );
}

#[test]
fn repetitions_of_sarnows_base_setting_differ_by_their_clocks_alone() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/sar-1.toml");
    let options = |changes: &[&str]| PlanOptions {
        quick: true,
        changes: changes.iter().map(ToString::to_string).collect(),
    };
    let goodputs = |changes: &[&str]| {
        let mut changes = changes.to_vec();
        changes.extend([
            "repetitions=3",
            "time.measure=3s",
            "time.warm-up=1s",
            "sweep.south.values=[40]",
        ]);
        let plan = Plan::load(&file, &options(&changes)).unwrap_or_else(|error| panic!("{error}"));
        let base = plan.points.iter().filter(|point| point.series == "base");
        let stop = core::sync::atomic::AtomicBool::new(false);
        let run =
            |point| anabranch_lab::run::simulate(point, &stop).expect("a run").values["goodput"].to_bits();
        base.map(run).collect::<BTreeSet<u64>>().len()
    };
    assert_eq!(goodputs(&[]), 3);
    assert_eq!(
        goodputs(&["clocks.phases=false", "clocks.drift=0"]),
        1,
        "in lockstep, these repetitions are alike"
    );
}

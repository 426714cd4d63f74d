//! Quick run of every experiment. Does each run in its quick size, and is that size quick?
//!
//! A plan that is put into `experiments` is run here by itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread::available_parallelism;
use std::time::Instant;

use anabranch_lab::plan::{BackendPlan, Plan, PlanOptions, Point};
use anabranch_lab::report;
use anabranch_lab::results::{Results, Run, write};
use anabranch_lab::run::{Cache, Runner};
use anabranch_lab::summary::{ResultSummary, Size};

/// The most that the runs of a quick size may deliver, in bits: about ten seconds for one core.
const MAX_WORK: f64 = 80e9;

/// What different runs delivered, in bits.
fn work(results: &Results<'_>) -> f64 {
    let delivered = |run: &Run<'_>| {
        let time = &run.point.setting.time;
        let seconds = (time.warm_up.0 + time.measure.0).as_secs_f64();
        let goodput = run
            .record()
            .and_then(|record| record.values.get("goodput").copied());
        let bits = goodput.unwrap_or(0.0) * 1e6 * seconds;
        ((run.setting.clone(), run.point.seed), bits)
    };
    let different: BTreeMap<(String, u64), f64> = results.runs.iter().map(delivered).collect();
    different.values().sum()
}

fn plans() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let entries = std::fs::read_dir(folder).expect("the experiments");
    let files = entries.map(|entry| entry.expect("an entry").path());
    let mut plans: Vec<PathBuf> = files
        .filter(|file| file.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    plans.sort();
    plans
}

/// Runs the plan in `file`, writes everything that there is to write, and gives back what is missing or too much.
fn faults(file: &Path, cache: &Cache) -> Vec<String> {
    let quick = PlanOptions {
        quick: true,
        ..PlanOptions::default()
    };
    let plan = Plan::load(file, &quick).unwrap_or_else(|error| panic!("{error}"));
    let stop = AtomicBool::new(false);
    let runner = Runner::new(cache, available_parallelism().map_or(1, usize::from), &stop);
    let mut faults = Vec::new();
    if !plan.is_quick {
        faults.push("there is no `[quick]`".to_owned());
    }
    let results = Results::of(&plan, runner.run(&plan.points, &|_| {}));
    let work = work(&results);
    if work > MAX_WORK {
        faults.push(format!(
            "the quick size delivers {:.0} Gbit, and {:.0} are allowed: fewer points, shorter runs",
            work / 1e9,
            MAX_WORK / 1e9
        ));
    }
    faults.extend(
        results
            .failures()
            .map(|run| format!("{} failed: {:?}", run.point.series, run.outcome.as_ref().err())),
    );
    let folder = tempfile::tempdir().expect("a folder");
    write(&results, folder.path()).expect("results are written");
    let summary = ResultSummary::of(&results);
    assert_eq!(summary.size, Size::Quick);
    report::write(&summary, folder.path()).expect("a report is written");
    faults
}

/// Whether somebody who is not root, on a machine of his own, cannot run all of the plan.
fn needs_root(file: &Path) -> bool {
    let plan = Plan::load(file, &PlanOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let is_real = |point: &Point| point.setting.backend == BackendPlan::Testbed;
    is_not_allowed() && plan.points.iter().any(is_real)
}

#[cfg(target_os = "linux")]
fn is_not_allowed() -> bool {
    std::env::var_os("CI").is_none() && !rustix::process::geteuid().is_root()
}

#[cfg(not(target_os = "linux"))]
const fn is_not_allowed() -> bool {
    true
}

#[test]
fn every_experiment_runs_in_its_quick_size() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::new(folder.path(), "test");
    let mut faults_of_all = Vec::new();
    for file in plans() {
        let began = Instant::now();
        let name = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if needs_root(&file) {
            eprintln!("{name}: skipped: a test bed needs root, and Linux");
            continue;
        }
        let faults = faults(&file, &cache);
        eprintln!("{name}: {:.1} s", began.elapsed().as_secs_f64());
        faults_of_all.extend(faults.iter().map(|fault| format!("{name}: {fault}")));
    }
    assert!(faults_of_all.is_empty(), "{}", faults_of_all.join("\n"));
}

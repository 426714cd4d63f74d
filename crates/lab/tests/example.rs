//! The example of the README, run as a plan. Does it come out, with the same bytes each time?

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anabranch_lab::Plan;
use anabranch_lab::check::Verdict;
use anabranch_lab::plan::PlanOptions;
use anabranch_lab::results::{Results, write};
use anabranch_lab::run::{Cache, Runner};

fn experiments() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments")
}

/// The plan that stands in the README after its mark.
fn example() -> String {
    let readme = std::fs::read_to_string(experiments().join("README.md")).expect("the README");
    let (_, marked) = readme.split_once("<!-- example").expect("the mark");
    let (_, block) = marked
        .split_once("```toml\n")
        .expect("the beginning of the example");
    let (text, _) = block.split_once("```").expect("its end");
    text.to_owned()
}

fn quick() -> PlanOptions {
    PlanOptions {
        quick: true,
        ..PlanOptions::default()
    }
}

/// Runs the plan with a cache of its own and gives back every file of the results by name.
fn files_of(plan: &Plan) -> Vec<(String, Vec<u8>)> {
    let [cache, folder] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let cache = Cache::new(cache.path(), "test");
    let stop = AtomicBool::new(false);
    let outcomes = Runner::new(&cache, 2, &stop).run(&plan.points, &|_| {});
    let results = Results::of(plan, outcomes);
    assert_eq!(results.failures().count(), 0);
    assert!(
        results
            .findings
            .iter()
            .all(|finding| finding.verdict != Verdict::NotMeasured)
    );
    write(&results, folder.path()).expect("results are written");
    let entries = std::fs::read_dir(folder.path()).expect("the folder");
    let mut files: Vec<_> = entries
        .map(|entry| {
            let file = entry.expect("an entry").path();
            let name = file
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            (name, std::fs::read(&file).expect("a file"))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn example_run_is_reproducible() {
    let plan = Plan::read(Path::new("example.toml"), &example(), &quick()).expect("a plan");
    let files = files_of(&plan);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "checks.csv",
            "histograms.csv",
            "histograms.parquet",
            "runs.csv",
            "runs.parquet",
            "settings.json",
            "summary.csv",
            "summary.parquet",
            "time-series.csv",
            "time-series.parquet",
        ]
    );
    assert!(
        files == files_of(&plan),
        "two runs of one plan give identical bytes"
    );
}

#[test]
fn every_experiment_is_valid_in_both_sizes() {
    for entry in std::fs::read_dir(experiments()).expect("the experiments") {
        let file = entry.expect("an entry").path();
        if file.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        for options in [PlanOptions::default(), quick()] {
            let plan = Plan::load(&file, &options).unwrap_or_else(|error| panic!("{error}"));
            assert!(
                !plan.points.is_empty() && !plan.checks.is_empty(),
                "{}",
                file.display()
            );
        }
    }
}

//! `anabranch demo`: compares all paths together with each path alone, with real endpoints over emulated links.

mod links;
mod run;
mod schedule;
mod verdict;

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anabranch_types::Seed;

use crate::arguments::DemoArguments;
use crate::failure::Failure;
use crate::interrupt::on_thread;
use crate::output::{DemoRow, Event, Reporter};
use run::DemoRunner;
use schedule::{Schedule, Size};
use verdict::Verdict;

/// Random bytes written at a time.
const BLOCK: usize = 1 << 20;

/// Runs the demo and reports its outcome.
pub(crate) async fn run(arguments: DemoArguments, reporter: &Arc<dyn Reporter>) -> Result<(), Failure> {
    let size = match (&arguments.file, arguments.size) {
        (Some(file), _) => Size::Bytes(file.metadata().map_err(|error| cannot_read(file, &error))?.len()),
        (None, Some(bytes)) => Size::Bytes(bytes),
        (None, None) => Size::Time(arguments.duration),
    };
    let schedule = Schedule::new(&arguments.paths, size, arguments.cut)?;
    let scratch = tempfile::tempdir().map_err(|error| {
        Failure::Work(format!(
            "cannot create a temporary folder: {error}; set TMPDIR to a writable one"
        ))
    })?;
    let file = match arguments.file {
        Some(file) => file,
        None => {
            let (path, size) = (scratch.path().join("demo.bin"), schedule.largest());
            on_thread(move || random_file(path, size)).await?
        }
    };
    let runner = DemoRunner {
        file,
        scratch: scratch.path().to_owned(),
        paths: schedule.paths.clone(),
        config: arguments.settings.association_config()?,
        log: arguments.log,
        reporter: Arc::clone(reporter),
    };
    let mut rows: Vec<DemoRow> = Vec::new();
    for (index, run) in schedule.runs.iter().enumerate() {
        let (run_name, size, upper_bound_bit_s) = (run.name.as_str(), run.size, run.upper_bound);
        reporter.report(&Event::Run {
            run: run_name,
            size,
            upper_bound_bit_s,
        });
        let transfer = index as u64 + 1;
        if let Some(live) = reporter.live() {
            live.name(transfer, run_name);
        }
        let row = runner.perform(transfer, run).await?;
        reporter.report(&Event::Row { transfer, row: &row });
        rows.push(row);
    }
    let verdict = Verdict::of(&schedule, &rows);
    reporter.report(&Event::Demo {
        rows: &rows,
        sum_of_single_bit_s: verdict.sum_of_single,
        verdict: &verdict.text,
        note: &verdict.note,
        passed: verdict.passed,
    });
    if verdict.passed {
        Ok(())
    } else {
        Err(Failure::Work("the demo failed; see the comparison above".into()))
    }
}

/// A file of random, incompressible bytes.
fn random_file(path: PathBuf, size: u64) -> Result<PathBuf, Failure> {
    let failed = |error| Failure::Work(format!("cannot write {}: {error}", path.display()));
    let mut file = std::fs::File::create(&path).map_err(failed)?;
    let mut rng = Seed(9_899).rng();
    let mut block = vec![0; BLOCK];
    let mut left = size;
    while left > 0 {
        let part = left.min(BLOCK as u64) as usize;
        rng.fill(&mut block[..part]);
        file.write_all(&block[..part]).map_err(failed)?;
        left -= part as u64;
    }
    Ok(path)
}

fn cannot_read(file: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure::Usage(format!("cannot read {}: {error}", file.display()))
}

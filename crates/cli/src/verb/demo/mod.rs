//! What does `anabranch demo` show? Whether several paths together are faster than the best of them alone, with
//! real endpoints over emulated links on this machine.

mod links;
mod plan;
mod run;
mod verdict;

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anabranch_types::Seed;

use crate::arguments::DemoArguments;
use crate::failure::Failure;
use crate::interrupt::apart;
use crate::output::{DemoRow, Event, Reporter};
use plan::{Plan, Size};
use run::Stage;
use verdict::Verdict;

/// Random bytes written at once.
const BLOCK: usize = 1 << 20;

/// Runs everything and tells the outcome.
pub(crate) async fn run(arguments: DemoArguments, reporter: &Arc<dyn Reporter>) -> Result<(), Failure> {
    let size = match (&arguments.file, arguments.size) {
        (Some(file), _) => Size::Bytes(file.metadata().map_err(|error| cannot_read(file, &error))?.len()),
        (None, Some(bytes)) => Size::Bytes(bytes),
        (None, None) => Size::Time(arguments.duration),
    };
    let plan = Plan::new(&arguments.paths, size, arguments.cut)?;
    let scratch =
        tempfile::tempdir().map_err(|error| Failure::Work(format!("no folder for the demo: {error}")))?;
    let file = match arguments.file {
        Some(file) => file,
        None => {
            let (path, size) = (scratch.path().join("demo.bin"), plan.largest());
            apart(move || random_file(path, size)).await?
        }
    };
    let stage = Stage {
        file,
        scratch: scratch.path().to_owned(),
        paths: plan.paths.clone(),
        config: arguments.settings.association_config()?,
        log: arguments.log,
        reporter: Arc::clone(reporter),
    };
    let mut rows: Vec<DemoRow> = Vec::new();
    for (index, run) in plan.runs.iter().enumerate() {
        let (run_name, size, ceiling_bit_s) = (run.name.as_str(), run.size, run.ceiling);
        reporter.report(&Event::Run {
            run: run_name,
            size,
            ceiling_bit_s,
        });
        let transfer = index as u64 + 1;
        let row = stage.perform(transfer, run).await?;
        reporter.report(&Event::Row { transfer, row: &row });
        rows.push(row);
    }
    let verdict = Verdict::of(&plan, &rows);
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
        Err(Failure::Work("the demo did not pass, see above".into()))
    }
}

/// Bytes that nothing on the way can compress.
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

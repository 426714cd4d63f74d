//! `anabranch lab run --on`: a plan on a Dask cluster. How does the program reach the workers? Through the Python package.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use anabranch_lab::Plan;
use anabranch_lab::run::{Outcome, Progress, Record, RunError};
use serde::Deserialize;

use crate::arguments::{LabRunArguments, PlanArguments};
use crate::failure::Failure;

/// The interpreter to use instead of `python3`.
const INTERPRETER: &str = "ANABRANCH_PYTHON";

/// A cluster, and the interpreter that runs a plan there.
pub(super) struct Cluster {
    address: String,
    options: PlanArguments,
    cache: PathBuf,
    /// Standard input of the interpreter while a plan is run; its end stops the interpreter.
    input: Mutex<Option<ChildStdin>>,
}

/// What the interpreter says in a line.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Line {
    version: String,
    digest: String,
    progress: Option<Reported>,
    records: Option<Vec<Result<Record, RunError>>>,
    error: Option<String>,
}

/// Progress as the Python package reports it.
#[derive(Deserialize)]
struct Reported {
    done: usize,
    all: usize,
    cached: usize,
    work_done: f64,
    work: f64,
}

impl Cluster {
    /// The cluster of `--on`, if there is one.
    pub(super) fn of(arguments: &LabRunArguments) -> Option<Self> {
        Some(Self {
            address: arguments.on.clone()?,
            options: arguments.plan_options.clone(),
            cache: arguments.cache.clone(),
            input: Mutex::new(None),
        })
    }

    /// Runs the plan; `watch` is called after each batch of runs.
    pub(super) fn run(&self, plan: &Plan, watch: &dyn Fn(Progress)) -> Result<Vec<Outcome>, Failure> {
        let (mut interpreter, output) = self.start(plan)?;
        let found = listen(output, plan, watch);
        self.stop();
        let ended = interpreter.wait().map_err(Failure::work)?;
        found?.ok_or_else(|| {
            Failure::Work(format!(
                "the Python package ended without results ({ended}); --on needs it with Dask: pip install 'anabranch[dask]', \
                 for the interpreter that {INTERPRETER} names, or python3"
            ))
        })
    }

    /// Ends a plan that is being run.
    pub(super) fn stop(&self) {
        drop(self.input.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn start(&self, plan: &Plan) -> Result<(Child, ChildStdout), Failure> {
        let unreadable = |error| Failure::Usage(format!("{}: {error}", plan.file.display()));
        let text = fs::read_to_string(&plan.file).map_err(unreadable)?;
        let request = serde_json::json!({
            "file": plan.file, "text": text, "quick": self.options.quick, "changes": self.options.set, "cache": self.cache,
        });
        let program = std::env::var_os(INTERPRETER).unwrap_or_else(|| OsString::from("python3"));
        let mut interpreter = Command::new(&program)
            .args(["-m", "anabranch._on", &self.address])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C reaches this program, which then ends the interpreter.
            .process_group(0)
            .spawn()
            .map_err(|error| Failure::Work(format!("cannot run {}: {error}", program.display())))?;
        let pipes = interpreter.stdin.take().zip(interpreter.stdout.take());
        let (mut input, output) = pipes.ok_or_else(|| Failure::work("the interpreter has no pipes"))?;
        // An interpreter without the package has ended already; its exit says more than the broken pipe.
        let _ = writeln!(input, "{request}");
        *self.input.lock().unwrap_or_else(PoisonError::into_inner) = Some(input);
        Ok((interpreter, output))
    }
}

/// Reads what the interpreter says until it ends. `None` if it has said no results.
fn listen(
    output: ChildStdout,
    plan: &Plan,
    watch: &dyn Fn(Progress),
) -> Result<Option<Vec<Outcome>>, Failure> {
    let mut found = None;
    for line in BufReader::new(output).lines() {
        let line: Line = serde_json::from_str(&line.map_err(Failure::work)?).map_err(Failure::work)?;
        if let Some(error) = line.error {
            return Err(Failure::Work(error));
        }
        if !line.version.is_empty() {
            check(&line, plan)?;
        }
        if let Some(reported) = line.progress {
            watch(reported.into());
        }
        if let Some(records) = line.records {
            found = Some(records.into_iter().map(|record| record.map(Arc::new)).collect());
        }
    }
    Ok(found)
}

/// Refuses a package of another version, and a plan that was changed meanwhile.
fn check(line: &Line, plan: &Plan) -> Result<(), Failure> {
    if line.version != crate::VERSION {
        return Err(Failure::Work(format!(
            "the Python package is version {}, this program {}; install the same version",
            line.version,
            crate::VERSION
        )));
    }
    if line.digest != plan.digest {
        let file = plan.file.display();
        return Err(Failure::Work(format!(
            "{file} has changed since it was read; run it again"
        )));
    }
    Ok(())
}

impl From<Reported> for Progress {
    fn from(reported: Reported) -> Self {
        let Reported {
            done,
            all,
            cached,
            work_done,
            work,
        } = reported;
        Self {
            done,
            all,
            cached,
            unstored: 0,
            work_done,
            work,
        }
    }
}

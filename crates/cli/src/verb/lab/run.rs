//! How do experiments come out? Their points are run on all cores, and their checks are held against the claims.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anabranch_lab::Plan;
use anabranch_lab::plan::{BackendPlan, TransportPlan};
use anabranch_lab::report;
use anabranch_lab::results::{Results, write};
use anabranch_lab::run::{Cache, Files, Outcome, Runner};
use anabranch_lab::summary::{ResultSummary, Size};

use super::told;
use super::watch::Watch;
use crate::arguments::LabRunArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::remark;

pub(super) async fn run(arguments: LabRunArguments, interrupt: &mut Interrupt) -> Result<(), Failure> {
    let plans = arguments.plans.iter();
    let plans = plans.map(|plan| super::load(plan, &arguments.plan_options).map(Arc::new));
    let plans: Vec<Arc<Plan>> = plans.collect::<Result<_, _>>()?;
    let has_one_folder = [&arguments.out, &arguments.events, &arguments.capture]
        .into_iter()
        .any(Option::is_some);
    if plans.len() > 1 && has_one_folder {
        let text = "--out, --events and --capture are folders for a single plan";
        return Err(Failure::usage(text));
    }
    check_files(&plans, &arguments)?;
    check_folders(&plans, &arguments)?;
    for plan in &plans {
        try_out(&folder(&arguments, plan))?;
    }
    for wanted in [&arguments.keep, &arguments.events, &arguments.capture]
        .into_iter()
        .flatten()
    {
        try_out(wanted)?;
    }
    let desk = Desk::new(&arguments, &plans)?;
    let result = desk.run_all(&plans, &arguments, interrupt).await;
    // After an interruption too: who goes on later is to know.
    desk.watch.conclude(&arguments.cache);
    match result? {
        0 => Ok(()),
        count => Err(Failure::Work(format!("{count} runs failed"))),
    }
}

/// Events and packets are written by what can write them.
fn check_files(plans: &[Arc<Plan>], arguments: &LabRunArguments) -> Result<(), Failure> {
    let settings = || {
        plans
            .iter()
            .flat_map(|plan| &plan.points)
            .map(|point| &point.setting)
    };
    let is_real = settings().any(|setting| setting.backend == BackendPlan::Testbed);
    let is_sctp = settings().all(|setting| setting.transport == TransportPlan::Sctp);
    if is_real && (arguments.events.is_some() || arguments.capture.is_some()) {
        let text = "of a test bed neither events nor packets are written; run it without --events and --capture, and tcpdump on \
                    its hosts";
        return Err(Failure::usage(text));
    }
    if !is_sctp && arguments.events.is_some() {
        let text = "events are written of SCTP only; --capture writes the packets of TCP, too";
        return Err(Failure::usage(text));
    }
    Ok(())
}

/// No plan writes over what another one has written.
fn check_folders(plans: &[Arc<Plan>], arguments: &LabRunArguments) -> Result<(), Failure> {
    let mut known: Vec<(PathBuf, &Path)> = Vec::new();
    for plan in plans {
        let folder = folder(arguments, plan);
        if let Some((_, other)) = known.iter().find(|(taken, _)| *taken == folder) {
            return Err(Failure::Usage(format!(
                "{} and {} would both write to {}; run them one by one, with --out",
                other.display(),
                plan.file.display(),
                folder.display()
            )));
        }
        known.push((folder, &plan.file));
    }
    Ok(())
}

/// What all experiments are run with.
struct Desk {
    cache: Cache,
    jobs: usize,
    stop: Arc<AtomicBool>,
    files: Files,
    watch: Arc<Watch>,
}

impl Desk {
    fn new(arguments: &LabRunArguments, plans: &[Arc<Plan>]) -> Result<Self, Failure> {
        let cache = Cache::new(
            &arguments.cache,
            Cache::this_build(crate::COMMIT).map_err(Failure::work)?,
        );
        cache.prepare().map_err(|error| {
            let folder = cache.folder().display();
            Failure::work(format!(
                "cannot keep results in {folder}: {error}; choose another folder with --cache"
            ))
        })?;
        let jobs = arguments.jobs.map_or_else(cores, usize::from);
        let stop = Arc::new(AtomicBool::new(false));
        let runner = Runner::new(&cache, jobs, &stop);
        let plans = plans
            .iter()
            .map(|plan| (plan.name.clone(), runner.survey(&plan.points)));
        let watch = Arc::new(Watch::new(arguments.output, plans.collect()));
        Ok(Self {
            cache,
            jobs,
            stop,
            files: Files {
                events: arguments.events.clone(),
                captures: arguments.capture.clone(),
            },
            watch,
        })
    }

    /// Runs one plan after the other; how many runs failed.
    async fn run_all(
        &self,
        plans: &[Arc<Plan>],
        arguments: &LabRunArguments,
        interrupt: &mut Interrupt,
    ) -> Result<usize, Failure> {
        let mut failed = 0;
        for (number, plan) in plans.iter().enumerate() {
            let outcomes = self.outcomes(number, plan, interrupt).await?;
            failed += conclude(plan, outcomes, arguments, plans.len() > 1)?;
        }
        Ok(failed)
    }

    async fn outcomes(
        &self,
        number: usize,
        plan: &Arc<Plan>,
        interrupt: &mut Interrupt,
    ) -> Result<Vec<Outcome>, Failure> {
        let work = {
            let (plan, stop) = (Arc::clone(plan), Arc::clone(&self.stop));
            let (cache, jobs, watch) = (self.cache.clone(), self.jobs, Arc::clone(&self.watch));
            let files = self.files.clone();
            move || {
                let runner = Runner::new(&cache, jobs, &stop).recording(files);
                runner.run(&plan.points, &|progress| watch.show(number, progress))
            }
        };
        let mut work = tokio::task::spawn_blocking(work);
        tokio::select! {
            outcomes = &mut work => outcomes.map_err(Failure::work),
            () = interrupt.wait() => {
                self.stop.store(true, Ordering::Relaxed);
                // What is finished is stored; what is not ends within moments.
                let _ = work.await;
                Err(Failure::Interrupted)
            }
        }
    }
}

/// Whether a folder can be had for what comes out: better refused now than after hours of work. A new one is not left
/// empty; what is written into it makes it again.
fn try_out(folder: &Path) -> Result<(), Failure> {
    let (is_new, shown) = (!folder.exists(), folder.display());
    fs::create_dir_all(folder).map_err(|error| Failure::Usage(format!("cannot make {shown}: {error}")))?;
    let written = tempfile::tempfile_in(folder);
    if is_new {
        let _ = fs::remove_dir(folder);
    }
    written.map(drop).map_err(|error| {
        Failure::Usage(format!(
            "cannot write into {shown}: {error}; choose another folder"
        ))
    })
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn folder(arguments: &LabRunArguments, plan: &Plan) -> PathBuf {
    let size = if arguments.plan_options.quick {
        "-quick"
    } else {
        ""
    };
    let usual = || Path::new("target/lab").join(format!("{}{size}", plan.name));
    arguments.out.clone().unwrap_or_else(usual)
}

/// Writes what came out of a plan, and tells it: all of it, or in a line if there are several. Gives back how many runs
/// failed.
fn conclude(
    plan: &Plan,
    outcomes: Vec<Outcome>,
    arguments: &LabRunArguments,
    is_one_of_several: bool,
) -> Result<usize, Failure> {
    let folder = folder(arguments, plan);
    let results = Results::of(plan, outcomes).of_version(crate::VERSION);
    let failed = results.failures().count();
    if failed == results.runs.len() {
        // What an earlier run has written is worth more.
        if arguments.output.is_json() {
            told::objects(&results, None)?;
        } else if !arguments.output.is_quiet() {
            told::nothing(&results)?;
        }
        return Ok(failed);
    }
    write(&results, &folder).map_err(Failure::work)?;
    let summary = ResultSummary::of(&results);
    summary
        .store(&folder.join(super::SUMMARY))
        .map_err(Failure::work)?;
    let page = report::write(&summary, &folder).map_err(Failure::work)?;
    if let Some(kept) = &arguments.keep {
        keep(&summary, &folder, kept)?;
    }
    if arguments.output.is_json() {
        told::objects(&results, Some((&folder, &page)))?;
    } else if arguments.output.is_quiet() {
        // What came out stands in files.
    } else if is_one_of_several {
        told::in_a_line(&results, &page)?;
    } else {
        told::in_full(&results, &folder, &page)?;
    }
    Ok(failed)
}

/// Keeps a summary of what was written to `folder`, and every run on real hosts, which nobody can do again. What is
/// incomplete is not kept, nor a quick result in the place of a full one.
fn keep(summary: &ResultSummary, folder: &Path, kept: &Path) -> Result<(), Failure> {
    let file = super::kept_file(kept, &summary.plan);
    let is_less =
        summary.size == Size::Quick && ResultSummary::load(&file).is_ok_and(|known| known.size == Size::Full);
    let why = match (summary.failed, is_less) {
        (0, false) => None,
        (0, true) => Some("a full result is there, and this is a quick one".to_owned()),
        (failed, _) => Some(format!("{failed} runs failed")),
    };
    if let Some(why) = why {
        remark(format_args!(
            "{} is not kept in {}: {why}",
            summary.plan,
            kept.display()
        ));
        return Ok(());
    }
    summary.in_short().store(&file).map_err(Failure::work)?;
    if !summary.environment.is_empty() {
        let rows = file.with_extension("runs.csv");
        let copied = fs::copy(folder.join("runs.csv"), &rows);
        copied.map_err(|error| Failure::work(format!("{}: {error}", rows.display())))?;
    }
    Ok(())
}

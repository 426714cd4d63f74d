//! `anabranch lab run`: runs experiments and evaluates their checks.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anabranch_lab::Plan;
use anabranch_lab::plan::{BackendPlan, TransportPlan};
use anabranch_lab::report;
use anabranch_lab::results::{Results, write};
use anabranch_lab::run::{Cache, Files, Outcome, Repeated, Runner};
use anabranch_lab::summary::{ResultSummary, Size};

use super::on::Cluster;
use super::progress::ProgressReport;
use super::results;
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
        let text = "--out, --events and --capture need a single plan; run the plans one by one";
        return Err(Failure::usage(text));
    }
    check_repetitions(&plans, &arguments)?;
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
    let context = Context::new(&arguments, &plans)?;
    let result = context.run_all(&plans, &arguments, interrupt).await;
    // After an interruption too, so that the user knows what will be run again.
    context.progress.conclude(&arguments.cache);
    match result? {
        0 => Ok(()),
        count => Err(Failure::Work(format!("{count} runs failed"))),
    }
}

/// Refuses plans with a stop rule on a cluster, whose workers get all runs at once.
fn check_repetitions(plans: &[Arc<Plan>], arguments: &LabRunArguments) -> Result<(), Failure> {
    let repeated = plans.iter().find(|plan| plan.repeat.is_some());
    match repeated.filter(|_| arguments.on.is_some()) {
        Some(plan) => Err(Failure::Usage(format!(
            "{}: `[repeat]` decides after each round what to run next, which --on does not support; run it without --on, or \
             with a fixed number of `repetitions`",
            plan.file.display()
        ))),
        None => Ok(()),
    }
}

/// Refuses --events and --capture for runs that do not support them.
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
        let text =
            "--events and --capture need the simulator; on a test bed, use tcpdump on its hosts instead";
        return Err(Failure::usage(text));
    }
    if !is_sctp && arguments.events.is_some() {
        let text = "--events supports SCTP only; use --capture for TCP";
        return Err(Failure::usage(text));
    }
    Ok(())
}

/// Refuses plans that would write to the same folder.
fn check_folders(plans: &[Arc<Plan>], arguments: &LabRunArguments) -> Result<(), Failure> {
    let mut known: Vec<(PathBuf, &Path)> = Vec::new();
    for plan in plans {
        let folder = folder(arguments, plan);
        if let Some((_, other)) = known.iter().find(|(taken, _)| *taken == folder) {
            return Err(Failure::Usage(format!(
                "{} and {} would both write to {}; run them separately, with different --out folders",
                other.display(),
                plan.file.display(),
                folder.display()
            )));
        }
        known.push((folder, &plan.file));
    }
    Ok(())
}

/// Context of the command: cache, number of threads or cluster, and progress report.
struct Context {
    cache: Cache,
    jobs: usize,
    cluster: Option<Arc<Cluster>>,
    stop: Arc<AtomicBool>,
    files: Files,
    progress: Arc<ProgressReport>,
}

impl Context {
    fn new(arguments: &LabRunArguments, plans: &[Arc<Plan>]) -> Result<Self, Failure> {
        let cache = Cache::new(
            &arguments.cache,
            Cache::this_build(crate::COMMIT).map_err(Failure::work)?,
        );
        cache.prepare().map_err(|error| {
            let folder = arguments.cache.display();
            Failure::work(format!(
                "cannot write to the cache {folder}: {error}; choose another folder with --cache"
            ))
        })?;
        let jobs = arguments.jobs.map_or_else(cores, usize::from);
        let stop = Arc::new(AtomicBool::new(false));
        let cluster = Cluster::of(arguments).map(Arc::new);
        // What the workers have stored is known only to them.
        let nothing = Cache::none();
        let known = if cluster.is_some() { &nothing } else { &cache };
        let runner = Runner::new(known, jobs, &stop);
        let plans = plans
            .iter()
            .map(|plan| (plan.name.clone(), runner.survey(&plan.points)));
        let progress = Arc::new(ProgressReport::new(arguments.output, plans.collect()));
        Ok(Self {
            cache,
            jobs,
            cluster,
            stop,
            files: Files {
                events: arguments.events.clone(),
                captures: arguments.capture.clone(),
            },
            progress,
        })
    }

    /// Runs the plans in order and returns the number of failed runs.
    async fn run_all(
        &self,
        plans: &[Arc<Plan>],
        arguments: &LabRunArguments,
        interrupt: &mut Interrupt,
    ) -> Result<usize, Failure> {
        let mut failed = 0;
        for (number, plan) in plans.iter().enumerate() {
            let done = self.outcomes(number, plan, interrupt).await?;
            failed += conclude(&done.plan, done.outcomes, arguments, plans.len() > 1)?;
        }
        Ok(failed)
    }

    async fn outcomes(
        &self,
        number: usize,
        plan: &Arc<Plan>,
        interrupt: &mut Interrupt,
    ) -> Result<Repeated, Failure> {
        let work = {
            let (plan, stop) = (Arc::clone(plan), Arc::clone(&self.stop));
            let (cache, jobs, progress) = (self.cache.clone(), self.jobs, Arc::clone(&self.progress));
            let (files, cluster) = (self.files.clone(), self.cluster.clone());
            move || match cluster {
                Some(cluster) => {
                    let outcomes = cluster.run(&plan, &|state| progress.show(number, state, None))?;
                    Ok(Repeated {
                        plan: Plan::clone(&plan),
                        outcomes,
                    })
                }
                None => {
                    let runner = Runner::new(&cache, jobs, &stop).recording(files);
                    let watch = |state, round| progress.show(number, state, Some(round));
                    Ok(runner.run_plan(&plan, &watch))
                }
            }
        };
        let mut work = tokio::task::spawn_blocking(work);
        tokio::select! {
            outcomes = &mut work => outcomes.map_err(Failure::work)?,
            () = interrupt.wait() => {
                self.stop.store(true, Ordering::Relaxed);
                if let Some(cluster) = &self.cluster {
                    cluster.stop();
                }
                // Finished runs are in the cache; the others stop within moments.
                let _ = work.await;
                Err(Failure::Interrupted)
            }
        }
    }
}

/// Checks that a folder is writable before hours of work. A new folder is removed again if nothing was written.
fn try_out(folder: &Path) -> Result<(), Failure> {
    let (is_new, shown) = (!folder.exists(), folder.display());
    fs::create_dir_all(folder)
        .map_err(|error| Failure::Usage(format!("cannot create {shown}: {error}; choose another folder")))?;
    let written = tempfile::tempfile_in(folder);
    if is_new {
        let _ = fs::remove_dir(folder);
    }
    written
        .map(drop)
        .map_err(|error| Failure::Usage(format!("cannot write to {shown}: {error}; choose another folder")))
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
    let default = || Path::new("target/lab").join(format!("{}{size}", plan.name));
    arguments.out.clone().unwrap_or_else(default)
}

/// Writes and prints the results of a plan, on one line if there are several plans. Returns the number of failed runs.
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
        // Earlier results in the folder are more useful than none.
        if arguments.output.is_json() {
            results::print_objects(&results, None)?;
        } else if !arguments.output.is_quiet() {
            results::print_failures(&results)?;
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
        results::print_objects(&results, Some((&folder, &page)))?;
    } else if arguments.output.is_quiet() {
        // The results are in files.
    } else if is_one_of_several {
        results::print_line(&results, &page)?;
    } else {
        results::print_full(&results, &folder, &page)?;
    }
    Ok(failed)
}

/// Stores the result summary in `kept`, with all runs of a test bed, which are not repeatable. Incomplete results are not
/// kept, and quick ones do not replace full ones.
fn keep(summary: &ResultSummary, folder: &Path, kept: &Path) -> Result<(), Failure> {
    let file = super::kept_file(kept, &summary.plan);
    let is_less =
        summary.size == Size::Quick && ResultSummary::load(&file).is_ok_and(|known| known.size == Size::Full);
    let why = match (summary.failed, is_less) {
        (0, false) => None,
        (0, true) => Some("a result of the full size exists, and this is the quick size".to_owned()),
        (failed, _) => Some(format!("{failed} runs failed")),
    };
    if let Some(why) = why {
        remark(format_args!(
            "{}: not stored in {}: {why}",
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

//! How does an experiment come out? Its points are run on all cores, and its checks are held against the claim.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anabranch_lab::Plan;
use anabranch_lab::metric::unit_of;
use anabranch_lab::results::{Line, Lines, Results, Run, write};
use anabranch_lab::run::{Cache, Files, Outcome, Progress, Runner};
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use super::text::{columns, print, print_json};
use crate::arguments::LabRunArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;

pub(super) async fn run(arguments: LabRunArguments, interrupt: &mut Interrupt) -> Result<(), Failure> {
    let plan = Arc::new(super::load(&arguments.plan)?);
    let folder = folder(&arguments, &plan.name);
    let stop = Arc::new(AtomicBool::new(false));
    let work = {
        let (plan, stop) = (Arc::clone(&plan), Arc::clone(&stop));
        let cache = Cache::new(&arguments.cache, Cache::this_build().map_err(Failure::work)?);
        let jobs = arguments.jobs.map_or_else(cores, usize::from);
        let watch = Watch::new(&arguments);
        let files = Files {
            events: arguments.events.clone(),
            captures: arguments.capture.clone(),
        };
        move || {
            let runner = Runner::new(&cache, jobs, &stop).recording(files);
            runner.run(&plan.points, &|progress| watch.show(progress))
        }
    };
    let mut work = tokio::task::spawn_blocking(work);
    let outcomes = tokio::select! {
        outcomes = &mut work => outcomes.map_err(Failure::work)?,
        () = interrupt.wait() => {
            stop.store(true, Ordering::Relaxed);
            // What is finished is stored; what is not ends within moments.
            let _ = work.await;
            return Err(Failure::Interrupted);
        }
    };
    conclude(&plan, outcomes, &folder, arguments.output.is_json())
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn folder(arguments: &LabRunArguments, name: &str) -> PathBuf {
    let size = if arguments.plan.quick { "-quick" } else { "" };
    let usual = || Path::new("target/lab").join(format!("{name}{size}"));
    arguments.out.clone().unwrap_or_else(usual)
}

fn conclude(plan: &Plan, outcomes: Vec<Outcome>, folder: &Path, is_json: bool) -> Result<(), Failure> {
    let results = Results::of(plan, outcomes);
    write(&results, folder).map_err(Failure::work)?;
    if is_json {
        print_objects(&results, folder);
    } else {
        print(&text(&results));
        print(&format!("\nresults in {}\n", folder.display()));
    }
    match results.failures().count() {
        0 => Ok(()),
        count => Err(Failure::Work(format!(
            "{count} of {} runs failed",
            results.runs.len()
        ))),
    }
}

fn print_objects(results: &Results<'_>, folder: &Path) {
    for run in results.failures() {
        let error = run.outcome.as_ref().err().map(ToString::to_string);
        print_json(&serde_json::json!({
            "event": "failed", "run": name(run), "seed": run.point.seed, "error": error,
        }));
    }
    for finding in &results.findings {
        let mut object = serde_json::json!(finding);
        object["event"] = "finding".into();
        print_json(&object);
    }
    print_json(&serde_json::json!({
        "event": "experiment-done",
        "plan": results.plan.name,
        "runs": results.runs.len(),
        "failed": results.failures().count(),
        "verdict": results.verdict,
        "folder": folder,
    }));
}

/// The figure as tables, and what the checks found.
fn text(results: &Results<'_>) -> String {
    let plan = results.plan;
    let mut text = format!("{} ({})\n", plan.title, plan.source);
    for metric in plan.figure.y.all() {
        let unit = unit_of(metric);
        let unit = if unit.is_empty() {
            String::new()
        } else {
            format!(", {unit}")
        };
        text += &format!("\n{metric}{unit}\n{}", table(&Lines::of(results, metric)));
    }
    for run in results.failures() {
        if let Err(error) = &run.outcome {
            text += &format!("failed: {}, seed {}: {error}\n", name(run), run.point.seed);
        }
    }
    if !results.findings.is_empty() {
        text.push('\n');
    }
    for finding in &results.findings {
        text += &format!(
            "{:>12}  {} ({} of {}; {})\n",
            finding.verdict.to_string(),
            finding.claim,
            finding.held,
            finding.all,
            finding.found
        );
    }
    if let Some(verdict) = results.verdict {
        text += &format!("\nThe claim is {}.\n", told(verdict));
    }
    text
}

fn told(verdict: anabranch_lab::check::Verdict) -> String {
    match verdict {
        anabranch_lab::check::Verdict::Partly => "partly reproduced".into(),
        verdict => verdict.to_string(),
    }
}

fn name(run: &Run<'_>) -> String {
    let point = run.point;
    let alone = point.alone.iter().map(|path| format!("{path} alone"));
    let coordinates = point
        .coordinates
        .iter()
        .map(|coordinate| format!("{} {}", coordinate.axis, coordinate.text));
    let parts: Vec<String> = [point.line.clone()]
        .into_iter()
        .chain(alone)
        .chain(coordinates)
        .collect();
    parts.join(", ")
}

/// A row for each line, a column for each x.
fn table(lines: &Lines) -> String {
    let mut places: Vec<(f64, String)> = Vec::new();
    for spot in lines.lines.iter().flat_map(|line| &line.spots) {
        if !places.iter().any(|(x, _)| *x == spot.x) {
            places.push((spot.x, spot.label.clone()));
        }
    }
    places.sort_by(|left, right| left.0.total_cmp(&right.0));
    let head = [String::new()]
        .into_iter()
        .chain(places.iter().map(|(_, label)| label.clone()));
    let mut rows: Vec<Vec<String>> = vec![head.collect()];
    for line in &lines.lines {
        let value = |x: f64| {
            line.at(x)
                .map(|spot| format!("{:.2}", lines.value(&spot.summary)))
        };
        let cells = places
            .iter()
            .map(|(x, _)| value(*x).unwrap_or_else(|| "-".into()));
        rows.push([title(line)].into_iter().chain(cells).collect());
    }
    columns(&rows)
}

fn title(line: &Line) -> String {
    let others = line
        .others
        .iter()
        .map(|other| format!(", {} {}", other.axis, other.text));
    [line.name.clone()].into_iter().chain(others).collect()
}

/// Who is told how far it is: a bar for people, lines for programs.
struct Watch {
    began: Instant,
    bar: ProgressBar,
    is_json: bool,
}

const BAR: &str = "{bar:32} {pos} of {len} runs  {msg}";

impl Watch {
    fn new(arguments: &LabRunArguments) -> Self {
        let style = ProgressStyle::with_template(BAR).expect("invariant: the template is a constant");
        let bar = if arguments.output.is_quiet() || arguments.output.is_json() {
            ProgressBar::hidden()
        } else {
            // It hides itself where standard error is no terminal.
            ProgressBar::new(0)
        };
        Self {
            began: Instant::now(),
            bar: bar.with_style(style.progress_chars("=> ")),
            is_json: arguments.output.is_json(),
        }
    }

    fn show(&self, progress: Progress) {
        if self.is_json {
            print_json(&serde_json::json!({
                "event": "lab-progress",
                "done": progress.done, "all": progress.all, "found": progress.found,
            }));
        }
        self.bar.set_length(progress.all as u64);
        self.bar.set_position(progress.done as u64);
        self.bar.set_message(self.left(progress));
        if progress.done == progress.all {
            self.bar.finish_and_clear();
        }
    }

    /// The time left, as told from the simulated bits that are done.
    fn left(&self, progress: Progress) -> String {
        if progress.work_done <= 0.0 {
            return format!("{} found", progress.found);
        }
        let left = self.began.elapsed().as_secs_f64() * (progress.work / progress.work_done - 1.0);
        format!("{} left", HumanDuration(Duration::from_secs_f64(left.max(0.0))))
    }
}

//! How far are the experiments? A bar over all of them for people, lines for programs.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anabranch_lab::run::Progress;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use super::text::print_json;
use crate::output::Output;

const BAR: &str = "{bar:32} {pos} of {len} runs  {msg}";

/// Who is told.
pub(super) struct Watch {
    began: Instant,
    bar: ProgressBar,
    is_json: bool,
    /// The names of the plans, and how far each of them is.
    plans: Mutex<Vec<(String, Progress)>>,
}

impl Watch {
    /// Watches `plans`, each with what there is to do.
    pub(super) fn new(output: Output, plans: Vec<(String, Progress)>) -> Self {
        let style = ProgressStyle::with_template(BAR).expect("invariant: the template is a constant");
        let bar = if output.is_quiet() || output.is_json() {
            ProgressBar::hidden()
        } else {
            // It hides itself where standard error is no terminal.
            ProgressBar::new(0)
        };
        Self {
            began: Instant::now(),
            bar: bar.with_style(style.progress_chars("=> ")),
            is_json: output.is_json(),
            plans: Mutex::new(plans),
        }
    }

    /// Plan number `number` has come so far.
    pub(super) fn show(&self, number: usize, progress: Progress) {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans[number].1 = progress;
        if self.is_json {
            // The results are written into files; who does not read along misses nothing.
            let _ = print_json(&serde_json::json!({
                "event": "lab-progress",
                "plan": plans[number].0,
                "done": progress.done, "all": progress.all, "found": progress.found,
            }));
        }
        let all: usize = plans.iter().map(|(_, progress)| progress.all).sum();
        let done: usize = plans.iter().map(|(_, progress)| progress.done).sum();
        self.bar.set_length(all as u64);
        self.bar.set_position(done as u64);
        self.bar.set_message(self.message(number, &plans));
        if done == all {
            self.bar.finish_and_clear();
        }
    }

    /// Tells what will have to be run again, because the cache did not take it.
    pub(super) fn conclude(&self, cache: &Path) {
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let lost: usize = plans.iter().map(|(_, progress)| progress.lost).sum();
        if lost > 0 {
            let cache = cache.display();
            eprintln!(
                "{lost} results could not be stored in {cache} and will be run again; whose files are there?"
            );
        }
    }

    /// Which plan it is, and the time left, as told from the simulated bits that are done.
    fn message(&self, number: usize, plans: &[(String, Progress)]) -> String {
        let sum = |of: fn(&Progress) -> f64| -> f64 { plans.iter().map(|(_, progress)| of(progress)).sum() };
        let (work, work_done) = (sum(|progress| progress.work), sum(|progress| progress.work_done));
        let name = match plans.len() {
            1 => String::new(),
            count => format!("{} ({} of {count})  ", plans[number].0, number + 1),
        };
        if work_done <= 0.0 {
            let found: usize = plans.iter().map(|(_, progress)| progress.found).sum();
            return format!("{name}{found} found");
        }
        let left = self.began.elapsed().as_secs_f64() * (work / work_done - 1.0);
        format!(
            "{name}{} left",
            HumanDuration(Duration::from_secs_f64(left.max(0.0)))
        )
    }
}

//! How far are the experiments? A bar over all of them for people, a line a minute for a file, lines for programs.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anabranch_lab::run::Progress;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use super::text::print_json;
use crate::output::{Output, remark};

const BAR: &str = "{bar:32} {pos} of {len} runs  {msg}";

/// How often a file is told.
const LINE_EVERY: Duration = Duration::from_secs(60);

/// Who is told.
pub(super) struct Watch {
    began: Instant,
    bar: ProgressBar,
    /// Where people read a file in place of a bar.
    lines: Option<Mutex<Lines>>,
    is_json: bool,
    /// The names of the plans, and how far each of them is.
    plans: Mutex<Vec<(String, Progress)>>,
}

impl Watch {
    /// Watches `plans`, each with what there is to do.
    pub(super) fn new(output: Output, plans: Vec<(String, Progress)>) -> Self {
        let style = ProgressStyle::with_template(BAR).expect("invariant: the template is a constant");
        let began = Instant::now();
        let is_for_people = !output.is_quiet() && !output.is_json();
        let is_terminal = io::stderr().is_terminal();
        let bar = if is_for_people && is_terminal {
            ProgressBar::new(0)
        } else {
            ProgressBar::hidden()
        };
        let lines = (is_for_people && !is_terminal).then(|| Mutex::new(Lines { last: began }));
        Self {
            began,
            bar: bar.with_style(style.progress_chars("=> ")),
            lines,
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
        let message = self.message(number, &plans);
        if let Some(lines) = &self.lines {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            if lines.is_due(Instant::now()) {
                remark(format_args!("{done} of {all} runs  {message}"));
            }
        }
        self.bar.set_length(all as u64);
        self.bar.set_position(done as u64);
        self.bar.set_message(message);
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
            remark(format_args!(
                "{lost} results could not be stored in {cache} and will be run again; whose files are there?"
            ));
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

/// When a file was told last.
struct Lines {
    last: Instant,
}

impl Lines {
    fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now.saturating_duration_since(self.last) >= LINE_EVERY;
        if is_due {
            self.last = now;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gets_one_line_a_minute_however_fast_runs_end() {
        let began = Instant::now();
        let mut lines = Lines { last: began };
        let told = (0..=1_800).filter(|tenths| lines.is_due(began + Duration::from_millis(100 * tenths)));
        assert_eq!(told.collect::<Vec<u64>>(), [600, 1_200, 1_800]);
    }
}

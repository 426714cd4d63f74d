//! Progress of experiments: a bar on a terminal, a line a minute in a file, JSON objects for programs.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anabranch_lab::run::{Progress, Round};
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use super::text::print_json;
use crate::output::{Output, remark};

const BAR: &str = "{bar:32} {pos} of {len} runs  {msg}";

/// Interval of progress lines in a file.
const LINE_INTERVAL: Duration = Duration::from_secs(60);

/// Progress report over all plans.
pub(super) struct ProgressReport {
    began: Instant,
    bar: ProgressBar,
    /// Present if standard error is a file.
    lines: Option<Mutex<LineTimer>>,
    is_json: bool,
    /// The plans with their progress.
    plans: Mutex<Vec<(String, Progress)>>,
}

impl ProgressReport {
    /// Starts the report over `plans`.
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
        let lines = (is_for_people && !is_terminal).then(|| Mutex::new(LineTimer { last: began }));
        Self {
            began,
            bar: bar.with_style(style.progress_chars("=> ")),
            lines,
            is_json: output.is_json(),
            plans: Mutex::new(plans),
        }
    }

    /// Reports the progress of plan number `number`, in this round of its repetitions.
    pub(super) fn show(&self, number: usize, progress: Progress, round: Option<Round>) {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans[number].1 = progress;
        if self.is_json {
            // A closed pipe must not end the runs: the results are written to files.
            let mut object = serde_json::json!({
                "event": "lab-progress",
                "plan": plans[number].0,
                "done": progress.done, "all": progress.all, "cached": progress.cached,
            });
            if let Some(round) = round {
                object["round"] = round.number.into();
                object["open_cells"] = round.cells.into();
            }
            let _ = print_json(&object);
        }
        let all: usize = plans.iter().map(|(_, progress)| progress.all).sum();
        let done: usize = plans.iter().map(|(_, progress)| progress.done).sum();
        let message = self.message(number, &plans) + &in_words(round);
        if let Some(lines) = &self.lines {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            if lines.is_due(Instant::now()) {
                remark(format_args!("{done} of {all} runs  {message}"));
            }
        }
        if self.bar.is_finished() && done < all {
            // A further round.
            self.bar.reset();
        }
        self.bar.set_length(all as u64);
        self.bar.set_position(done as u64);
        self.bar.set_message(message);
        if done == all {
            self.bar.finish_and_clear();
        }
    }

    /// Reports results that the cache could not store.
    pub(super) fn conclude(&self, cache: &Path) {
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let lost: usize = plans.iter().map(|(_, progress)| progress.unstored).sum();
        if lost > 0 {
            let cache = cache.display();
            remark(format_args!(
                "{lost} results could not be stored in {cache} and will be computed again; check its permissions and free space"
            ));
        }
    }

    /// Name of the plan and estimated time left, from the simulated bits.
    fn message(&self, number: usize, plans: &[(String, Progress)]) -> String {
        let sum = |of: fn(&Progress) -> f64| -> f64 { plans.iter().map(|(_, progress)| of(progress)).sum() };
        let (work, work_done) = (sum(|progress| progress.work), sum(|progress| progress.work_done));
        let name = match plans.len() {
            1 => String::new(),
            count => format!("{} ({} of {count})  ", plans[number].0, number + 1),
        };
        if work_done <= 0.0 {
            let cached: usize = plans.iter().map(|(_, progress)| progress.cached).sum();
            return format!("{name}{cached} in the cache");
        }
        let left = self.began.elapsed().as_secs_f64() * (work / work_done - 1.0);
        format!(
            "{name}{} left",
            HumanDuration(Duration::from_secs_f64(left.max(0.0)))
        )
    }
}

/// The round, unless it is the first, which runs all cells.
fn in_words(round: Option<Round>) -> String {
    match round {
        Some(Round { number: 2.., cells }) => format!("  {cells} cells repeated"),
        _ => String::new(),
    }
}

/// Time of the last line in a file.
struct LineTimer {
    last: Instant,
}

impl LineTimer {
    fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now.saturating_duration_since(self.last) >= LINE_INTERVAL;
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
    fn file_gets_one_line_a_minute() {
        let began = Instant::now();
        let mut lines = LineTimer { last: began };
        let due = (0..=1_800).filter(|tenths| lines.is_due(began + Duration::from_millis(100 * tenths)));
        assert_eq!(due.collect::<Vec<u64>>(), [600, 1_200, 1_800]);
    }
}

//! What comes out of a point? It is looked up or simulated, on all cores, and nothing that was finished is lost.

mod cache;
mod files;
mod links;
mod measure;
mod objects;
mod parallel;
mod record;
mod samples;
mod scenario;
mod silence;
mod tcp;
#[cfg(target_os = "linux")]
mod testbed;

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;

use anabranch_sim::{Side, Simulation};
use anabranch_types::Instant;
use thiserror::Error;

pub use cache::Cache;
pub(crate) use cache::setting_digest;
pub use files::Files;
pub use parallel::{Outcome, Progress, Runner};
pub use record::{Bucket, Record, TimeSeriesRow};

use crate::plan::{BackendPlan, End, Point, Setting, TransportPlan};
use files::Recording;
use measure::{Snapshot, Window};
use samples::Samples;

/// Why a point has no result.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RunError {
    /// The two ends did not find each other, or lost each other.
    #[error("the association was not established, or it ended before the measuring began")]
    NoAssociation,
    /// It ended while it was measured.
    #[error("the association ended at {0}")]
    Ended(String),
    /// It was asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// What was to be written down beside the results was not.
    #[error("cannot write what was recorded: {0}")]
    Files(String),
    /// What only real hosts have failed: no privilege, a missing program, a stack that gave up.
    #[error("test bed: {0}")]
    Testbed(String),
    /// The simulator gave up; this is a bug.
    #[error("the simulation panicked: {0}")]
    Panicked(String),
}

/// Runs a point where its plan wants it: in the simulator, or on a test bed.
fn perform(point: &Point, stop: &AtomicBool, recording: &Recording) -> Result<Record, RunError> {
    match point.setting.backend {
        BackendPlan::Sim => simulate_recorded(point, stop, recording),
        BackendPlan::Testbed => on_testbed(point, stop, recording),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn unwritten(error: std::io::Error) -> RunError {
    RunError::Files(error.to_string())
}

#[cfg(target_os = "linux")]
fn on_testbed(point: &Point, stop: &AtomicBool, recording: &Recording) -> Result<Record, RunError> {
    if recording.is_none() {
        return testbed::run(point, stop);
    }
    let text = "of a test bed neither events nor packets are written; tcpdump on its hosts shows them";
    Err(RunError::Files(text.into()))
}

#[cfg(not(target_os = "linux"))]
fn on_testbed(_point: &Point, _stop: &AtomicBool, _recording: &Recording) -> Result<Record, RunError> {
    Err(RunError::Testbed("it needs Linux".into()))
}

/// What a run on real hosts depends on beside its setting.
#[cfg(target_os = "linux")]
use testbed::machine;

#[cfg(not(target_os = "linux"))]
fn machine(_setting: &Setting) -> String {
    String::new()
}

/// Simulates a point.
///
/// # Errors
///
/// [`RunError`]; `stop` makes it end within moments.
pub fn simulate(point: &Point, stop: &AtomicBool) -> Result<Record, RunError> {
    simulate_recorded(point, stop, &Recording::default())
}

/// The same, with files beside the results.
fn simulate_recorded(point: &Point, stop: &AtomicBool, recording: &Recording) -> Result<Record, RunError> {
    let setting = &*point.setting;
    if setting.transport != TransportPlan::Sctp {
        return tcp::simulate(point, stop, recording);
    }
    let scenario = recording.capture(scenario::scenario(setting, point.seed));
    let mut simulation = scenario.map_err(unwritten)?.build();
    recording.observe(&mut simulation).map_err(unwritten)?;
    simulation.act(talker(setting), |host, _| host.count_sacks());
    if setting.record.overhead {
        for side in Side::BOTH {
            simulation.act(side, |host, _| host.count_overhead());
        }
    }
    simulation.connect();
    simulation.connect_rivals();
    let mut run = Run {
        simulation,
        setting,
        stop,
        samples: Samples::new(setting),
        series: Vec::new(),
        next_row: setting.record.time_series.map(|_| Instant::ZERO),
    };
    let end = Instant::ZERO + setting.time.warm_up.0 + setting.time.measure.0;
    let before = run.warm_up(end)?;
    let mut look = end.min(run.simulation.now() + OFF_THE_CLOCK);
    run.pass(look)?;
    while look < end && !run.is_complete() {
        look = end.min(look + samples::EVERY);
        run.pass(look)?;
        run.samples.take(&run.simulation, setting);
    }
    let after = Snapshot::take(&run.simulation, setting);
    let after = after.ok_or_else(|| RunError::Ended(run.simulation.now().to_string()))?;
    let window = Window {
        setting,
        before: &before,
        after: &after,
        samples: &run.samples,
    };
    let mut record = window.record();
    files::finish(&mut run.simulation).map_err(unwritten)?;
    record.time_series = run.series;
    Ok(record)
}

/// The side whose data is measured.
fn talker(setting: &Setting) -> Side {
    match setting.data_sender() {
        End::Near => Side::Near,
        End::Far => Side::Far,
    }
}

/// Samples are so much off full milliseconds, at which everything arrives behind shapers: windows would never look full.
const OFF_THE_CLOCK: Duration = Duration::from_micros(500);

/// A simulation that is under way.
struct Run<'a> {
    simulation: Simulation,
    setting: &'a Setting,
    stop: &'a AtomicBool,
    samples: Samples,
    series: Vec<TimeSeriesRow>,
    /// When the next row of the time series is due, if there is one.
    next_row: Option<Instant>,
}

/// How closely is looked for the moment at which the association exists.
const MOMENT: Duration = Duration::from_millis(1);

impl Run<'_> {
    /// What is before the measuring. It begins with the run, or, if there is a warm-up, after it, but not before both ends
    /// have an association.
    fn warm_up(&mut self, end: Instant) -> Result<Snapshot, RunError> {
        let begin = Instant::ZERO + self.setting.time.warm_up.0;
        self.pass(begin)?;
        while self.simulation.now() < end {
            if let Some(snapshot) = Snapshot::take(&self.simulation, self.setting) {
                return Ok(if self.setting.time.warm_up.0.is_zero() {
                    Snapshot::of_the_start(self.setting)
                } else {
                    snapshot
                });
            }
            self.pass(end.min(self.simulation.now() + MOMENT))?;
        }
        Err(RunError::NoAssociation)
    }

    /// Whether there is nothing more to measure.
    fn is_complete(&self) -> bool {
        let all = self.setting.all_messages();
        let read = || {
            let reader = self.simulation.conversation(talker(self.setting).other());
            reader.map_or(0, |reader| reader.inbox().messages())
        };
        self.setting.time.until_complete && all.is_some_and(|all| read() >= all)
    }

    /// Lets time pass up to `end`, and writes the rows that are due on the way.
    fn pass(&mut self, end: Instant) -> Result<(), RunError> {
        while self.simulation.now() < end {
            if self.stop.load(Ordering::Relaxed) {
                return Err(RunError::Interrupted);
            }
            let now = self.simulation.now();
            if let (Some(next), Some(every)) = (self.next_row, self.setting.record.time_series)
                && next <= now
            {
                samples::time_series_rows(&self.simulation, self.setting, &mut self.series);
                self.next_row = Some(next + every.0);
            }
            let next_row = self.next_row.unwrap_or(Instant::MAX);
            let until = next_row.min(now + samples::EVERY).min(end);
            self.simulation.run_for(until - now);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

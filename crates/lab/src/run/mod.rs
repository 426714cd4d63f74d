//! Experiment runs. How is the result of a point obtained? From the cache or by a run; runs use all cores, and finished
//! results persist.

mod cache;
mod files;
mod link;
mod links;
mod measure;
mod objects;
mod parallel;
mod record;
mod rounds;
mod samples;
mod scenario;
mod silence;
mod tcp;
#[cfg(target_os = "linux")]
mod testbed;

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;

use anabranch_sim::{OwnPolicies, Side, Simulation, Transport};
use anabranch_types::{Instant, Seed};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use cache::Cache;
pub(crate) use cache::setting_digest;
pub use files::Files;
pub use parallel::{Outcome, Progress, Runner};
pub use record::{Bucket, Record, TimeSeriesRow};
pub use rounds::{Repeated, Round};

use crate::plan::{AppPlan, BackendPlan, End, Named, Point, Setting, TransportPlan};
use files::Recording;
use measure::{Snapshot, Window, completed};
use samples::Samples;

/// Why a point has no result.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Error, Serialize)]
pub enum RunError {
    /// The two ends could not establish an association, or lost it.
    #[error("the association was not established, or it ended before the measuring began")]
    NoAssociation,
    /// The association ended during the measurement.
    #[error("the association ended at {0}")]
    Ended(String),
    /// The run was stopped on request.
    #[error("interrupted")]
    Interrupted,
    /// The event log or capture could not be written.
    #[error("cannot write what was recorded: {0}")]
    Files(String),
    /// Failure on real hosts only: missing privileges, a missing program, or a stack that failed.
    #[error("test bed: {0}")]
    Testbed(String),
    /// The series has own policies, but is not SCTP in the simulator.
    #[error("own policies work with SCTP in the simulator only")]
    OwnPolicies,
    /// The simulator panicked; this is a bug.
    #[error("the simulation panicked: {0}")]
    Panicked(String),
}

/// Runs a point in the simulator or on a test bed, as its plan requires.
fn perform(
    point: &Point,
    own: Option<&OwnPolicies>,
    stop: &AtomicBool,
    recording: &Recording,
) -> Result<Record, RunError> {
    match (point.setting.backend, own) {
        (BackendPlan::Sim, own) => simulate_recorded(point, own, stop, recording),
        (BackendPlan::Testbed, None) => on_testbed(point, stop, recording),
        (BackendPlan::Testbed, Some(_)) => Err(RunError::OwnPolicies),
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

/// Properties of the machine that affect a run on real hosts, besides the setting.
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
/// See [`RunError`]. Setting `stop` ends the run within moments.
pub fn simulate(point: &Point, stop: &AtomicBool) -> Result<Record, RunError> {
    simulate_recorded(point, None, stop, &Recording::default())
}

/// Simulates a point and writes its event log and capture, if requested.
fn simulate_recorded(
    point: &Point,
    own: Option<&OwnPolicies>,
    stop: &AtomicBool,
    recording: &Recording,
) -> Result<Record, RunError> {
    let setting = &*point.setting;
    match setting.transport {
        TransportPlan::Sctp => {
            let scenario = recording.capture(scenario::scenario(setting, own, point.seed));
            let mut simulation = scenario.map_err(unwritten)?.build();
            recording.observe(&mut simulation).map_err(unwritten)?;
            let (sender, _) = sides(setting);
            simulation.act(sender, |host, _| host.count_sacks());
            start_others(&mut simulation, setting, point.seed);
            simulation.connect();
            let (record, mut simulation) = Run::new(simulation, setting, stop).measure()?;
            simulation
                .act(Side::Near, |host, _| host.finish_observation())
                .map_err(unwritten)?;
            Ok(record)
        }
        TransportPlan::Tcp | TransportPlan::Mptcp if own.is_some() => Err(RunError::OwnPolicies),
        TransportPlan::Tcp | TransportPlan::Mptcp => {
            recording.refuse_events()?;
            let scenario = recording.capture(tcp::scenario(setting, point.seed));
            let mut simulation = scenario.map_err(unwritten)?.build();
            start_others(&mut simulation, setting, point.seed);
            simulation.connect_in_turn(connections(&setting.apps));
            Ok(Run::new(simulation, setting, stop).measure()?.0)
        }
    }
}

/// If hosts start at drawn times: schedules the start of cross traffic, and runs until the near host starts.
fn start_others<T: Transport>(simulation: &mut Simulation<T>, setting: &Setting, seed: u64) {
    let clocks = link::Clocks::new(setting, Seed(seed));
    for (number, (name, _)) in setting.cross_traffic.iter().enumerate() {
        if let Some(start) = clocks.of_cross_traffic(name).start_of("near") {
            simulation.schedule_cross_traffic(number, Instant::ZERO + start);
        }
    }
    if let Some(start) = clocks.start_of("near") {
        simulation.run_for(start);
    }
}

/// The side that sends the measured data, and the side that reads them.
fn sides(setting: &Setting) -> (Side, Side) {
    let sender = match setting.data_sender() {
        End::Near => Side::Near,
        End::Far => Side::Far,
    };
    (sender, sender.other())
}

/// Number of TCP connections: the largest stream count of any application.
fn connections(apps: &Named<AppPlan>) -> u64 {
    let carriers = |(_, app): (&str, &AppPlan)| u64::from(app.stream_count());
    apps.iter().map(carriers).max().unwrap_or(1)
}

/// Offset of the samples from full milliseconds. Packets leave shapers at full milliseconds, so windows sampled then
/// would never be full.
const OFF_THE_CLOCK: Duration = Duration::from_micros(500);

/// A simulation in progress.
struct Run<'a, T: Transport> {
    simulation: Simulation<T>,
    setting: &'a Setting,
    stop: &'a AtomicBool,
    samples: Samples,
    series: Vec<TimeSeriesRow>,
    /// Time of the next row of the time series, if one is recorded.
    next_row: Option<Instant>,
}

/// Polling interval while waiting for the association.
const MOMENT: Duration = Duration::from_millis(1);

impl<'a, T: Transport> Run<'a, T> {
    fn new(simulation: Simulation<T>, setting: &'a Setting, stop: &'a AtomicBool) -> Self {
        Self {
            simulation,
            setting,
            stop,
            samples: Samples::new(setting),
            series: Vec::new(),
            next_row: setting.record.time_series.map(|_| Instant::ZERO),
        }
    }

    /// Runs to the end of the measuring time, or until a transfer that ends the run is complete.
    fn measure(mut self) -> Result<(Record, Simulation<T>), RunError> {
        let setting = self.setting;
        if setting.clocks.start.0.is_zero() {
            self.simulation.connect_cross_traffic();
        }
        let end = Instant::ZERO + setting.time.warm_up.0 + setting.time.measure.0;
        let (begin, before) = self.warm_up(end)?;
        let mut next = end.min(self.simulation.now() + OFF_THE_CLOCK);
        self.pass(next)?;
        while next < end && !self.is_complete() {
            next = end.min(next + samples::EVERY);
            self.pass(next)?;
            self.samples.take(&self.simulation, setting);
        }
        let now = self.simulation.now();
        let after = Snapshot::take(&self.simulation, setting);
        let after = after.ok_or_else(|| RunError::Ended(now.to_string()))?;
        let window = Window {
            setting,
            before: &before,
            after: &after,
            samples: &self.samples,
            seconds: (now - begin).as_secs_f64(),
        };
        let mut record = window.record();
        self.simulation.finish_captures().map_err(unwritten)?;
        record.time_series = self.series;
        Ok((record, self.simulation))
    }

    /// Runs until measuring starts: at the start of the run or, with a warm-up, after it, but not before both ends have
    /// an association.
    fn warm_up(&mut self, end: Instant) -> Result<(Instant, Snapshot), RunError> {
        let begin = Instant::ZERO + self.setting.time.warm_up.0;
        self.pass(begin)?;
        while self.simulation.now() < end {
            if let Some(snapshot) = Snapshot::take(&self.simulation, self.setting) {
                return Ok(if self.setting.time.warm_up.0.is_zero() {
                    (Instant::ZERO, Snapshot::of_the_start(self.setting))
                } else {
                    (self.simulation.now(), snapshot)
                });
            }
            self.pass(end.min(self.simulation.now() + MOMENT))?;
        }
        Err(RunError::NoAssociation)
    }

    /// Whether the transfer is complete and the plan ends the run then.
    fn is_complete(&self) -> bool {
        let is_endless = match self.setting.transport {
            TransportPlan::Sctp => self.setting.all_messages().is_none(),
            TransportPlan::Tcp | TransportPlan::Mptcp => false,
        };
        let (_, receiver) = sides(self.setting);
        self.setting.time.until_complete
            && !is_endless
            && self
                .simulation
                .state(receiver)
                .is_some_and(|reader| completed(self.setting, &reader).is_some())
    }

    /// Runs the simulation until `end` and adds the rows of the time series that are due.
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

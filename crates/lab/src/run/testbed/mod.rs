//! Runs of a point on the test bed: real stacks, in real time, with the plan's links between two network namespaces.
//!
//! | file | content |
//! |---|---|
//! | `stack` | the interface of a stack |
//! | `anabranch`, `usrsctp`, `kernel` | the stacks: our library, usrsctp, the kernel's TCP and MPTCP |
//! | `payload` | test payload of our application |
//! | `made_with` | versions of kernel and stacks |
//!
//! Both SCTP stacks send directly over IP through raw sockets, unless the plan requires UDP encapsulation. Their
//! packets then have the same overhead.

mod anabranch;
mod kernel;
mod made_with;
mod payload;
mod stack;
mod usrsctp;

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::collections::VecDeque;
use std::io;
use std::thread;
use std::time::Instant;

use anabranch_emu::bed::{Bed, BedLink, Side, Timing};
use anabranch_netsim::LinkChange;
use anabranch_types::Seed;

use super::link::{self, Clocks};
use super::links::Counted;
use super::measure::{self, Window};
use super::record::Record;
use super::samples::{EVERY, Samples};
use super::{RunError, scenario};
use crate::plan::{Point, ScriptStep, Setting, StackPlan};
pub(super) use made_with::machine;
use stack::Stack;

/// Name of the test bed. Only one can exist at a time.
const NAME: &str = "lab";
/// Maximum time for connection setup; allows for a few lost handshake packets.
const PATIENCE: Duration = Duration::from_secs(15);
/// Polling interval during connection setup.
const LOOK: Duration = Duration::from_millis(1);

impl From<io::Error> for RunError {
    fn from(error: io::Error) -> Self {
        Self::Testbed(error.to_string())
    }
}

/// Runs a point on the test bed.
pub(super) fn run(point: &Point, stop: &AtomicBool) -> Result<Record, RunError> {
    let setting = &*point.setting;
    let links: Vec<_> = setting
        .paths
        .iter()
        .map(|(name, path)| link::both_directions(path, name, Clocks::new(setting, Seed(point.seed))))
        .collect();
    let bed = Bed::up(NAME, &links, Seed(point.seed))?;
    let stack: Box<dyn Stack> = match setting.stack() {
        StackPlan::Anabranch => Box::new(anabranch::Library::start(setting, bed.hosts())?),
        StackPlan::Usrsctp => Box::new(usrsctp::Usrsctp::start(setting, bed.hosts())?),
        StackPlan::Kernel => Box::new(kernel::Kernel::start(setting, bed.hosts())?),
    };
    let mut run = Run {
        samples: Samples::new(setting),
        script: script(setting),
        bed: &bed,
        stack,
        setting,
        stop,
        start: Instant::now(),
    };
    let begin = setting.time.warm_up.0;
    let end = begin + setting.time.measure.0;
    run.connect()?;
    run.pass(begin, |_, _| ())?;
    let before = run.snapshot()?;
    run.pass(end, |run, bytes| run.sample(bytes))?;
    let after = run.snapshot()?;
    let mut record = run.record(&before, &after)?;
    record.environment = made_with::made_with(setting, bed.hosts(), after.timing.scheduling);
    Ok(record)
}

/// Link changes of the script with their times and paths, in order of time.
fn script(setting: &Setting) -> VecDeque<(Duration, usize, Vec<LinkChange>)> {
    let step = |step: &ScriptStep| {
        let path = setting.paths.position(step.path()?)?;
        let changes = match (&step.cut, &step.restore) {
            (Some(_), _) => vec![LinkChange::Cut],
            (_, Some(_)) => vec![LinkChange::Heal],
            (None, None) => scenario::changes(step),
        };
        Some((step.at.0, path, changes))
    };
    let mut steps: Vec<_> = setting.script.iter().filter_map(step).collect();
    steps.sort_by_key(|(at, _, _)| *at);
    steps.into()
}

/// A run in progress.
struct Run<'a> {
    bed: &'a Bed,
    stack: Box<dyn Stack>,
    setting: &'a Setting,
    stop: &'a AtomicBool,
    script: VecDeque<(Duration, usize, Vec<LinkChange>)>,
    samples: Samples,
    start: Instant,
}

/// All counters at one time.
struct Snapshot {
    at: Instant,
    counted: measure::Snapshot,
    damaged: u64,
    timing: Timing,
    overflows: u64,
}

impl Run<'_> {
    /// Waits until `end` and calls `look` at regular intervals with the bytes read by the far end.
    fn pass(&mut self, end: Duration, look: impl Fn(&mut Self, u64)) -> Result<(), RunError> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(RunError::Interrupted);
            }
            let now = self.start.elapsed();
            self.act(now);
            self.bed.check()?;
            let bytes = self.stack.bytes_read()?;
            look(self, bytes);
            let next = self.script.front().map_or(Duration::MAX, |(at, _, _)| *at);
            let now = self.start.elapsed();
            if now >= end {
                return Ok(());
            }
            thread::sleep(EVERY.min(end - now).min(next.saturating_sub(now)));
        }
    }

    fn act(&mut self, now: Duration) {
        while self.script.front().is_some_and(|(at, _, _)| *at <= now) {
            let Some((_, path, changes)) = self.script.pop_front() else {
                return;
            };
            for from in Side::BOTH {
                for change in &changes {
                    self.bed.apply(BedLink { path, from }, change.clone());
                }
            }
        }
    }

    /// Waits until both ends are connected. The run starts then, because programs take time to start.
    fn connect(&mut self) -> Result<(), RunError> {
        let end = Instant::now() + PATIENCE;
        while !self.stack.is_connected()? {
            if self.stop.load(Ordering::Relaxed) {
                return Err(RunError::Interrupted);
            }
            if Instant::now() >= end {
                return Err(RunError::NoAssociation);
            }
            thread::sleep(LOOK);
        }
        self.start = Instant::now();
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot, RunError> {
        let link = |path, from| self.bed.statistics(BedLink { path, from });
        let links = (0..self.setting.paths.len())
            .map(|path| Counted::new(link(path, Side::Near), link(path, Side::Far)))
            .collect();
        let timing = self.bed.timing();
        let overflows = self.bed.overflows()?;
        let stack = self.stack.counters()?;
        Ok(Snapshot {
            counted: measure::Snapshot {
                sender: stack.sender,
                receiver: stack.receiver,
                links,
                cross_traffic: Vec::new(),
            },
            damaged: stack.damaged,
            timing,
            overflows,
            at: Instant::now(),
        })
    }

    fn sample(&mut self, bytes: u64) {
        // Do not count stalls of the whole machine as silence.
        let at = self.start.elapsed().saturating_sub(self.bed.stalled());
        let (bed, paths) = (self.bed, self.setting.paths.len());
        let links = || {
            (0..paths).map(|path| BedLink {
                path,
                from: Side::Near,
            })
        };
        let delivered = links().map(|link| bed.statistics(link).delivered.packets);
        self.samples.note_arrivals(at, delivered.sum(), bytes);
        self.samples.note_queues(links().map(|link| bed.waiting(link)));
    }

    fn record(&self, before: &Snapshot, after: &Snapshot) -> Result<Record, RunError> {
        let timing = after.timing.since(&before.timing);
        // The links stood still while the machine was stalled.
        let seconds = (after.at - before.at)
            .saturating_sub(timing.stalled)
            .as_secs_f64();
        let window = Window {
            setting: self.setting,
            before: &before.counted,
            after: &after.counted,
            samples: &self.samples,
            seconds,
        };
        let mut record = window.record();
        let damaged = after.damaged - before.damaged;
        record.set("testbed.integrity-errors", damaged as f64);
        for (name, share) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
            let late = timing.late.quantile(share).map(|micros| micros as f64);
            record.set(format!("testbed.lateness.{name}"), late);
        }
        record.set("testbed.host-stalls", timing.stalls as f64);
        record.set("testbed.host-stalls.time", timing.stalled.as_secs_f64() * 1e3);
        let strays = timing.refused + after.overflows - before.overflows;
        record.set("testbed.stray-losses", strays as f64);
        record.set("testbed.load", made_with::load());
        Ok(record)
    }
}

#[cfg(test)]
mod tests;

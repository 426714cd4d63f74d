//! What comes out of a point on real hosts? The plan's links stand between two namespaces, and real stacks talk, in real time.
//!
//! | file | what |
//! |---|---|
//! | `talk` | what a conversation is asked, whoever has it |
//! | `ours`, `usrsctp`, `kernel` | who may have it |
//! | `letters` | what our application sends |
//! | `made_with` | which kernel, which versions |
//!
//! SCTP is carried directly over IP by both stacks that have it, unless the plan wants UDP: the same bytes in each packet,
//! and a raw socket under each.

mod kernel;
mod letters;
mod made_with;
mod ours;
mod talk;
mod usrsctp;

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::collections::VecDeque;
use std::io;
use std::thread;
use std::time::Instant;

use anabranch_emu::bed::{Bed, BedLink, Side, Timing};
use anabranch_netsim::{Histogram, LinkChange};
use anabranch_types::Seed;

use super::links::{self, Counted};
use super::record::Record;
use super::samples::{EVERY, write_queue};
use super::silence::{Reading, Silence};
use super::{RunError, scenario};
use crate::plan::{Point, ScriptStep, Setting, StackPlan};
pub(super) use made_with::machine;
use talk::{Talk, Tally};

/// What the bed is called. There is one at a time.
const NAME: &str = "lab";
/// How long the two ends may take to find each other: a few lost handshakes.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often is looked whether they have.
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
        .map(|(name, path)| scenario::there_and_back(path, name))
        .collect();
    let bed = Bed::up(NAME, &links, Seed(point.seed))?;
    let talk: Box<dyn Talk> = match setting.stack() {
        StackPlan::Anabranch => Box::new(ours::Ours::begin(setting, bed.hosts())?),
        StackPlan::Usrsctp => Box::new(usrsctp::Usrsctp::begin(setting, bed.hosts())?),
        StackPlan::Kernel => Box::new(kernel::Kernel::begin(setting, bed.hosts())?),
    };
    let mut run = Run {
        samples: vec![Histogram::default(); setting.paths.len()],
        script: script(setting),
        bed: &bed,
        talk,
        setting,
        stop,
        silence: Silence::default(),
        reading: Reading::default(),
        start: Instant::now(),
    };
    let begin = setting.time.warm_up.0;
    let end = begin + setting.time.measure.0;
    run.meet()?;
    run.pass(begin, |_, _| ())?;
    let before = run.snapshot()?;
    run.pass(end, |run, bytes| run.sample(bytes))?;
    let after = run.snapshot()?;
    let mut record = run.record(&before, &after)?;
    record.environment = made_with::made_with(setting, bed.hosts(), after.timing.scheduling);
    Ok(record)
}

/// What happens to the links of which path, in order of time.
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

/// A run that is under way.
struct Run<'a> {
    bed: &'a Bed,
    talk: Box<dyn Talk>,
    setting: &'a Setting,
    stop: &'a AtomicBool,
    script: VecDeque<(Duration, usize, Vec<LinkChange>)>,
    /// Packets waiting at each path's link to the far end.
    samples: Vec<Histogram>,
    silence: Silence,
    reading: Reading,
    start: Instant,
}

/// Everything that is counted, at one moment.
struct Snapshot {
    at: Instant,
    tally: Tally,
    links: Vec<Counted>,
    timing: Timing,
    overflows: u64,
}

impl Run<'_> {
    /// Lets time pass up to `end`, and `look`s every so often at what the far end has read.
    fn pass(&mut self, end: Duration, look: impl Fn(&mut Self, u64)) -> Result<(), RunError> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(RunError::Interrupted);
            }
            let now = self.start.elapsed();
            self.act(now);
            self.bed.check()?;
            let bytes = self.talk.bytes()?;
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

    /// Lets both ends find each other. The run begins when they have: programs take time to start.
    fn meet(&mut self) -> Result<(), RunError> {
        let end = Instant::now() + PATIENCE;
        while !self.talk.is_connected()? {
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
        let lane = |path, from| self.bed.statistics(BedLink { path, from });
        Ok(Snapshot {
            links: (0..self.setting.paths.len())
                .map(|path| Counted::new(lane(path, Side::Near), lane(path, Side::Far)))
                .collect(),
            timing: self.bed.timing(),
            overflows: self.bed.overflows()?,
            tally: self.talk.tally()?,
            at: Instant::now(),
        })
    }

    fn sample(&mut self, bytes: u64) {
        // What the machine slept through was no silence.
        let at = self.start.elapsed().saturating_sub(self.bed.stalled());
        let mut delivered = 0;
        for (path, queue) in self.samples.iter_mut().enumerate() {
            let lane = BedLink {
                path,
                from: Side::Near,
            };
            queue.note(self.bed.waiting(lane));
            delivered += self.bed.statistics(lane).delivered.packets;
        }
        self.silence.note(at, delivered);
        self.reading.note(at, bytes);
    }

    fn record(&self, before: &Snapshot, after: &Snapshot) -> Result<Record, RunError> {
        let mut record = Record::default();
        let timing = after.timing.since(&before.timing);
        // While the machine stood still, so did the links.
        let seconds = (after.at - before.at)
            .saturating_sub(timing.stalled)
            .as_secs_f64();
        after.tally.write(&before.tally, seconds, &mut record);
        self.silence.write(&mut record);
        self.reading.write(&mut record);
        links::write(&mut record, self.setting, &before.links, &after.links, seconds);
        for (name, queue) in self.setting.paths.names().zip(&self.samples) {
            write_queue(queue, &format!("path.{name}"), &mut record);
        }
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

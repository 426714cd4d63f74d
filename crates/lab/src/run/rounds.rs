//! Rounds of repetitions. Which cells of a plan go on? Those whose intervals are too wide when all runs of a round have ended.

use core::sync::atomic::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use super::{Outcome, Progress, RunError, Runner};
use crate::plan::{Plan, Point, cell_of};
use crate::results::{Results, next_round};

/// A plan that was run, with as many repetitions as its stop rule took.
#[derive(Clone, Debug)]
pub struct Repeated {
    /// The plan with all its runs.
    pub plan: Plan,
    /// Their outcomes, in their order.
    pub outcomes: Vec<Outcome>,
}

/// A round of repetitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Round {
    /// Its number, from 1.
    pub number: usize,
    /// The cells that go on in it.
    pub cells: usize,
}

/// What identifies a run within its plan.
type Key = (String, Option<String>, Vec<String>, u64);

fn key(point: &Point) -> Key {
    let Point {
        series,
        single_path,
        seed,
        ..
    } = point;
    (series.clone(), single_path.clone(), cell_of(point), *seed)
}

impl Runner<'_> {
    /// Runs a plan; with a stop rule, in rounds. All runs of a round end before the next one is decided, so neither the order
    /// in which they end nor the number of threads matters, and cached results give the same rounds again.
    ///
    /// `watch` is called after each run with the progress of all rounds so far.
    pub fn run_plan(&self, plan: &Plan, watch: &(dyn Fn(Progress, Round) + Sync)) -> Repeated {
        let all: BTreeSet<Vec<String>> = plan.points.iter().map(cell_of).collect();
        let mut round = Round {
            number: 1,
            cells: all.len(),
        };
        let mut plan = plan.clone();
        let mut known: BTreeMap<Key, Outcome> = BTreeMap::new();
        let mut before = Progress::default();
        loop {
            let open = plan
                .points
                .iter()
                .filter(|point| !known.contains_key(&key(point)));
            let open: Vec<Point> = open.cloned().collect();
            let latest = Mutex::new(before);
            let outcomes = self.run(&open, &|progress| {
                let progress = before.and(progress);
                *latest.lock().unwrap_or_else(PoisonError::into_inner) = progress;
                watch(progress, round);
            });
            before = latest.into_inner().unwrap_or_else(PoisonError::into_inner);
            known.extend(open.iter().map(key).zip(outcomes));
            let outcome = |point| {
                known
                    .get(&key(point))
                    .cloned()
                    .unwrap_or(Err(RunError::Interrupted))
            };
            let outcomes: Vec<Outcome> = plan.points.iter().map(outcome).collect();
            let wanted = next_round(&Results::of(&plan, outcomes.clone()));
            if wanted.is_empty() || self.stop.load(Ordering::Relaxed) {
                return Repeated { plan, outcomes };
            }
            round = Round {
                number: round.number + 1,
                cells: wanted.len(),
            };
            plan = plan.repeated(&wanted);
        }
    }
}

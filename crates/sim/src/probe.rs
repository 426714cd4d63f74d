//! Time series of path state. Samples of what the core knows of each path in the course of time.

use core::time::Duration;

use anabranch_policy::PathFacts;
use anabranch_types::{Instant, PathId};

use crate::{Side, Simulation, Transport};

/// What was known of one path at one moment.
#[derive(Clone, Debug)]
pub struct Sample {
    /// When.
    pub at: Instant,
    /// Of which path, and what.
    pub facts: PathFacts,
    /// Bytes that the far application had read by then.
    pub delivered: u64,
}

/// Samples of one side's paths.
#[derive(Clone, Debug)]
pub struct Probe {
    side: Side,
    every: Duration,
    next: Instant,
    samples: Vec<Sample>,
}

impl Probe {
    /// A sample of each path of `side` every `every`.
    ///
    /// # Panics
    ///
    /// If `every` is zero.
    #[must_use]
    pub fn new(side: Side, every: Duration) -> Self {
        assert!(!every.is_zero(), "samples need time between them");
        Self {
            side,
            every,
            next: Instant::ZERO,
            samples: Vec::new(),
        }
    }

    /// All samples, by time and then by path.
    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// The samples of one path, by time.
    pub fn of_path(&self, path: PathId) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |sample| sample.facts.id == path)
    }

    pub(crate) const fn next(&self) -> Instant {
        self.next
    }

    pub(crate) fn take<T: Transport>(&mut self, simulation: &Simulation<T>) {
        let at = simulation.now();
        self.next = at + self.every;
        let delivered = T::bytes_read(simulation.host(self.side.other()));
        let facts = T::path_facts(simulation.host(self.side));
        self.samples.extend(facts.iter().map(|facts| Sample {
            at,
            facts: facts.clone(),
            delivered,
        }));
    }
}

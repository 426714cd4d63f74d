//! Time series of path state, sampled from the core at intervals.

use core::time::Duration;

use anabranch_policy::PathFacts;
use anabranch_types::{Instant, PathId};

use crate::{Side, Simulation, Transport};

/// State of one path at one moment.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Time.
    pub at: Instant,
    /// Path and its state.
    pub facts: PathFacts,
    /// Bytes read by the far application at that time.
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
    /// Samples each path of `side` every `every`.
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

    /// All samples, ordered by time and then by path.
    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Samples of one path, ordered by time.
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

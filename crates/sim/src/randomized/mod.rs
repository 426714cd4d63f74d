//! Randomized simulations: two hosts, random steps against them, and an oracle that checks the invariants.
//!
//! A [`RandomizedTest`] is a setup and steps, both plain data drawn from a seed. [`RandomizedTest::run`] simulates it and checks:
//! every message arrives once, intact and in the order of its stream; after all paths are restored, everything sent arrives; an
//! association terminates only for a reason; buffers keep their limits; an idle host sends heartbeats alone. A test that fails
//! can be reduced and written as source code ([`crate::replay`]).

mod apply;
mod expected_terminations;
mod limits;
mod op;
mod oracle;
mod shape;

use core::time::Duration;

use anabranch_netsim::LinkChange;
use anabranch_types::{Instant, Seed};
use expected_terminations::ExpectedTerminations;
use limits::Limits;
use thiserror::Error;

pub use op::{Limit, Op, StreamChange};
pub use shape::{PathShape, Shape, SideShape};

use crate::log::LoggedPacket;
use crate::{Side, Simulation, Step};

/// The link accepts packets of any size that a host sends.
const WIDE: u32 = 1_500;

/// A test: hosts and paths, and the steps applied to them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RandomizedTest {
    /// Hosts and paths.
    pub shape: Shape,
    /// Steps, in order.
    pub ops: Vec<Op>,
}

/// A violated invariant.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("at {at}: {what}")]
pub struct Failure {
    /// When it was detected.
    pub at: Instant,
    /// Which invariant.
    pub what: String,
    /// The last packets of the near and of the far side, if requested.
    pub logs: [Vec<LoggedPacket>; 2],
}

/// Result of a test that passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Report {
    /// Messages read on both sides.
    pub messages: u64,
    /// Packets sent by both sides.
    pub packets: u64,
    /// Virtual time of the run.
    pub elapsed: Duration,
    /// Hash over all packets.
    pub trace_hash: u64,
}

impl RandomizedTest {
    /// Draws a test from `seed`.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        let shape = Shape::draw(seed);
        let mut rng = Seed(seed).split("ops").rng();
        let count = 5 + rng.below(40);
        let ops = (0..count).map(|_| Op::draw(&mut rng, &shape)).collect();
        Self { shape, ops }
    }

    /// Runs the simulation.
    ///
    /// # Errors
    ///
    /// [`Failure`] for the first violated invariant.
    ///
    /// # Panics
    ///
    /// If the core panics.
    pub fn run(&self) -> Result<Report, Failure> {
        self.run_keeping(0)
    }

    /// Like [`Self::run`], but keeps the last `packets` packets of each side for the failure.
    ///
    /// # Errors
    ///
    /// As [`RandomizedTest::run`].
    pub fn run_keeping(&self, packets: usize) -> Result<Report, Failure> {
        let mut simulation = self.shape.build();
        for side in Side::BOTH {
            simulation.act(side, |host, _| host.log_mut().keep(packets));
        }
        let held = self.play(&mut simulation);
        held.map_err(|what| Failure {
            at: simulation.now(),
            what,
            logs: Side::BOTH.map(|side| simulation.host(side).log().packets().cloned().collect()),
        })?;
        Ok(report(&simulation))
    }

    fn play(&self, simulation: &mut Simulation) -> Result<(), String> {
        let mut expected = ExpectedTerminations::new(&self.shape);
        let mut limits = Limits::of(&self.shape);
        self.shape.connect(simulation);
        for op in &self.ops {
            expected.note(op);
            limits.note(op);
            op.apply(simulation, &self.shape);
            remove_former_addresses(simulation);
            oracle::check_at_any_time(simulation, &limits)?;
        }
        self.restore(simulation);
        oracle::conclude(simulation, &limits, &expected)
    }

    /// Restores all paths and lets both applications read.
    fn restore(&self, simulation: &mut Simulation) {
        for path in 0..self.shape.paths.len() {
            simulation.happens(Step::Heal(path));
            simulation.happens(Step::Change(path, LinkChange::Mtu(WIDE)));
            simulation.happens(Step::Change(path, LinkChange::Hole(u32::MAX)));
            for side in Side::BOTH {
                apply::disturb(simulation, (path, side), [0; 4]);
                simulation.happens(Step::Join(side, path));
            }
        }
        for side in Side::BOTH {
            apply::read(simulation, side, u32::MAX);
        }
    }
}

/// A driver repeats what an association refuses because there is no other address.
fn remove_former_addresses(simulation: &mut Simulation) {
    for side in Side::BOTH {
        simulation.act(side, |host, now| {
            // If it is refused again, the next step repeats it.
            let _ = host.remove_former(now);
        });
    }
}

fn report(simulation: &Simulation) -> Report {
    let outcome = simulation.outcome();
    Report {
        messages: outcome.forward.messages + outcome.backward.messages,
        packets: Side::BOTH
            .iter()
            .map(|side| simulation.host(*side).tally().packets_sent)
            .sum(),
        elapsed: outcome.elapsed,
        trace_hash: outcome.trace_hash,
    }
}

//! Random tie-breaking. Which of several equal paths is chosen at random?
//!
//! The papers break ties at random. Here the choice is a function of a seed, the chunk and the path only, so that
//! calling twice gives the same result and a run can be repeated.

use anabranch_types::{PathId, Seed};

use crate::LostChunk;
use crate::parameters::{Parameter, Parameters, Slot, Word};

const SEED: Parameter = Parameter {
    name: "seed",
    default: "1",
    meaning: "seed of the random choices, 0 to 18446744073709551615",
};

/// Parameters of policies that choose at random.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeedParameters {
    /// Seed of the random choices; any number.
    pub seed: u64,
}

impl SeedParameters {
    /// The default values.
    pub const DEFAULT: Self = Self { seed: 1 };

    /// The random rank of `path` for this transmission of `chunk`: of several equal paths the lowest is chosen.
    pub(super) const fn lot(self, chunk: &LostChunk, path: PathId) -> u64 {
        Seed(self.seed)
            .nth(chunk.tsn.0)
            .nth(chunk.transmissions as u64)
            .nth(path.0 as u64)
            .0
    }
}

impl Default for SeedParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for SeedParameters {
    const LIST: &'static [Parameter] = &[SEED];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        (name == SEED.name).then(|| Slot::number(&mut self.seed, 0..=u64::MAX))
    }
}

/// Which of several equally good paths is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ties {
    /// One at random, as in the papers.
    #[default]
    Random,
    /// The path of the loss, else the lowest id: chunks lost together stay together, and the timer of one path backs off
    /// instead of those of all paths in turn.
    Own,
}

impl Word for Ties {
    const WORDS: &'static [(&'static str, Self)] = &[("random", Self::Random), ("own", Self::Own)];
}

/// Parameters of policies that rank paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TieParameters {
    /// Which of several equally good paths is chosen.
    pub ties: Ties,
    /// Seed of the random choices.
    pub seed: SeedParameters,
}

impl TieParameters {
    /// The default values.
    pub const DEFAULT: Self = Self {
        ties: Ties::Random,
        seed: SeedParameters::DEFAULT,
    };

    /// The rank of a path: of several equal paths the lowest is chosen.
    pub(super) const fn lot(self, chunk: &LostChunk, path: PathId) -> u64 {
        match self.ties {
            Ties::Random => self.seed.lot(chunk, path),
            Ties::Own => (path.0 != chunk.lost_on.0) as u64,
        }
    }
}

impl Default for TieParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for TieParameters {
    const LIST: &'static [Parameter] = &[
        Parameter {
            name: "ties",
            default: "random",
            meaning: "which of several equal paths is chosen: random (by seed), or own (the path of the loss)",
        },
        SEED,
    ];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        match name {
            "ties" => Some(Slot::text(&mut self.ties)),
            name => self.seed.slot(name),
        }
    }
}

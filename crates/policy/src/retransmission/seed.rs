//! Which of several equal paths, if chance is to decide? One drawn by a pure function of the chunk.
//!
//! The papers break ties at random. Here the draw depends on nothing but a seed, the chunk and the path, so that
//! asking twice gives the same answer and a run can be repeated.

use anabranch_types::{PathId, Seed};

use crate::LostChunk;
use crate::parameters::{Parameter, Parameters, Slot, Word};

const SEED: Parameter = Parameter {
    name: "seed",
    default: "1",
    meaning: "seed of the random choices, 0 to 18446744073709551615",
};

/// Parameters of policies that let chance decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeedParameters {
    /// The origin of the draws; any number.
    pub seed: u64,
}

impl SeedParameters {
    /// The value unless set.
    pub const DEFAULT: Self = Self { seed: 1 };

    /// The lot of `path` for this transmission of `chunk`: of several equal paths the one with the lowest takes it.
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

/// Who takes the chunk when several paths are equally good.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ties {
    /// One of them, drawn by lot: as in the papers.
    #[default]
    Random,
    /// The path that lost it, else the lowest id: chunks lost together stay together, and one path's timer backs off
    /// instead of all in turn.
    Own,
}

impl Word for Ties {
    const WORDS: &'static [(&'static str, Self)] = &[("random", Self::Random), ("own", Self::Own)];
}

/// Parameters of policies that rank paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TieParameters {
    /// Who takes the chunk when several paths are equally good.
    pub ties: Ties,
    /// The origin of the draws.
    pub seed: SeedParameters,
}

impl TieParameters {
    /// The values unless set.
    pub const DEFAULT: Self = Self {
        ties: Ties::Random,
        seed: SeedParameters::DEFAULT,
    };

    /// Of several equal paths the one with the lowest takes the chunk.
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

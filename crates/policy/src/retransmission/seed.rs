//! Which of several equal paths, if chance is to decide? One drawn by a pure function of the chunk.
//!
//! The papers break ties at random. Here the draw depends on nothing but a seed, the chunk and the path, so that
//! asking twice gives the same answer and a run can be repeated.

use anabranch_types::{PathId, Seed};

use crate::LostChunk;
use crate::parameters::{Parameter, Parameters, Slot};

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
    const LIST: &'static [Parameter] = &[Parameter {
        name: "seed",
        default: "1",
        meaning: "the origin of random choices, 0 to 18446744073709551615",
    }];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        (name == "seed").then(|| Slot::number(&mut self.seed, 0..=u64::MAX))
    }
}

//! Gilbert–Elliott loss model. Which packets are lost if losses come in bursts?
//!
//! E. N. Gilbert, "Capacity of a Burst-Noise Channel" (1960); E. O. Elliott, "Estimates of Error Rates for Codes
//! on Burst-Noise Channels" (1963). The channel is a Markov chain of two states, good and bad, that may change
//! before each packet; each state has its own loss probability.

use anabranch_types::Rng;

use crate::Probability;

/// The four probabilities of the chain, which starts in the good state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GilbertElliott {
    /// Transition from good to bad.
    pub to_bad: Probability,
    /// Transition from bad to good.
    pub to_good: Probability,
    /// Loss of a packet in the good state.
    pub loss_in_good: Probability,
    /// Loss of a packet in the bad state.
    pub loss_in_bad: Probability,
}

impl GilbertElliott {
    /// Simple Gilbert model: no loss in the good state, certain loss in the bad state.
    ///
    /// `loss` is the long-run loss rate (below 1), `burst` the mean length of a loss burst in packets (at least 1).
    #[must_use]
    pub fn bursts(loss: f64, burst: f64) -> Self {
        let to_good = 1.0 / burst;
        Self {
            to_bad: Probability::of(to_good * loss / (1.0 - loss)),
            to_good: Probability::of(to_good),
            loss_in_good: Probability::NEVER,
            loss_in_bad: Probability::ALWAYS,
        }
    }

    pub(super) fn drops_next(self, bad: &mut bool, rng: &mut Rng) -> bool {
        let turn = if *bad { self.to_good } else { self.to_bad };
        *bad ^= turn.happens(rng);
        let loss = if *bad { self.loss_in_bad } else { self.loss_in_good };
        loss.happens(rng)
    }
}

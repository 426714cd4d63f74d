//! Which packets vanish when losses come in bursts?
//!
//! E. N. Gilbert, "Capacity of a Burst-Noise Channel" (1960); E. O. Elliott, "Estimates of Error Rates for Codes
//! on Burst-Noise Channels" (1963). The channel is a Markov chain of two states, good and bad, that may change
//! before each packet; each state loses packets with its own chance.

use anabranch_types::Rng;

use crate::Probability;

/// The four parameters of the chain. It starts in the good state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GilbertElliott {
    /// Chance of turning bad before a packet, if good.
    pub to_bad: Probability,
    /// Chance of turning good before a packet, if bad.
    pub to_good: Probability,
    /// Chance of losing a packet while good.
    pub loss_in_good: Probability,
    /// Chance of losing a packet while bad.
    pub loss_in_bad: Probability,
}

impl GilbertElliott {
    /// Gilbert's special case: the good state loses nothing, the bad one everything.
    ///
    /// `loss` is the long-run fraction of lost packets (below 1), `burst` the mean number of packets lost in a row
    /// (at least 1).
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

    pub(super) fn takes_next(self, bad: &mut bool, rng: &mut Rng) -> bool {
        let turn = if *bad { self.to_good } else { self.to_bad };
        *bad ^= turn.happens(rng);
        let loss = if *bad { self.loss_in_bad } else { self.loss_in_good };
        loss.happens(rng)
    }
}

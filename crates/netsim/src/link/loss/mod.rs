//! Loss processes: none, Bernoulli, Gilbert–Elliott, of whole batches, scripted. Which packets are lost on the link?

mod batch;
mod gilbert_elliott;

use anabranch_types::{Instant, Rng};
use batch::Batch;
pub use batch::BatchLoss;
pub use gilbert_elliott::GilbertElliott;

use crate::Probability;

/// Loss process, applied to packets after transmission.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Loss {
    /// No loss.
    #[default]
    None,
    /// Independent loss with this probability.
    Bernoulli(Probability),
    /// Loss in bursts.
    GilbertElliott(GilbertElliott),
    /// Loss of whole batches of segmentation offload.
    Batches(BatchLoss),
    /// Loss of the packets with these numbers, in any order. The first packet transmitted after the script was set is
    /// number 0.
    Script(Vec<u64>),
}

/// Running state of a [`Loss`].
#[derive(Debug)]
pub(super) struct LossProcess {
    state: State,
    rng: Rng,
}

#[derive(Debug)]
enum State {
    Lossless,
    Bernoulli(Probability),
    GilbertElliott {
        model: GilbertElliott,
        bad: bool,
    },
    Batches(Batch),
    /// `numbers` is in descending order: the next one to drop is last.
    Script {
        numbers: Vec<u64>,
        next: u64,
    },
}

impl LossProcess {
    pub(super) fn new(loss: &Loss, rng: Rng) -> Self {
        Self {
            state: State::new(loss),
            rng,
        }
    }

    pub(super) fn replace(&mut self, loss: &Loss) {
        self.state = State::new(loss);
    }

    /// Whether the next packet is lost, which was offered to the link at `offered`.
    pub(super) fn drops_next(&mut self, offered: Instant) -> bool {
        match &mut self.state {
            State::Lossless => false,
            State::Bernoulli(chance) => chance.happens(&mut self.rng),
            State::GilbertElliott { model, bad } => model.drops_next(bad, &mut self.rng),
            State::Batches(batch) => batch.drops_next(offered, &mut self.rng),
            State::Script { numbers, next } => {
                let number = *next;
                *next += 1;
                numbers.pop_if(|wanted| *wanted == number).is_some()
            }
        }
    }
}

impl State {
    fn new(loss: &Loss) -> Self {
        match loss {
            Loss::None => Self::Lossless,
            Loss::Bernoulli(chance) => Self::Bernoulli(*chance),
            Loss::GilbertElliott(model) => Self::GilbertElliott {
                model: *model,
                bad: false,
            },
            Loss::Batches(loss) => Self::Batches(Batch::new(*loss)),
            Loss::Script(numbers) => {
                let mut numbers = numbers.clone();
                numbers.sort_unstable_by(|one, other| other.cmp(one));
                numbers.dedup();
                Self::Script { numbers, next: 0 }
            }
        }
    }
}

#[cfg(test)]
mod tests;

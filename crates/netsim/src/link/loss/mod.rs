//! Which packets vanish on the way? None, each by chance, some in bursts, or those on a list.

mod gilbert_elliott;

use anabranch_types::Rng;
pub use gilbert_elliott::GilbertElliott;

use crate::Probability;

/// Which packets vanish after they have left the queue.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Loss {
    /// None.
    #[default]
    None,
    /// Each with the same chance, independently.
    Bernoulli(Probability),
    /// In bursts.
    GilbertElliott(GilbertElliott),
    /// Those with these numbers, in any order. The first packet to leave the queue after the script was put in
    /// place is number 0.
    Script(Vec<u64>),
}

/// A [`Loss`] at work.
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
    /// `numbers` is in descending order, so that the next one to drop is its last.
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

    pub(super) fn takes_next(&mut self) -> bool {
        match &mut self.state {
            State::Lossless => false,
            State::Bernoulli(chance) => chance.happens(&mut self.rng),
            State::GilbertElliott { model, bad } => model.takes_next(bad, &mut self.rng),
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

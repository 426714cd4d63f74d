//! Packet delay variation (RFC 3393): an additional delay drawn for each packet on its own, so that packets overtake one
//! another, as in netem.
//!
//! A packet's delay is `delay + deviation · x`, but at least 0, where `x` follows the distribution and lies between −4 and 4:
//!
//! | distribution | x | mean | standard deviation |
//! |---|---|---|---|
//! | uniform | uniform from −1 to 1 | 0 | 1/√3 |
//! | normal | standard normal | 0 | 1 |
//! | Pareto | 4/3 · (u^(−1/3) − 3/2), u uniform: heavy tail of shape 3 | −0.03 | 0.82 |
//! | table | an entry of the table, divided by 8,192 | the table's | the table's |
//!
//! netem's tables have the same limits and, for Pareto, the same scale. Unlike netem's, the random variables of this link are
//! computed, not looked up, so they have no steps.

use core::time::Duration;
use std::sync::Arc;

use anabranch_types::Rng;

use crate::LineError;
use crate::random::{reciprocal_cube_root, standard_normal};

/// Limit of a standardised random variable: netem's tables hold 16-bit numbers in units of 1/8,192.
const LIMIT: f64 = 4.0;
/// Value of a table's entry that stands for one deviation.
const TABLE_SCALE: f64 = 8_192.0;
/// Most entries of a table that `tc` accepts.
const MAX_ENTRIES: usize = 16_384;

/// Delay variation of a link.
#[derive(Clone, PartialEq, Debug)]
pub struct DelayVariation {
    /// Scale of the random part, netem's jitter.
    pub deviation: Duration,
    /// Distribution of the random part.
    pub distribution: Distribution,
}

/// Distribution of packet delay variation.
#[derive(Clone, PartialEq, Debug)]
pub enum Distribution {
    /// Uniform within one deviation around the delay.
    Uniform,
    /// Normal, cut at four deviations.
    Normal,
    /// Pareto with shape 3, cut at four deviations.
    Pareto,
    /// Drawn from a table.
    Table(Arc<DelayTable>),
}

/// A distribution table in netem's format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DelayTable(Vec<i16>);

impl DelayTable {
    /// Reads a table in the format of `tc`: whole numbers separated by white space, from −32,768 to 32,767, where 8,192 is
    /// one deviation; `#` begins a comment.
    ///
    /// # Errors
    ///
    /// The line of the first entry that is not such a number, or of the entry after the 16,384th; or that there is none.
    pub fn parse(text: &str) -> Result<Self, LineError> {
        let mut entries = Vec::new();
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.split('#').next().unwrap_or(content);
            for word in content.split_whitespace() {
                let entry = word.parse().map_err(|_| {
                    LineError::new(
                        line,
                        format!("expected a whole number from -32768 to 32767, found `{word}`"),
                    )
                })?;
                if entries.len() == MAX_ENTRIES {
                    return Err(LineError::new(line, "expected at most 16384 entries"));
                }
                entries.push(entry);
            }
        }
        if entries.is_empty() {
            return Err(LineError::new(1, "expected at least one entry, found none"));
        }
        Ok(Self(entries))
    }

    fn least(&self) -> f64 {
        self.0.iter().min().map_or(0.0, |least| scaled(*least))
    }

    fn draw(&self, rng: &mut Rng) -> f64 {
        let index = rng.below(self.0.len() as u64) as usize;
        scaled(self.0[index])
    }
}

fn scaled(entry: i16) -> f64 {
    f64::from(entry) / TABLE_SCALE
}

impl Distribution {
    /// The least value of the random variable.
    fn least(&self) -> f64 {
        match self {
            Self::Uniform => -1.0,
            Self::Normal => -LIMIT,
            Self::Pareto => pareto(1.0),
            Self::Table(table) => table.least(),
        }
    }

    /// Draws the random variable, in deviations.
    fn draw(&self, rng: &mut Rng) -> f64 {
        match self {
            Self::Uniform => 2.0 * rng.unit() - 1.0,
            Self::Normal => standard_normal(rng).clamp(-LIMIT, LIMIT),
            Self::Pareto => pareto(1.0 - rng.unit()),
            Self::Table(table) => table.draw(rng),
        }
    }
}

/// The Pareto variable of which `tail`, above 0 and up to 1, is the probability of a larger one.
fn pareto(tail: f64) -> f64 {
    /// `u^(−1/3)` at the limit.
    const LARGEST: f64 = LIMIT * 3.0 / 4.0 + 1.5;
    let root = if tail * LARGEST * LARGEST * LARGEST <= 1.0 {
        LARGEST
    } else {
        reciprocal_cube_root(tail)
    };
    4.0 / 3.0 * (root - 1.5)
}

impl DelayVariation {
    /// The least delay of a packet on a link with this mean delay.
    pub(super) fn least(&self, delay: Duration) -> Duration {
        self.deviated(delay, self.distribution.least())
    }

    /// Draws the delay of a packet on a link with this mean delay.
    pub(super) fn draw(&self, delay: Duration, rng: &mut Rng) -> Duration {
        self.deviated(delay, self.distribution.draw(rng))
    }

    fn deviated(&self, delay: Duration, deviations: f64) -> Duration {
        let part = Duration::from_nanos((self.deviation.as_nanos() as f64 * deviations.abs()) as u64);
        if deviations < 0.0 {
            delay.saturating_sub(part)
        } else {
            delay.saturating_add(part)
        }
    }
}

#[cfg(test)]
mod tests;

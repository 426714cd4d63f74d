//! Rate trace: the moments at which a link can transmit. How does the rate of a cellular, satellite or wireless link change?

mod generate;

use core::fmt;
use core::time::Duration;

use anabranch_types::{Instant, Rate};
pub use generate::TraceModel;

use crate::LineError;

/// Bytes of the link layer that one opportunity carries: a packet of full size, or several smaller ones.
pub const OPPORTUNITY_BYTES: u64 = 1_500;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// A trace in the format of Mahimahi: each line is a time in milliseconds at which the link can carry 1,500 bytes. After the
/// last line, it repeats from its beginning.
///
/// An opportunity that no packet uses is lost. A packet that is longer than what is left of an opportunity continues with
/// the next one. Mahimahi counts 1,504 bytes for each opportunity and 4 of its tunnel for each packet; here the link's framing
/// says what a packet takes besides its own bytes.
///
/// ```
/// use anabranch_netsim::RateTrace;
/// let trace = RateTrace::parse("1\n1\n4\n").expect("three opportunities in 4 ms");
/// assert_eq!(trace.mean_rate().as_bits_per_second(), 9_000_000);
/// assert_eq!(RateTrace::parse("1\n4\n2\n").unwrap_err().to_string(), "3: expected a time of at least 4, found 2");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RateTrace {
    /// In ascending order, and the last one is above 0.
    millis: Vec<u32>,
}

impl RateTrace {
    /// Reads a trace.
    ///
    /// # Errors
    ///
    /// The first line that is not a whole number of milliseconds, or below the one before; or that there is no opportunity
    /// after time 0.
    pub fn parse(text: &str) -> Result<Self, LineError> {
        let mut millis = Vec::new();
        let mut last = 0;
        for (line, content) in (1..).zip(text.lines()) {
            let time: u32 = content.trim().parse().map_err(|_| {
                let text = format!(
                    "expected a time in whole milliseconds, found `{}`",
                    content.trim()
                );
                LineError::new(line, text)
            })?;
            if time < last {
                let text = format!("expected a time of at least {last}, found {time}");
                return Err(LineError::new(line, text));
            }
            last = time;
            millis.push(time);
        }
        if last == 0 {
            let text = "expected a time above 0, after which the trace repeats, found none";
            return Err(LineError::new(millis.len().max(1), text));
        }
        Ok(Self { millis })
    }

    /// Number of opportunities until the trace repeats.
    #[must_use]
    pub fn opportunities(&self) -> usize {
        self.millis.len()
    }

    /// Time after which the trace repeats.
    #[must_use]
    pub fn period(&self) -> Duration {
        Duration::from_nanos(self.period_nanos())
    }

    /// Mean rate of the link.
    #[must_use]
    pub fn mean_rate(&self) -> Rate {
        let bytes = self.millis.len() as u64 * OPPORTUNITY_BYTES;
        Rate::of(bytes, self.period()).unwrap_or(Rate::bits_per_second(0))
    }

    /// Time of opportunity number `number`, from 0, through all repetitions.
    pub(crate) fn time_of(&self, number: u64) -> Instant {
        let length = self.millis.len() as u64;
        let begin = (number / length).saturating_mul(self.period_nanos());
        let within = u64::from(self.millis[(number % length) as usize]) * NANOS_PER_MILLI;
        Instant::from_nanos(begin.saturating_add(within))
    }

    /// Number of the first opportunity after `moment`.
    pub(crate) fn first_after(&self, moment: Instant) -> u64 {
        let nanos = moment.as_nanos();
        let within = nanos % self.period_nanos();
        let passed = self
            .millis
            .partition_point(|time| u64::from(*time) * NANOS_PER_MILLI <= within);
        nanos / self.period_nanos() * self.millis.len() as u64 + passed as u64
    }

    fn period_nanos(&self) -> u64 {
        self.millis.last().map_or(1, |last| u64::from(*last)) * NANOS_PER_MILLI
    }
}

impl fmt::Display for RateTrace {
    /// Writes the trace in its format, one line for each opportunity.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.millis.iter().try_for_each(|time| writeln!(f, "{time}"))
    }
}

#[cfg(test)]
mod tests;

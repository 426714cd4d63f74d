//! When does the next packet come? At a constant rate, as a Poisson process, or in bursts.

use core::time::Duration;

use anabranch_types::{Rate, Rng, Seed};

use crate::exponential;

/// The rhythm of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Equal gaps.
    Constant,
    /// Exponentially distributed gaps.
    Poisson,
    /// Equal gaps in exponentially distributed periods of activity, with silence between them.
    OnOff {
        /// Mean length of a period of activity.
        on: Duration,
        /// Mean length of a silence.
        off: Duration,
    },
}

/// An endless sequence of gaps between packets.
///
/// ```
/// use anabranch_netsim::traffic::{Arrivals, Pattern};
/// use anabranch_types::{Rate, Seed};
/// use std::time::Duration;
/// let mut voice = Arrivals::new(Pattern::Constant, Rate::bits_per_second(64_000), 160, Seed(1));
/// assert_eq!(voice.next_gap(), Duration::from_millis(20));
/// ```
#[derive(Debug)]
pub struct Arrivals {
    pattern: Pattern,
    gap: Duration,
    /// What is left of the period of activity.
    active: Duration,
    rng: Rng,
}

impl Arrivals {
    /// Packets of `packet_bytes` at `rate`. At rate zero the first gap never ends.
    #[must_use]
    pub fn new(pattern: Pattern, rate: Rate, packet_bytes: u32, seed: Seed) -> Self {
        let gap = rate.time_for(u64::from(packet_bytes));
        Self {
            pattern,
            gap,
            active: Duration::ZERO,
            rng: seed.rng(),
        }
    }

    /// Time from one packet to the next.
    pub fn next_gap(&mut self) -> Duration {
        match self.pattern {
            Pattern::Constant => self.gap,
            Pattern::Poisson => exponential(self.gap, &mut self.rng),
            Pattern::OnOff { on, off } => self.next_in_burst(on, off),
        }
    }

    fn next_in_burst(&mut self, on: Duration, off: Duration) -> Duration {
        if let Some(rest) = self.active.checked_sub(self.gap) {
            self.active = rest;
            return self.gap;
        }
        // The packet opens the next period of activity, after the rest of this one and a silence.
        let rest = core::mem::replace(&mut self.active, exponential(on, &mut self.rng));
        rest.saturating_add(exponential(off, &mut self.rng))
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrivals, Pattern};
    use anabranch_types::{Rate, Seed};
    use std::time::Duration;

    fn packets_per_second(pattern: Pattern) -> f64 {
        // 12 Mbit/s in packets of 1,500 bytes: one each millisecond.
        let mut arrivals = Arrivals::new(pattern, Rate::mbit(12), 1_500, Seed(4));
        let elapsed: Duration = (0..500_000).map(|_| arrivals.next_gap()).sum();
        500_000.0 / elapsed.as_secs_f64()
    }

    #[test]
    fn constant_and_poisson_sources_keep_their_mean_rate() {
        assert!((packets_per_second(Pattern::Constant) - 1_000.0).abs() < 0.001);
        assert!((packets_per_second(Pattern::Poisson) - 1_000.0).abs() < 10.0);
    }

    #[test]
    fn an_on_off_source_is_active_for_its_share_of_the_time() {
        let (on, off) = (Duration::from_millis(500), Duration::from_millis(1_500));
        let rate = packets_per_second(Pattern::OnOff { on, off });
        assert!((rate - 250.0).abs() < 10.0, "{rate}");
    }
}

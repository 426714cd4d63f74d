//! Arrival processes of cross traffic: constant bit rate, Poisson, on-off. When does the next packet arrive?

use core::time::Duration;

use anabranch_types::{Rate, Rng, Seed};

use crate::exponential;

/// Arrival process of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Constant bit rate: equal gaps.
    Constant,
    /// Exponentially distributed gaps.
    Poisson,
    /// Equal gaps during on-periods, none during off-periods; both exponentially distributed.
    OnOff {
        /// Mean length of an on-period.
        on: Duration,
        /// Mean length of an off-period.
        off: Duration,
    },
}

/// The infinite sequence of gaps between packets.
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
    /// Rest of the current on-period.
    active: Duration,
    rng: Rng,
}

impl Arrivals {
    /// Packets of `packet_bytes` bytes at `rate`. At rate zero no packet ever comes.
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

    /// Time until the next packet.
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
        // The packet starts the next on-period, after the rest of this one and an off-period.
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
    fn constant_and_poisson_sources_have_the_configured_rate() {
        assert!((packets_per_second(Pattern::Constant) - 1_000.0).abs() < 0.001);
        assert!((packets_per_second(Pattern::Poisson) - 1_000.0).abs() < 10.0);
    }

    #[test]
    fn on_off_source_is_active_for_its_share_of_time() {
        let (on, off) = (Duration::from_millis(500), Duration::from_millis(1_500));
        let rate = packets_per_second(Pattern::OnOff { on, off });
        assert!((rate - 250.0).abs() < 10.0, "{rate}");
    }
}

//! RTT estimator and retransmission timeout (RFC 9260 §6.3.1, after RFC 6298).

use core::time::Duration;

use anabranch_types::Instant;

use crate::options::RtoParameters;

/// The timer granularity of drivers: the clock granularity G of RFC 9260 §6.3.1, as RFC 6298 uses it.
const GRANULARITY: Duration = Duration::from_millis(1);

/// RTT estimator and retransmission timeout of one path.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    limits: RtoParameters,
    smoothed: Option<Duration>,
    variation: Duration,
    smallest: Option<Duration>,
    rto: Duration,
    /// When the last sample was taken that was not discarded.
    sampled_at: Instant,
}

impl RttEstimator {
    /// No sample yet.
    #[must_use]
    pub const fn new(limits: RtoParameters) -> Self {
        Self {
            limits,
            smoothed: None,
            variation: Duration::ZERO,
            smallest: None,
            rto: limits.initial,
            sampled_at: Instant::ZERO,
        }
    }

    /// Smoothed round-trip time; `None` before the first sample.
    #[must_use]
    pub const fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// Its variation; zero before the first sample.
    #[must_use]
    pub const fn variation(&self) -> Duration {
        self.variation
    }

    /// The smallest sample.
    #[must_use]
    pub const fn smallest(&self) -> Option<Duration> {
        self.smallest
    }

    /// The timeout, back-off included.
    #[must_use]
    pub const fn rto(&self) -> Duration {
        self.rto
    }

    //= rfc9260 6.3.1-1, 6.3.1-2
    /// Takes a sample, unless its chunk was sent before the last sample was taken: measurements "SHOULD be made no
    /// more than once per round trip" (RFC 9260 §6.3.1 C4), or the variation would shrink with the number of SACKs.
    /// Based on send times, so that a short RTT is not discarded because it follows a long one.
    pub fn on_sample(&mut self, sent_at: Instant, now: Instant) {
        let sample = now - sent_at;
        self.smallest = Some(self.smallest.map_or(sample, |smallest| smallest.min(sample)));
        if sent_at < self.sampled_at {
            return;
        }
        let smoothed = match self.smoothed {
            // C2: the first measurement.
            None => {
                self.variation = sample / 2;
                sample
            }
            // C3, with RTO.Beta = 1/4 and RTO.Alpha = 1/8.
            Some(smoothed) => {
                self.variation = (self.variation * 3 + smoothed.abs_diff(sample)) / 4;
                (smoothed * 7 + sample) / 8
            }
        };
        self.smoothed = Some(smoothed);
        self.sampled_at = now;
        self.rto = self.rto_without_back_off();
    }

    /// The timeout without back-off (RFC 9260 §6.3.1): what is sent now should be acknowledged by then.
    #[must_use]
    pub fn rto_without_back_off(&self) -> Duration {
        let Some(smoothed) = self.smoothed else {
            return self.limits.initial;
        };
        // C6, C7; G1, or equal samples would leave no margin for a longer one.
        (smoothed + (self.variation * 4).max(GRANULARITY))
            .max(self.limits.min)
            .min(self.limits.max)
    }

    /// E2: the timer expired.
    pub fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.limits.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn equal_samples_leave_a_margin_in_the_rto() {
        let limits = RtoParameters {
            min: Duration::from_millis(1),
            ..RtoParameters::RFC9260
        };
        let mut rtt = RttEstimator::new(limits);
        for round in 0..100 {
            rtt.on_sample(at(50 * round), at(50 * round + 50));
        }
        assert_eq!(rtt.rto(), Duration::from_millis(51));
    }

    //= rfc9260 6.3.1-1
    #[test]
    fn first_sample_sets_srtt_and_later_ones_are_smoothed() {
        let mut rtt = RttEstimator::new(RtoParameters::RFC9260);
        rtt.on_sample(at(0), at(800));
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(800)));
        assert_eq!(rtt.rto(), Duration::from_millis(800 + 4 * 400));
        rtt.on_sample(at(2_000), at(2_000 + 1_600));
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(900)));
        assert_eq!(rtt.variation(), Duration::from_millis(500));
    }

    //= rfc9260 6.3.1-2
    #[test]
    fn samples_within_one_round_trip_only_lower_the_minimum() {
        let mut rtt = RttEstimator::new(RtoParameters::RFC9260);
        rtt.on_sample(at(0), at(100));
        rtt.on_sample(at(90), at(150));
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(100)));
        assert_eq!(rtt.smallest(), Some(Duration::from_millis(60)));
        rtt.on_sample(at(100), at(120));
        assert_eq!(
            rtt.smoothed(),
            Some(Duration::from_millis(90)),
            "a round trip of its own"
        );
    }

    //= rfc9260 6.1-22, 6.3.3-1
    #[test]
    fn back_off_doubles_up_to_rto_max_until_a_sample() {
        let mut rtt = RttEstimator::new(RtoParameters::RFC9260);
        for _ in 0..10 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(60));
        assert_eq!(rtt.rto_without_back_off(), Duration::from_secs(1));
        rtt.on_sample(at(0), at(10));
        assert_eq!(rtt.rto(), Duration::from_secs(1));
    }
}

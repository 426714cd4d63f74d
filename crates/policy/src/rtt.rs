//! RTT estimator and retransmission timeout (RFC 9260 §6.3.1, after RFC 6298).

use core::time::Duration;

use anabranch_types::Instant;

use crate::options::RtoParameters;

/// A duration in nanoseconds: half as large as [`Duration`], of which each path would need several.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Nanos(u64);

impl Nanos {
    fn of(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }

    const fn duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

/// A limit in microseconds, at most 71 minutes: each path has three.
#[derive(Clone, Copy, Debug)]
struct Micros(u32);

impl Micros {
    fn of(duration: Duration) -> Self {
        Self(u32::try_from(duration.as_micros()).unwrap_or(u32::MAX))
    }

    const fn nanos(self) -> Nanos {
        Nanos(self.0 as u64 * 1_000)
    }
}

/// RTT estimator and retransmission timeout of one path.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    known: Known,
    rto: Nanos,
    /// RTO.Min.
    min: Micros,
    /// RTO.Max.
    max: Micros,
    /// Least margin over the smoothed round-trip time.
    margin: Micros,
    /// The last sample, discarded or not; 0 before the first.
    latest: Micros,
}

/// What is known about the round-trip time.
#[derive(Clone, Copy, Debug)]
enum Known {
    /// No sample: RTO.Initial.
    Nothing(Nanos),
    Samples(Measured),
}

/// Round-trip times, from at least one sample.
#[derive(Clone, Copy, Debug)]
struct Measured {
    smoothed: Nanos,
    variation: Nanos,
    smallest: Nanos,
    /// When the last sample was taken that was not discarded.
    sampled_at: Instant,
}

impl RttEstimator {
    /// No sample yet.
    #[must_use]
    pub fn new(limits: RtoParameters) -> Self {
        let initial = Nanos::of(limits.initial);
        Self {
            known: Known::Nothing(initial),
            rto: initial,
            min: Micros::of(limits.min),
            max: Micros::of(limits.max),
            margin: Micros::of(limits.margin),
            latest: Micros(0),
        }
    }

    /// Changes the limits. The timeout stays, back-off included, as far as they allow; before the first sample it becomes RTO.Initial
    /// unless the timer has expired.
    pub fn set_limits(&mut self, limits: RtoParameters) {
        if let Known::Nothing(initial) = &mut self.known {
            let is_backed_off = self.rto > *initial;
            *initial = Nanos::of(limits.initial);
            if !is_backed_off {
                self.rto = *initial;
            }
        }
        self.min = Micros::of(limits.min);
        self.max = Micros::of(limits.max);
        self.margin = Micros::of(limits.margin);
        self.rto = self.rto.max(self.min.nanos()).min(self.max.nanos());
    }

    /// Smoothed round-trip time; `None` before the first sample.
    #[must_use]
    pub fn smoothed(&self) -> Option<Duration> {
        self.measured().map(|measured| measured.smoothed.duration())
    }

    /// Its variation; zero before the first sample.
    #[must_use]
    pub fn variation(&self) -> Duration {
        self.measured()
            .map_or(Duration::ZERO, |measured| measured.variation.duration())
    }

    /// The smallest sample.
    #[must_use]
    pub fn smallest(&self) -> Option<Duration> {
        self.measured().map(|measured| measured.smallest.duration())
    }

    /// The last sample, also if it was taken within the round trip of the one before; `None` before the first.
    #[must_use]
    pub fn latest(&self) -> Option<Duration> {
        self.measured().map(|_| self.latest.nanos().duration())
    }

    const fn measured(&self) -> Option<&Measured> {
        match &self.known {
            Known::Nothing(_) => None,
            Known::Samples(measured) => Some(measured),
        }
    }

    /// The timeout, back-off included.
    #[must_use]
    pub const fn rto(&self) -> Duration {
        self.rto.duration()
    }

    //= rfc9260 6.3.1-1, 6.3.1-2
    /// Takes a sample, unless its chunk was sent before the last sample was taken: measurements "SHOULD be made no
    /// more than once per round trip" (RFC 9260 §6.3.1 C4), or the variation would shrink with the number of SACKs.
    /// Based on send times, so that a short RTT is not discarded because it follows a long one.
    pub fn on_sample(&mut self, sent_at: Instant, now: Instant) {
        let sample = Nanos::of(now - sent_at);
        self.latest = Micros::of(now - sent_at);
        let measured = match &mut self.known {
            // C2: the first measurement.
            Known::Nothing(_) => Measured {
                smoothed: sample,
                variation: Nanos(sample.0 / 2),
                smallest: sample,
                sampled_at: now,
            },
            Known::Samples(measured) => {
                measured.smallest = measured.smallest.min(sample);
                if sent_at < measured.sampled_at {
                    return;
                }
                // C3, with RTO.Beta = 1/4 and RTO.Alpha = 1/8.
                let deviation = measured.smoothed.0.abs_diff(sample.0);
                Measured {
                    smoothed: Nanos(measured.smoothed.0.saturating_mul(7).saturating_add(sample.0) / 8),
                    variation: Nanos(measured.variation.0.saturating_mul(3).saturating_add(deviation) / 4),
                    smallest: measured.smallest,
                    sampled_at: now,
                }
            }
        };
        self.known = Known::Samples(measured);
        self.rto = self.timeout();
    }

    /// The timeout without back-off (RFC 9260 §6.3.1): what is sent now should be acknowledged by then.
    #[must_use]
    pub fn rto_without_back_off(&self) -> Duration {
        self.timeout().duration()
    }

    fn timeout(&self) -> Nanos {
        let measured = match &self.known {
            Known::Nothing(initial) => return *initial,
            Known::Samples(measured) => measured,
        };
        // C6, C7; G1, or equal samples would leave no margin for a longer one.
        let margin = measured.variation.0.saturating_mul(4).max(self.margin.nanos().0);
        Nanos(measured.smoothed.0.saturating_add(margin))
            .max(self.min.nanos())
            .min(self.max.nanos())
    }

    /// E2: the timer expired.
    pub fn back_off(&mut self) {
        self.rto = Nanos(self.rto.0.saturating_mul(2)).min(self.max.nanos());
    }
}

#[cfg(test)]
impl RttEstimator {
    /// Sets SRTT, RTTVAR and the smallest round-trip time, if there is a sample, and the timeout.
    pub(crate) fn assume(&mut self, measured: Option<(Duration, Duration, Duration)>, rto: Duration) {
        self.known = match measured {
            Some((smoothed, variation, smallest)) => Known::Samples(Measured {
                smoothed: Nanos::of(smoothed),
                variation: Nanos::of(variation),
                smallest: Nanos::of(smallest),
                sampled_at: Instant::ZERO,
            }),
            None => Known::Nothing(Nanos::of(rto)),
        };
        self.latest = Micros::of(measured.map(|(smoothed, ..)| smoothed).unwrap_or_default());
        self.rto = Nanos::of(rto);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_limits_keep_the_back_off() {
        let limits = |initial, min, max| RtoParameters {
            initial: Duration::from_millis(initial),
            min: Duration::from_millis(min),
            max: Duration::from_millis(max),
            ..RtoParameters::RFC9260
        };
        let mut fresh = RttEstimator::new(limits(1_000, 1_000, 60_000));
        fresh.set_limits(limits(300, 200, 5_000));
        assert_eq!(fresh.rto(), Duration::from_millis(300));
        fresh.back_off();
        fresh.set_limits(limits(400, 200, 5_000));
        assert_eq!(fresh.rto(), Duration::from_millis(600), "still backed off");
        fresh.set_limits(limits(100, 100, 500));
        assert_eq!(
            fresh.rto(),
            Duration::from_millis(500),
            "as far as the limits allow"
        );
    }

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
        rtt.set_limits(RtoParameters {
            margin: Duration::from_millis(200),
            ..limits
        });
        rtt.on_sample(at(5_000), at(5_050));
        assert_eq!(rtt.rto(), Duration::from_millis(250));
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
        assert_eq!(rtt.latest(), Some(Duration::from_millis(60)));
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

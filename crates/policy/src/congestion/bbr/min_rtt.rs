//! Shortest round-trip time of the last ten seconds, and when it must be measured anew.
//!
//! Source: draft-ietf-ccwg-bbr, *ProbeRTT Logic*.

use core::time::Duration;

use anabranch_types::Instant;

use crate::parameters::Parameter;

pub(super) const SMOOTHED_RTT: Parameter = Parameter {
    name: "smoothed-rtt",
    default: "off",
    meaning: "take the minimum of the smoothed round-trip time instead of samples, for paths with jitter: on or off",
};

/// How long a minimum counts (BBR.MinRTTFilterLen).
const FILTER: Duration = Duration::from_secs(10);

/// Minimum filter of round-trip times; the recent minimum decides when a probe is due.
///
/// Deviation: a sample equal to the minimum renews it, as in Linux' first version: it proves the floor as well as a lower
/// one.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    /// How long after the recent minimum a probe is due.
    interval: Duration,
    minimum: Option<(Duration, Instant)>,
    recent: Option<(Duration, Instant)>,
    /// A probe is due: no sample was as low as the minimum for `interval`.
    due: bool,
}

impl MinRtt {
    pub(super) const fn new(interval: Duration) -> Self {
        Self {
            interval,
            minimum: None,
            recent: None,
            due: false,
        }
    }

    pub(super) fn get(&self) -> Option<Duration> {
        self.minimum.map(|(rtt, _)| rtt)
    }

    pub(super) const fn is_due(&self) -> bool {
        self.due
    }

    pub(super) fn on_sample(&mut self, rtt: Option<Duration>, now: Instant) {
        let is_older =
            |of: Option<(Duration, Instant)>, age: Duration| of.is_some_and(|(_, at)| now - at > age);
        let expired = is_older(self.recent, self.interval);
        self.due |= expired;
        let Some(rtt) = rtt else { return };
        if expired || self.recent.is_none_or(|(least, _)| rtt <= least) {
            self.recent = Some((rtt, now));
        }
        if self.minimum.is_none_or(|(least, _)| rtt <= least) {
            self.minimum = Some((rtt, now));
            self.due = false;
        } else if is_older(self.minimum, FILTER) {
            self.minimum = self.recent;
        }
    }

    /// The path has been measured with little in flight: the next probe is due after another interval.
    pub(super) fn probed(&mut self, now: Instant) {
        self.due = false;
        if let Some((_, at)) = &mut self.recent {
            *at = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::MinRtt;
    use crate::testing::{at, ms};

    #[test]
    fn a_probe_is_due_five_seconds_after_the_last_low_sample() {
        let mut filter = MinRtt::new(Duration::from_secs(5));
        filter.on_sample(Some(ms(20)), at(0));
        filter.on_sample(Some(ms(30)), at(3_000));
        assert!(!filter.is_due());
        filter.on_sample(Some(ms(30)), at(5_000));
        assert!(!filter.is_due());
        filter.on_sample(Some(ms(30)), at(5_001));
        assert!(filter.is_due());
        assert_eq!(filter.get(), Some(ms(20)), "the minimum counts for ten seconds");
        filter.probed(at(6_000));
        filter.on_sample(Some(ms(30)), at(10_500));
        assert!(!filter.is_due());
        assert_eq!(filter.get(), Some(ms(30)));
    }

    #[test]
    fn an_equal_sample_renews_the_minimum() {
        let mut filter = MinRtt::new(Duration::from_secs(5));
        filter.on_sample(Some(ms(20)), at(0));
        filter.on_sample(Some(ms(20)), at(4_000));
        filter.on_sample(Some(ms(25)), at(8_900));
        assert!(!filter.is_due());
        assert_eq!(filter.get(), Some(ms(20)));
    }
}

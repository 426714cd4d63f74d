//! Shortest round-trip time of the last ten seconds, and when it must be measured anew.
//!
//! Source: draft-ietf-ccwg-bbr, *ProbeRTT Logic*.
//!
//! Where packets overtake one another because their delays vary, single samples are far below what a flight needs. There the
//! filter can take means of all samples instead, of as many rounds as make their standard error a sixteenth of the mean. The smoothed
//! round-trip time of RFC 6298 takes one sample per round trip, and there it is that of the packet which overtook all others.

use core::time::Duration;

use anabranch_types::Instant;

use crate::congestion::mean_rtt::{Mean, rise_of};
use crate::parameters::Parameter;

pub(super) const SMOOTHED_RTT: Parameter = Parameter {
    name: "smoothed-rtt",
    default: "off",
    meaning: "take the minimum of the mean round-trip time of each round instead of samples, for paths with jitter: on or off",
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
    /// Take means of rounds.
    smoothed: bool,
    mean: Mean,
    /// The last sample, or the mean of the last round.
    latest: Option<Duration>,
}

impl MinRtt {
    pub(super) fn new(interval: Duration, smoothed: bool) -> Self {
        Self {
            interval,
            minimum: None,
            recent: None,
            due: false,
            smoothed,
            mean: Mean::default(),
            latest: None,
        }
    }

    /// The minimum is known from before.
    pub(super) const fn begin_with(&mut self, least: Duration, now: Instant) {
        self.minimum = Some((least, now));
        self.recent = self.minimum;
    }

    pub(super) fn get(&self) -> Option<Duration> {
        let minimum = self.minimum.map(|(rtt, _)| rtt);
        // Before there are enough samples, their mean.
        minimum.or_else(|| self.mean.get())
    }

    /// The least time that a round takes: the minimum of the means of rounds, zero if the minimum is that of samples.
    pub(super) fn floor(&self) -> Duration {
        self.get().filter(|_| self.smoothed).unwrap_or_default()
    }

    /// Up to which round-trip time a path has no queue to speak of.
    pub(super) fn without_queue(&self) -> Option<Duration> {
        let least = self.get()?;
        Some(least + rise_of(least))
    }

    /// Whether the round-trip time sits at its minimum; unknown is no.
    pub(super) fn is_at_floor(&self) -> bool {
        matches!((self.latest, self.without_queue()), (Some(latest), Some(most)) if latest <= most)
    }

    pub(super) const fn is_due(&self) -> bool {
        self.due
    }

    /// The shortest and the longest round-trip time of an acknowledgement, if there are any; `round_starts` with it.
    pub(super) fn on_sample(&mut self, samples: [Option<Duration>; 2], round_starts: bool, now: Instant) {
        let [sample, _] = samples;
        let rtt = if self.smoothed {
            samples.into_iter().flatten().for_each(|rtt| self.mean.add(rtt));
            if round_starts {
                self.mean.take().map(|taken| taken.mean)
            } else {
                None
            }
        } else {
            sample
        };
        self.latest = rtt.or(self.latest);
        self.take(rtt, now);
    }

    fn take(&mut self, rtt: Option<Duration>, now: Instant) {
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
        let mut filter = MinRtt::new(Duration::from_secs(5), false);
        filter.on_sample([Some(ms(20)), None], true, at(0));
        filter.on_sample([Some(ms(30)), None], true, at(3_000));
        assert!(!filter.is_due());
        filter.on_sample([Some(ms(30)), None], true, at(5_000));
        assert!(!filter.is_due());
        filter.on_sample([Some(ms(30)), None], true, at(5_001));
        assert!(filter.is_due());
        assert_eq!(filter.get(), Some(ms(20)), "the minimum counts for ten seconds");
        filter.probed(at(6_000));
        filter.on_sample([Some(ms(30)), None], true, at(10_500));
        assert!(!filter.is_due());
        assert_eq!(filter.get(), Some(ms(30)));
    }

    #[test]
    fn an_equal_sample_renews_the_minimum() {
        let mut filter = MinRtt::new(Duration::from_secs(5), false);
        filter.on_sample([Some(ms(20)), None], true, at(0));
        filter.on_sample([Some(ms(20)), None], true, at(4_000));
        filter.on_sample([Some(ms(25)), None], true, at(8_900));
        assert!(!filter.is_due());
        assert_eq!(filter.get(), Some(ms(20)));
    }

    /// Of 10 and 70 ms in turn the mean is 40 ms; its standard error is a sixteenth of that after (30 / 2.5)² samples.
    #[test]
    fn means_of_varying_samples_take_as_many_as_make_them_sure() {
        let mut filter = MinRtt::new(Duration::from_secs(5), true);
        for number in 0..143 {
            let sample = if number % 2 == 0 { 10 } else { 70 };
            filter.on_sample([Some(ms(sample)), None], true, at(number));
        }
        assert_eq!(filter.minimum, None);
        let provisional = filter.floor();
        assert!(provisional > ms(38) && provisional < ms(42), "{provisional:?}");
        filter.on_sample([Some(ms(70)), None], true, at(143));
        filter.on_sample([Some(ms(10)), None], true, at(144));
        let floor = filter.minimum.unwrap().0;
        assert!(floor > ms(38) && floor < ms(42), "{floor:?}");
        assert!(filter.is_at_floor());
    }

    #[test]
    fn a_rise_by_an_eighth_is_not_the_floor() {
        let mut filter = MinRtt::new(Duration::from_secs(5), false);
        assert!(!filter.is_at_floor());
        filter.on_sample([Some(ms(40)), None], true, at(0));
        filter.on_sample([Some(ms(45)), None], true, at(1));
        assert!(filter.is_at_floor());
        filter.on_sample([Some(ms(46)), None], true, at(2));
        assert!(!filter.is_at_floor());
    }
}

//! Clock of a link. How far is it from true time?
//!
//! Two routers' clocks tick neither at the same moments nor equally fast. Ticks, traces, rates and the timers of queues follow the
//! clock of their link, so links whose clocks differ cannot stay in step.

use core::time::Duration;

use anabranch_types::Instant;

/// Parts per billion in the whole.
const WHOLE: i128 = 1_000_000_000;

/// Phase and drift of a link's clock: it shows `phase + time · (1 + drift / 10⁹)`.
///
/// ```
/// use anabranch_netsim::{Link, LinkConfig, link::Clock};
/// use anabranch_types::{Instant, Rate, Seed};
/// use std::time::Duration;
/// let ms = Duration::from_millis;
/// // Ticks each 10 ms of a clock that is 3 ms ahead: the packet arrives at the second one, not at 20 ms.
/// let clock = Clock { phase: ms(3), drift: 0 };
/// let config = LinkConfig::new(Rate::mbit(8), ms(7)).tick(ms(10)).clock(clock);
/// let mut link = Link::new(config, Seed(1));
/// link.offer(Instant::ZERO, vec![0], 1_000);
/// assert_eq!(link.deadline(), Some(Instant::ZERO + ms(17)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Clock {
    /// What the clock shows at time 0.
    pub phase: Duration,
    /// How much faster than time the clock is, in parts per billion.
    pub drift: i32,
}

impl Clock {
    /// True time.
    pub const TRUE: Self = Self {
        phase: Duration::ZERO,
        drift: 0,
    };

    fn is_true(self) -> bool {
        self == Self::TRUE
    }

    fn speed(self) -> i128 {
        (WHOLE + i128::from(self.drift)).max(1)
    }

    /// What the clock shows at `moment`.
    pub(super) fn reading(self, moment: Instant) -> Instant {
        if self.is_true() {
            return moment;
        }
        self.shown(moment.saturating_duration_since(Instant::ZERO)) + self.phase
    }

    /// When the clock shows `reading`.
    pub(super) fn moment(self, reading: Instant) -> Instant {
        if self.is_true() {
            return reading;
        }
        let since = reading.saturating_duration_since(Instant::ZERO + self.phase);
        Instant::ZERO + self.passing(since)
    }

    /// The time that passes while the clock advances by `span`.
    pub(super) fn passing(self, span: Duration) -> Duration {
        scaled(span, WHOLE, self.speed(), self.drift == 0)
    }

    /// By how much the clock advances in `time`.
    pub(super) fn advance(self, time: Duration) -> Duration {
        scaled(time, self.speed(), WHOLE, self.drift == 0)
    }

    fn shown(self, time: Duration) -> Instant {
        Instant::ZERO + self.advance(time)
    }
}

/// `span · numerator / denominator`, rounded up to nanoseconds; endless spans stay endless.
fn scaled(span: Duration, numerator: i128, denominator: i128, is_same: bool) -> Duration {
    if is_same {
        return span;
    }
    let nanos = span.as_nanos();
    if nanos >= u128::from(u64::MAX) {
        return span;
    }
    let product = nanos as i128 * numerator;
    let quotient = (product + denominator - 1) / denominator;
    Duration::from_nanos(u64::try_from(quotient).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;

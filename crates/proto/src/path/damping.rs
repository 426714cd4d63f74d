//! Damping of a path that answers heartbeats but carries no data. How soon is it used again?
//!
//! ```text
//! a heartbeat is answered: active ──▶ data is sent ─▶ T3 expires, nothing acknowledged: futile
//!       ▲                                                              │
//!       └───────── four times at once, then after 1, 2, 4 … 30 s ──────┘
//! ```

use core::time::Duration;

use anabranch_types::Instant;

use crate::on_demand::Idle;

/// Futile returns in a row without a pause: as many as the search for a smaller packet size needs.
const FREE_RETURNS: u8 = 4;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The futile returns of one path: it became active, but none of its data was acknowledged. Idle after data was acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Damping {
    /// Whether the path has become active and its data was neither acknowledged nor timed out since.
    returned: bool,
    futile: u8,
    /// Until this time, an answered heartbeat does not make the path active.
    until: Option<Instant>,
}

impl Idle for Damping {
    const IDLE: &'static Self = &Self {
        returned: false,
        futile: 0,
        until: None,
    };

    fn is_idle(&self) -> bool {
        self == Self::IDLE
    }
}

impl Damping {
    /// Notes that a HEARTBEAT ACK made the path active.
    pub(crate) const fn returned(&mut self) {
        self.returned = true;
    }

    /// Notes that T3 has expired: data sent on the path was not acknowledged in time.
    pub(crate) fn timed_out(&mut self, now: Instant) {
        if core::mem::take(&mut self.returned) {
            self.futile = self.futile.saturating_add(1);
            let doublings = self.futile.checked_sub(FREE_RETURNS + 1);
            let pause = |doublings: u8| {
                FIRST_PAUSE
                    .saturating_mul(1 << doublings.min(8))
                    .min(LONGEST_PAUSE)
            };
            self.until = doublings.map(|doublings| now + pause(doublings));
        }
    }

    /// The time until which the path stays out of use, if that is later than `now`.
    pub(crate) fn holds_until(&self, now: Instant) -> Option<Instant> {
        self.until.filter(|until| *until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::{Damping, Instant};
    use core::time::Duration;

    /// The pauses after that many returns in a row, in seconds.
    fn pauses(returns: usize) -> alloc::vec::Vec<u64> {
        let mut damping = Damping::default();
        let now = Instant::ZERO + Duration::from_secs(5);
        let pause = |_| {
            damping.returned();
            damping.timed_out(now);
            damping
                .holds_until(now)
                .map_or(0, |until| (until - now).as_secs())
        };
        (0..returns).map(pause).collect()
    }

    #[test]
    fn pauses_double_after_four_futile_returns() {
        assert_eq!(pauses(11), [0, 0, 0, 0, 1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(pauses(300).last(), Some(&30));
    }

    #[test]
    fn timeouts_without_a_return_count_once() {
        let mut damping = Damping::default();
        damping.returned();
        let before = (0..9).map(|_| damping.timed_out(Instant::ZERO)).count();
        assert_eq!((before, damping.futile), (9, 1));
    }
}

//! Pace of datagrams towards the programs of this host. When may the next ones go, if many were released at once?
//!
//! Datagrams of an ordered flow wait for one that was lost on a path, and all that came in a round trip are released together when it has come
//! again. They do not fit the receive buffer of a socket (212,992 bytes by default on Linux), which its program empties more slowly than this
//! process fills it. A link would have brought them one after the other, so they go at a pace (ADR 0214).

use std::time::{Duration, Instant};

/// The lowest rate, in bytes per millisecond: 500 Mbit/s.
const MIN_RATE: u64 = 64 << 10;

/// The rate in multiples of that of the last window.
const GAIN: u64 = 2;

/// So long bytes are counted before the rate follows them.
const WINDOW: Duration = Duration::from_millis(100);

/// So early the next ones may go: timers are no finer.
const TOLERANCE: Duration = Duration::from_millis(1);

/// A leaky bucket (ITU-T I.371's generic cell rate algorithm) whose rate follows what passes.
#[derive(Debug)]
pub(super) struct Pace {
    /// When the next ones are due.
    due: Instant,
    /// Bytes per millisecond.
    rate: u64,
    /// When the window began, and the bytes since.
    counted: (Instant, u64),
}

impl Pace {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            due: now,
            rate: MIN_RATE,
            counted: (now, 0),
        }
    }

    /// When the next ones may go, if that is later than now.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        (self.due > now).then_some(self.due)
    }

    /// `bytes` were written.
    pub(super) fn on_written(&mut self, bytes: usize, now: Instant) {
        let bytes = bytes as u64;
        let unused = now.checked_sub(TOLERANCE).unwrap_or(now);
        self.due = self.due.max(unused) + Duration::from_nanos(bytes * 1_000_000 / self.rate);
        let (since, counted) = &mut self.counted;
        *counted += bytes;
        let passed = now - *since;
        if passed >= WINDOW {
            let millis = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
            self.rate = MIN_RATE.max(GAIN * *counted / millis);
            self.counted = (now, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: usize = 93 << 10;

    /// Bytes that go in the first `time` if more wait than may go, in turns.
    fn gone_in(time: Duration, pace: &mut Pace, mut now: Instant) -> u64 {
        let (end, mut gone) = (now + time, 0);
        while now < end {
            match pace.due(now) {
                Some(due) => now = due,
                None => {
                    pace.on_written(TURN, now);
                    gone += TURN as u64;
                }
            }
        }
        gone
    }

    #[test]
    fn a_round_trip_of_datagrams_does_not_go_at_once() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        pace.on_written(1_000, now);
        let later = now + Duration::from_secs(1);
        let at_once = gone_in(Duration::from_nanos(1), &mut pace, later);
        assert_eq!(at_once, TURN as u64);
        let rate = gone_in(Duration::from_millis(20), &mut pace, later) / 20;
        assert!(
            (MIN_RATE..MIN_RATE * 11 / 10).contains(&rate),
            "{rate} bytes in a millisecond"
        );
    }

    #[test]
    fn a_fast_flow_becomes_faster_without_end() {
        let mut now = Instant::now();
        let mut pace = Pace::new(now);
        let mut rates = Vec::new();
        for _ in 0..6 {
            rates.push(gone_in(WINDOW, &mut pace, now));
            now += WINDOW;
        }
        assert!(rates.windows(2).all(|two| two[1] * 2 > two[0] * 3), "{rates:?}");
    }

    #[test]
    fn what_is_slower_than_the_pace_never_waits() {
        let mut now = Instant::now();
        let mut pace = Pace::new(now);
        for _ in 0..1_000 {
            assert_eq!(pace.due(now), None);
            pace.on_written(60 << 10, now);
            now += Duration::from_millis(1);
        }
    }

    #[test]
    fn after_a_pause_the_rate_is_the_lowest_again() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        for turn in 0..4 {
            gone_in(WINDOW, &mut pace, now + WINDOW * turn);
        }
        let later = now + Duration::from_secs(60);
        pace.on_written(1_000, later);
        let rate = gone_in(
            Duration::from_millis(20),
            &mut pace,
            later + Duration::from_millis(2),
        ) / 20;
        assert!(rate < MIN_RATE * 12 / 10, "{rate} bytes in a millisecond");
    }
}

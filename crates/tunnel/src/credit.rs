//! Flow control of one connection: credit of the sender, window of the receiver. How many bytes may be on their way or unread?
//!
//! The receive window of the association is shared by all its streams, so a reader that stalls would stall the others. Each end therefore
//! takes everything from the association at once, and grants each connection only what it is ready to hold, as HTTP/2 does (RFC 9113 §5.2).

use std::time::{Duration, Instant};

/// Credit of each direction of a new connection, in bytes.
pub const INITIAL_WINDOW: u64 = 128 << 10;

/// Largest window that a receiver grants: as much as the association buffers. Three quarters of it are enough for 1 Gbit/s if credit comes
/// back within 100 ms.
pub const LARGEST_WINDOW: u64 = 16 << 20;

/// Bytes that all receive windows of an association may have in total, beyond [`INITIAL_WINDOW`] of each.
pub const BUDGET: u64 = 128 << 20;

/// Credit is given when this part of the window was read. The sender can always have the rest on its way.
const GRANT: u64 = 4;

/// A window doubles with each grant up to this size, whatever the rate: a connection that begins needs credit before its rate is known.
const UNMEASURED_WINDOW: u64 = 4 << 20;

/// A larger window grows until it lasts for so many round-trip times: slow start doubles the rate with each, and credit comes one later.
const ROUND_TRIPS: u64 = 4;

/// The rate is measured for a round-trip time, and for this time at least: a reader that shares a processor reads in bursts.
const LEAST_MEASUREMENT: Duration = Duration::from_millis(10);

/// A window grows while it is at most this part of what is left of the budget, so that connections that come later find some.
const SHARE: u64 = 8;

/// Most credit that a sender may have. A peer that gives more is wrong.
pub(crate) const MAX_CREDIT: u64 = (1 << 31) - 1;

/// Credit of the sender of one direction.
#[derive(Debug)]
pub(crate) struct Credit(u64);

impl Credit {
    pub(crate) const fn initial() -> Self {
        Self(INITIAL_WINDOW)
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.0
    }

    pub(crate) const fn spend(&mut self, bytes: u64) {
        self.0 = self.0.saturating_sub(bytes);
    }

    /// `false` if that is more than anybody may have.
    pub(crate) const fn add(&mut self, bytes: u32) -> bool {
        self.0 = self.0.saturating_add(bytes as u64);
        self.0 <= MAX_CREDIT
    }
}

/// Window of the receiver of one direction.
#[derive(Debug)]
pub(crate) struct Window {
    size: u64,
    /// Bytes that the peer may still send.
    granted: u64,
    /// Bytes that have arrived and were not read.
    unread: u64,
    /// What was read in the current measurement.
    measured: Option<Measurement>,
}

/// Bytes that were read since some time ago.
#[derive(Debug)]
struct Measurement {
    since: Instant,
    bytes: u64,
}

impl Measurement {
    const fn new(since: Instant) -> Self {
        Self { since, bytes: 0 }
    }
}

/// When bytes were read, and what that allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Now.
    pub(crate) now: Instant,
    /// The smallest round-trip time of the slowest path, if it is known.
    pub(crate) rtt: Option<Duration>,
    /// What windows have left of their budget, in bytes.
    pub(crate) left: u64,
}

impl Window {
    pub(crate) const fn initial() -> Self {
        Self {
            size: INITIAL_WINDOW,
            granted: INITIAL_WINDOW,
            unread: 0,
            measured: None,
        }
    }

    pub(crate) const fn unread(&self) -> u64 {
        self.unread
    }

    /// `false` if the peer was not granted so many bytes.
    pub(crate) const fn arrive(&mut self, bytes: u64) -> bool {
        if bytes > self.granted {
            return false;
        }
        self.granted -= bytes;
        self.unread += bytes;
        true
    }

    /// By how much it has grown.
    pub(crate) const fn grown(&self) -> u64 {
        self.size - INITIAL_WINDOW
    }

    /// Bytes were read. Returns what to grant now, if it is worth a frame: a quarter of the window.
    ///
    /// The window doubles if everything was read: a reader that does not keep up needs no more. A large one does so only if it may be what
    /// limits the sender, because a window larger than needed makes both ends slower (ADR 0206).
    pub(crate) fn read(&mut self, bytes: u64, reading: Reading) -> Option<u32> {
        self.unread = self.unread.saturating_sub(bytes);
        let grows = if self.size < UNMEASURED_WINDOW {
            self.unread == 0 && self.is_worth_a_frame()
        } else {
            self.size < LARGEST_WINDOW && self.measure(bytes, reading)
        };
        if grows && self.size <= reading.left / SHARE {
            self.size *= 2;
        }
        if !self.is_worth_a_frame() {
            return None;
        }
        let grant = self.spent();
        self.granted += grant;
        u32::try_from(grant).ok()
    }

    /// Bytes of the window that are neither granted nor unread.
    const fn spent(&self) -> u64 {
        self.size.saturating_sub(self.granted + self.unread)
    }

    const fn is_worth_a_frame(&self) -> bool {
        self.spent() >= self.size / GRANT
    }

    /// Counts what is read, and tells after each measurement whether the window is too small for that rate. A measurement ends when everything
    /// was read.
    fn measure(&mut self, bytes: u64, reading: Reading) -> bool {
        let Some(rtt) = reading.rtt else {
            return self.unread == 0;
        };
        let Some(measured) = &mut self.measured else {
            self.measured = Some(Measurement::new(reading.now));
            return false;
        };
        measured.bytes += bytes;
        let took = reading.now.saturating_duration_since(measured.since);
        if took < rtt.max(LEAST_MEASUREMENT) || self.unread > 0 {
            return false;
        }
        let per_round_trip = u128::from(measured.bytes) * rtt.as_nanos() / took.as_nanos();
        *measured = Measurement::new(reading.now);
        u128::from(self.size) < per_round_trip * u128::from(ROUND_TRIPS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: Duration = Duration::from_millis(20);

    fn reading(now: Instant) -> Reading {
        Reading {
            now,
            rtt: Some(ROUND_TRIP),
            left: BUDGET,
        }
    }

    /// So many bytes arrive and are read in each of `times` round-trip times. Returns how large the window is then.
    fn pass(window: &mut Window, now: &mut Instant, bytes: u64, times: u32) -> u64 {
        for _ in 0..times {
            *now += ROUND_TRIP;
            assert!(window.arrive(bytes));
            let before = window.granted;
            let grant = window.read(bytes, reading(*now)).map_or(0, u64::from);
            assert_eq!(window.granted, before + grant);
        }
        window.size
    }

    /// A window that has grown as far as it does without a rate.
    fn unmeasured() -> (Window, Instant) {
        let (mut window, now) = (Window::initial(), Instant::now());
        while window.size < UNMEASURED_WINDOW {
            let (size, part) = (window.size, window.size / GRANT);
            assert!(window.arrive(part));
            assert_eq!(window.read(part - 1, reading(now)), None);
            assert_eq!(window.read(1, reading(now)), Some((part + size) as u32));
            assert_eq!(window.size, 2 * size);
        }
        (window, now)
    }

    #[test]
    fn large_window_grows_to_four_round_trip_times_of_its_readers_rate() {
        let (mut window, mut now) = unmeasured();
        let mut bytes = UNMEASURED_WINDOW / 16;
        while bytes < LARGEST_WINDOW / 4 {
            bytes *= 2;
            let size = pass(&mut window, &mut now, bytes, 2);
            assert_eq!(size, (4 * bytes).max(UNMEASURED_WINDOW));
        }
        assert_eq!(window.grown(), LARGEST_WINDOW - INITIAL_WINDOW);
        assert_eq!(pass(&mut window, &mut now, 2 * bytes, 10), LARGEST_WINDOW);
    }

    #[test]
    fn large_window_does_not_grow_with_time() {
        let (mut window, mut now) = unmeasured();
        let size = pass(&mut window, &mut now, UNMEASURED_WINDOW / 4, 1_000);
        assert_eq!(size, UNMEASURED_WINDOW);
    }

    #[test]
    fn burst_is_no_rate() {
        let (mut window, mut now) = unmeasured();
        let rtt = Duration::from_micros(30);
        // 5 Gbit/s, in bursts of 20 Gbit/s.
        for read in 0..40_000 {
            now += if read % 100 == 0 { 76 * rtt } else { rtt / 4 };
            assert!(window.arrive(18_750));
            let read = Reading {
                rtt: Some(rtt),
                ..reading(now)
            };
            let _ = window.read(18_750, read);
        }
        assert_eq!(window.size, UNMEASURED_WINDOW);
    }

    #[test]
    fn window_stays_small_without_budget_or_with_a_slow_reader() {
        let part = INITIAL_WINDOW / GRANT;
        let unknown = Reading {
            rtt: None,
            ..reading(Instant::now())
        };
        let mut window = Window::initial();
        assert!(window.arrive(INITIAL_WINDOW));
        // A part is read, and the rest is not.
        assert_eq!(window.read(part, unknown), Some(part as u32));
        assert_eq!(window.grown(), 0);
        assert!(window.arrive(part));
        let little = Reading {
            left: SHARE * INITIAL_WINDOW - 1,
            ..unknown
        };
        assert_eq!(window.read(INITIAL_WINDOW, little), Some(INITIAL_WINDOW as u32));
        assert_eq!(window.grown(), 0);
    }

    #[test]
    fn more_than_granted_is_recognised() {
        let mut window = Window::initial();
        assert!(window.arrive(INITIAL_WINDOW));
        assert!(!window.arrive(1));
        let mut credit = Credit::initial();
        assert!(credit.add((MAX_CREDIT - INITIAL_WINDOW) as u32));
        assert!(!credit.add(1));
    }
}

//! Clocks of both ends. By how much do they differ? Not at all if both run on one kernel; otherwise by an estimate from exchanges.

use std::fs;

use rustix::time::{ClockId, clock_gettime};

use crate::transfer::Hasher;

/// How the time between sending at one end and receipt at the other is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Basis {
    /// Both ends read the same clock.
    SameClock,
    /// The offset is an estimate: half of the shortest round trip may lie on either way.
    Estimated { error: u64 },
}

/// Nanoseconds since some moment, the same one in all processes of a kernel.
pub(super) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec as u64)
        .saturating_mul(1_000_000_000)
        .saturating_add(time.tv_nsec as u64)
}

/// Processor time of this process in seconds.
pub(super) fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// A name of this kernel's clock that tells nothing to who does not know it.
pub(super) fn name(salt: &str) -> String {
    // Without a name, no clock is the same.
    let Ok(boot) = fs::read_to_string("/proc/sys/kernel/random/boot_id") else {
        return String::new();
    };
    let mut hasher = Hasher::default();
    hasher.update(salt.as_bytes());
    hasher.update(boot.as_bytes());
    hasher.finish().to_string()
}

/// An estimate of the offset, from questions and answers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Offset {
    /// Round-trip time and offset of the fastest exchange.
    best: Option<(u64, i64)>,
}

impl Offset {
    /// Takes an exchange: when the question was sent, read at the peer, and answered, the first and the last by our clock.
    pub(super) fn add(&mut self, sent: u64, at_peer: u64, answered: u64) {
        let round_trip = answered.saturating_sub(sent);
        let middle = sent + round_trip / 2;
        let offset = at_peer.wrapping_sub(middle) as i64;
        if self.best.is_none_or(|(best, _)| round_trip < best) {
            self.best = Some((round_trip, offset));
        }
    }

    /// By how much the peer's clock is ahead, and how well that is known.
    pub(super) fn estimate(&self, same_clock: bool) -> (i64, Basis) {
        let (round_trip, offset) = self.best.unwrap_or((0, 0));
        let error = round_trip / 2;
        // A container can have another monotonic clock on the same kernel.
        if same_clock && offset.unsigned_abs() <= error + 1_000_000 {
            return (0, Basis::SameClock);
        }
        (offset, Basis::Estimated { error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offset_is_that_of_the_fastest_exchange() {
        let mut offset = Offset::default();
        offset.add(1_000, 5_900, 2_000);
        offset.add(3_000, 7_050, 3_100);
        offset.add(4_000, 9_000, 5_000);
        assert_eq!(offset.estimate(false), (4_000, Basis::Estimated { error: 50 }));
    }

    #[test]
    fn clock_of_the_same_kernel_needs_no_estimate() {
        let mut offset = Offset::default();
        offset.add(1_000, 1_700, 2_000);
        assert_eq!(offset.estimate(true), (0, Basis::SameClock));
        // Another time namespace.
        offset.add(1_000, 5_000_001_050, 1_100);
        assert_eq!(
            offset.estimate(true),
            (5_000_000_000, Basis::Estimated { error: 50 })
        );
    }

    #[test]
    fn name_depends_on_the_salt() {
        assert_eq!(name("a"), name("a"));
        assert_ne!(name("a"), name("b"));
    }
}

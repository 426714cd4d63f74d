//! Data rates: how long do bytes take, and how many bytes fit into a time?

use core::fmt;
use core::time::Duration;

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// A rate in bits per second.
///
/// ```
/// use anabranch_types::Rate;
/// use core::time::Duration;
/// let dsl = Rate::mbit(10);
/// assert_eq!(dsl.time_for(1_250), Duration::from_millis(1));
/// assert_eq!(dsl.bytes_in(Duration::from_secs(1)), 1_250_000);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// A rate of `bits` bits per second.
    #[must_use]
    pub const fn bits_per_second(bits: u64) -> Self {
        Self(bits)
    }

    /// A rate of `megabits` million bits per second.
    #[must_use]
    pub const fn mbit(megabits: u64) -> Self {
        Self(megabits * 1_000_000)
    }

    /// The rate of `bytes` per `time`; `None` if `time` is zero.
    #[must_use]
    pub fn of(bytes: u64, time: Duration) -> Option<Self> {
        let nanos = time.as_nanos();
        let bits = u128::from(bytes) * 8 * NANOS_PER_SECOND;
        (nanos > 0).then(|| Self(u64::try_from(bits / nanos).unwrap_or(u64::MAX)))
    }

    /// Bits per second.
    #[must_use]
    pub const fn as_bits_per_second(self) -> u64 {
        self.0
    }

    /// Time that `bytes` take at this rate, rounded up to the nanosecond; [`Duration::MAX`] at rate zero.
    #[must_use]
    pub fn time_for(self, bytes: u64) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        // 128-bit divisions take several times as long, and packets are short.
        if let Some(scaled) = bytes.checked_mul(8 * NANOS_PER_SECOND as u64) {
            return Duration::from_nanos(scaled.div_ceil(self.0));
        }
        let nanos = (u128::from(bytes) * 8 * NANOS_PER_SECOND).div_ceil(u128::from(self.0));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Whole bytes that pass in `time`.
    #[must_use]
    pub fn bytes_in(self, time: Duration) -> u64 {
        let bits = u128::from(self.0) * time.as_nanos() / NANOS_PER_SECOND;
        u64::try_from(bits / 8).unwrap_or(u64::MAX)
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// In Mbit/s with as many decimals as requested (two by default).
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or(2);
        write!(f, "{:.decimals$} Mbit/s", self.0 as f64 / 1e6)
    }
}

//! Time: instants that the driver passes in.

use core::fmt;
use core::num::NonZeroU64;
use core::ops::{Add, AddAssign, Sub};
use core::time::Duration;

/// A moment: nanoseconds since an epoch that the driver chose.
///
/// Arithmetic saturates at both ends, so a deadline in 1,000 years is simply never reached.
///
/// ```
/// use anabranch_types::Instant;
/// use core::time::Duration;
/// let start = Instant::ZERO;
/// let later = start + Duration::from_millis(20);
/// assert_eq!(later - start, Duration::from_millis(20));
/// assert_eq!(start - later, Duration::ZERO);
/// ```
///
/// An `Option<Instant>` is no larger than an `Instant`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(
    /// One more than the nanoseconds since the epoch: an association has dozens of optional deadlines, and the value 0 is the
    /// absent one.
    NonZeroU64,
);

impl Instant {
    /// The epoch of the driver.
    pub const ZERO: Self = Self(NonZeroU64::MIN);
    /// A moment that never comes.
    pub const MAX: Self = Self(NonZeroU64::MAX);

    /// The moment `nanos` nanoseconds after the epoch.
    #[must_use]
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(nanos))
    }

    /// Nanoseconds since the epoch.
    #[must_use]
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0.get() - 1
    }

    /// Time passed since `earlier`; zero if `earlier` is later.
    #[must_use]
    pub const fn saturating_duration_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.get().saturating_sub(earlier.0.get()))
    }
}

/// The earliest of several optional deadlines; [`Instant::MAX`] counts as none.
///
/// ```
/// use anabranch_types::{Instant, earliest};
/// let (soon, later) = (Instant::from_nanos(5), Instant::from_nanos(9));
/// assert_eq!(earliest([None, Some(later), Some(soon)]), Some(soon));
/// assert_eq!(earliest([None, Some(Instant::MAX)]), None);
/// ```
#[must_use]
#[inline]
pub fn earliest(deadlines: impl IntoIterator<Item = Option<Instant>>) -> Option<Instant> {
    // Without a branch for each: this is called after every packet.
    let moments = deadlines
        .into_iter()
        .map(|deadline| deadline.unwrap_or(Instant::MAX));
    let first = moments.fold(Instant::MAX, Instant::min);
    (first < Instant::MAX).then_some(first)
}

/// [`Instant::ZERO`].
impl Default for Instant {
    fn default() -> Self {
        Self::ZERO
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self::from_nanos(self.as_nanos().saturating_sub(nanos(duration)))
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Seconds with six decimals, as packet tools print them.
impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.as_nanos() / 1_000;
        write!(f, "{}.{:06}", micros / 1_000_000, micros % 1_000_000)
    }
}

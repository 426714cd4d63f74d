//! Preferences between paths. Which of the active paths rest, and how much may each carry?
//!
//! The application and the peer may both have a preference for a path. The larger cost and the smaller limit hold.

use core::num::NonZeroU64;
use core::time::Duration;

use anabranch_types::Instant;
use anabranch_wire::WirePreference;

/// What a path that was idle may send at once.
const BURST: Duration = Duration::from_millis(5);

/// How long a path that has reached its limit waits for more than one packet, so that timers are few.
const PAUSE: Duration = Duration::from_millis(2);

/// The smallest limit that a peer may set, in bytes per second: a packet in about a second.
const LEAST_LIMIT: NonZeroU64 = NonZeroU64::new(1_250).expect("invariant: it is not 0");

/// How a path is to be used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PathPreference {
    /// What it costs, in any unit. Of the active paths, those with the smallest cost carry data, and the others rest.
    pub cost: u8,
    /// Bytes per second that it carries at most in each direction, with SCTP headers; `None` for no limit.
    pub limit: Option<NonZeroU64>,
}

impl PathPreference {
    /// The largest cost: that of a path that is used when there is no other one.
    pub const BACKUP: u8 = u8::MAX;

    fn joined(self, other: Self) -> Self {
        let limits = [self.limit, other.limit];
        Self {
            cost: self.cost.max(other.cost),
            limit: limits.into_iter().flatten().min(),
        }
    }

    pub(crate) fn wire(self) -> WirePreference {
        WirePreference {
            cost: self.cost,
            limit: self.limit.map_or(0, NonZeroU64::get),
        }
    }

    /// That of a peer.
    pub(crate) fn of_peer(wire: WirePreference) -> Self {
        Self {
            cost: wire.cost,
            limit: NonZeroU64::new(wire.limit).map(|limit| limit.max(LEAST_LIMIT)),
        }
    }
}

/// The preferences for one path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Preferred {
    /// That of the application, which the peer is told.
    pub(crate) own: Option<PathPreference>,
    /// Whether the peer has confirmed it.
    pub(crate) is_told: bool,
    /// That of the peer.
    pub(crate) of_peer: PathPreference,
    /// The time until which what was sent takes at the limit.
    spent_until: Instant,
}

impl Preferred {
    pub(crate) fn effective(&self) -> PathPreference {
        self.own.unwrap_or_default().joined(self.of_peer)
    }

    /// Notes that `bytes` are sent now.
    pub(crate) fn sent(&mut self, bytes: u64, now: Instant) {
        let Some(limit) = self.effective().limit else {
            return;
        };
        let earliest = now.as_nanos().saturating_sub(nanos(BURST));
        let begins = self.spent_until.as_nanos().max(earliest);
        let takes = u128::from(bytes) * 1_000_000_000 / u128::from(limit.get());
        let takes = u64::try_from(takes).unwrap_or(u64::MAX);
        self.spent_until = Instant::from_nanos(begins.saturating_add(takes));
    }

    /// Bytes that may be sent now, or when there will be some; `None` without a limit.
    pub(crate) fn allowance(&self, now: Instant) -> Option<Result<u64, Instant>> {
        let limit = self.effective().limit?;
        if self.spent_until > now {
            return Some(Err(self.spent_until + PAUSE));
        }
        let saved = nanos(now - self.spent_until).min(nanos(BURST));
        let bytes = u128::from(limit.get()) * u128::from(saved) / 1_000_000_000;
        // There is always one packet, which may be longer.
        Some(Ok(u64::try_from(bytes).unwrap_or(u64::MAX).max(1)))
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(bytes_per_second: u64) -> Preferred {
        Preferred {
            own: Some(PathPreference {
                cost: 0,
                limit: NonZeroU64::new(bytes_per_second),
            }),
            ..Preferred::default()
        }
    }

    #[test]
    fn limited_path_sends_its_limit_and_no_more() {
        let mut path = limited(1_000_000);
        let (mut now, mut sent) = (Instant::from_nanos(1_000_000_000), 0);
        let end = now + Duration::from_secs(2);
        while now < end {
            match path.allowance(now) {
                Some(Ok(_)) => {
                    sent += 1_500;
                    path.sent(1_500, now);
                }
                Some(Err(at)) => now = at,
                None => panic!("it has a limit"),
            }
        }
        assert!((1_995_000..=2_010_000).contains(&sent), "{sent}");
    }

    #[test]
    fn larger_cost_and_smaller_limit_hold() {
        let of = |cost, limit| PathPreference {
            cost,
            limit: NonZeroU64::new(limit),
        };
        assert_eq!(of(3, 0).joined(of(1, 500)), of(3, 500));
        assert_eq!(of(0, 400).joined(of(255, 500)), of(255, 400));
        let tiny = WirePreference { cost: 2, limit: 1 };
        assert_eq!(PathPreference::of_peer(tiny), of(2, LEAST_LIMIT.get()));
    }
}

//! Send buffer that sizes itself. How much may an application have queued?
//!
//! Source: our own; Linux, `tcp_sndbuf_expand`, permits two congestion windows.
//!
//! Idea: what was sent stays in the buffer until it is acknowledged, however long that takes, and is not estimated: it is there. New data
//! is queued for what all paths together send in two of the longest round trips. So no path lacks data before the next SACK, at
//! which the size is computed again. And a path scheduler that asks whether the data left could sooner be sent on a fast path sees that
//! there is enough for the slow one.
//!
//! ```text
//! rates = Σ cwnd / srtt of the usable paths
//! size  = held + max(2 × rates × longest srtt, 2 × longest message, smallest size), within the range
//! ```
//!
//! If memory is scarce, the size does not grow.

use core::time::Duration;

use super::SizeRange;
use crate::PathFacts;

/// What the size of the send buffer depends on, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SendFacts {
    /// Sent and neither cumulatively acknowledged nor non-renegable.
    pub held: u64,
    /// What the usable paths send together in the longest of their round trips; see [`in_longest_round`].
    pub windows: u64,
    /// Longest message, or part of one, that the application has queued.
    pub longest: u64,
    /// The size so far.
    pub size: u64,
    /// Whether memory is scarce.
    pub scarce: bool,
}

/// The size of the send buffer from now on.
#[must_use]
pub fn send_buffer(range: &SizeRange, facts: &SendFacts) -> u64 {
    let two = facts.windows.max(facts.longest).saturating_mul(2);
    let queued = two.max(range.smallest());
    let wanted = range.clamp(facts.held.saturating_add(queued));
    if facts.scarce {
        wanted.min(facts.size.max(range.smallest()))
    } else {
        wanted
    }
}

/// What the usable `paths` send together in the longest of their smoothed round-trip times, in bytes. A path without one counts with its
/// congestion window.
#[must_use]
pub fn in_longest_round(paths: &[PathFacts]) -> u64 {
    let usable = || paths.iter().filter(|path| path.is_usable());
    let longest = usable().filter_map(|path| path.srtt()).max().unwrap_or_default();
    let of_path = |path: &PathFacts| match path.srtt() {
        Some(srtt) if srtt > Duration::ZERO => {
            let bytes = u128::from(path.cwnd) * longest.as_nanos() / srtt.as_nanos();
            u64::try_from(bytes).unwrap_or(u64::MAX)
        }
        _ => path.cwnd,
    };
    usable().map(of_path).fold(0, u64::saturating_add)
}

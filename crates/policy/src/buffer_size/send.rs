//! Send buffer that sizes itself. How much may an application have queued?
//!
//! Source: our own; Linux, `tcp_sndbuf_expand`, permits two congestion windows.
//!
//! Idea: what was sent stays in the buffer until it is acknowledged, so the sum of the paths' rates times the longest wait is not
//! estimated: it is there. New data is queued for one window of each path, so that none of them lacks data before the next
//! SACK, at which the size is computed again.
//!
//! ```text
//! size = held + max(Σ cwnd, 2 × longest message, smallest size), within the range
//! ```
//!
//! If memory is scarce, the size does not grow.

use super::SizeRange;

/// What the size of the send buffer depends on, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SendFacts {
    /// Sent and neither cumulatively acknowledged nor non-renegable.
    pub held: u64,
    /// Sum of the congestion windows of the usable paths.
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
    let queued = facts
        .windows
        .max(facts.longest.saturating_mul(2))
        .max(range.smallest());
    let wanted = range.clamp(facts.held.saturating_add(queued));
    if facts.scarce {
        wanted.min(facts.size.max(range.smallest()))
    } else {
        wanted
    }
}

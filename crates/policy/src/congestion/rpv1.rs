//! How much may be in flight, if all paths together are to be one resource? Version 1: shared by thresholds.
//!
//! Source: T. Dreibholz, M. Becke, J. Pulinthanath, E. Rathgeb, "Applying TCP-Friendly Congestion Control to Concurrent
//! Multipath Transfer", AINA 2010 (CMT/RPv1); D. Wischik, M. Handley, M. Bagnulo Braun, "The Resource Pooling
//! Principle", SIGCOMM CCR 38(5), 2008.
//!
//! Idea: the slow-start threshold says what a path holds. Each path takes of every step the part that its threshold has
//! in the sum of all, so all together take one step; a loss takes half of the *sum* of windows off the path that lost.
//!
//! ```text
//! part         = threshold / Σ threshold
//! slow start:  window += ⌈part · min(acked, L · PMDCS)⌉
//! avoidance:   window += ⌈part · PMDCS⌉ for each window acknowledged
//! loss:        threshold = max(window − Σ window / 2, ⌈part · 4 · PMDCS⌉, PMDCS)
//! ```
//!
//! Deviations: a threshold that nothing has set yet counts as the window, because the peer's receive window, which the
//! paper begins with, says nothing of a path; initial windows are not divided by the number of paths, which nobody
//! knows when the first one is made. A loss does not raise a window to its new threshold.

use super::coupled::{Coupled, Coupling, Group, Part};

/// CMT/RPv1.
pub type CmtRpV1 = Coupled<ThresholdShares>;

/// [`Coupling`] by the share of slow-start thresholds.
#[derive(Debug)]
pub struct ThresholdShares;

impl Coupling for ThresholdShares {
    const NAME: &'static str = "cmt-rpv1";
    const COUPLES_SLOW_START: bool = true;

    fn increase(group: &Group<'_>) -> Part {
        let sum = group.sum(|member| member.threshold);
        Part::ratio(u128::from(group.own().threshold), sum)
    }

    fn after_loss(group: &Group<'_>) -> u64 {
        let own = group.own();
        let floor = Self::increase(group).of(4 * own.quantum).unsigned_abs();
        remove_half_of_the_sum(group).max(floor)
    }
}

fn remove_half_of_the_sum(group: &Group<'_>) -> u64 {
    let half = group.sum(|member| member.cwnd) / 2;
    u64::try_from(half).map_or(0, |half| group.own().cwnd.saturating_sub(half))
}

#[cfg(test)]
mod tests;

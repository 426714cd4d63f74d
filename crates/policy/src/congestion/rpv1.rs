//! CMT/RPv1 congestion control. How much may be in flight, if all paths are one pooled resource, shared by ssthresh?
//!
//! Source: T. Dreibholz, M. Becke, J. Pulinthanath, E. Rathgeb, "Applying TCP-Friendly Congestion Control to Concurrent
//! Multipath Transfer", AINA 2010 (CMT/RPv1); D. Wischik, M. Handley, M. Bagnulo Braun, "The Resource Pooling
//! Principle", SIGCOMM CCR 38(5), 2008.
//!
//! Idea: ssthresh estimates the capacity of a path. The part of each increase that a path gets is its share of the sum
//! of ssthresh, so that all paths together make one increase; a loss cuts the path by half of the *sum* of cwnd.
//!
//! ```text
//! part         = ssthresh / Σ ssthresh
//! slow start:  cwnd += ⌈part · min(acked, L · PMDCS)⌉
//! avoidance:   cwnd += ⌈part · PMDCS⌉ for each cwnd acknowledged
//! loss:        ssthresh = max(cwnd − Σ cwnd / 2, ⌈part · 4 · PMDCS⌉, PMDCS)
//! ```
//!
//! Deviations: an unset ssthresh counts as the cwnd, because the peer's receive cwnd, with which the paper initializes
//! it, says nothing about a path; initial cwnds are not divided by the number of paths, which is not known when the
//! first one is set. A loss does not raise a cwnd to its new ssthresh.

use super::coupled::{Coupled, Coupling, Group, Part};

/// CMT/RPv1.
pub type CmtRpV1 = Coupled<ThresholdShares>;

/// [`Coupling`] by the share of ssthresh.
#[derive(Debug)]
pub struct ThresholdShares;

impl Coupling for ThresholdShares {
    const NAME: &'static str = "cmt-rpv1";
    const COUPLES_SLOW_START: bool = true;

    fn increase(group: &Group<'_>) -> Part {
        let sum = group.sum(|member| member.ssthresh);
        Part::ratio(u128::from(group.own().ssthresh), sum)
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

//! CMT/RPv2 congestion control. How much may be in flight, if all paths are one pooled resource, shared by rates?
//!
//! Source: T. Dreibholz, M. Becke, H. Adhari, E. Rathgeb, "On the Impact of Congestion Control for Concurrent Multipath
//! Transfer on the Transport Layer", ConTEL 2011 (CMT/RPv2).
//!
//! Idea: ssthresh compares paths badly if their RTTs differ. So the part of a path is the share of its rate, cwnd over
//! RTT, in the sum of rates; a loss cuts the path by half of the sum of *rates*, but at least by half of its own cwnd.
//!
//! ```text
//! rate         = cwnd / srtt
//! part         = rate / Σ rate
//! slow start:  cwnd += ⌈part · min(acked, L · PMDCS)⌉
//! avoidance:   cwnd += ⌈part · PMDCS⌉ for each cwnd acknowledged
//! loss:        ssthresh = max(cwnd − cwnd · max(1/2, (Σ rate / 2) / rate), PMDCS)
//! ```
//!
//! Deviations: initial cwnds are not divided by the number of paths, as in `cmt-rpv1`. Rates are compared as exact
//! ratios: in whole milliseconds, two fast paths could not be distinguished.

use super::coupled::{Coupled, Coupling, Group, Part};

/// CMT/RPv2.
pub type CmtRpV2 = Coupled<RateShares>;

/// [`Coupling`] by the share of rates.
#[derive(Debug)]
pub struct RateShares;

impl Coupling for RateShares {
    const NAME: &'static str = "cmt-rpv2";
    const COUPLES_SLOW_START: bool = true;

    fn increase(group: &Group<'_>) -> Part {
        group.rate_share(group.own())
    }

    /// (Σ rate / 2) / rate is 1 / (2 · part), so the loss takes cwnd / (2 · part): never less than half, since no part
    /// is more than the whole.
    fn after_loss(group: &Group<'_>) -> u64 {
        let window = group.own().cwnd;
        let part = u128::from(group.rate_share(group.own()).units()).max(1);
        let taken = u128::from(window) * u128::from(Part::ONE.units()) / (2 * part);
        u64::try_from(taken).map_or(0, |taken| window.saturating_sub(taken))
    }
}

#[cfg(test)]
mod tests;

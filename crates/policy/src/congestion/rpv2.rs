//! How much may be in flight, if all paths together are to be one resource? Version 2: shared by rates.
//!
//! Source: T. Dreibholz, M. Becke, H. Adhari, E. Rathgeb, "On the Impact of Congestion Control for Concurrent Multipath
//! Transfer on the Transport Layer", ConTEL 2011 (CMT/RPv2).
//!
//! Idea: thresholds compare paths badly if their round-trip times differ. So a path's part is that of its rate, window
//! over round-trip time, in the sum of rates; a loss takes half of the sum of *rates* off the path that lost, but half
//! of its own window at least.
//!
//! ```text
//! rate         = window / srtt
//! part         = rate / Σ rate
//! slow start:  window += ⌈part · min(acked, L · PMDCS)⌉
//! avoidance:   window += ⌈part · PMDCS⌉ for each window acknowledged
//! loss:        threshold = max(window − window · max(1/2, (Σ rate / 2) / rate), PMDCS)
//! ```
//!
//! Deviations: initial windows are not divided by the number of paths, as in `cmt-rpv1`. Rates are compared as exact
//! ratios: in whole milliseconds, two fast paths could not be told apart.

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

    /// (Σ rate / 2) / rate is 1 / (2 · part), so the loss takes window / (2 · part): never less than half, since no part
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

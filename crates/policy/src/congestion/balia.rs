//! BALIA congestion control. How much may be in flight, if fairness, responsiveness and stability are to be balanced?
//!
//! Source: Q. Peng, A. Walid, J. Hwang, S. Low, "Multipath TCP: Analysis, Design, and Implementation", IEEE/ACM ToN
//! 24(1), 2016; draft-walid-mptcp-congestion-control-04 (Balanced Linked Adaptation).
//!
//! Idea: between `lia` and `olia`: how much a path grows, and how much a loss cuts, depends on how its rate compares
//! with that of the best path.
//!
//! ```text
//! rate         = cwnd / srtt
//! α            = max rate / rate
//! part         = (rate / Σ rate)² · (1 + α) / 2 · (4 + α) / 5
//!              = (share + best) · (4 · share + best) / 10,  share = rate / Σ rate,  best = max share
//! avoidance:   cwnd += part · PMDCS for each cwnd acknowledged
//! loss:        ssthresh = cwnd − cwnd / 2 · min(α, 1.5)
//! ```
//!
//! The paper adds rate / (srtt · (Σ rate)²) · (1 + α) / 2 · (4 + α) / 5 packets for each acknowledgement; summed up over
//! one cwnd that is the form above. A timeout leaves one chunk, as everywhere.
//!
//! Deviations: an increase is computed once for each cwnd acknowledged. The floor of ssthresh is one full chunk, or four
//! for a path alone.

use super::coupled::{Coupled, Coupling, Group, Part};

/// Balanced linked adaptation over all paths of a group.
pub type Balia = Coupled<BalancedAdaptation>;

/// [`Coupling`] by balanced linked adaptation.
#[derive(Debug)]
pub struct BalancedAdaptation;

impl Coupling for BalancedAdaptation {
    const NAME: &'static str = "balia";
    const COUPLES_SLOW_START: bool = false;

    fn increase(group: &Group<'_>) -> Part {
        let (share, best) = (u128::from(share(group)), u128::from(best_share(group)));
        Part::of_square((share + best) * (4 * share + best) / 10)
    }

    fn after_loss(group: &Group<'_>) -> u64 {
        let window = u128::from(group.own().cwnd);
        let (share, best) = (u128::from(share(group)), u128::from(best_share(group)));
        // window / 2 · min(best / share, 3/2)
        let taken = (window * best / (2 * share.max(1))).min(window * 3 / 4);
        u64::try_from(window - taken).unwrap_or(u64::MAX)
    }
}

/// The own path's share of the sum of rates, in units of 2⁻³².
fn share(group: &Group<'_>) -> u64 {
    group.rate_share(group.own()).units()
}

fn best_share(group: &Group<'_>) -> u64 {
    let shares = group.members().map(|member| group.rate_share(member).units());
    shares.max().unwrap_or_default()
}

#[cfg(test)]
mod tests;

//! How much may be in flight, if all paths together must not be greedier than one flow?
//!
//! Source: RFC 6356 (Linked Increases Algorithm); D. Wischik, C. Raiciu, A. Greenhalgh, M. Handley, "Design,
//! Implementation and Evaluation of Congestion Control for Multipath TCP", NSDI 2011.
//!
//! Idea: in congestion avoidance the paths share one increase, sized so that their sum gets what a single flow
//! would get on the best of them; slow start, losses and timeouts stay per path.
//!
//! ```text
//! α            = Σ window · max(window / srtt²) / (Σ window / srtt)²
//! part         = min(α · window / Σ window, 1)
//!              = min(max over k of share_k² · window / window_k, 1),  share_k = (window_k / srtt_k) / Σ (window / srtt)
//! avoidance:   window += part · PMDCS for each window acknowledged
//! loss:        threshold = window / 2
//! ```
//!
//! The RFC adds min(α · acked · PMDCS / Σ window, acked · PMDCS / window) for each acknowledgement; acked summed up over
//! one window is the window, which gives the form above.
//!
//! Deviations: the floor of a threshold is one full chunk, or four for a path alone; TCP's is two segments.

use super::coupled::{Coupled, Coupling, Group, Part};

/// Linked increases over all paths of a group.
pub type Lia = Coupled<LinkedIncreases>;

/// [`Coupling`] by linked increases.
#[derive(Debug)]
pub struct LinkedIncreases;

impl Coupling for LinkedIncreases {
    const NAME: &'static str = "lia";
    const COUPLES_SLOW_START: bool = false;

    fn increase(group: &Group<'_>) -> Part {
        let window = u128::from(group.own().cwnd);
        let candidates = group.members().map(|member| {
            let share = u128::from(group.rate_share(member).units());
            share * share * window / u128::from(member.cwnd.max(1))
        });
        Part::of_square(candidates.max().unwrap_or_default())
    }

    fn after_loss(group: &Group<'_>) -> u64 {
        group.own().cwnd / 2
    }
}

#[cfg(test)]
mod tests;

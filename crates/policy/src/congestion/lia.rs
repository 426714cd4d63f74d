//! LIA congestion control (RFC 6356). How much may be in flight, if all paths together may take no more than one flow?
//!
//! Source: RFC 6356 (Linked Increases Algorithm); D. Wischik, C. Raiciu, A. Greenhalgh, M. Handley, "Design,
//! Implementation and Evaluation of Congestion Control for Multipath TCP", NSDI 2011.
//!
//! Idea: in congestion avoidance the paths share one increase, sized so that together they get what a single flow
//! would get on the best of them; slow start, losses and timeouts are per path.
//!
//! ```text
//! α            = Σ cwnd · max(cwnd / srtt²) / (Σ cwnd / srtt)²
//! part         = min(α · cwnd / Σ cwnd, 1)
//!              = min(max over k of share_k² · cwnd / cwnd_k, 1),  share_k = (cwnd_k / srtt_k) / Σ (cwnd / srtt)
//! avoidance:   cwnd += part · PMDCS for each cwnd acknowledged
//! loss:        ssthresh = cwnd / 2
//! ```
//!
//! The RFC adds min(α · acked · PMDCS / Σ cwnd, acked · PMDCS / cwnd) for each acknowledgement; summed up over one
//! cwnd that is the form above.
//!
//! Deviations: the floor of ssthresh is one full chunk, or four for a path alone; TCP's is two segments.

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

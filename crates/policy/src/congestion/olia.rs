//! OLIA congestion control. How much may be in flight, if the paths are to be fair and quick to shift load?
//!
//! Source: R. Khalili, N. Gast, M. Popovic, J.-Y. Le Boudec, "MPTCP is not Pareto-optimal: performance issues and a
//! possible solution", IEEE/ACM ToN 21(5), 2013; draft-khalili-mptcp-congestion-control-05 (Opportunistic Linked
//! Increases Algorithm).
//!
//! Idea: the first term of the increase balances congestion as theory requires. The second one shifts cwnd from the
//! paths with the largest cwnd to paths that are better, judged by what they delivered between losses, but still have
//! a small cwnd: that keeps the algorithm responsive.
//!
//! ```text
//! delivered    = the larger of: bytes acknowledged between the last two losses, and since the last one
//! best         = paths with the largest delivered / srtt²
//! largest      = paths with the largest cwnd
//! collected    = best without largest
//! α            = +1 / (n · |collected|) for paths of collected,
//!                −1 / (n · |largest|) for paths of largest if collected is not empty,  0 for all others
//! part         = ((cwnd / srtt) / Σ (cwnd / srtt))² + α
//! avoidance:   cwnd += part · PMDCS for each cwnd acknowledged; part may be below 0
//! loss:        ssthresh = cwnd / 2
//! ```
//!
//! The draft adds (cwnd / srtt² / (Σ cwnd / srtt)² + α / cwnd) · acked · PMDCS for each acknowledgement; summed up over
//! one cwnd that is the form above.
//!
//! Deviations: an increase is computed once for each cwnd acknowledged, not for each acknowledgement, and no cwnd falls
//! below one full chunk. Paths are equally good if their delivered / srtt² is equal in whole microseconds.

use super::coupled::{Coupled, Coupling, Group, Member, Part};

/// Opportunistic linked increases over all paths of a group.
pub type Olia = Coupled<OpportunisticIncreases>;

/// [`Coupling`] by opportunistic linked increases.
#[derive(Debug)]
pub struct OpportunisticIncreases;

impl Coupling for OpportunisticIncreases {
    const NAME: &'static str = "olia";
    const COUPLES_SLOW_START: bool = false;

    fn increase(group: &Group<'_>) -> Part {
        let share = u128::from(group.rate_share(group.own()).units());
        Part::of_square(share * share) + alpha(group)
    }

    fn after_loss(group: &Group<'_>) -> u64 {
        group.own().cwnd / 2
    }
}

/// The α of the own path, as a part of an increase.
fn alpha(group: &Group<'_>) -> Part {
    let Some(best) = group.members().reduce(better) else {
        return Part::ZERO;
    };
    let largest = group.members().map(|member| member.cwnd).max();
    let has_largest = |member: &Member| Some(member.cwnd) == largest;
    let is_collected =
        |member: &Member| quality(member, best) == quality(best, member) && !has_largest(member);

    let count = |of: &dyn Fn(&Member) -> bool| group.members().filter(|member| of(member)).count() as u128;
    let (paths, collected) = (count(&|_| true), count(&is_collected));
    if is_collected(group.own()) {
        Part::ratio(1, paths * collected)
    } else if collected > 0 && has_largest(group.own()) {
        -Part::ratio(1, paths * count(&has_largest))
    } else {
        Part::ZERO
    }
}

fn better<'a>(one: &'a Member, other: &'a Member) -> &'a Member {
    if quality(other, one) > quality(one, other) {
        other
    } else {
        one
    }
}

/// delivered / srtt² of `one`, times the square of both round-trip times: comparable to `quality(other, one)`.
///
/// A TCP flow's rate is proportional to √delivered / srtt, so this orders paths by the rate to expect.
fn quality(one: &Member, other: &Member) -> u128 {
    let round_trip = other.round_trip_micros();
    u128::from(one.delivered) * (round_trip * round_trip)
}

#[cfg(test)]
mod tests;

//! For how long nothing gets through in a scenario: must the file arrive, may it fail, or must it?

use super::draw::{Happening, RandomScenario, What};
use super::{PATIENCE, RETURN};

/// From when until when, in milliseconds after the connection; `u64::MAX` for good.
type Interval = (u64, u64);

/// What may become of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expected {
    /// It arrives.
    Stored,
    /// It arrives, or there is an error: nothing got through for about as long as the program waits.
    Either,
    /// There is an error, unless it had arrived before.
    Error,
}

impl RandomScenario {
    /// What may become of the file.
    pub(crate) fn expected(&self) -> Expected {
        let outages = self.outages();
        let is_long = |(begin, end): &Interval| end - begin > PATIENCE + RETURN;
        if outages.iter().any(is_long) {
            return Expected::Error;
        }
        // What works for a moment only may go unnoticed.
        let merged = merge(outages, RETURN);
        let is_short = |(begin, end): &Interval| end - begin + RETURN < PATIENCE;
        if merged.iter().all(is_short) {
            Expected::Stored
        } else {
            Expected::Either
        }
    }

    /// When nothing gets through from one end to the other and back.
    fn outages(&self) -> Vec<Interval> {
        let ends_of = |of: &dyn Fn(What) -> bool| {
            let those = self.happenings.iter().filter(|happening| of(happening.what));
            merge(those.map(interval).collect(), 0)
        };
        let mut common = vec![(0, u64::MAX)];
        for uplink in 0..self.uplinks.len() {
            common = intersection(&common, &ends_of(&|what| what.cuts() == Some(uplink)));
        }
        common.extend(ends_of(&What::suspends));
        merge(common, 0)
    }
}

fn interval(happening: &Happening) -> Interval {
    let end = happening.lasts.map_or(u64::MAX, |lasts| happening.at + lasts);
    (happening.at, end)
}

/// Joins intervals with less than `gap` between them.
fn merge(mut intervals: Vec<Interval>, gap: u64) -> Vec<Interval> {
    intervals.sort_unstable();
    let mut merged: Vec<Interval> = Vec::new();
    for (begin, end) in intervals {
        match merged.last_mut() {
            Some(last) if begin <= last.1.saturating_add(gap) => last.1 = last.1.max(end),
            _ => merged.push((begin, end)),
        }
    }
    merged
}

fn intersection(one: &[Interval], other: &[Interval]) -> Vec<Interval> {
    let pairs = one.iter().flat_map(|a| other.iter().map(move |b| (a, b)));
    let common = pairs.map(|(a, b)| (a.0.max(b.0), a.1.min(b.1)));
    common.filter(|(begin, end)| begin < end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(uplinks: usize, happenings: &[(u64, u64, What)]) -> RandomScenario {
        let mut scenario = RandomScenario::draw(0);
        let uplink = scenario.uplinks[0];
        scenario.uplinks = vec![uplink; uplinks];
        let happening = |(at, lasts, what): &(u64, u64, What)| Happening {
            at: *at,
            lasts: (*lasts > 0).then_some(*lasts),
            what: *what,
        };
        scenario.happenings = happenings.iter().map(happening).collect();
        scenario
    }

    #[test]
    fn file_must_arrive_if_one_uplink_works() {
        let one = scenario(2, &[(1_000, 0, What::Unplugged(1))]);
        assert_eq!(one.expected(), Expected::Stored);
        let by_turns = [
            (1_000, 20_000, What::Unplugged(0)),
            (15_000, 20_000, What::MuteServer(1)),
        ];
        assert_eq!(scenario(2, &by_turns).expected(), Expected::Stored);
    }

    #[test]
    fn file_must_fail_if_all_uplinks_are_down_for_too_long() {
        let all = [
            (1_000, 0, What::Unplugged(0)),
            (2_000, 30_000, What::SwitchedOff(1)),
        ];
        assert_eq!(scenario(2, &all).expected(), Expected::Error);
    }

    #[test]
    fn short_return_between_outages_may_go_unnoticed() {
        let twice = [
            (1_000, 6_000, What::Unplugged(0)),
            (9_000, 6_000, What::SuspendedSender),
        ];
        assert_eq!(scenario(1, &twice).expected(), Expected::Either);
        assert_eq!(scenario(1, &twice[..1]).expected(), Expected::Stored);
    }
}

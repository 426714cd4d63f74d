//! Checks in words: the threshold, and the measured values with their intervals.

use core::fmt::Write as _;

use super::places::{Note, Observation, Outcome};
use crate::plan::{Check, CheckKind, Counted, Direction};

/// Maximum number of points of an outcome that are listed.
const LISTED: usize = 6;

/// The condition that must hold.
pub(super) fn threshold(check: &Check) -> String {
    let bounds = match (check.at_least, check.at_most) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("≥ {least}"),
        (None, Some(most)) => format!("≤ {most}"),
        (None, None) => String::new(),
    };
    let place = match check.x {
        Some((from, to)) if from == to => format!(" at {from}"),
        Some((from, to)) => format!(" at {from} to {to}"),
        None => String::new(),
    };
    match check.kind {
        CheckKind::Value | CheckKind::Ratio | CheckKind::Share => format!("{bounds}{place}"),
        CheckKind::ShareOfPoints => {
            let share = check.share.map_or(0.0, |share| (share.0 * 1e6).round() / 1e4);
            let by = match check.counted.unwrap_or_default() {
                Counted::Means => "",
                Counted::Intervals => ", by the intervals",
            };
            format!("{bounds}{place} at ≥ {share} % of the points{by}")
        }
        CheckKind::First => format!("first {bounds}{place}"),
        CheckKind::Peak => format!("greatest{place}"),
        CheckKind::Monotone => {
            let sign = match check.direction {
                Some(Direction::Falling) => "≤ 0",
                Some(Direction::Rising) | None => "≥ 0",
            };
            let beyond = check.tolerance.map_or(String::new(), |share| {
                format!(" beyond {} %", (share.0 * 1e4).round() / 1e2)
            });
            format!("each step {sign}{beyond}{place}")
        }
    }
}

/// Describes the points at which the condition fails and those at which it is undecided, and the range of the others.
pub(super) fn describe(observations: &[Observation]) -> String {
    let of = |outcome: Outcome| -> Vec<&Observation> {
        let found = observations.iter().filter(|found| found.outcome == outcome);
        found.collect()
    };
    let (held, failed, undecided) = (of(Outcome::Holds), of(Outcome::Fails), of(Outcome::Undecided));
    let mut parts = Vec::new();
    if !failed.is_empty() {
        parts.push(format!("not so: {}", list(&failed)));
    }
    if !undecided.is_empty() {
        parts.push(format!("undecided: {}", list(&undecided)));
    }
    if !held.is_empty() {
        let so = if parts.is_empty() { "" } else { "so: " };
        parts.push(format!("{so}{}", range(&held)));
    }
    if parts.is_empty() {
        return "nothing was measured".into();
    }
    parts.join("; ")
}

pub(super) fn list(observations: &[&Observation]) -> String {
    let texts: Vec<String> = observations
        .iter()
        .take(LISTED)
        .map(|found| text(found))
        .collect();
    let mut listed = texts.join(", ");
    if observations.len() > LISTED {
        // Writing into a string cannot fail.
        let _ = write!(listed, " and {} more", observations.len() - LISTED);
    }
    listed
}

fn range(observations: &[&Observation]) -> String {
    let by_value = |left: &&&Observation, right: &&&Observation| left.value.total_cmp(&right.value);
    let least = observations.iter().min_by(by_value);
    let most = observations.iter().max_by(by_value);
    match (least, most) {
        (Some(least), Some(most)) if least.value < most.value => {
            format!("from {} to {}", text(least), text(most))
        }
        (Some(only), _) => text(only),
        (None, _) => String::new(),
    }
}

fn text(observation: &Observation) -> String {
    let Observation {
        value,
        interval,
        note,
        label,
        ..
    } = observation;
    let value = match note {
        Note::Nothing => "nothing happened".to_owned(),
        Note::Exact => number(*value),
        Note::OneRun => format!("{} (one run)", number(*value)),
        Note::Sampled => format!(
            "{} [{}, {}]",
            number(*value),
            number(interval.low),
            number(interval.high)
        ),
    };
    match label.as_str() {
        "" => value,
        label => format!("{value} at {label}"),
    }
}

fn number(value: f64) -> String {
    match value {
        value if value.is_nan() => "nothing".to_owned(),
        f64::INFINITY => "∞".to_owned(),
        f64::NEG_INFINITY => "−∞".to_owned(),
        value => format!("{value:.3}"),
    }
}

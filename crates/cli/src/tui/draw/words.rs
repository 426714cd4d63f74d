//! Words of the live view in a terminal, the same as on the page. What are states and limits called?

use anabranch::PathPreference;
use anabranch_dashboard::{Limit, PathSample};

use crate::output::rate_text;

/// `works, primary`
pub(super) fn state(path: &PathSample) -> String {
    let mut words = vec![reachability(path.state)];
    words.extend(path.resting.then_some("rests"));
    words.extend(path.primary.then_some("primary"));
    words.join(", ")
}

fn reachability(state: &'static str) -> &'static str {
    match state {
        "active" => "works",
        "unconfirmed" => "not verified",
        "potentially-failed" => "does not answer",
        "inactive" => "failed",
        other => other,
    }
}

/// What keeps a path from carrying more.
pub(super) const fn limit(limit: Limit) -> &'static str {
    match limit {
        Limit::State => "its state",
        Limit::Rests => "a path of smaller cost that works",
        Limit::Idle => "nothing waits to be sent",
        Limit::PeerWindow => "the peer's receive window",
        Limit::Cwnd => "its congestion window",
        Limit::Pacing => "pacing",
        Limit::None => "nothing: it has room",
    }
}

/// How a path is to be used.
pub(super) fn use_of(path: &PathSample) -> String {
    let cost = match path.cost {
        0 => None,
        PathPreference::BACKUP => Some("backup".to_owned()),
        cost => Some(format!("cost {cost}")),
    };
    let cap = path
        .cap_bit_s
        .map(|cap| format!("at most {}", rate_text(cap as f64)));
    let words: Vec<String> = cost.into_iter().chain(cap).collect();
    match words.is_empty() {
        true => "as any other".to_owned(),
        false => words.join(", "),
    }
}

/// `31.2 ms`
pub(super) fn milliseconds(time: Option<f64>) -> String {
    match time {
        Some(time) if time < 10.0 => format!("{time:.1} ms"),
        Some(time) => format!("{time:.0} ms"),
        None => "-".to_owned(),
    }
}

/// `34 %`
pub(super) fn percent(part: f64) -> String {
    match part {
        0.001..0.1 => format!("{:.1} %", part * 100.0),
        _ => format!("{:.0} %", part * 100.0),
    }
}

/// `1:07`, since the start.
pub(super) fn clock(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page's own words.
    const PAGE: &str = include_str!("../../../../dashboard/assets/dashboard.js");

    #[test]
    fn page_has_the_same_words() {
        for state in ["active", "unconfirmed", "potentially-failed", "inactive"] {
            let entry = format!("\"{state}\": \"{}\"", reachability(state));
            assert!(PAGE.contains(&entry), "{entry}");
        }
        use Limit::{Cwnd, Idle, Pacing, PeerWindow, Rests, State};
        for reason in [State, Rests, Idle, PeerWindow, Cwnd, Pacing, Limit::None] {
            let name = serde_json::to_string(&reason).unwrap();
            let entry = format!("{name}: \"{}\"", limit(reason));
            assert!(PAGE.contains(&entry), "{entry}");
        }
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(milliseconds(Some(9.94)), "9.9 ms");
        assert_eq!(milliseconds(Some(31.2)), "31 ms");
        assert_eq!(milliseconds(None), "-");
        assert_eq!(
            [percent(0.0), percent(0.012), percent(0.34)],
            ["0 %", "1.2 %", "34 %"]
        );
        assert_eq!([clock(67_900), clock(3_667_000)], ["1:07", "1:01:07"]);
    }
}

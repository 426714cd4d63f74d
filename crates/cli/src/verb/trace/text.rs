//! Text output of `trace`. How are the results shown to people?

use std::fmt::Write as _;

use anabranch_trace::gaps::Histogram;
use anabranch_trace::idle::idle as pauses;
use anabranch_trace::{Conversation, Direction};

/// Lists the conversations, one per line.
pub(super) fn list(all: &[Conversation]) -> String {
    if all.is_empty() {
        return "no SCTP and no TCP\n".to_owned();
    }
    let mut text = String::new();
    for (number, conversation) in (1..).zip(all) {
        let (near, far) = conversation.paths[0];
        let (forward, reverse) = conversation.bytes();
        let paths = conversation.paths.len();
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{number:3}  {} {near}:{} ↔ {far}:{}, {paths} path{}, {} segments, {forward} bytes →, {reverse} bytes ←, {} s",
            conversation.protocol,
            conversation.ports.0,
            conversation.ports.1,
            if paths == 1 { "" } else { "s" },
            conversation.rows.len(),
            seconds(conversation.duration()),
        );
    }
    text
}

/// Per direction: how much the acknowledgements report in their SACK blocks.
pub(super) fn gaps(conversation: &Conversation) -> String {
    let unit = if conversation.protocol == "TCP" {
        "bytes"
    } else {
        "TSNs"
    };
    let mut text = String::new();
    for direction in [Direction::Forward, Direction::Reverse] {
        let histogram = Histogram::of(conversation, direction);
        if histogram.acknowledgements == 0 {
            continue;
        }
        let _ = writeln!(
            text,
            "{} {} acknowledgements; {unit} acknowledged selectively by one: at most {}, in at most {} blocks",
            arrow(direction),
            histogram.acknowledgements,
            histogram.max,
            histogram.max_blocks
        );
        for (start, end, count) in &histogram.buckets {
            let share = *count as f64 * 100.0 / histogram.acknowledgements as f64;
            let bucket = match end {
                Some(end) if end == start => start.to_string(),
                Some(end) => format!("{start}–{end}"),
                None => format!("{start}–"),
            };
            let bar = "█".repeat((share / 2.0).round() as usize);
            let _ = writeln!(text, "{bucket:>10} {count:>8} {share:>5.1} % {bar}");
        }
    }
    text
}

/// Per path and direction: the periods in which nothing was sent.
pub(super) fn idle(conversation: &Conversation, threshold: u64) -> String {
    let mut text = format!(
        "pauses of at least {} s in {} s\n",
        seconds(threshold),
        seconds(conversation.duration())
    );
    for idle in pauses(conversation, threshold) {
        let (near, far) = conversation.paths[idle.path];
        let share = idle.total as f64 * 100.0 / idle.duration.max(1) as f64;
        let longest = idle.pauses.iter().map(|(_, length)| *length).max().unwrap_or(0);
        let _ = writeln!(
            text,
            "{near} {} {far}: {} pauses, {} s, {share:.1} % of the time, the longest {} s",
            arrow(idle.direction),
            idle.pauses.len(),
            seconds(idle.total),
            seconds(longest)
        );
    }
    text
}

const fn arrow(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "→",
        Direction::Reverse => "←",
    }
}

fn seconds(nanoseconds: u64) -> String {
    format!("{:.6}", nanoseconds as f64 / 1e9)
}

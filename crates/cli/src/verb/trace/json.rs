//! JSON output of `trace`. How do programs read the results? One JSON object per line (docs/cli-json.md).

use anabranch_trace::gaps::Histogram;
use anabranch_trace::idle::idle as pauses;
use anabranch_trace::{Conversation, Direction};
use serde_json::{Value, json};

/// Lists all conversations.
pub(super) fn list(all: &[Conversation]) -> String {
    let described = |(number, conversation): (usize, &Conversation)| {
        let (forward, reverse) = conversation.bytes();
        json!({
            "number": number,
            "protocol": conversation.protocol,
            "ports": [conversation.ports.0, conversation.ports.1],
            "paths": conversation.paths.iter().map(|(near, far)| json!([near, far])).collect::<Vec<_>>(),
            "segments": conversation.rows.len(),
            "bytes_forward": forward,
            "bytes_reverse": reverse,
            "seconds": seconds(conversation.duration()),
        })
    };
    let conversations: Vec<Value> = (1..).zip(all).map(described).collect();
    line(&json!({ "event": "conversations", "conversations": conversations }))
}

/// Histograms of both directions.
pub(super) fn gaps(conversation: &Conversation) -> String {
    let described = |direction| {
        let histogram = Histogram::of(conversation, direction);
        let buckets: Vec<Value> = histogram
            .buckets
            .iter()
            .map(|(start, end, count)| json!({ "from": start, "to": end, "count": count }))
            .collect();
        json!({
            "direction": name(direction),
            "acknowledgements": histogram.acknowledgements,
            "max": histogram.max,
            "max_blocks": histogram.max_blocks,
            "buckets": buckets,
        })
    };
    let directions = [Direction::Forward, Direction::Reverse].map(described);
    line(&json!({ "event": "gaps", "directions": directions }))
}

/// Idle periods of all paths in both directions.
pub(super) fn idle(conversation: &Conversation, threshold: u64) -> String {
    let described = |idle: anabranch_trace::idle::Idle| {
        let (near, far) = conversation.paths[idle.path];
        let pauses: Vec<Value> = idle
            .pauses
            .iter()
            .map(|(at, length)| json!({ "at": seconds(*at), "seconds": seconds(*length) }))
            .collect();
        json!({
            "path": [near, far],
            "direction": name(idle.direction),
            "seconds": seconds(idle.total),
            "of_seconds": seconds(idle.duration),
            "pauses": pauses,
        })
    };
    let paths: Vec<Value> = pauses(conversation, threshold)
        .into_iter()
        .map(described)
        .collect();
    line(&json!({ "event": "idle", "paths": paths }))
}

const fn name(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "forward",
        Direction::Reverse => "reverse",
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

fn line(object: &Value) -> String {
    format!("{object}\n")
}

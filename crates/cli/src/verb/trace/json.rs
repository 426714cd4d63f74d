//! How do programs read what was counted? One JSON object in a line (docs/cli-json.md).

use anabranch_trace::gaps::Histogram;
use anabranch_trace::idle::idle as pauses;
use anabranch_trace::{Conversation, Direction};
use serde_json::{Value, json};

/// All conversations.
pub(super) fn list(all: &[Conversation]) -> String {
    let described = |(number, conversation): (usize, &Conversation)| {
        let (forth, back) = conversation.bytes();
        json!({
            "number": number,
            "protocol": conversation.protocol,
            "ports": [conversation.ports.0, conversation.ports.1],
            "lanes": conversation.lanes.iter().map(|(near, far)| json!([near, far])).collect::<Vec<_>>(),
            "segments": conversation.rows.len(),
            "bytes_forth": forth,
            "bytes_back": back,
            "seconds": seconds(conversation.duration()),
        })
    };
    let conversations: Vec<Value> = (1..).zip(all).map(described).collect();
    line(&json!({ "event": "conversations", "conversations": conversations }))
}

/// The histograms of both directions.
pub(super) fn gaps(conversation: &Conversation) -> String {
    let described = |direction| {
        let histogram = Histogram::of(conversation, direction);
        let classes: Vec<Value> = histogram
            .classes
            .iter()
            .map(|(start, end, count)| json!({ "from": start, "to": end, "count": count }))
            .collect();
        json!({
            "direction": name(direction),
            "acknowledgements": histogram.acknowledgements,
            "most": histogram.most,
            "most_blocks": histogram.most_blocks,
            "classes": classes,
        })
    };
    let directions = [Direction::Forth, Direction::Back].map(described);
    line(&json!({ "event": "gaps", "directions": directions }))
}

/// The pauses of all lanes in both directions.
pub(super) fn idle(conversation: &Conversation, threshold: u64) -> String {
    let described = |idle: anabranch_trace::idle::Idle| {
        let (near, far) = conversation.lanes[idle.lane];
        let pauses: Vec<Value> = idle
            .pauses
            .iter()
            .map(|(at, length)| json!({ "at": seconds(*at), "seconds": seconds(*length) }))
            .collect();
        json!({
            "lane": [near, far],
            "direction": name(idle.direction),
            "seconds": seconds(idle.total),
            "of_seconds": seconds(idle.of),
            "pauses": pauses,
        })
    };
    let lanes: Vec<Value> = pauses(conversation, threshold)
        .into_iter()
        .map(described)
        .collect();
    line(&json!({ "event": "idle", "lanes": lanes }))
}

const fn name(direction: Direction) -> &'static str {
    match direction {
        Direction::Forth => "forth",
        Direction::Back => "back",
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

fn line(object: &Value) -> String {
    format!("{object}\n")
}

//! What is measured in a run? The list of all metrics, with units.
//!
//! Metrics of a path, stream or rival have its name in theirs: `path.north.timeouts`, `stream.0.delay.mean`. A test
//! holds the list against what runs measure.

use crate::plan::{AppPlan, BackendPlan, End, Named, Setting, TransportPlan};

/// A number that a run has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metric {
    /// Its name, without that of the path, stream or rival.
    pub name: &'static str,
    /// Its unit; empty for counts and shares.
    pub unit: &'static str,
    /// What it is, in one line.
    pub meaning: &'static str,
}

const fn metric(name: &'static str, unit: &'static str, meaning: &'static str) -> Metric {
    Metric { name, unit, meaning }
}

/// Metrics of a whole run. All are of the measuring time, and of data from the near to the far end.
pub const OF_RUN: &[Metric] = &[
    metric("goodput", "Mbit/s", "user data that the far application read"),
    metric("messages", "", "messages that it read"),
    metric("delay.mean", "ms", "from a message's handing over to its reading"),
    metric(
        "delay.streams.mean",
        "ms",
        "the mean over the streams of each one's mean",
    ),
    metric("delay.p50", "ms", "the median of it, to 3 %"),
    metric(
        "delay.p95",
        "ms",
        "what 95 % of the messages did not exceed, to 3 %",
    ),
    metric(
        "delay.p99",
        "ms",
        "what 99 % of the messages did not exceed, to 3 %",
    ),
    metric(
        "completed",
        "s",
        "when the last message was read, from the start of the run; missing if some of a given number were not",
    ),
    metric("timeouts", "", "expiries of T3 timers"),
    metric(
        "fast-retransmits",
        "",
        "chunks found lost because later ones were acknowledged",
    ),
    metric(
        "rescued",
        "",
        "chunks moved to another path by chunk rescheduling",
    ),
    metric(
        "retransmitted",
        "",
        "share of the payload sent that was sent before",
    ),
    metric("duplicates", "", "chunks that the far end received again"),
    metric("sacks", "", "SACKs that the near end took"),
    metric(
        "sack.tsns.mean",
        "",
        "TSNs beyond the cumulative one that a SACK reports",
    ),
    metric("sack.tsns.max", "", "the most of them, to 3 %"),
    metric(
        "sack.single.max",
        "",
        "the most TSNs that a SACK with one gap block reports, to 3 %",
    ),
    metric("sack.blocks.mean", "", "gap blocks in a SACK"),
    metric("sack.visited.mean", "", "queue elements visited for a SACK"),
    metric("send-buffer.mean", "bytes", "held for sending, sampled"),
    metric("send-buffer.max", "bytes", "the most of it"),
    metric(
        "retransmission-queue.mean",
        "bytes",
        "sent and still held, sampled: whoever reads acknowledgements has to go through it",
    ),
    metric("retransmission-queue.max", "bytes", "the most of it"),
    metric("receive-buffer.mean", "bytes", "held for reading, sampled"),
    metric("receive-buffer.max", "bytes", "the most of it"),
    metric(
        "sender-blocked",
        "",
        "share of samples in which a window had room, and the send buffer was full of sent data",
    ),
    metric(
        "receiver-blocked",
        "",
        "share of samples in which the peer's window had no room for a packet",
    ),
    metric(
        "stalls",
        "",
        "times in which no link brought anything to the far end for 0.5 s or longer",
    ),
    metric("stalls.time", "s", "their length, all together"),
    metric(
        "outage",
        "s",
        "the longest time in which the far application read nothing: after a cut, the time to recover",
    ),
];

/// Metrics of a run on a test bed: how good the bed was.
pub const OF_TESTBED: &[Metric] = &[
    metric(
        "late.p50",
        "µs",
        "by how much packets left links too late, the median",
    ),
    metric(
        "late.p99",
        "µs",
        "what 99 % of the packets did not exceed, to 3 %",
    ),
    metric("late.max", "µs", "the most of it"),
    metric(
        "standstills",
        "",
        "how often the whole machine stood still for more than 5 ms, and the links with it",
    ),
    metric(
        "stood-still",
        "ms",
        "for how long altogether; this time does not count in rates",
    ),
    metric(
        "strays",
        "packets",
        "lost outside of the links; there should be none",
    ),
    metric("load", "", "the machine's mean load of the last minute"),
    metric(
        "damaged",
        "messages",
        "that the far application got changed, twice or out of order; there should be none",
    ),
];

/// Metrics of a whole run over TCP or Multipath TCP, beside those of every run.
pub const OF_TCP: &[Metric] = &[
    metric("retransmissions", "", "segments of TCP sent again"),
    metric(
        "reinjections",
        "",
        "chunks of data that one flow of Multipath TCP carried after another",
    ),
];

/// Metrics of each host whose processor takes time: `processor.near`, `processor.far`.
pub const OF_PROCESSOR: &[Metric] = &[
    metric("busy", "", "share of the time in which it had something to do"),
    metric("sacks", "", "share of the time in which it handled SACKs"),
    metric(
        "sack.mean",
        "µs",
        "time for a packet with a SACK, beyond that for any packet",
    ),
    metric("dropped", "packets", "that found its ring full"),
];

/// Metrics of each path: what the association does with it.
pub const OF_PATH: &[Metric] = &[
    metric(
        "throughput",
        "Mbit/s",
        "payload that arrived over it, duplicates included",
    ),
    metric("timeouts", "", "expiries of its T3 timer"),
    metric(
        "fast-retransmits",
        "",
        "chunks found lost on it because later ones were acknowledged",
    ),
    metric("rescued", "", "chunks moved to it by chunk rescheduling"),
    metric(
        "retransmitted",
        "",
        "share of the payload sent on it that was sent before",
    ),
    metric("window.mean", "bytes", "congestion window, sampled"),
    metric("flight.mean", "bytes", "in flight, sampled"),
    metric(
        "full",
        "",
        "share of samples in which as much was in flight as the window allows",
    ),
    metric("srtt.mean", "ms", "smoothed round-trip time, sampled"),
    metric("srtt.max", "ms", "the most of it among the samples"),
    metric(
        "rto.mean",
        "ms",
        "retransmission timeout, back-off included, sampled",
    ),
    metric("rto.max", "ms", "the most of it among the samples"),
    metric(
        "backed-off",
        "",
        "share of samples in which a timeout or error was not yet answered by an acknowledgement",
    ),
    metric(
        "blocked.mean",
        "",
        "share of the send buffer taken by what arrived and cannot be freed, chunk headers included, sampled",
    ),
];

/// Metrics of the link of each path, and of the bottleneck, towards the far end.
pub const OF_LINK: &[Metric] = &[
    metric(
        "carried",
        "Mbit/s",
        "of IP packets that it brought to the far end",
    ),
    metric("queue.mean", "packets", "waiting at the link, sampled"),
    metric("queue.max", "packets", "the most of it among the samples"),
    metric("drops.queue", "", "packets that found the queue full"),
    metric("drops.early", "", "packets dropped by active queue management"),
    metric("drops.loss", "", "packets that vanished on the way"),
    metric("drops.cut", "", "packets lost because the link was cut"),
    metric(
        "idle",
        "",
        "share of the time in which the line had nothing to do",
    ),
    metric("back.drops", "", "packets lost on the way back, for any reason"),
];

/// Metrics of the objects of a download: `object`. Times are from the start of the run.
pub const OF_OBJECTS: &[Metric] = &[
    metric("first", "s", "when the first object was there"),
    metric(
        "mean",
        "s",
        "the mean of when each was there; missing if one was not",
    ),
    metric("last", "s", "when the last one was there; missing if one was not"),
];

/// Metrics of what each end sends, if the plan asks for `overhead`: `sent` by the end that talks, `answered` by the
/// other. Above IP; what is sent again counts again.
pub const OF_OVERHEAD: &[Metric] = &[
    metric("packets", "", "packets"),
    metric("payload", "bytes", "user data"),
    metric(
        "headers",
        "bytes",
        "headers of packets with user data, of its chunks, and their padding",
    ),
    metric(
        "control",
        "bytes",
        "packets without user data, and other chunks beside it",
    ),
];

/// Metrics of each stream.
pub const OF_STREAM: &[Metric] = &[
    metric("goodput", "Mbit/s", "user data read from it"),
    metric("delay.mean", "ms", "from a message's handing over to its reading"),
    metric("delay.p50", "ms", "the median of it, to 3 %"),
    metric(
        "delay.p95",
        "ms",
        "what 95 % of the messages did not exceed, to 3 %",
    ),
];

/// Metrics of each rival.
pub const OF_RIVAL: &[Metric] = &[metric("goodput", "Mbit/s", "user data that its far end read")];

/// Histograms that a run has if its plan asks for them.
pub const HISTOGRAMS: &[&str] = &["delay", "sack.tsns", "sack.blocks", "processor.near.sack"];

/// What a time series has for each path, and then for the whole association, from `send-buffer` on.
pub const SERIES: &[Metric] = &[
    metric("window", "KiB", "congestion window"),
    metric("threshold", "KiB", "slow-start threshold"),
    metric("flight", "KiB", "in flight"),
    metric("queued", "KiB", "sent on the path and still in the send buffer"),
    metric(
        "blocked",
        "",
        "share of the send buffer taken by what arrived and cannot be freed, chunk headers included",
    ),
    metric("srtt", "ms", "smoothed round-trip time"),
    metric("rto", "ms", "retransmission timeout"),
    metric("waiting", "packets", "waiting at the path's own link"),
    metric("send-buffer", "KiB", "in the send buffer"),
    metric("receive-buffer", "KiB", "in the receive buffer of the far end"),
    metric(
        "goodput",
        "Mbit/s",
        "user data that the far application read, from row to row",
    ),
];

/// The metrics of all runs with these settings.
pub fn names<'s>(settings: impl Iterator<Item = &'s Setting>) -> Vec<String> {
    let mut names: Vec<String> = OF_RUN.iter().map(|metric| metric.name.to_owned()).collect();
    let mut groups: Vec<String> = Vec::new();
    let mut has_tcp = false;
    for setting in settings {
        if setting.transport != TransportPlan::Sctp && !has_tcp {
            names.extend(OF_TCP.iter().map(|metric| metric.name.to_owned()));
            has_tcp = true;
        }
        for (group, metrics) in groups_of(setting) {
            if !groups.contains(&group) {
                names.extend(metrics.iter().map(|metric| format!("{group}.{}", metric.name)));
                groups.push(group);
            }
        }
    }
    names
}

/// What has a name of its own in a setting, with its metrics. A path has two groups of them.
fn groups_of(setting: &Setting) -> Vec<(String, Vec<Metric>)> {
    let mut groups = Vec::new();
    for name in setting.paths.names() {
        groups.push((format!("path.{name}"), [OF_PATH, OF_LINK].concat()));
    }
    if setting.bottleneck.is_some() {
        groups.push(("bottleneck".into(), OF_LINK.to_vec()));
    }
    for (end, host) in [("near", setting.hosts.near), ("far", setting.hosts.far)] {
        if host.processor.is_some() {
            groups.push((format!("processor.{end}"), OF_PROCESSOR.to_vec()));
        }
    }
    if setting.backend == BackendPlan::Testbed {
        groups.push(("testbed".into(), OF_TESTBED.to_vec()));
    }
    if setting.apps.iter().any(|(_, app)| app.objects.is_some()) {
        groups.push(("object".into(), OF_OBJECTS.to_vec()));
    }
    if setting.record.overhead {
        for end in ["sent", "answered"] {
            groups.push((end.into(), OF_OVERHEAD.to_vec()));
        }
    }
    for stream in streams(&setting.apps) {
        groups.push((format!("stream.{stream}"), OF_STREAM.to_vec()));
    }
    for name in setting.rivals.names() {
        groups.push((format!("rival.{name}"), OF_RIVAL.to_vec()));
    }
    groups
}

/// The streams on which is sent what is measured.
pub(crate) fn streams(apps: &Named<AppPlan>) -> Vec<u16> {
    // Where both ends send, the near one is measured.
    let end = if apps.iter().any(|(_, app)| app.end() == End::Near) {
        End::Near
    } else {
        End::Far
    };
    let sending = apps.iter().filter(|(_, app)| app.end() == end);
    let used = sending.flat_map(|(_, app)| match app.stream {
        Some(stream) => stream.0..stream.0 + 1,
        None => 0..app.carriers(),
    });
    let mut streams: Vec<u16> = used.map(|stream| stream as u16).collect();
    streams.sort_unstable();
    streams.dedup();
    streams
}

/// The unit of the metric called `name`, with whatever group before it; empty if it has none.
#[must_use]
pub fn unit_of(name: &str) -> &'static str {
    find(name).map_or("", |metric| metric.unit)
}

/// What the metric called `name` is, with whatever group before it; empty if there is none.
#[must_use]
pub fn meaning_of(name: &str) -> &'static str {
    find(name).map_or("", |metric| metric.meaning)
}

fn find(name: &str) -> Option<Metric> {
    let of_run = [OF_RUN, OF_TCP].concat();
    if let Some(metric) = of_run.into_iter().find(|metric| metric.name == name) {
        return Some(metric);
    }
    // The same word means another thing in another group.
    let metrics = match name.split('.').next() {
        Some("path" | "bottleneck") => [OF_PATH, OF_LINK].concat(),
        Some("processor") => OF_PROCESSOR.to_vec(),
        Some("stream") => OF_STREAM.to_vec(),
        Some("rival") => OF_RIVAL.to_vec(),
        Some("testbed") => OF_TESTBED.to_vec(),
        _ => [OF_OBJECTS, OF_OVERHEAD].concat(),
    };
    let is_it = |metric: &Metric| {
        let group = name.strip_suffix(metric.name);
        group.is_some_and(|group| group.is_empty() || group.ends_with('.'))
    };
    metrics.into_iter().find(is_it)
}

#[cfg(test)]
mod tests {
    use super::meaning_of;

    #[test]
    fn the_same_word_means_another_thing_in_another_group() {
        assert_ne!(meaning_of("sacks"), meaning_of("processor.near.sacks"));
        assert_ne!(meaning_of("timeouts"), meaning_of("path.north.timeouts"));
        assert_ne!(meaning_of("delay.mean"), "");
        for name in [
            "bottleneck.idle",
            "stream.0.delay.mean",
            "object.last",
            "testbed.late.p99",
            "sent.packets",
        ] {
            assert_ne!(meaning_of(name), "", "{name}");
        }
        assert_eq!(meaning_of("path.north.goodputt"), "");
    }
}

//! Metrics catalog: the name, unit and meaning of everything that a run measures.
//!
//! Metrics of a path, stream or cross-traffic flow carry its name: `path.north.timeouts`, `stream.0.delay.mean`. A test
//! compares this list with what runs measure.

use crate::plan::{AppPlan, BackendPlan, End, Named, Setting, TransportPlan};

/// A number that a run measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metric {
    /// The name, without the group of its path, stream or cross-traffic flow.
    pub name: &'static str,
    /// The unit; empty for counts and ratios.
    pub unit: &'static str,
    /// What it measures, in one line.
    pub meaning: &'static str,
    /// Whether it counts events, which may be rare.
    pub is_count: bool,
}

const fn metric(name: &'static str, unit: &'static str, meaning: &'static str) -> Metric {
    Metric {
        name,
        unit,
        meaning,
        is_count: false,
    }
}

/// A metric that counts events, which may be rare.
const fn count(name: &'static str, unit: &'static str, meaning: &'static str) -> Metric {
    Metric {
        is_count: true,
        ..metric(name, unit, meaning)
    }
}

/// Metrics of a whole run. All cover the measurement interval and the data sent towards the receiving end.
pub const OF_RUN: &[Metric] = &[
    metric("goodput", "Mbit/s", "user data read by the receiving application"),
    metric("messages", "", "messages read by the receiving application"),
    metric("delay.mean", "ms", "mean message delay, from send call to read"),
    metric(
        "delay.streams.mean",
        "ms",
        "mean over the streams of each stream's mean delay",
    ),
    metric("delay.p50", "ms", "median message delay, to 3 %"),
    metric("delay.p95", "ms", "95th percentile of the message delay, to 3 %"),
    metric("delay.p99", "ms", "99th percentile of the message delay, to 3 %"),
    metric(
        "completion-time",
        "s",
        "time of the last message read, from the start of the run; missing if not all messages of a finite number were read",
    ),
    count("timeouts", "", "expirations of T3-rtx timers"),
    count(
        "fast-retransmits",
        "",
        "chunks declared lost because later ones were acknowledged",
    ),
    count(
        "rescheduled",
        "",
        "chunks moved to another path by chunk rescheduling",
    ),
    metric(
        "retransmitted",
        "",
        "share of the sent payload that had been sent before",
    ),
    count("duplicates", "", "chunks received more than once"),
    metric("sacks", "", "SACKs processed by the data sender"),
    metric(
        "sack.tsns.mean",
        "",
        "mean number of TSNs beyond the cumulative TSN reported by a SACK",
    ),
    metric("sack.tsns.max", "", "maximum of sack.tsns, to 3 %"),
    metric(
        "sack.single.max",
        "",
        "maximum number of TSNs reported by a SACK with a single gap block, to 3 %",
    ),
    metric("sack.blocks.mean", "", "mean number of gap blocks in a SACK"),
    metric(
        "sack.visited.mean",
        "",
        "mean number of queue elements visited per SACK",
    ),
    metric("send-buffer.mean", "bytes", "send buffer occupancy, sampled"),
    metric("send-buffer.max", "bytes", "maximum of send-buffer"),
    metric(
        "retransmission-queue.mean",
        "bytes",
        "data sent and still in the send buffer, sampled: what processing of an acknowledgement has to search",
    ),
    metric(
        "retransmission-queue.max",
        "bytes",
        "maximum of retransmission-queue",
    ),
    metric(
        "receive-buffer.mean",
        "bytes",
        "receive buffer occupancy, sampled",
    ),
    metric("receive-buffer.max", "bytes", "maximum of receive-buffer"),
    metric(
        "sender-blocked",
        "",
        "share of samples in which a congestion window was open but the send buffer was full of sent data",
    ),
    metric(
        "receiver-blocked",
        "",
        "share of samples in which the advertised receiver window was smaller than a packet",
    ),
    count(
        "stalls",
        "",
        "periods of at least 0.5 s in which no link delivered a packet to the receiving end",
    ),
    metric("stalls.time", "s", "total duration of the stalls"),
    metric(
        "outage",
        "s",
        "longest period in which the receiving application read nothing; after a link failure, the recovery time",
    ),
];

/// Metrics of a run on a test bed: how accurately the test bed emulated its links.
pub const OF_TESTBED: &[Metric] = &[
    metric(
        "lateness.p50",
        "µs",
        "median delay of packets leaving a link behind schedule",
    ),
    metric("lateness.p99", "µs", "99th percentile of the lateness, to 3 %"),
    metric("lateness.max", "µs", "maximum of the lateness"),
    count(
        "host-stalls",
        "",
        "periods of more than 5 ms in which the whole machine stood still, and the emulated links with it",
    ),
    metric(
        "host-stalls.time",
        "ms",
        "total duration of the host stalls; rates do not count this time",
    ),
    count(
        "stray-losses",
        "packets",
        "packets lost outside the emulated links; should be 0",
    ),
    metric("load", "", "load average of the machine over the last minute"),
    count(
        "integrity-errors",
        "messages",
        "messages delivered corrupted, twice or out of order; should be 0",
    ),
];

/// Metrics of a whole run over TCP or Multipath TCP, in addition to those of every run.
pub const OF_TCP: &[Metric] = &[
    count("retransmissions", "", "TCP segments retransmitted"),
    count(
        "reinjections",
        "",
        "data mappings sent on another MPTCP subflow after the first one",
    ),
];

/// Metrics of each host with a processor model: `processor.near`, `processor.far`.
pub const OF_PROCESSOR: &[Metric] = &[
    metric(
        "utilization",
        "",
        "share of the time in which the processor was busy",
    ),
    metric(
        "sack-utilization",
        "",
        "share of the time in which the processor handled SACKs",
    ),
    metric(
        "sack.mean",
        "µs",
        "mean processing time of a packet with a SACK, beyond the time for any packet",
    ),
    count(
        "dropped",
        "packets",
        "packets dropped because the ring buffer was full",
    ),
];

/// Metrics of each path at the data sender.
pub const OF_PATH: &[Metric] = &[
    metric(
        "throughput",
        "Mbit/s",
        "payload that arrived over the path, duplicates included",
    ),
    count("timeouts", "", "expirations of the path's T3-rtx timer"),
    count(
        "fast-retransmits",
        "",
        "chunks declared lost on the path because later ones were acknowledged",
    ),
    count(
        "rescheduled",
        "",
        "chunks moved to the path by chunk rescheduling",
    ),
    metric(
        "retransmitted",
        "",
        "share of the payload sent on the path that had been sent before",
    ),
    metric("cwnd.mean", "bytes", "congestion window, sampled"),
    metric("flight.mean", "bytes", "bytes in flight, sampled"),
    metric(
        "cwnd-limited",
        "",
        "share of samples in which the bytes in flight filled the congestion window",
    ),
    metric("srtt.mean", "ms", "smoothed round-trip time, sampled"),
    metric("srtt.max", "ms", "maximum of the sampled SRTT"),
    metric(
        "rto.mean",
        "ms",
        "retransmission timeout including back-off, sampled",
    ),
    metric("rto.max", "ms", "maximum of the sampled RTO"),
    metric(
        "backed-off",
        "",
        "share of samples after a timeout or error with no acknowledgement since",
    ),
    metric(
        "blocked.mean",
        "",
        "share of the send buffer held by data that arrived but cannot be freed, chunk headers included, sampled",
    ),
];

/// Metrics of the link of each path, and of the bottleneck, towards the receiving end.
pub const OF_LINK: &[Metric] = &[
    metric("carried", "Mbit/s", "IP packets delivered by the link"),
    metric("queue.mean", "packets", "queue length, sampled"),
    metric("queue.max", "packets", "maximum of the sampled queue length"),
    count("drops.queue", "", "packets dropped at a full queue"),
    count("drops.early", "", "packets dropped by active queue management"),
    count("drops.loss", "", "packets lost to random loss"),
    count("drops.cut", "", "packets lost because the link was cut"),
    metric(
        "idle",
        "",
        "share of the time in which the link transmitted nothing",
    ),
    count(
        "reverse.drops",
        "",
        "packets lost in the reverse direction, for any reason",
    ),
];

/// Metrics of the objects of a download: `object`. Times count from the start of the run.
pub const OF_OBJECTS: &[Metric] = &[
    metric("first", "s", "completion time of the first object"),
    metric(
        "mean",
        "s",
        "mean completion time of the objects; missing if one was not complete",
    ),
    metric(
        "last",
        "s",
        "completion time of the last object; missing if one was not complete",
    ),
];

/// Metrics of what each end sends, if the plan sets `record.overhead`: `forward` from the data sender, `reverse` from the
/// data receiver. Counted above IP; retransmissions count again.
pub const OF_OVERHEAD: &[Metric] = &[
    metric("packets", "", "packets"),
    metric("payload", "bytes", "user data"),
    metric(
        "headers",
        "bytes",
        "headers of packets with user data, headers of DATA chunks, and padding",
    ),
    metric(
        "control",
        "bytes",
        "packets without user data, and control chunks bundled with it",
    ),
];

/// Metrics of each stream.
pub const OF_STREAM: &[Metric] = &[
    metric("goodput", "Mbit/s", "user data read from the stream"),
    metric("delay.mean", "ms", "mean message delay, from send call to read"),
    metric("delay.p50", "ms", "median message delay, to 3 %"),
    metric("delay.p95", "ms", "95th percentile of the message delay, to 3 %"),
];

/// Metrics of each cross-traffic flow.
pub const OF_CROSS_TRAFFIC: &[Metric] = &[metric(
    "goodput",
    "Mbit/s",
    "user data read by its receiving application",
)];

/// Histograms that a run records if its plan sets `record.histograms`.
pub const HISTOGRAMS: &[&str] = &["delay", "sack.tsns", "sack.blocks", "processor.near.sack"];

/// Columns of a time series: for each path, then from `send-buffer` on for the whole association.
pub const TIME_SERIES: &[Metric] = &[
    metric("cwnd", "KiB", "congestion window"),
    metric("ssthresh", "KiB", "slow-start threshold"),
    metric("flight", "KiB", "bytes in flight"),
    metric("queued", "KiB", "sent on the path and still in the send buffer"),
    metric(
        "blocked",
        "",
        "share of the send buffer held by data that arrived but cannot be freed, chunk headers included",
    ),
    metric("srtt", "ms", "smoothed round-trip time"),
    metric("rto", "ms", "retransmission timeout"),
    metric("link-queue", "packets", "queue length of the path's own link"),
    metric("send-buffer", "KiB", "send buffer occupancy"),
    metric(
        "receive-buffer",
        "KiB",
        "receive buffer occupancy of the receiving end",
    ),
    metric(
        "goodput",
        "Mbit/s",
        "user data read by the receiving application since the previous row",
    ),
];

/// Metrics and columns of earlier versions, each with the name that replaced it. A name that starts with a dot is the last
/// part of a metric of some group; one that ends with a dot is the group.
const RENAMED: &[(&str, &str)] = &[
    ("completed", "completion-time"),
    ("rescued", "rescheduled"),
    (".rescued", ".rescheduled"),
    (".window.mean", ".cwnd.mean"),
    (".full", ".cwnd-limited"),
    (".back.drops", ".reverse.drops"),
    (".late.p50", ".lateness.p50"),
    (".late.p99", ".lateness.p99"),
    (".late.max", ".lateness.max"),
    (".standstills", ".host-stalls"),
    (".stood-still", ".host-stalls.time"),
    (".strays", ".stray-losses"),
    (".damaged", ".integrity-errors"),
    (".busy", ".utilization"),
    (".sacks", ".sack-utilization"),
    ("rival.", "cross-traffic."),
    ("sent.", "forward."),
    ("answered.", "reverse."),
    ("window", "cwnd"),
    ("threshold", "ssthresh"),
    ("waiting", "link-queue"),
];

/// The current name of a metric or column that an earlier version called `name`; `None` if there was none.
pub(crate) fn renamed(name: &str) -> Option<String> {
    RENAMED.iter().find_map(|(old, new)| {
        if old.starts_with('.') {
            let group = name.strip_suffix(old)?;
            Some(format!("{group}{new}"))
        } else if old.ends_with('.') {
            let rest = name.strip_prefix(old)?;
            Some(format!("{new}{rest}"))
        } else {
            (name == *old).then(|| (*new).to_owned())
        }
    })
}

/// The names of the metrics of all runs with these settings.
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

/// The groups of metrics in a setting, each with its prefix. A path has two sets of metrics: its own and its link's.
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
        for end in ["forward", "reverse"] {
            groups.push((end.into(), OF_OVERHEAD.to_vec()));
        }
    }
    for stream in streams(&setting.apps) {
        groups.push((format!("stream.{stream}"), OF_STREAM.to_vec()));
    }
    for name in setting.cross_traffic.names() {
        groups.push((format!("cross-traffic.{name}"), OF_CROSS_TRAFFIC.to_vec()));
    }
    groups
}

/// The streams that carry the measured data.
pub(crate) fn streams(apps: &Named<AppPlan>) -> Vec<u16> {
    // If both ends send, the near end is measured.
    let end = if apps.iter().any(|(_, app)| app.end() == End::Near) {
        End::Near
    } else {
        End::Far
    };
    let sending = apps.iter().filter(|(_, app)| app.end() == end);
    let used = sending.flat_map(|(_, app)| match app.stream {
        Some(stream) => stream.0..stream.0 + 1,
        None => 0..app.stream_count(),
    });
    let mut streams: Vec<u16> = used.map(|stream| stream as u16).collect();
    streams.sort_unstable();
    streams.dedup();
    streams
}

/// Whether the metric `name`, with or without its group, counts events, which may be rare.
#[must_use]
pub fn counts_events(name: &str) -> bool {
    find(name).is_some_and(|metric| metric.is_count)
}

/// The unit of the metric `name`, with or without its group; empty if it has none.
#[must_use]
pub fn unit_of(name: &str) -> &'static str {
    find(name).map_or("", |metric| metric.unit)
}

/// The meaning of the metric `name`, with or without its group; empty if there is no such metric.
#[must_use]
pub fn meaning_of(name: &str) -> &'static str {
    find(name).map_or("", |metric| metric.meaning)
}

fn find(name: &str) -> Option<Metric> {
    let of_run = [OF_RUN, OF_TCP].concat();
    if let Some(metric) = of_run.into_iter().find(|metric| metric.name == name) {
        return Some(metric);
    }
    // The same name means different things in different groups.
    let metrics = match name.split('.').next() {
        Some("path" | "bottleneck") => [OF_PATH, OF_LINK].concat(),
        Some("processor") => OF_PROCESSOR.to_vec(),
        Some("stream") => OF_STREAM.to_vec(),
        Some("cross-traffic") => OF_CROSS_TRAFFIC.to_vec(),
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
    use super::{counts_events, meaning_of, renamed};

    #[test]
    fn meaning_depends_on_the_group() {
        assert_ne!(meaning_of("goodput"), meaning_of("stream.0.goodput"));
        assert_ne!(meaning_of("timeouts"), meaning_of("path.north.timeouts"));
        assert_ne!(meaning_of("delay.mean"), "");
        for name in [
            "bottleneck.idle",
            "stream.0.delay.mean",
            "object.last",
            "testbed.lateness.p99",
            "sent.packets",
        ] {
            assert_ne!(meaning_of(name), "", "{name}");
        }
        assert_eq!(meaning_of("path.north.goodputt"), "");
    }

    #[test]
    fn counts_of_events_are_known_with_their_group() {
        for name in [
            "timeouts",
            "path.north.timeouts",
            "path.north.drops.queue",
            "bottleneck.reverse.drops",
            "processor.near.dropped",
            "testbed.host-stalls",
            "reinjections",
        ] {
            assert!(counts_events(name), "{name}");
        }
        for name in [
            "goodput",
            "stalls.time",
            "sack.tsns.max",
            "path.north.idle",
            "load",
        ] {
            assert!(!counts_events(name), "{name}");
        }
    }

    #[test]
    fn old_metric_names_map_to_new_ones() {
        for (old, new) in [
            ("completed", Some("completion-time")),
            ("path.north.window.mean", Some("path.north.cwnd.mean")),
            ("rival.tcp.goodput", Some("cross-traffic.tcp.goodput")),
            ("path.a.rescued", Some("path.a.rescheduled")),
            ("answered.packets", Some("reverse.packets")),
            ("goodput", None),
        ] {
            assert_eq!(renamed(old).as_deref(), new);
        }
    }
}

//! Metrics of all associations in the text format of Prometheus, version 0.0.4. Labels are names and numbers, never addresses.

use std::fmt::Write as _;
use std::time::Duration;

use crate::samples::{PathSample, Samples, Transfer};

/// Media type of the format.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A metric of paths.
struct Metric {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    /// Further label and value of each series; no series without a value.
    series: &'static [Series],
}

/// A label with its value, and what the series counts.
type Series = (&'static str, fn(&PathSample) -> Option<f64>);

const METRICS: &[Metric] = &[
    Metric {
        name: "anabranch_path_bytes_total",
        kind: "counter",
        help: "User data sent for the first time, sent again, and received.",
        series: &[
            (",direction=\"sent\"", |path| Some(path.sent_bytes as f64)),
            (",direction=\"retransmitted\"", |path| {
                Some(path.retransmitted_bytes as f64)
            }),
            (",direction=\"received\"", |path| Some(path.received_bytes as f64)),
        ],
    },
    Metric {
        name: "anabranch_path_chunks_sent_total",
        kind: "counter",
        help: "DATA chunks sent, retransmissions included.",
        series: &[("", |path| Some(path.sent_chunks as f64))],
    },
    Metric {
        name: "anabranch_path_chunks_lost_total",
        kind: "counter",
        help: "DATA chunks declared lost.",
        series: &[("", |path| Some(path.lost_chunks as f64))],
    },
    Metric {
        name: "anabranch_path_timeouts_total",
        kind: "counter",
        help: "Expiries of the T3-rtx timer.",
        series: &[("", |path| Some(path.timeouts as f64))],
    },
    Metric {
        name: "anabranch_path_rtt_seconds",
        kind: "gauge",
        help: "Smoothed round-trip time.",
        series: &[("", |path| path.rtt_ms.map(|rtt| rtt / 1e3))],
    },
    Metric {
        name: "anabranch_path_queue_seconds",
        kind: "gauge",
        help: "How much the round-trip time exceeds the smallest one seen.",
        series: &[("", |path| path.queue_ms.map(|queue| queue / 1e3))],
    },
    Metric {
        name: "anabranch_path_cwnd_bytes",
        kind: "gauge",
        help: "Congestion window.",
        series: &[("", |path| Some(path.cwnd_bytes as f64))],
    },
    Metric {
        name: "anabranch_path_in_flight_bytes",
        kind: "gauge",
        help: "Bytes of chunks in flight.",
        series: &[("", |path| Some(path.in_flight_bytes as f64))],
    },
    Metric {
        name: "anabranch_path_mtu_bytes",
        kind: "gauge",
        help: "Largest IP packet sent.",
        series: &[("", |path| Some(path.mtu.into()))],
    },
    Metric {
        name: "anabranch_path_active",
        kind: "gauge",
        help: "1 if the path is active, 0 if it is not verified or does not answer.",
        series: &[("", |path| Some(u8::from(path.state == "active").into()))],
    },
    Metric {
        name: "anabranch_path_resting",
        kind: "gauge",
        help: "1 if the path carries nothing because one of smaller cost is active.",
        series: &[("", |path| Some(u8::from(path.resting).into()))],
    },
    Metric {
        name: "anabranch_path_cost",
        kind: "gauge",
        help: "Cost of the path, 0 unless set, 255 for a backup.",
        series: &[("", |path| Some(path.cost.into()))],
    },
    Metric {
        name: "anabranch_path_cap_bytes_per_second",
        kind: "gauge",
        help: "What the path may carry in each direction, if it has a cap.",
        series: &[("", |path| path.cap_bit_s.map(|cap| cap as f64 / 8.0))],
    },
];

/// All metrics of the associations of the moment.
pub(crate) fn text(version: &str, uptime: Duration, samples: &Samples) -> String {
    let mut text = String::new();
    head(
        &mut text,
        "anabranch_build_info",
        "gauge",
        "Version of the program.",
    );
    write(
        &mut text,
        "anabranch_build_info",
        &format!("version=\"{}\"", escaped(version)),
        1.0,
    );
    head(
        &mut text,
        "anabranch_uptime_seconds",
        "gauge",
        "Time since the start of the live view.",
    );
    write(&mut text, "anabranch_uptime_seconds", "", uptime.as_secs_f64());
    let present: Vec<(u64, &Transfer)> = samples
        .transfers()
        .filter(|(_, transfer)| !transfer.has_ended)
        .collect();
    head(
        &mut text,
        "anabranch_associations",
        "gauge",
        "Associations of the moment.",
    );
    write(&mut text, "anabranch_associations", "", present.len() as f64);
    for metric in METRICS {
        head(&mut text, metric.name, metric.kind, metric.help);
        for (number, transfer) in &present {
            let name = escaped(&transfer.name);
            for path in transfer.last.iter().flat_map(|sample| &sample.paths) {
                let labels = format!("name=\"{name}\",transfer=\"{number}\",path=\"{}\"", path.path);
                for (label, value) in metric.series {
                    if let Some(value) = value(path) {
                        write(&mut text, metric.name, &format!("{labels}{label}"), value);
                    }
                }
            }
        }
    }
    text
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string does not fail.
    let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

fn write(text: &mut String, name: &str, labels: &str, value: f64) {
    let _ = match labels {
        "" => writeln!(text, "{name} {value}"),
        _ => writeln!(text, "{name}{{{labels}}} {value}"),
    };
}

/// The value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_quotes_and_line_breaks_stay_one_label() {
        let mut samples = Samples::default();
        samples.begin(Duration::ZERO, 1, "a\"b\\c\nd");
        assert_eq!(escaped("a\"b\\c\nd"), r#"a\"b\\c\nd"#);
        let text = text("1.0", Duration::from_secs(2), &samples);
        assert!(text.contains("anabranch_associations 1\n"), "{text}");
        assert!(text.contains("anabranch_uptime_seconds 2\n"), "{text}");
        assert!(
            text.contains("# TYPE anabranch_path_rtt_seconds gauge\n"),
            "{text}"
        );
    }
}

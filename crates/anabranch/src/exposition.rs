//! Statistics in the text format of Prometheus. Which metrics are there, and how are they written?

use std::fmt::Write as _;

use anabranch_proto::{AssociationStatistics, PathStatistics};

type OfAssociation = (
    &'static str,
    &'static str,
    &'static str,
    fn(&AssociationStatistics) -> f64,
);
type OfPath = (
    &'static str,
    &'static str,
    &'static str,
    fn(&PathStatistics) -> f64,
);

const ASSOCIATION: &[OfAssociation] = &[
    (
        "messages_sent_total",
        "counter",
        "Messages queued by the application.",
        |s| s.messages_sent as f64,
    ),
    (
        "messages_received_total",
        "counter",
        "Messages received by the application.",
        |s| s.messages_received as f64,
    ),
    (
        "send_buffer_size_bytes",
        "gauge",
        "Size of the send buffer.",
        |s| s.send_buffer_size as f64,
    ),
    (
        "receive_buffer_size_bytes",
        "gauge",
        "Size of the receive buffer.",
        |s| s.receive_buffer_size as f64,
    ),
    ("send_buffer_bytes", "gauge", "Bytes in the send buffer.", |s| {
        s.send_buffer_used as f64
    }),
    (
        "receive_buffer_bytes",
        "gauge",
        "Bytes not yet received by the application.",
        |s| s.receive_buffer_used as f64,
    ),
    (
        "peer_window_bytes",
        "gauge",
        "The peer's receive window, less outstanding bytes.",
        |s| s.peer_window as f64,
    ),
    ("sacks_sent_total", "counter", "SACKs sent.", |s| {
        s.sacks_sent as f64
    }),
    ("sacks_received_total", "counter", "SACKs received.", |s| {
        s.sacks_received as f64
    }),
    (
        "duplicates_received_total",
        "counter",
        "Duplicate DATA chunks received.",
        |s| s.duplicates_received as f64,
    ),
    (
        "packets_dropped_total",
        "counter",
        "Packets dropped as invalid.",
        |s| s.packets_dropped as f64,
    ),
];

const PATH: &[OfPath] = &[
    ("path_active", "gauge", "Whether the path is active.", |p| {
        f64::from(u8::from(p.reachability == anabranch_policy::Reachability::Active))
    }),
    ("path_cwnd_bytes", "gauge", "Congestion window.", |p| {
        p.cwnd as f64
    }),
    (
        "path_in_flight_bytes",
        "gauge",
        "Bytes of chunks in flight.",
        |p| p.in_flight as f64,
    ),
    ("path_srtt_seconds", "gauge", "Smoothed round-trip time.", |p| {
        p.srtt.map_or(f64::NAN, |srtt| srtt.as_secs_f64())
    }),
    ("path_rto_seconds", "gauge", "Retransmission timeout.", |p| {
        p.rto.as_secs_f64()
    }),
    ("path_mtu_bytes", "gauge", "Maximum IP packet size.", |p| {
        f64::from(p.mtu)
    }),
    ("path_packets_sent_total", "counter", "Packets sent.", |p| {
        p.counters.packets_sent as f64
    }),
    (
        "path_packets_received_total",
        "counter",
        "Packets received.",
        |p| p.counters.packets_received as f64,
    ),
    (
        "path_bytes_sent_total",
        "counter",
        "Bytes of packets sent.",
        |p| p.counters.bytes_sent as f64,
    ),
    (
        "path_bytes_received_total",
        "counter",
        "Bytes of packets received.",
        |p| p.counters.bytes_received as f64,
    ),
    (
        "path_retransmitted_bytes_total",
        "counter",
        "User data retransmitted.",
        |p| p.counters.payload_retransmitted as f64,
    ),
    ("path_timeouts_total", "counter", "Expirations of T3-rtx.", |p| {
        p.counters.timeouts as f64
    }),
];

/// The statistics of associations in Prometheus' text format, version 0.0.4, each under the name given with it, in the label
/// `association`. Serve it over HTTP with the content type `text/plain; version=0.0.4`.
///
/// ```
/// # async fn example(association: anabranch::Association) {
/// let page = anabranch::prometheus(&[("upload", association.statistics())]);
/// # drop(page);
/// # }
/// ```
#[must_use]
pub fn prometheus(associations: &[(&str, AssociationStatistics)]) -> String {
    let mut page = String::new();
    for (name, kind, help, of) in ASSOCIATION {
        head(&mut page, name, kind, help);
        for (label, statistics) in associations {
            let label = escaped(label);
            let value = of(statistics);
            let _ = writeln!(page, "anabranch_{name}{{association=\"{label}\"}} {value}");
        }
    }
    for (name, kind, help, of) in PATH {
        head(&mut page, name, kind, help);
        for (label, statistics) in associations {
            let label = escaped(label);
            for path in &statistics.paths {
                let (local, remote, value) = (path.addr.local, path.addr.remote, of(path));
                let _ = writeln!(
                    page,
                    "anabranch_{name}{{association=\"{label}\",local=\"{local}\",remote=\"{remote}\"}} {value}"
                );
            }
        }
    }
    page
}

fn head(page: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(
        page,
        "# HELP anabranch_{name} {help}\n# TYPE anabranch_{name} {kind}"
    );
}

/// A label's value, as it stands between quotation marks.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use anabranch_proto::AssociationStatistics;

    use super::prometheus;

    #[test]
    fn page_has_a_type_for_each_metric_and_escaped_labels() {
        let mut statistics = AssociationStatistics::default();
        statistics.messages_sent = 3;
        let page = prometheus(&[("a \"b\" \\ c", statistics)]);
        assert!(page.contains("# TYPE anabranch_messages_sent_total counter\n"));
        let line = r#"anabranch_messages_sent_total{association="a \"b\" \\ c"} 3"#;
        assert!(page.lines().any(|written| written == line), "{page}");
        let count = |prefix| page.lines().filter(|line| line.starts_with(prefix)).count();
        assert_eq!(count("# HELP"), count("# TYPE"));
    }
}

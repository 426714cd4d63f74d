//! Results of a test, in the shape of iperf3's JSON. docs/test.md and docs/cli-json.schema.json describe them.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::paths::PathReport;

/// Everything about a test.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TestReport {
    pub(crate) start: StartReport,
    pub(crate) intervals: Vec<IntervalReport>,
    pub(crate) end: EndReport,
    /// Why the test ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// How the test began.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StartReport {
    pub(crate) connected: Vec<Connected>,
    pub(crate) version: String,
    pub(crate) timestamp: Timestamp,
    pub(crate) test_start: TaskReport,
}

/// The first path of an association.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Connected {
    /// Number of the association, from 1.
    pub(crate) socket: u16,
    pub(crate) local_host: IpAddr,
    pub(crate) local_port: u16,
    pub(crate) remote_host: IpAddr,
    pub(crate) remote_port: u16,
}

/// When the test began.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Timestamp {
    /// Seconds since 1970-01-01.
    pub(crate) timesecs: u64,
}

/// What was to be measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TaskReport {
    pub(crate) protocol: &'static str,
    /// Associations times streams.
    pub(crate) num_streams: u32,
    pub(crate) associations: u16,
    pub(crate) streams: u16,
    pub(crate) blksize: u32,
    pub(crate) omit: f64,
    /// Zero if bytes end the test.
    pub(crate) duration: f64,
    pub(crate) bytes: u64,
    pub(crate) reverse: u8,
    pub(crate) bidir: u8,
    pub(crate) interval: f64,
    /// Of each stream; zero for no limit.
    pub(crate) target_bitrate: u64,
    pub(crate) traffic: String,
    pub(crate) unordered: bool,
    pub(crate) lifetime_seconds: Option<f64>,
    pub(crate) retransmissions: Option<u16>,
    pub(crate) encrypted: bool,
}

/// One interval at this end.
#[derive(Clone, Debug)]
pub(crate) struct IntervalReport {
    /// `None` if this end does not send.
    pub(crate) sent: Option<Vec<StreamAmount>>,
    /// `None` if this end does not receive.
    pub(crate) received: Option<Vec<StreamAmount>>,
    pub(crate) paths: Vec<AssociationPath>,
}

impl IntervalReport {
    /// The sums of what was sent and received.
    pub(crate) fn sums(&self) -> impl Iterator<Item = Amount> {
        let both = [&self.sent, &self.received];
        both.into_iter()
            .flatten()
            .filter_map(|streams| Amount::sum(streams))
    }
}

impl Serialize for IntervalReport {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'r> {
            streams: Vec<&'r StreamAmount>,
            sum: Option<Amount>,
            #[serde(skip_serializing_if = "Option::is_none")]
            sum_bidir_reverse: Option<Amount>,
            paths: &'r [AssociationPath],
        }
        let mut sums = self.sums();
        Shape {
            streams: [&self.sent, &self.received]
                .into_iter()
                .flatten()
                .flatten()
                .collect(),
            sum: sums.next(),
            sum_bidir_reverse: sums.next(),
            paths: &self.paths,
        }
        .serialize(serializer)
    }
}

/// Messages in a span of time.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Amount {
    /// Seconds after the beginning.
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) seconds: f64,
    pub(crate) bytes: u64,
    pub(crate) bits_per_second: f64,
    pub(crate) messages: u64,
    /// Whether it does not count.
    pub(crate) omitted: bool,
    /// Whether the end that measured it has sent it.
    pub(crate) sender: bool,
}

impl Amount {
    /// The sum of all streams.
    pub(crate) fn sum(streams: &[StreamAmount]) -> Option<Self> {
        let first = streams.first()?.amount;
        Some(Self {
            // A peer may report any number.
            bytes: streams
                .iter()
                .fold(0, |sum, stream| sum.saturating_add(stream.amount.bytes)),
            bits_per_second: streams.iter().map(|stream| stream.amount.bits_per_second).sum(),
            messages: streams
                .iter()
                .fold(0, |sum, stream| sum.saturating_add(stream.amount.messages)),
            ..first
        })
    }
}

/// Messages of one stream.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct StreamAmount {
    /// Number of the association, from 1.
    pub(crate) socket: u16,
    pub(crate) stream: u16,
    #[serde(flatten)]
    pub(crate) amount: Amount,
}

/// A path of one of the associations, in a span of time.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AssociationPath {
    /// Number of the association, from 1.
    pub(crate) socket: u16,
    #[serde(flatten)]
    pub(crate) path: PathReport,
}

/// Results of a test.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct EndReport {
    pub(crate) streams: Vec<StreamEnd>,
    /// From the client to the server, unless the direction is the reverse one.
    pub(crate) sum_sent: Option<Amount>,
    pub(crate) sum_received: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sum_sent_bidir_reverse: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sum_received_bidir_reverse: Option<Amount>,
    pub(crate) paths: Vec<PathEnd>,
    pub(crate) one_way_delay: Option<OneWayDelays>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) one_way_delay_bidir_reverse: Option<OneWayDelays>,
    /// Absent at the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) round_trip_time: Option<Delays>,
    /// Messages that their senders abandoned, in both directions.
    pub(crate) abandoned: u64,
    pub(crate) cpu_utilization_percent: Processors,
}

/// Results of one stream in one direction.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct StreamEnd {
    /// Absent if the other end did not report it.
    pub(crate) sender: Option<StreamAmount>,
    pub(crate) receiver: Option<StreamAmount>,
}

/// What a path has carried, as this end has seen it. Bytes of user data.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PathEnd {
    /// Number of the association, from 1.
    pub(crate) socket: u16,
    pub(crate) local: String,
    pub(crate) remote: String,
    /// `client` or `server`.
    pub(crate) measured_by: &'static str,
    pub(crate) sent: u64,
    pub(crate) retransmitted: u64,
    pub(crate) received: u64,
    pub(crate) bits_per_second: f64,
    pub(crate) rtt_ms: Option<f64>,
}

impl PathEnd {
    /// User data sent and received over the path. A peer may report any number.
    pub(crate) const fn carried(&self) -> u64 {
        self.sent
            .saturating_add(self.retransmitted)
            .saturating_add(self.received)
    }
}

/// What is told of a distribution, in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Delays {
    pub(crate) count: u64,
    pub(crate) min_ms: f64,
    pub(crate) mean_ms: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p90_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) max_ms: f64,
}

/// One-way delays of messages and how they are known.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct OneWayDelays {
    /// `same` or `estimated`.
    pub(crate) clock: &'static str,
    /// How wrong the estimate may be.
    pub(crate) error_ms: Option<f64>,
    #[serde(flatten)]
    pub(crate) delays: Delays,
}

/// Processor time of the program, in per cent of one processor.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Processors {
    pub(crate) host_total: f64,
    pub(crate) remote_total: Option<f64>,
}

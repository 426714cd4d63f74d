//! Run record. What is stored about a run? Named metrics, histograms and time series, in a form that can be saved to a
//! file.

use std::collections::BTreeMap;

use anabranch_sim::Histogram;
use serde::{Deserialize, Serialize};

/// The results of one run.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
pub struct Record {
    /// Metrics by name; a metric without any measurement is missing.
    pub values: BTreeMap<String, f64>,
    /// Histograms by name, if the plan requests them.
    pub histograms: BTreeMap<String, Vec<Bucket>>,
    /// Time series by time and path, if the plan requests them.
    pub time_series: Vec<TimeSeriesRow>,
    /// Environment of a run on real hosts, by name: kernel, stacks and their versions. The results of such a run vary
    /// between repetitions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

/// One class (bin) of a histogram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
pub struct Bucket {
    /// Lower bound of the class.
    pub low: u64,
    /// Upper bound of the class.
    pub high: u64,
    /// Number of values in the class.
    pub count: u64,
}

/// State of one path at one time. Sizes in bytes, times in milliseconds.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
pub struct TimeSeriesRow {
    /// Seconds since the start of the run.
    pub time: f64,
    /// The path's name.
    pub path: String,
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold; missing while unset.
    pub ssthresh: Option<u64>,
    /// Bytes in flight.
    pub flight: u64,
    /// Bytes sent on the path that are still in the send buffer.
    pub queued: u64,
    /// Share of the send buffer taken by chunks that have arrived but cannot be freed yet.
    pub blocked: f64,
    /// Smoothed round-trip time; missing before the first sample.
    pub srtt: Option<f64>,
    /// Retransmission timeout.
    pub rto: f64,
    /// Packets queued at the path's own link.
    pub link_queue: u64,
    /// Bytes in the send buffer of the association.
    pub send_buffer: u64,
    /// Bytes in the receive buffer of the far end.
    pub receive_buffer: u64,
    /// Bytes read by the far application so far.
    pub delivered: u64,
}

impl Record {
    pub(super) fn set(&mut self, name: impl Into<String>, value: impl Into<Option<f64>>) {
        // JSON cannot represent non-finite values such as 0/0; these mean that nothing was measured.
        if let Some(value) = value.into().filter(|value| value.is_finite()) {
            self.values.insert(name.into(), value);
        }
    }

    pub(super) fn set_histogram(&mut self, name: &str, histogram: &Histogram) {
        let buckets = histogram.buckets().map(|bucket| Bucket {
            low: bucket.low,
            high: bucket.high,
            count: bucket.count,
        });
        self.histograms.insert(name.to_owned(), buckets.collect());
    }
}

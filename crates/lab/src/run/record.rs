//! Run record. What is kept of a run? Numbers by name, histograms and time series, in a form that a file can hold.

use std::collections::BTreeMap;

use anabranch_sim::Histogram;
use serde::{Deserialize, Serialize};

/// What came out of one run.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
pub struct Record {
    /// Metrics by name; what the run had nothing to measure of is missing.
    pub values: BTreeMap<String, f64>,
    /// Histograms by name, if the plan asks for them.
    pub histograms: BTreeMap<String, Vec<Bucket>>,
    /// Samples by time and path, if the plan asks for them.
    pub time_series: Vec<TimeSeriesRow>,
    /// What it was measured with, by name, if not by this program alone: kernel, stacks, their versions. Such a run comes out
    /// differently each time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

/// The numbers of one class of a histogram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
pub struct Bucket {
    /// The lowest number.
    pub low: u64,
    /// The highest number.
    pub high: u64,
    /// How many there were.
    pub count: u64,
}

/// One path at one moment. Sizes in bytes, times in milliseconds.
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
    /// In flight.
    pub flight: u64,
    /// Sent on the path and still in the send buffer.
    pub queued: u64,
    /// Share of the send buffer taken by what arrived and cannot be freed.
    pub blocked: f64,
    /// Smoothed round-trip time; missing before the first sample.
    pub srtt: Option<f64>,
    /// Retransmission timeout.
    pub rto: f64,
    /// Packets waiting at the path's own link.
    pub link_queue: u64,
    /// In the send buffer of the association.
    pub send_buffer: u64,
    /// In the receive buffer of the far end.
    pub receive_buffer: u64,
    /// Read by the far application so far.
    pub delivered: u64,
}

impl Record {
    pub(super) fn set(&mut self, name: impl Into<String>, value: impl Into<Option<f64>>) {
        // What cannot be written cannot be read: a ratio of nothing to nothing is nothing measured.
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

//! What did a SACK acknowledge?

use anabranch_types::{Instant, PathId, SendNumber, UnwrappedTsn};

/// What one SACK changed, for the whole association.
#[derive(Clone, Debug)]
pub struct AckSample<'a> {
    /// The cumulative TSN ack point after this SACK.
    pub cumulative: UnwrappedTsn,
    /// Whether the cumulative TSN ack point moved.
    pub cumulative_advanced: bool,
    /// The path that the SACK came over.
    pub arrived_on: PathId,
    /// DATA packets since the peer's last SACK, if it says so (DAC); 1 or 2.
    pub packet_count: Option<u8>,
    /// What it changed on each path, in the order of path ids; paths without change are left out.
    pub paths: &'a [PathAck],
}

impl AckSample<'_> {
    /// What changed on `path`.
    #[must_use]
    pub fn on(&self, path: PathId) -> Option<&PathAck> {
        self.paths.iter().find(|ack| ack.path == path)
    }
}

/// A chunk that was sent only once. The later of two is the greater one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SentOnce {
    /// When.
    pub sent_at: Instant,
    /// Its TSN.
    pub tsn: UnwrappedTsn,
}

/// What one SACK acknowledged of the chunks last sent on one path. Sizes in bytes of chunks, headers included.
#[derive(Clone, Debug)]
pub struct PathAck {
    /// Which path.
    pub path: PathId,
    /// Bytes acknowledged for the first time, by the cumulative TSN or by a gap block.
    pub newly_acked: u64,
    /// Chunks acknowledged for the first time.
    pub newly_acked_chunks: u32,
    /// [`crate::PathFacts::in_flight`] before this SACK.
    pub in_flight_before: u64,
    /// A chunk was acknowledged cumulatively that no earlier gap block had reported.
    pub cumulative_advanced: bool,
    /// The earliest outstanding never-retransmitted chunk of the path was acknowledged (CUC).
    pub pseudo_cumulative_advanced: bool,
    /// The earliest outstanding retransmitted chunk of the path was acknowledged (CUCv2).
    pub retransmitted_pseudo_cumulative_advanced: bool,
    /// Highest newly acknowledged TSN (HTNA of the path, SFR). Chunks that the T3 timer retransmitted do not
    /// count: their TSN says nothing about the order of sending.
    pub highest_newly_acked: Option<UnwrappedTsn>,
    /// Lowest newly acknowledged TSN, with the same exception (DAC).
    pub lowest_newly_acked: Option<UnwrappedTsn>,
    /// The latest transmission on the path that was newly acknowledged.
    pub latest_send_number: Option<SendNumber>,
    /// When the latest newly acknowledged chunk of the path was sent.
    pub latest_sent_at: Option<Instant>,
    /// The latest newly acknowledged chunk that was sent only once: an unambiguous round-trip sample (Karn's rule,
    /// RFC 9260 §6.3.1 C5).
    pub rtt_sample: Option<SentOnce>,
    /// The latest of these that was sent as a probe (see [`crate::RttSampling::wants_probe`]).
    pub rtt_probe: Option<SentOnce>,
    /// A chunk was sent on the path for the first time at this moment, and now it and everything that was sent on the
    /// path before it has arrived, retransmissions included. One chunk at a time is measured so.
    pub in_order_since: Option<Instant>,
}

impl PathAck {
    /// Nothing acknowledged on `path` yet.
    #[must_use]
    pub const fn new(path: PathId, in_flight_before: u64) -> Self {
        Self {
            path,
            newly_acked: 0,
            newly_acked_chunks: 0,
            in_flight_before,
            cumulative_advanced: false,
            pseudo_cumulative_advanced: false,
            retransmitted_pseudo_cumulative_advanced: false,
            highest_newly_acked: None,
            lowest_newly_acked: None,
            latest_send_number: None,
            latest_sent_at: None,
            rtt_sample: None,
            rtt_probe: None,
            in_order_since: None,
        }
    }
}

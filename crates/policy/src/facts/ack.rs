//! Ack samples. What did one SACK acknowledge?

use core::time::Duration;

use anabranch_types::{Instant, PathId, SendNumber, UnwrappedTsn};

/// Effects of one SACK on the whole association (compare `ack_sample` of Linux).
#[derive(Clone, Debug)]
pub struct AckSample<'a> {
    /// The Cumulative TSN Ack Point after this SACK.
    pub cumulative: UnwrappedTsn,
    /// Whether the Cumulative TSN Ack Point advanced.
    pub cumulative_advanced: bool,
    /// The path that the SACK arrived over.
    pub arrived_on: PathId,
    /// Number of DATA packets since the peer's last SACK, if it reports that (DAC); 1 or 2.
    pub packet_count: Option<u8>,
    /// Its effects on each path, ordered by path id; paths without change are left out.
    pub paths: &'a [PathAck],
}

impl AckSample<'_> {
    /// The effects on `path`.
    #[must_use]
    pub fn on(&self, path: PathId) -> Option<&PathAck> {
        self.paths.iter().find(|ack| ack.path == path)
    }
}

/// A chunk that was sent only once. Ordered by send time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SentOnce {
    /// When it was sent.
    pub sent_at: Instant,
    /// Its TSN.
    pub tsn: UnwrappedTsn,
}

/// The chunks last sent on one path that one SACK acknowledged. Sizes in bytes of chunks, headers included.
#[derive(Clone, Debug)]
pub struct PathAck {
    /// Id of the path.
    pub path: PathId,
    /// Bytes newly acknowledged, cumulatively or by a gap ack block.
    pub newly_acked: u64,
    /// Chunks newly acknowledged.
    pub newly_acked_chunks: u32,
    /// [`crate::PathFacts::in_flight`] before this SACK.
    pub in_flight_before: u64,
    /// A chunk was acknowledged cumulatively that no earlier gap ack block had reported.
    pub cumulative_advanced: bool,
    /// The pseudo-cumulative ack point of the path advanced: its earliest outstanding never-retransmitted chunk was
    /// acknowledged (CUC).
    pub pseudo_cumulative_advanced: bool,
    /// The earliest outstanding retransmitted chunk of the path was acknowledged (CUCv2).
    pub retransmitted_pseudo_cumulative_advanced: bool,
    /// Highest TSN newly acknowledged (HTNA) of the path (SFR). Chunks that the T3-rtx timer retransmitted do not
    /// count: their TSNs do not reflect the order of sending.
    pub highest_newly_acked: Option<UnwrappedTsn>,
    /// Lowest TSN newly acknowledged, with the same exception (DAC).
    pub lowest_newly_acked: Option<UnwrappedTsn>,
    /// The highest send number of the path that was newly acknowledged.
    pub latest_send_number: Option<SendNumber>,
    /// When the newly acknowledged chunk sent last on the path was sent.
    pub latest_sent_at: Option<Instant>,
    /// The newly acknowledged chunk sent last among those sent only once: an unambiguous RTT sample (Karn's algorithm,
    /// RFC 9260 §6.3.1 C5).
    pub rtt_sample: Option<SentOnce>,
    /// Newly acknowledged chunks that were sent only once.
    pub sent_once_chunks: u32,
    /// When the newly acknowledged chunk sent first among those sent only once was sent. Where packets overtake one another,
    /// `rtt_sample` is that of a fast packet and this that of a slow one.
    pub earliest_sent_once: Option<Instant>,
    /// The last of these that was sent as a probe (see [`crate::RttSampling::wants_probe`]).
    pub rtt_probe: Option<SentOnce>,
    /// When a chunk was sent on the path for the first time that has now arrived together with everything sent on the
    /// path before it, retransmissions included. One chunk at a time is measured.
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
            sent_once_chunks: 0,
            earliest_sent_once: None,
            rtt_probe: None,
            in_order_since: None,
        }
    }

    /// The shortest round-trip time of the chunks sent only once and, if there are several, the longest: two samples that
    /// do not favour the packets which overtook others.
    #[must_use]
    pub fn round_trip_times(&self, now: Instant) -> [Option<Duration>; 2] {
        let shortest = self.rtt_sample.map(|newest| now - newest.sent_at);
        let earliest = self.earliest_sent_once.filter(|_| self.sent_once_chunks > 1);
        [shortest, earliest.map(|sent_at| now - sent_at)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_chunk_sent_once_gives_one_round_trip_time() {
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let mut ack = PathAck::new(PathId(0), 0);
        ack.rtt_sample = Some(SentOnce {
            sent_at: at(10),
            tsn: UnwrappedTsn(1),
        });
        ack.earliest_sent_once = Some(at(10));
        // The other one was retransmitted.
        ack.newly_acked_chunks = 2;
        ack.sent_once_chunks = 1;
        assert_eq!(
            ack.round_trip_times(at(30)),
            [Some(Duration::from_millis(20)), None]
        );
        ack.earliest_sent_once = Some(at(5));
        ack.sent_once_chunks = 2;
        let both = [20, 25].map(|millis| Some(Duration::from_millis(millis)));
        assert_eq!(ack.round_trip_times(at(30)), both);
    }
}

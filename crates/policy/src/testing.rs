//! Facts for tests: those of a healthy path, and random ones from a seed.

use alloc::vec::Vec;
use core::time::Duration;

use anabranch_types::{Instant, PathId, Rng, SendNumber, UnwrappedTsn};

use crate::options::RtoParameters;
use crate::{AckSample, PathAck, PathFacts, Reachability, RttEstimator, SentOnce};

/// A full chunk on the paths below.
pub(crate) const CHUNK: u64 = 1_452;

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn at(millis: u64) -> Instant {
    Instant::ZERO + ms(millis)
}

pub(crate) const fn tsn(number: u64) -> UnwrappedTsn {
    UnwrappedTsn(number)
}

/// No sample, and a timeout of one second.
pub(crate) fn unmeasured() -> RttEstimator {
    RttEstimator::new(RtoParameters::RFC9260)
}

impl PathFacts {
    /// `None` removes all samples. The timeout stays.
    pub(crate) fn set_srtt(&mut self, srtt: Option<Duration>) {
        let smallest = self.min_rtt();
        let measured = srtt.map(|srtt| (srtt, self.rttvar(), smallest.unwrap_or(srtt)));
        self.rtt.assume(measured, self.rto());
    }

    pub(crate) fn set_rttvar(&mut self, rttvar: Duration) {
        let (srtt, smallest) = (self.srtt().unwrap(), self.min_rtt().unwrap());
        self.rtt.assume(Some((srtt, rttvar, smallest)), self.rto());
    }

    pub(crate) fn set_min_rtt(&mut self, smallest: Option<Duration>) {
        let measured = smallest.map(|smallest| (self.srtt().unwrap(), self.rttvar(), smallest));
        self.rtt.assume(measured, self.rto());
    }

    pub(crate) fn set_rto(&mut self, rto: Duration) {
        let (rttvar, smallest) = (self.rttvar(), self.min_rtt());
        let measured = self.srtt().zip(smallest);
        let measured = measured.map(|(srtt, smallest)| (srtt, rttvar, smallest));
        self.rtt.assume(measured, rto);
    }
}

/// An active path that can take data, with an RTT of 20 ms.
pub(crate) fn healthy(id: u8) -> PathFacts {
    let mut path = PathFacts::new(PathId(id), 1_500, 1_452, unmeasured());
    path.reachability = Reachability::Active;
    path.primary = id == 0;
    path.set_srtt(Some(ms(20)));
    path.set_min_rtt(Some(ms(20)));
    path.cwnd = 10 * CHUNK;
    path.sendable = 10 * CHUNK;
    path
}

/// `bytes` of a full flight of `in_flight` acknowledged in order on `path`.
pub(crate) fn in_order(path: u8, in_flight: u64, bytes: u64) -> PathAck {
    let mut ack = PathAck::new(PathId(path), in_flight);
    ack.newly_acked = bytes;
    ack.newly_acked_chunks = u32::try_from(bytes.div_ceil(CHUNK)).unwrap();
    ack.cumulative_advanced = true;
    ack.pseudo_cumulative_advanced = true;
    ack
}

/// A SACK that acknowledged `paths`.
pub(crate) fn sack(paths: &[PathAck]) -> AckSample<'_> {
    AckSample {
        cumulative: tsn(1 << 32),
        cumulative_advanced: paths.iter().any(|ack| ack.cumulative_advanced),
        arrived_on: PathId(0),
        packet_count: None,
        paths,
    }
}

fn any_reachability(rng: &mut Rng) -> Reachability {
    match rng.below(6) {
        0 => Reachability::Unconfirmed,
        1 => Reachability::PotentiallyFailed,
        2 => Reachability::Inactive,
        _ => Reachability::Active,
    }
}

/// Facts of a path in a random state.
pub(crate) fn any_path(rng: &mut Rng, id: u8) -> PathFacts {
    let max_packet = 576 + rng.below(9_000) as u16;
    let rtt = RttEstimator::new(RtoParameters {
        initial: ms(1 + rng.below(60_000)),
        ..RtoParameters::RFC9260
    });
    let mut path = PathFacts::new(PathId(id), max_packet, max_packet - 40, rtt);
    path.reachability = any_reachability(rng);
    path.in_recovery = rng.chance(1, 4);
    path.errors = rng.below(8) as u16;
    path.set_srtt(
        rng.chance(3, 4)
            .then(|| Duration::from_nanos(1 + rng.below(5_000_000_000))),
    );
    path.set_min_rtt(path.srtt().map(|srtt| srtt / 2));
    path.loss_per_million = rng.below(1_000_001) as u32;
    path.cwnd = u64::from(path.max_data_chunk) + rng.below(10_000_000);
    path.ssthresh >>= rng.below(64);
    path.in_flight = rng.below(path.cwnd + 2_000);
    path.queued = path.in_flight + rng.below(1_000_000);
    path.duplicated_bytes = if rng.chance(1, 3) {
        rng.below(path.cwnd + 2_000)
    } else {
        0
    };
    path.pacing_limited = rng.chance(1, 8);
    path.sendable = if rng.chance(1, 3) { 0 } else { rng.below(100_000) };
    path.data_since_sack = rng.chance(1, 2);
    path.last_sack = rng.below(1_000);
    path
}

/// One to five paths in random states; the ids have gaps.
pub(crate) fn any_paths(rng: &mut Rng) -> Vec<PathFacts> {
    let mut paths: Vec<PathFacts> = Vec::new();
    for id in 0..5 {
        if rng.chance(2, 3) {
            paths.push(any_path(rng, id));
        }
    }
    let last = paths.len().saturating_sub(1) as u64;
    if let Some(primary) = paths.get_mut(rng.below(last + 1) as usize) {
        primary.primary = true;
    }
    paths
}

/// A random acknowledgement on `path`, TSNs around `base`.
pub(crate) fn any_ack(rng: &mut Rng, path: &PathFacts, base: u64, now: Instant) -> PathAck {
    let mut ack = PathAck::new(path.id, path.in_flight);
    ack.newly_acked = rng.below(path.in_flight + 1);
    ack.newly_acked_chunks = u32::from(ack.newly_acked > 0);
    ack.cumulative_advanced = rng.chance(1, 2);
    ack.pseudo_cumulative_advanced = rng.chance(1, 2);
    ack.retransmitted_pseudo_cumulative_advanced = rng.chance(1, 4);
    if rng.chance(3, 4) {
        let lowest = base + rng.below(20);
        ack.lowest_newly_acked = Some(tsn(lowest));
        ack.highest_newly_acked = Some(tsn(lowest + rng.below(20)));
        ack.latest_send_number = Some(SendNumber(lowest));
        ack.latest_sent_at = Some(now - ms(rng.below(500)));
        let sample = ack.latest_sent_at.filter(|_| rng.chance(2, 3));
        ack.rtt_sample = sample.map(|sent_at| SentOnce {
            sent_at,
            tsn: tsn(lowest),
        });
        ack.earliest_sent_once = sample.map(|sent_at| sent_at - ms(rng.below(200)));
        ack.in_order_since = ack.latest_sent_at.filter(|_| rng.chance(1, 3));
    }
    ack
}

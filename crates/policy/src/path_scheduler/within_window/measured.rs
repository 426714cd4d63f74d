//! Measurements of a path: how fast does it deliver, and how often does it lose something?

use core::time::Duration;

use anabranch_types::Instant;

use super::nanos;
use crate::math::mul_div;
use crate::{PathAck, PathFacts};

pub(super) const SECOND: u64 = 1_000_000_000;

/// Fractions in which chunks are counted.
pub(super) const UNIT: u64 = 1 << 16;

/// After this time, losses and deliveries count half.
const HALF_LIFE: Duration = Duration::from_secs(10);

/// Steps of a half-life.
const STEPS: u32 = 16;

/// What remains after each step, in ten thousandths: 2^(-1/16).
const REMAINS: u64 = 9_576;

/// Chunks without a loss that are assumed of a path.
const PRIOR_CHUNKS: u64 = 100;

/// Shortest time over which a rate is measured.
const SHORTEST: u64 = 1_000_000;

/// The measured delivery rate and losses of a path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    /// Delivery rate in bytes per second; 0 before the first measurement.
    rate: u64,
    /// The smallest round-trip time of a chunk.
    smallest_rtt: Option<Duration>,
    /// When the current measurement began.
    since: Option<Instant>,
    /// Bytes acknowledged since then.
    acked: u64,
    /// Whether less was in flight at some time since then than the path carries, so that it may carry more.
    is_limited: bool,
    /// Whether its cwnd was full at some time since then, and in the measurement before.
    is_full: bool,
    was_full: bool,
    /// Chunks delivered and loss events, in units.
    delivered: u64,
    lost: u64,
    /// Up to when they were forgotten.
    forgotten: Option<Instant>,
    /// [`PathFacts::lost_chunks`] at the last acknowledgement.
    lost_chunks: u64,
}

impl Measured {
    pub(super) const fn rate(&self) -> u64 {
        self.rate
    }

    pub(super) const fn smallest_rtt(&self) -> Option<Duration> {
        self.smallest_rtt
    }

    /// Whether the congestion control limits it, not what the others leave of the window.
    pub(super) const fn is_filled(&self) -> bool {
        self.was_full || self.is_full
    }

    /// Loss events per chunk, in units. What is found lost at the same time counts once.
    pub(super) fn losses(&self) -> u64 {
        mul_div(self.lost, UNIT, self.delivered + self.lost + PRIOR_CHUNKS * UNIT)
    }

    pub(super) fn on_ack(&mut self, ack: &PathAck, facts: &PathFacts, now: Instant) {
        self.forget(now);
        self.delivered += u64::from(ack.newly_acked_chunks) * UNIT;
        if let Some(sample) = ack.rtt_sample {
            let rtt = now - sample.sent_at;
            self.smallest_rtt = Some(self.smallest_rtt.map_or(rtt, |smallest| smallest.min(rtt)));
        }
        if facts.lost_chunks > self.lost_chunks {
            self.lost += UNIT;
            self.lost_chunks = facts.lost_chunks;
        }
        let Some(since) = self.since else {
            self.begin(now);
            return;
        };
        let product = mul_div(self.rate, facts.min_rtt().map_or(0, nanos), SECOND);
        self.acked += ack.newly_acked;
        self.is_limited |= ack.in_flight_before < product && !has_queue(facts);
        self.is_full |= ack.in_flight_before + u64::from(facts.max_data_chunk) > facts.cwnd;
        let round_trip = facts.srtt().map_or(0, nanos).max(SHORTEST);
        let elapsed = nanos(now - since);
        if elapsed < round_trip {
            return;
        }
        // After a pause, the time says nothing.
        if elapsed < round_trip.saturating_mul(3) {
            self.sample(mul_div(self.acked, SECOND, elapsed), facts.ssthresh == u64::MAX);
        }
        self.begin(now);
    }

    fn begin(&mut self, now: Instant) {
        self.since = Some(now);
        self.acked = 0;
        self.is_limited = false;
        self.was_full = core::mem::take(&mut self.is_full);
    }

    fn sample(&mut self, sample: u64, in_slow_start: bool) {
        if sample < self.rate && self.is_limited {
            return;
        }
        self.rate = if self.rate == 0 || in_slow_start {
            sample
        } else {
            mul_div(self.rate, 7, 8).saturating_add(sample / 8)
        };
    }

    /// Forgets losses and deliveries with the time. A path that rests has no acknowledgements, so this is not left to them.
    pub(super) fn forget(&mut self, now: Instant) {
        let last = *self.forgotten.get_or_insert(now);
        let step = HALF_LIFE / STEPS;
        let mut steps = nanos(now - last) / nanos(step);
        if steps == 0 {
            return;
        }
        self.forgotten = Some(now);
        while steps > 0 && self.delivered + self.lost > 0 {
            self.delivered = mul_div(self.delivered, REMAINS, 10_000);
            self.lost = mul_div(self.lost, REMAINS, 10_000);
            steps -= 1;
        }
    }
}

/// Whether packets wait on the path, so that it delivers at its full rate.
fn has_queue(path: &PathFacts) -> bool {
    let base = path.min_rtt().unwrap_or_default();
    path.srtt().is_some_and(|srtt| srtt > base + base / 4)
}

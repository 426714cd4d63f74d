//! Loss floor: the loss that stays while the path has no queue. How much loss says nothing about congestion?
//!
//! Source: ours.
//!
//! Idea: losses on a radio link do not depend on what is in flight, those of a full queue do. What is lost of packets that were
//! sent with at most one product in flight, while the round-trip time sits at its minimum, is the floor. Only losses above it
//! count: it is added to the thresholds, with two standard deviations of the losses that it makes in such a flight.
//!
//! ```text
//! no queue: in flight when sent ≤ max rate · (min RTT + rise), last RTT ≤ min RTT + rise
//!           rise = clamp(min RTT / 8, 4 ms, 16 ms)                                        as HyStart++ (RFC 9406)
//! floor p   = lost / (acked + lost) of packets without a queue, at least 1,024 chunks in the divisor, about the last 2,048
//! allowed   = min(threshold · n + p · n + 2 · √(p · n · chunk), 20 % of n)                  n = bytes of the flight
//! short-term bounds: threshold 0, or that of probes where the floor makes at least one chunk of n lost
//! Startup ends by loss only if the round-trip time is above that, too
//! ```
//!
//! 1,024 chunks: then the standard deviation of a floor of 2 % is below half a per cent, a quarter of the threshold that it is
//! added to. With less, the floor is small, as nothing lost would be. 20 % is the loss at which Linux' first version suspects a
//! traffic policer, whose losses look like a floor.

use super::super::delivery_rate::{Flight, bytes_in};
use super::BbrState;
use crate::math::mul_div;

/// Chunks for which the floor is reliable.
const RELIABLE: u64 = 1_024;
/// No more than this is allowed, in per cent.
const MAX_ALLOWED: u64 = 20;

/// Bytes of packets that were sent while the path had no queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossFloor {
    acked: u64,
    lost: u64,
}

impl LossFloor {
    fn add(&mut self, acked: u64, lost: u64, chunk: u64) {
        self.acked += acked;
        self.lost += lost;
        if self.acked + self.lost > 2 * RELIABLE * chunk {
            self.acked /= 2;
            self.lost /= 2;
        }
    }

    /// Whether the floor is known, and so low that Reno, whose mean cwnd is √(3 / 2p) chunks (Mathis et al. 1997), would keep
    /// `product` bytes in flight.
    pub(super) fn lets_reno_fill(&self, product: u64, chunk: u64) -> bool {
        let judged = self.acked + self.lost;
        let chunks = u128::from(product / chunk.max(1));
        let needed = (2 * chunks * chunks).saturating_mul(u128::from(self.lost));
        judged >= RELIABLE * chunk && needed <= 3 * u128::from(judged)
    }

    /// What the floor makes lost of `bytes`, with two standard deviations.
    fn of(&self, bytes: u64, chunk: u64) -> u64 {
        let judged = (self.acked + self.lost).max(RELIABLE * chunk);
        let mean = mul_div(bytes, self.lost, judged);
        mean + 2 * mean.saturating_mul(chunk).isqrt()
    }
}

impl BbrState {
    /// Counts packets acknowledged or lost, if the path had no queue when the last of them, of `flight`, was sent.
    pub(super) fn learn_losses(&mut self, acked: u64, lost: u64, flight: &Flight) {
        let (rate, chunk) = (self.max_rate(), self.chunk);
        let Some(floor) = self.loss_floor.as_mut().filter(|_| self.min_rtt.is_at_floor()) else {
            return;
        };
        let longest = self.min_rtt.without_queue().unwrap_or_default();
        if flight.in_flight <= bytes_in(rate, longest).max(4 * chunk) {
            floor.add(acked, lost, chunk);
        }
    }

    /// Bytes of a flight of `bytes` that may be lost: `threshold` per cent beyond the loss floor.
    pub(super) fn allowed(&self, bytes: u64, threshold: u64) -> u64 {
        let counted = mul_div(bytes, threshold, 100);
        match &self.loss_floor {
            Some(floor) => {
                let most = mul_div(bytes, MAX_ALLOWED, 100).max(counted);
                (counted + floor.of(bytes, self.chunk)).min(most)
            }
            None => counted,
        }
    }

    /// The threshold of the short-term bounds, in per cent. Where random losses are expected in a flight of `bytes`, a single
    /// one tells nothing, and what exceeds the floor is judged as in a probe.
    pub(super) fn threshold_until_probe(&self, bytes: u64) -> u64 {
        let expects_loss = |floor: &LossFloor| floor.of(bytes, self.chunk) >= self.chunk;
        if self.loss_floor.as_ref().is_some_and(expects_loss) {
            self.shortterm_threshold.max(self.loss_threshold)
        } else {
            self.shortterm_threshold
        }
    }

    /// Whether losses of Startup may be due to a queue. Without a loss floor each may.
    pub(super) fn may_be_congestion(&self) -> bool {
        self.loss_floor.is_none() || !self.min_rtt.is_at_floor()
    }
}

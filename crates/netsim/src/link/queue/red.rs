//! Random early detection (RED). Which arriving packets are dropped or marked?
//!
//! S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance" (1993), with the gentle
//! variant of S. Floyd (2000). The average queue length is an exponentially weighted moving average. Between two
//! thresholds packets are dropped with a probability that grows with the average and with the number of packets
//! accepted since the last drop.
//!
//! ```text
//! on arrival:  average += weight · (length − average)          busy
//!              average *= (1 − weight) ^ (idle / service)      idle
//!              average < min_threshold    accept
//!              average < max_threshold    base = max_probability · (average − min_threshold)
//!                                                / (max_threshold − min_threshold)
//!                                         drop with probability base / (1 − count · base)
//!              otherwise                  drop; gentle: with a probability that reaches 1 at 2 · max_threshold
//! ```
//!
//! Deviation: for idle periods the arriving packet's service time replaces the paper's typical service time.

use anabranch_types::Rng;

use super::{Admission, Arrival};
use crate::link::DropCause;

/// Parameters of random early detection. Lengths are in packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RedConfig {
    /// Maximum queue length.
    pub limit: u32,
    /// Average length below which no packet is dropped.
    pub min_threshold: f64,
    /// Average length from which every packet is dropped, unless `gentle`.
    pub max_threshold: f64,
    /// Drop probability as the average reaches `max_threshold`.
    pub max_probability: f64,
    /// Weight of a new sample in the average.
    pub weight: f64,
    /// Whether the probability grows to 1 between `max_threshold` and twice that, instead of jumping to 1.
    pub gentle: bool,
    /// Whether ECN-capable packets are marked instead of dropped (RFC 3168 §5).
    pub mark: bool,
}

impl RedConfig {
    /// The paper's parameters: thresholds at 5 and 15 packets, probability 0.02, weight 0.002; not gentle, no marking.
    #[must_use]
    pub const fn classic(limit: u32) -> Self {
        Self {
            limit,
            min_threshold: 5.0,
            max_threshold: 15.0,
            max_probability: 0.02,
            weight: 0.002,
            gentle: false,
            mark: false,
        }
    }
}

#[derive(Debug)]
pub(super) struct Red {
    config: RedConfig,
    average: f64,
    /// Packets accepted since the last drop or since the average was last below the minimum threshold.
    since_last_drop: u64,
    rng: Rng,
}

impl Red {
    pub(super) const fn new(config: RedConfig, rng: Rng) -> Self {
        Self {
            config,
            average: 0.0,
            since_last_drop: 0,
            rng,
        }
    }

    pub(super) fn decide(&mut self, length: u64, arrival: Arrival) -> Admission {
        self.update_average(length, arrival);
        if length >= u64::from(self.config.limit) && arrival.idle.is_none() {
            self.since_last_drop = 0;
            return Admission::Drop(DropCause::QueueFull);
        }
        let dropped = self.draws_drop();
        self.since_last_drop = if dropped || self.average < self.config.min_threshold {
            0
        } else {
            self.since_last_drop + 1
        };
        match (dropped, self.config.mark) {
            (false, _) => Admission::Accept,
            (true, true) => Admission::Mark,
            (true, false) => Admission::Drop(DropCause::Early),
        }
    }

    fn update_average(&mut self, length: u64, arrival: Arrival) {
        match arrival.idle {
            Some(idle) => {
                let service = arrival.service.as_nanos().max(1);
                let missed = u32::try_from(idle.as_nanos() / service).unwrap_or(u32::MAX);
                self.average *= power(1.0 - self.config.weight, missed);
            }
            None => self.average += self.config.weight * (length as f64 - self.average),
        }
    }

    fn draws_drop(&mut self) -> bool {
        let RedConfig {
            min_threshold,
            max_threshold,
            max_probability,
            gentle,
            ..
        } = self.config;
        if self.average < min_threshold {
            return false;
        }
        let base = if self.average < max_threshold {
            max_probability * (self.average - min_threshold) / (max_threshold - min_threshold)
        } else if gentle && self.average < 2.0 * max_threshold {
            max_probability + (1.0 - max_probability) * (self.average - max_threshold) / max_threshold
        } else {
            return true;
        };
        let spread = 1.0 - self.since_last_drop as f64 * base;
        spread <= 0.0 || self.rng.unit() < base / spread
    }
}

/// `base` to the power `exponent` by squaring. `f64::powi` may differ between platforms.
fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

//! Whom does random early detection turn away?
//!
//! S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance" (1993), with the gentle
//! variant of S. Floyd (2000). The queue's average length is smoothed; between two thresholds packets are turned
//! away with a chance that grows with the average and with the number of packets since the last one.
//!
//! ```text
//! on arrival:  average += weight · (length − average)          line busy
//!              average *= (1 − weight) ^ (idle / service)      line idle
//!              average < minimum      take
//!              average < maximum      base = max_chance · (average − minimum) / (maximum − minimum)
//!                                     turn away with base / (1 − count · base)
//!              otherwise              turn away; gentle: with a chance that reaches 1 at 2 · maximum
//! ```
//!
//! Deviation: a packet's own service time stands for the paper's typical one.

use anabranch_types::Rng;

use super::{Admission, Arrival};
use crate::link::DropCause;

/// Parameters of random early detection. Lengths are in packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RedConfig {
    /// No packet waits beyond this length, whatever the average.
    pub limit: u32,
    /// Average length below which no packet is turned away.
    pub minimum: f64,
    /// Average length from which on every packet is turned away, unless gentle.
    pub maximum: f64,
    /// Chance of being turned away as the average reaches `maximum`.
    pub max_chance: f64,
    /// Weight of the newest length in the average.
    pub weight: f64,
    /// Whether the chance grows on to 1 at twice the maximum instead of jumping to it.
    pub gentle: bool,
    /// Whether packets that can carry a congestion mark are marked instead (RFC 3168 §5).
    pub mark: bool,
}

impl RedConfig {
    /// The paper's own proportions: thresholds at 5 and 15 packets, chance 0.02, weight 0.002; not gentle, no marks.
    #[must_use]
    pub const fn classic(limit: u32) -> Self {
        Self {
            limit,
            minimum: 5.0,
            maximum: 15.0,
            max_chance: 0.02,
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
    /// Packets taken since the last one turned away; the average was above the minimum all the time.
    taken: u64,
    rng: Rng,
}

impl Red {
    pub(super) const fn new(config: RedConfig, rng: Rng) -> Self {
        Self {
            config,
            average: 0.0,
            taken: 0,
            rng,
        }
    }

    pub(super) fn judge(&mut self, length: u64, arrival: Arrival) -> Admission {
        self.update_average(length, arrival);
        if length >= u64::from(self.config.limit) && arrival.idle.is_none() {
            self.taken = 0;
            return Admission::Refused(DropCause::QueueFull);
        }
        let turned_away = self.rolls_against();
        self.taken = if turned_away || self.average < self.config.minimum {
            0
        } else {
            self.taken + 1
        };
        match (turned_away, self.config.mark) {
            (false, _) => Admission::Welcome,
            (true, true) => Admission::Marked,
            (true, false) => Admission::Refused(DropCause::Early),
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

    fn rolls_against(&mut self) -> bool {
        let RedConfig {
            minimum,
            maximum,
            max_chance,
            gentle,
            ..
        } = self.config;
        if self.average < minimum {
            return false;
        }
        let base = if self.average < maximum {
            max_chance * (self.average - minimum) / (maximum - minimum)
        } else if gentle && self.average < 2.0 * maximum {
            max_chance + (1.0 - max_chance) * (self.average - maximum) / maximum
        } else {
            return true;
        };
        let spread = 1.0 - self.taken as f64 * base;
        spread <= 0.0 || self.rng.unit() < base / spread
    }
}

/// `base` to the `exponent` by squaring; `f64::powi` may differ between platforms.
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

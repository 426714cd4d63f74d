//! Evidence of random loss on a path. Does a queue explain its losses?
//!
//! Source: C. P. Fu, S. C. Liew, IEEE JSAC 21(2), 2003 (TCP Veno): a loss with fewer than three packets of the flow in the queue is
//! random. RFC 9406 §4.2 for the rise that shows a queue of others.

use core::time::Duration;

use anabranch_types::Instant;

use crate::congestion::mean_rtt::{Mean, MeanRtt, rise_of};
use crate::congestion::window::quantum;
use crate::{PathAck, PathFacts};

/// Losses in a row without a queue that are evidence. A single one may be due to a queue that the last mean has not seen yet.
const LOSSES_NEEDED: u8 = 4;
/// Packets of the flow in the queue below which a loss is random (β of TCP Veno).
const PACKETS_IN_QUEUE: u64 = 3;

/// What round-trip times say about the losses of one path.
#[derive(Debug)]
pub(super) struct Evidence {
    samples: Mean,
    /// When the first of these samples was taken.
    began: Instant,
    /// The mean of a round trip or more, without a queue as far as is known.
    least: Option<MeanRtt>,
    /// The last one.
    latest: Option<MeanRtt>,
    /// Losses in a row that came without a queue.
    losses: u8,
}

impl Evidence {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            samples: Mean::default(),
            began: now,
            least: None,
            latest: None,
            losses: 0,
        }
    }

    /// The round-trip time without a queue, as far as is known.
    pub(super) fn least(&self) -> Option<Duration> {
        self.least.map(|least| least.mean)
    }

    pub(super) fn on_ack(&mut self, ack: &PathAck, path: &PathFacts, now: Instant) {
        for rtt in ack.round_trip_times(now).into_iter().flatten() {
            self.samples.add(rtt);
        }
        if path.srtt().is_none_or(|srtt| now - self.began < srtt) {
            return;
        }
        let Some(taken) = self.samples.take() else { return };
        self.began = now;
        self.latest = Some(taken);
        if self.least.is_none_or(|least| taken.mean < least.mean) {
            self.least = Some(taken);
        }
    }

    /// Counts a loss event. Returns whether the losses of the path are random.
    pub(super) fn on_loss(&mut self, path: &PathFacts) -> bool {
        // A flight that the application limits says nothing about the congestion control.
        if 2 * path.in_flight < path.cwnd {
            return false;
        }
        self.losses = if self.has_no_queue(path) {
            self.losses + 1
        } else {
            0
        };
        self.losses >= LOSSES_NEEDED
    }

    /// Losses are to be counted anew. The shortest round-trip time remains known.
    pub(super) fn forget_losses(&mut self, now: Instant) {
        *self = Self {
            least: self.least,
            ..Self::new(now)
        };
    }

    /// Whether the round-trip time is at its minimum: as far as means tell, which are two standard errors wide.
    fn has_no_queue(&self, path: &PathFacts) -> bool {
        let (Some(least), Some(latest)) = (self.least, self.latest) else {
            return false;
        };
        let queued = latest.mean - least.mean;
        queued <= Self::queue(least.mean, path) + 2 * (least.error + latest.error)
    }

    /// The queueing delay from which a queue counts: three packets of the flow, but at most what shows a queue of others.
    fn queue(least: Duration, path: &PathFacts) -> Duration {
        let packets = path.in_flight / quantum(path);
        let own = least.as_nanos() * u128::from(PACKETS_IN_QUEUE) / u128::from(packets.max(1));
        let own = Duration::from_nanos(u64::try_from(own).unwrap_or(u64::MAX));
        own.min(rise_of(least))
    }
}

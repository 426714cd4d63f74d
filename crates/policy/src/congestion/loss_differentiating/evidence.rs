//! Evidence of random loss on a path. Does a queue explain its losses?
//!
//! Source: C. P. Fu, S. C. Liew, IEEE JSAC 21(2), 2003 (TCP Veno): a loss with fewer than three packets of the flow in the queue is
//! random. RFC 9406 §4.2 for the rise that shows a queue of others.

use core::time::Duration;

use anabranch_types::Instant;

use crate::congestion::mean_rtt::{Mean, MeanRtt, rise_of};
use crate::congestion::window::quantum;
use crate::{PathAck, PathFacts};

/// The weight of losses in a row without a queue that shows that losses are random.
const WEIGHT_NEEDED: u8 = 4;
/// The weight of a loss of which neither the mean nor the recent samples show a queue.
const WEIGHT: u8 = 2;
/// The weight of one whose recent samples are longer: slow start fills a queue within a round trip, and the mean is that of the one before.
const WEIGHT_UNCLEAR: u8 = 1;
/// Recent samples. One of them that saw no queue is enough: jitter lengthens some of them, and a full queue all.
const RECENT: usize = 4;
/// Packets of the flow in the queue below which a loss is random (β of TCP Veno).
const PACKETS_IN_QUEUE: u64 = 3;

/// The queue at a loss, as far as round-trip times tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Queue {
    Absent,
    Unclear,
    Present,
}

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
    /// The last samples, the oldest first.
    recent: [Duration; RECENT],
    /// The weight of the last losses, which came without a queue.
    weight: u8,
}

impl Evidence {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            samples: Mean::default(),
            began: now,
            least: None,
            latest: None,
            recent: [Duration::MAX; RECENT],
            weight: 0,
        }
    }

    /// The round-trip time without a queue, as far as is known.
    pub(super) fn least(&self) -> Option<Duration> {
        self.least.map(|least| least.mean)
    }

    pub(super) fn on_ack(&mut self, ack: &PathAck, path: &PathFacts, now: Instant) {
        for rtt in ack.round_trip_times(now).into_iter().flatten() {
            self.samples.add(rtt);
            self.recent.rotate_left(1);
            self.recent[RECENT - 1] = rtt;
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
        match self.queue_at_loss(path) {
            None => return false,
            Some(Queue::Present) => self.weight = 0,
            Some(Queue::Absent) => self.weight += WEIGHT,
            Some(Queue::Unclear) => self.weight += WEIGHT_UNCLEAR,
        }
        self.weight >= WEIGHT_NEEDED
    }

    /// Losses are to be counted anew. The shortest round-trip time remains known.
    pub(super) fn forget_losses(&mut self, now: Instant) {
        *self = Self {
            least: self.least,
            ..Self::new(now)
        };
    }

    /// Means count with two standard errors. `None` if there are too few samples.
    fn queue_at_loss(&self, path: &PathFacts) -> Option<Queue> {
        let (least, latest) = self.least.zip(self.latest)?;
        let longest = least.mean + Self::smallest_queue(least.mean, path) + 2 * least.error;
        Some(if latest.mean > longest + 2 * latest.error {
            Queue::Present
        } else if self.recent.iter().all(|rtt| *rtt > longest) {
            Queue::Unclear
        } else {
            Queue::Absent
        })
    }

    /// The queueing delay from which a queue counts: three packets of the flow, but at most what shows a queue of others.
    fn smallest_queue(least: Duration, path: &PathFacts) -> Duration {
        let packets = path.in_flight / quantum(path);
        let own = least.as_nanos() * u128::from(PACKETS_IN_QUEUE) / u128::from(packets.max(1));
        let own = Duration::from_nanos(u64::try_from(own).unwrap_or(u64::MAX));
        own.min(rise_of(least))
    }
}

//! Unidirectional link: queue, transmitter, impairments, propagation. What happens to a packet on a link?
//!
//! ```text
//! offer ─▶ cut? MTU? ─▶ queue ─▶ transmitter (rate) ─▶ loss, corruption, duplication ─▶ delay, variation, jitter, reordering ─▶ take_due
//! ```
//!
//! A link has no clock. Its owner offers packets, asks for the [`Link::deadline`], and takes the packets that are due.
//! Each call first processes everything since the previous one, always in the same order, so the result does not
//! depend on how often the owner calls. One call per packet is enough.

mod clock;
mod config;
mod loss;
mod packet;
mod propagation;
mod queue;
mod service;
mod stats;
mod variation;

use core::fmt;
use core::time::Duration;

use anabranch_types::{Instant, Rate, Rng, Seed};
pub use clock::Clock;
pub use config::{ETHERNET_FRAMING, LinkChange, LinkConfig, Reorder};
use loss::LossProcess;
pub use loss::{BatchLoss, GilbertElliott, Loss};
pub use packet::{Packet, flip_bits, flow_of};
use propagation::Propagation;
use queue::{Admission, Arrival, Queue, QueuedPacket};
pub use queue::{CodelConfig, FqCodelConfig, PieConfig, QueueConfig, RedConfig};
use service::Service;
pub use stats::{Count, DropCause, LinkStats};
pub use variation::{DelayTable, DelayVariation, Distribution};

/// Number of a link in a [`Network`](crate::Network), in the order of adding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub(crate) u32);

impl LinkId {
    /// The number as an index into a dense array.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for LinkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "link {}", self.0)
    }
}

/// Whether a link accepted an offered packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The packet is queued or in transmission. It may still be lost later.
    Accepted,
    /// The packet was dropped.
    Dropped(DropCause),
}

/// A unidirectional link that carries packets of type `T`, without a clock.
///
/// ```
/// use anabranch_netsim::{Link, LinkConfig};
/// use anabranch_types::{Instant, Rate, Seed};
/// use std::time::Duration;
/// let mut link = Link::new(LinkConfig::new(Rate::mbit(8), Duration::from_millis(5)), Seed(1));
/// link.offer(Instant::ZERO, vec![1, 2, 3], 1_000);
/// let due = link.deadline().expect("a packet is on its way");
/// assert_eq!(due, Instant::ZERO + Duration::from_millis(6));
/// assert_eq!(link.take_due(due), Some(vec![1, 2, 3]));
/// ```
#[derive(Debug)]
pub struct Link<T> {
    config: LinkConfig,
    is_cut: bool,
    queue: Queue<T>,
    transmitter: Transmitter<T>,
    service: Service,
    loss: LossProcess,
    propagation: Propagation<T>,
    corruption: Rng,
    duplication: Rng,
    stats: LinkStats,
}

/// State of the transmitter.
#[derive(Debug)]
enum Transmitter<T> {
    Idle {
        /// Idle time before this has been reported to the queue.
        since: Instant,
    },
    /// `bytes_left` bytes were untransmitted at `since`; the last one leaves at `done`.
    Busy {
        packet: QueuedPacket<T>,
        since: Instant,
        bytes_left: u64,
        done: Instant,
    },
}

impl<T: Packet> Link<T> {
    /// Creates an empty link. Each stage has its own random number generator, split from the seed.
    #[must_use]
    pub fn new(config: LinkConfig, seed: Seed) -> Self {
        Self {
            is_cut: false,
            queue: Queue::new(&config, seed.split("queue").rng()),
            transmitter: Transmitter::Idle { since: Instant::ZERO },
            service: Service::new(&config),
            loss: LossProcess::new(&config.loss, seed.split("loss").rng()),
            propagation: Propagation::new(seed.split("delay").rng()),
            corruption: seed.split("corrupt").rng(),
            duplication: seed.split("duplicate").rng(),
            stats: LinkStats::default(),
            config,
        }
    }

    /// Offers a packet of `bytes` bytes of IP to the link. `now` must not decrease from call to call.
    pub fn offer(&mut self, now: Instant, item: T, bytes: u32) -> Verdict {
        self.settle(now);
        self.stats.offered.add(bytes);
        match self.admit(now, item, bytes) {
            Ok(packet) => {
                self.accept(now, packet);
                Verdict::Accepted
            }
            Err(cause) => {
                self.stats.drop(cause, bytes);
                Verdict::Dropped(cause)
            }
        }
    }

    /// When to call [`Link::take_due`] next; `None` while nothing can arrive. No packet arrives earlier; at that time
    /// there may be none either, if the packet was lost.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let arrival = self.propagation.next_arrival();
        if arrival.is_some_and(|arrival| self.propagation.none_arrives_before(arrival)) {
            return arrival.filter(|arrival| *arrival < Instant::MAX);
        }
        let leaving = match self.transmitter {
            Transmitter::Idle { .. } => None,
            Transmitter::Busy { done, .. } => Some(self.propagation.earliest_arrival(done, &self.config)),
        };
        let earliest = arrival.into_iter().chain(leaving).min()?;
        (earliest < Instant::MAX).then_some(earliest)
    }

    /// Returns the next packet that has arrived by `now`. Call until `None`.
    pub fn take_due(&mut self, now: Instant) -> Option<T> {
        self.settle(now);
        let packet = self.propagation.take_arrived(now)?;
        self.stats.delivered.add(packet.bytes);
        Some(packet.item)
    }

    /// Applies a change at `now`.
    pub fn apply(&mut self, now: Instant, change: LinkChange) {
        self.settle(now);
        match change {
            LinkChange::Cut => self.cut(now),
            LinkChange::Heal => self.is_cut = false,
            LinkChange::Rate(rate) => self.change_rate(now, rate),
            LinkChange::Delay(delay) => self.config.delay = delay,
            LinkChange::Loss(loss) => {
                self.loss.replace(&loss);
                self.config.loss = loss;
            }
            LinkChange::Mtu(mtu) => self.config.mtu = mtu,
            LinkChange::Hole(hole) => self.config.hole = hole,
            LinkChange::Jitter(jitter) => self.config.jitter = jitter,
            LinkChange::Variation(variation) => {
                self.propagation.keeps_order(variation.is_none());
                self.config.variation = variation;
            }
            LinkChange::Reorder(reorder) => self.config.reorder = reorder,
            LinkChange::Duplicate(chance) => self.config.duplicate = chance,
            LinkChange::Corrupt(chance) => self.config.corrupt = chance,
        }
    }

    /// Processes all transmissions that ended by `now`, so that the statistics are current.
    pub fn settle(&mut self, now: Instant) {
        while let Transmitter::Busy { done, .. } = self.transmitter
            && done <= now
        {
            self.finish_transmission(done);
        }
    }

    /// Counts a packet that a filter dropped in front of the link.
    pub(crate) fn count_filtered(&mut self, bytes: u32) {
        self.stats.offered.add(bytes);
        self.stats.drop(DropCause::Filtered, bytes);
    }

    fn admit(&mut self, now: Instant, mut item: T, whole: u32) -> Result<QueuedPacket<T>, DropCause> {
        if self.is_cut {
            return Err(DropCause::Cut);
        }
        if whole > self.config.hole {
            return Err(DropCause::TooBig);
        }
        let bytes = match self.config.bytes_in_fragments(whole) {
            Some(bytes) if bytes == whole || item.may_fragment() => bytes,
            _ => return Err(DropCause::TooBig),
        };
        let idle = match self.transmitter {
            Transmitter::Idle { since } => Some(now - since),
            Transmitter::Busy { .. } => None,
        };
        // RED counts the packets that could have been sent while the link was idle; only then is this needed.
        let service = match idle {
            Some(_) if self.queue.counts_idle_time() => self.config.service_time(bytes),
            _ => Duration::ZERO,
        };
        let admission = self.queue.decide(now, Arrival { bytes, idle, service });
        if let Transmitter::Idle { since } = &mut self.transmitter {
            // Idle time counts once, even if this packet is dropped.
            *since = now;
        }
        match admission {
            Admission::Accept => {}
            Admission::Mark if item.mark_congestion() => self.stats.marked += 1,
            Admission::Mark => return Err(DropCause::Early),
            Admission::Drop(cause) => return Err(cause),
        }
        Ok(QueuedPacket {
            item,
            bytes,
            offered: now,
        })
    }

    fn accept(&mut self, now: Instant, packet: QueuedPacket<T>) {
        if matches!(self.transmitter, Transmitter::Busy { .. }) {
            self.queue.push(packet, &mut self.stats);
            self.stats.update_queue_peak(self.queue.occupancy());
        } else if let Some(packet) = self.queue.pass(now, packet, &mut self.stats) {
            self.start_transmission(now, packet, true);
            self.settle(now);
        }
    }

    fn start_transmission(&mut self, now: Instant, packet: QueuedPacket<T>, was_idle: bool) {
        let bytes_left = self.config.wire_bytes(packet.bytes);
        let done = self.service.start(now, bytes_left, was_idle, &self.config);
        self.transmitter = Transmitter::Busy {
            packet,
            since: now,
            bytes_left,
            done,
        };
    }

    /// The transmission ended at `done`; the next packet follows at once.
    fn finish_transmission(&mut self, done: Instant) {
        let idle = Transmitter::Idle { since: done };
        if let Transmitter::Busy { packet, since, .. } = core::mem::replace(&mut self.transmitter, idle) {
            self.stats.busy += done - since;
            self.propagate(done, packet);
        }
        if let Some(next) = self.queue.pop(done, &mut self.stats) {
            self.start_transmission(done, next, false);
        }
    }

    fn propagate(&mut self, left: Instant, mut packet: QueuedPacket<T>) {
        if self.loss.drops_next(packet.offered) {
            self.stats.drop(DropCause::Lost, packet.bytes);
            return;
        }
        if self.config.corrupt.happens(&mut self.corruption) {
            packet.item.corrupt(&mut self.corruption);
            self.stats.corrupted += 1;
        }
        if self.config.duplicate.happens(&mut self.duplication) {
            self.stats.duplicated.add(packet.bytes);
            self.send(left, packet.clone());
        }
        self.send(left, packet);
    }

    fn send(&mut self, left: Instant, packet: QueuedPacket<T>) {
        self.stats.reordered += u64::from(self.propagation.send(left, packet, &self.config));
    }

    fn cut(&mut self, now: Instant) {
        self.is_cut = true;
        if let Transmitter::Busy { packet, since, .. } = &self.transmitter {
            self.stats.busy += now - *since;
            self.stats.drop(DropCause::Cut, packet.bytes);
            self.transmitter = Transmitter::Idle { since: now };
        }
        while let Some(packet) = self.queue.take_any(now) {
            self.stats.drop(DropCause::Cut, packet.bytes);
        }
        while let Some(packet) = self.propagation.take_arrived(Instant::MAX) {
            self.stats.drop(DropCause::Cut, packet.bytes);
        }
        self.propagation.reset_order();
    }

    fn change_rate(&mut self, now: Instant, rate: Option<Rate>) {
        let sent = match self.transmitter {
            Transmitter::Busy { since, .. } => self.service.sent_by(now, since, &self.config),
            Transmitter::Idle { .. } => None,
        };
        self.config.rate = rate;
        self.config.trace = None;
        self.service = Service::new(&self.config);
        if let Transmitter::Busy {
            since,
            bytes_left,
            done,
            ..
        } = &mut self.transmitter
        {
            let elapsed = now - *since;
            *bytes_left = bytes_left.saturating_sub(sent.unwrap_or(*bytes_left));
            *since = now;
            *done = now + self.config.time_for(*bytes_left);
            self.stats.busy += elapsed;
        }
        self.settle(now);
    }
}

impl<T> Link<T> {
    /// Current configuration, changes included.
    #[must_use]
    pub const fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Whether the link is cut.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether a packet was in transmission at the last call.
    pub(crate) const fn is_transmitting(&self) -> bool {
        matches!(self.transmitter, Transmitter::Busy { .. })
    }

    /// Statistics up to the last call.
    #[must_use]
    pub const fn stats(&self) -> &LinkStats {
        &self.stats
    }

    /// Queue length at the last call, without the packet in transmission.
    #[must_use]
    pub fn waiting(&self) -> Count {
        self.queue.occupancy()
    }

    /// Number of packets on the link at the last call: queued, in transmission and in flight.
    #[must_use]
    pub fn inside(&self) -> u64 {
        let leaving = u64::from(self.is_transmitting());
        self.queue.occupancy().packets + leaving + self.propagation.len() as u64
    }

    /// Queueing delay of a packet that arrives now: time until its transmission starts.
    #[must_use]
    pub fn waiting_time(&self, now: Instant) -> Duration {
        let Transmitter::Busy { done, .. } = self.transmitter else {
            return Duration::ZERO;
        };
        let waiting = self.queue.occupancy();
        let bytes = waiting.bytes + waiting.packets * u64::from(self.config.framing);
        (done - now).saturating_add(self.service.time_after(done, bytes, &self.config))
    }
}

#[cfg(test)]
mod tests;

//! What becomes of a packet on one link? It waits, leaves bit by bit, is lost or damaged perhaps, and travels.
//!
//! ```text
//! offer ─▶ cut? MTU? ─▶ queue ─▶ line (rate) ─▶ lost? damaged? doubled? ─▶ delay, jitter, held back? ─▶ take_due
//! ```
//!
//! A link has no clock. Its owner offers packets, asks for the [`Link::deadline`], and takes what is due; what
//! happened in between is caught up with at the next call, always in the same order, so the outcome does not
//! depend on how often the owner looks. One look per packet is enough.

mod config;
mod flight;
mod loss;
mod packet;
mod queue;
mod stats;

use core::fmt;
use core::time::Duration;

use anabranch_types::{Instant, Rate, Rng, Seed};
pub use config::{ETHERNET_FRAMING, LinkChange, LinkConfig, Reorder};
use flight::Flight;
use loss::LossProcess;
pub use loss::{GilbertElliott, Loss};
pub use packet::{Packet, flip_bits};
use queue::{Admission, Arrival, Parcel, Queue};
pub use queue::{QueueConfig, RedConfig};
pub use stats::{Count, DropCause, LinkStats};

/// Which link of a [`World`](crate::World), counted in the order of adding.
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

/// What a link said to a packet that was offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It waits or leaves. It may still be lost later, as on any link.
    Accepted,
    /// It is gone already.
    Dropped(DropCause),
}

/// A unidirectional link that carries items of type `T`, without a clock of its own.
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
    line: Line<T>,
    loss: LossProcess,
    flight: Flight<T>,
    corruption: Rng,
    duplication: Rng,
    stats: LinkStats,
}

/// What the line is doing.
#[derive(Debug)]
enum Line<T> {
    Idle {
        /// The queue was told of all idleness before this.
        since: Instant,
    },
    /// The bytes that were left at `since` will have left by `done`.
    Busy {
        parcel: Parcel<T>,
        since: Instant,
        bytes_left: u64,
        done: Instant,
    },
}

impl<T: Packet> Link<T> {
    /// An empty link. Each of its stages splits a generator of its own from the seed.
    #[must_use]
    pub fn new(config: LinkConfig, seed: Seed) -> Self {
        Self {
            is_cut: false,
            queue: Queue::new(config.queue, seed.split("queue").rng()),
            line: Line::Idle { since: Instant::ZERO },
            loss: LossProcess::new(&config.loss, seed.split("loss").rng()),
            flight: Flight::new(seed.split("delay").rng()),
            corruption: seed.split("corrupt").rng(),
            duplication: seed.split("duplicate").rng(),
            stats: LinkStats::default(),
            config,
        }
    }

    /// Puts a packet of `bytes` bytes of IP on the link. `now` must not be before an earlier call's.
    pub fn offer(&mut self, now: Instant, item: T, bytes: u32) -> Verdict {
        self.settle(now);
        self.stats.offered.add(bytes);
        match self.admit(now, item, bytes) {
            Ok(parcel) => {
                self.accept(now, parcel);
                Verdict::Accepted
            }
            Err(cause) => {
                self.stats.drop(cause, bytes);
                Verdict::Dropped(cause)
            }
        }
    }

    /// When to call [`Link::take_due`] next; `None` while nothing can arrive. No packet arrives before it, but
    /// one that would have arrived may turn out to be lost.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let landing = self.flight.next_arrival();
        if landing.is_some_and(|landing| self.flight.none_arrives_before(landing)) {
            return landing.filter(|landing| *landing < Instant::MAX);
        }
        let leaving = match self.line {
            Line::Idle { .. } => None,
            Line::Busy { done, .. } => Some(self.flight.earliest_arrival(done, &self.config)),
        };
        let earliest = landing.into_iter().chain(leaving).min()?;
        (earliest < Instant::MAX).then_some(earliest)
    }

    /// The next packet that has arrived by `now`. Call until `None`.
    pub fn take_due(&mut self, now: Instant) -> Option<T> {
        self.settle(now);
        let parcel = self.flight.land(now)?;
        self.stats.delivered.add(parcel.bytes);
        Some(parcel.item)
    }

    /// Changes the link from `now` on.
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
            LinkChange::Jitter(jitter) => self.config.jitter = jitter,
            LinkChange::Reorder(reorder) => self.config.reorder = reorder,
            LinkChange::Duplicate(chance) => self.config.duplicate = chance,
            LinkChange::Corrupt(chance) => self.config.corrupt = chance,
        }
    }

    /// Catches up with everything that left the line by `now`, so that the statistics are those of `now`.
    pub fn settle(&mut self, now: Instant) {
        while let Line::Busy { done, .. } = self.line
            && done <= now
        {
            self.finish_leaving(done);
        }
    }

    /// Counts a packet that somebody else took before it came to the link.
    pub(crate) fn note_filtered(&mut self, bytes: u32) {
        self.stats.offered.add(bytes);
        self.stats.drop(DropCause::Filtered, bytes);
    }

    fn admit(&mut self, now: Instant, mut item: T, whole: u32) -> Result<Parcel<T>, DropCause> {
        if self.is_cut {
            return Err(DropCause::Cut);
        }
        let bytes = match self.config.bytes_in_fragments(whole) {
            Some(bytes) if bytes == whole || item.may_fragment() => bytes,
            _ => return Err(DropCause::TooBig),
        };
        let idle = match self.line {
            Line::Idle { since } => Some(now - since),
            Line::Busy { .. } => None,
        };
        let admission = self.queue.judge(Arrival {
            bytes,
            idle,
            // What it would take says how much was missed, so it matters only then.
            service: idle.map_or(Duration::ZERO, |_| self.config.service_time(bytes)),
        });
        if let Line::Idle { since } = &mut self.line {
            // What was missed counts once, also if this one is refused.
            *since = now;
        }
        match admission {
            Admission::Welcome => {}
            Admission::Marked if item.mark_congestion() => self.stats.marked += 1,
            Admission::Marked => return Err(DropCause::Early),
            Admission::Refused(cause) => return Err(cause),
        }
        Ok(Parcel { item, bytes })
    }

    fn accept(&mut self, now: Instant, parcel: Parcel<T>) {
        if matches!(self.line, Line::Busy { .. }) {
            self.queue.push(parcel);
            self.stats.note_queue(self.queue.occupancy());
        } else {
            self.start_leaving(now, parcel);
            self.settle(now);
        }
    }

    fn start_leaving(&mut self, now: Instant, parcel: Parcel<T>) {
        let bytes_left = self.config.line_bytes(parcel.bytes);
        let done = now + self.config.time_for(bytes_left);
        self.line = Line::Busy {
            parcel,
            since: now,
            bytes_left,
            done,
        };
    }

    /// The last bit of the packet on the line left at `done`; the next packet follows at once.
    fn finish_leaving(&mut self, done: Instant) {
        let idle = Line::Idle { since: done };
        if let Line::Busy { parcel, since, .. } = core::mem::replace(&mut self.line, idle) {
            self.stats.busy += done - since;
            self.travel(done, parcel);
        }
        if let Some(next) = self.queue.pop() {
            self.start_leaving(done, next);
        }
    }

    fn travel(&mut self, left: Instant, mut parcel: Parcel<T>) {
        if self.loss.takes_next() {
            self.stats.drop(DropCause::Lost, parcel.bytes);
            return;
        }
        if self.config.corrupt.happens(&mut self.corruption) {
            parcel.item.corrupt(&mut self.corruption);
            self.stats.corrupted += 1;
        }
        if self.config.duplicate.happens(&mut self.duplication) {
            self.stats.duplicated.add(parcel.bytes);
            self.launch(
                left,
                Parcel {
                    item: parcel.item.clone(),
                    bytes: parcel.bytes,
                },
            );
        }
        self.launch(left, parcel);
    }

    fn launch(&mut self, left: Instant, parcel: Parcel<T>) {
        self.stats.held_back += u64::from(self.flight.launch(left, parcel, &self.config));
    }

    fn cut(&mut self, now: Instant) {
        self.is_cut = true;
        if let Line::Busy { parcel, since, .. } = &self.line {
            self.stats.busy += now - *since;
            self.stats.drop(DropCause::Cut, parcel.bytes);
            self.line = Line::Idle { since: now };
        }
        while let Some(parcel) = self.queue.pop() {
            self.stats.drop(DropCause::Cut, parcel.bytes);
        }
        while let Some(parcel) = self.flight.land(Instant::MAX) {
            self.stats.drop(DropCause::Cut, parcel.bytes);
        }
        self.flight.forget_order();
    }

    fn change_rate(&mut self, now: Instant, rate: Option<Rate>) {
        let old = core::mem::replace(&mut self.config.rate, rate);
        if let Line::Busy {
            since,
            bytes_left,
            done,
            ..
        } = &mut self.line
        {
            let elapsed = now - *since;
            let left = old.map_or(*bytes_left, |old| old.bytes_in(elapsed));
            *bytes_left = bytes_left.saturating_sub(left);
            *since = now;
            *done = now + self.config.time_for(*bytes_left);
            self.stats.busy += elapsed;
        }
        self.settle(now);
    }
}

impl<T> Link<T> {
    /// What the link is like now, changes included.
    #[must_use]
    pub const fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Whether the link is cut.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// What the link has done up to the last call.
    #[must_use]
    pub const fn stats(&self) -> &LinkStats {
        &self.stats
    }

    /// What waited at the last call, without the packet that is leaving.
    #[must_use]
    pub fn waiting(&self) -> Count {
        self.queue.occupancy()
    }

    /// Packets on the link at the last call: waiting, leaving and travelling.
    #[must_use]
    pub fn inside(&self) -> u64 {
        let leaving = u64::from(matches!(self.line, Line::Busy { .. }));
        self.queue.occupancy().packets + leaving + self.flight.len() as u64
    }

    /// Time until a packet that comes to the link now will start to leave, by the bytes that wait.
    #[must_use]
    pub fn waiting_time(&self, now: Instant) -> Duration {
        let Line::Busy { done, .. } = self.line else {
            return Duration::ZERO;
        };
        let waiting = self.queue.occupancy();
        let bytes = waiting.bytes + waiting.packets * u64::from(self.config.framing);
        (done - now).saturating_add(self.config.time_for(bytes))
    }
}

#[cfg(test)]
mod tests;

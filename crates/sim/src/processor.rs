//! Processing time of a host. Received packets wait in a ring until the processor is free.
//!
//! One processor does all work sequentially, because several processors would wait for the lock of an association. It takes a packet
//! out of the ring, lets the core handle it, writes the packets to be sent, and takes the next one. A packet is sent when the
//! processor starts to write it. A timer that expires meanwhile waits.
//!
//! ```text
//! packet taken:  busy for receive; and for each SACK in it: sack + visits · visit
//! packet sent:   busy for send
//! ring full:     received packets are dropped, as by a network card
//! ```
//!
//! A visit is one queue element that the core examined to process a SACK; the core counts them. The policies of `sack-handling`
//! therefore cost as much as in a kernel that walks lists.

use core::time::Duration;
use std::collections::VecDeque;

use anabranch_netsim::Datagram;
use anabranch_types::Instant;

use crate::Histogram;

/// Cost of each kind of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcessorModel {
    /// Receiving a packet and delivering its content.
    pub receive: Duration,
    /// Writing a packet and passing it to the network card.
    pub send: Duration,
    /// Processing a SACK, in addition to `receive`.
    pub sack: Duration,
    /// Visiting a thousand queue elements for a SACK.
    pub thousand_visits: Duration,
    /// Ring size in packets.
    pub ring: usize,
}

impl ProcessorModel {
    /// A desktop of 2014 with 3.5 GHz (Sarnow 2017 §5.1.1: an i5-4690).
    ///
    /// Measured by `cargo run --release -p anabranch-bench --bin processor` on a server of 2023 at 2.6 GHz: a packet takes 354 ns in
    /// the core at either end, 626 ns to send and 192 ns to receive; a visit takes 2.86 ns. The values are rounded and assumed to
    /// be the same here, because the higher clock compensates for the older core.
    pub const DESKTOP: Self = Self::scaled(1);

    /// An embedded board with 1 GHz (Sarnow 2017 §4.1: a GX-412TC).
    ///
    /// Eight times the desktop: 3.5 for the clock, and somewhat more than 2 for half as many instructions per cycle and a slower
    /// cache. The factor is an estimate. It does not use the paper's time per SACK, which can therefore be compared with it.
    pub const EMBEDDED: Self = Self::scaled(8);

    /// All models by their names on the command line.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("desktop-3.5ghz", Self::DESKTOP),
        ("embedded-1ghz", Self::EMBEDDED),
    ];

    const fn scaled(factor: u64) -> Self {
        Self {
            receive: Duration::from_nanos(550 * factor),
            send: Duration::from_nanos(1_000 * factor),
            sack: Duration::from_nanos(200 * factor),
            thousand_visits: Duration::from_nanos(2_900 * factor),
            ring: 256,
        }
    }

    /// The model called `name`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let mut models = Self::NAMED.iter();
        models.find(|(known, _)| *known == name).map(|(_, model)| *model)
    }

    fn sacks(&self, sacks: u64, visits: u64) -> Duration {
        let nanos = u128::from(sacks) * self.sack.as_nanos()
            + u128::from(visits) * self.thousand_visits.as_nanos() / 1_000;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Statistics of a processor.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProcessorTally {
    /// Busy time.
    pub busy: Duration,
    /// Part of it spent on SACKs.
    pub with_sacks: Duration,
    /// Packets dropped because the ring was full.
    pub dropped: u64,
    /// Microseconds for each packet with a SACK, without the cost of `receive`.
    pub micros_per_sack: Histogram,
}

/// The processor of one host.
#[derive(Debug)]
pub(crate) struct Processor {
    model: ProcessorModel,
    /// When it is free again.
    free_at: Instant,
    /// Packets may have to be sent as soon as it is free.
    may_send: bool,
    ring: VecDeque<Datagram>,
    /// Total SACKs and visits when it took the last packet.
    before: (u64, u64),
    tally: ProcessorTally,
}

impl Processor {
    pub(crate) fn new(model: ProcessorModel) -> Self {
        Self {
            model,
            free_at: Instant::ZERO,
            may_send: false,
            ring: VecDeque::new(),
            before: (0, 0),
            tally: ProcessorTally::default(),
        }
    }

    pub(crate) const fn tally(&self) -> &ProcessorTally {
        &self.tally
    }

    pub(crate) fn is_busy(&self, now: Instant) -> bool {
        self.free_at > now
    }

    /// A packet arrived: returns it if it is to be handled now.
    pub(crate) fn arrived(&mut self, now: Instant, datagram: Datagram) -> Option<Datagram> {
        if !self.is_busy(now) && !self.may_send && self.ring.is_empty() {
            return Some(datagram);
        }
        if self.ring.len() < self.model.ring {
            self.ring.push_back(datagram);
        } else {
            self.tally.dropped += 1;
        }
        None
    }

    /// The next packet to handle, once nothing is left to send.
    pub(crate) fn take(&mut self) -> Option<Datagram> {
        self.may_send = false;
        self.ring.pop_front()
    }

    /// Notes that a packet was handled; `so_far` are the total SACKs and visits.
    pub(crate) fn handled(&mut self, now: Instant, so_far: (u64, u64)) {
        let (sacks, visits) = (
            so_far.0.saturating_sub(self.before.0),
            so_far.1.saturating_sub(self.before.1),
        );
        self.before = so_far;
        let with_sacks = self.model.sacks(sacks, visits);
        if sacks > 0 {
            self.tally.with_sacks += with_sacks;
            let micros = u64::try_from(with_sacks.as_micros()).unwrap_or(u64::MAX);
            self.tally.micros_per_sack.note(micros);
        }
        self.works(now, self.model.receive + with_sacks);
    }

    /// A packet was sent.
    pub(crate) fn sent(&mut self, now: Instant) {
        self.works(now, self.model.send);
    }

    /// Packets may have to be sent that could not be written yet.
    pub(crate) const fn remember_to_send(&mut self) {
        self.may_send = true;
    }

    fn works(&mut self, now: Instant, time: Duration) {
        self.tally.busy += time;
        self.free_at = self.free_at.max(now) + time;
        self.may_send = true;
    }

    /// When the processor continues, given the deadline of the core, which is queried only if needed.
    pub(crate) fn deadline(&self, of_core: impl FnOnce() -> Option<Instant>) -> Option<Instant> {
        if self.may_send || !self.ring.is_empty() {
            return Some(self.free_at);
        }
        of_core().map(|deadline| deadline.max(self.free_at))
    }
}

#[cfg(test)]
mod tests;

//! Queue of a link: drop-tail, RED, CoDel, FQ-CoDel, PIE. Which packets are queued, which are dropped, and which is next?
//!
//! Drop-tail, RED and PIE decide as a packet arrives, CoDel as it leaves. FQ-CoDel also decides whose turn it is.

mod codel;
mod fifo;
mod fq_codel;
mod pie;
mod red;

use core::time::Duration;

use anabranch_types::{Instant, Rng};
use codel::Codel;
pub use codel::CodelConfig;
use fifo::Fifo;
use fq_codel::FqCodel;
pub use fq_codel::FqCodelConfig;
use pie::Pie;
pub use pie::PieConfig;
use red::Red;
pub use red::RedConfig;

use super::{Clock, Count, DropCause, LinkConfig, LinkStats, Packet};

/// Queue discipline and limit. The packet in transmission does not count; with drop-tail an idle link always accepts a
/// packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum QueueConfig {
    /// Drop-tail with at most this many packets.
    Packets(u32),
    /// Drop-tail with at most this many bytes of IP.
    Bytes(u64),
    /// Random early detection (RED).
    Red(RedConfig),
    /// Controlled delay (CoDel, RFC 8289).
    Codel(CodelConfig),
    /// A queue with CoDel for each flow (FQ-CoDel, RFC 8290).
    FqCodel(FqCodelConfig),
    /// Proportional integral controller enhanced (PIE, RFC 8033).
    Pie(PieConfig),
}

/// Decision about an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Admission {
    Accept,
    /// ECN-mark it if it is ECN-capable, else drop it.
    Mark,
    Drop(DropCause),
}

/// Properties of an arriving packet and of the transmitter at that time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Bytes of IP in the packet.
    pub(super) bytes: u32,
    /// How long the transmitter has been idle; `None` if it is busy.
    pub(super) idle: Option<Duration>,
    /// Serialisation time of the packet, if the queue counts idle time and the transmitter is idle.
    pub(super) service: Duration,
}

/// A packet with its size on the link, and when it was offered to the link.
#[derive(Clone, Debug)]
pub(super) struct QueuedPacket<T> {
    pub(super) item: T,
    pub(super) bytes: u32,
    pub(super) offered: Instant,
}

/// The packets that wait for the transmitter.
#[derive(Debug)]
pub(super) struct Queue<T> {
    store: Store<T>,
    gate: Gate,
}

/// Decides about arriving packets.
#[derive(Debug)]
enum Gate {
    Packets(u32),
    Bytes(u64),
    Red(Red),
    Pie(Box<Pie>),
    /// The store limits itself.
    Open,
}

/// Holds packets and decides about leaving ones.
#[derive(Debug)]
enum Store<T> {
    Fifo(Fifo<T>),
    Codel(Fifo<T>, Codel),
    FqCodel(Box<FqCodel<T>>),
}

impl<T: Packet> Queue<T> {
    /// The empty queue of this link.
    pub(super) fn new(link: &LinkConfig, rng: Rng) -> Self {
        let (mtu, fifo) = (link.mtu, || Store::Fifo(Fifo::new()));
        let (store, gate) = match link.queue {
            QueueConfig::Packets(limit) => (fifo(), Gate::Packets(limit)),
            QueueConfig::Bytes(limit) => (fifo(), Gate::Bytes(limit)),
            QueueConfig::Red(config) => (fifo(), Gate::Red(Red::new(config, rng))),
            QueueConfig::Pie(config) => (
                fifo(),
                Gate::Pie(Box::new(Pie::new(config, mtu, link.clock, rng))),
            ),
            QueueConfig::Codel(config) => (
                Store::Codel(Fifo::new(), Codel::new(config, mtu)),
                Gate::Packets(config.limit),
            ),
            QueueConfig::FqCodel(config) => {
                let store = Store::FqCodel(Box::new(FqCodel::new(config, mtu, rng)));
                (store, Gate::Open)
            }
        };
        Self { store, gate }
    }

    /// Decides whether to accept a packet, without enqueuing it.
    pub(super) fn decide(&mut self, now: Instant, arrival: Arrival) -> Admission {
        let occupancy = self.occupancy();
        let fits = match &mut self.gate {
            Gate::Packets(limit) => occupancy.packets < u64::from(*limit),
            Gate::Bytes(limit) => occupancy.bytes + u64::from(arrival.bytes) <= *limit,
            Gate::Red(red) => return red.decide(occupancy.packets, arrival),
            Gate::Pie(pie) => return pie.decide(now, occupancy, arrival),
            Gate::Open => true,
        };
        if fits || arrival.idle.is_some() {
            Admission::Accept
        } else {
            Admission::Drop(DropCause::QueueFull)
        }
    }

    /// Enqueues a packet, which may drop others.
    pub(super) fn push(&mut self, packet: QueuedPacket<T>, stats: &mut LinkStats) {
        match &mut self.store {
            Store::Fifo(fifo) | Store::Codel(fifo, _) => fifo.push(packet),
            Store::FqCodel(queues) => queues.push(packet, stats),
        }
    }

    /// Takes the next packet to transmit, which may drop others.
    pub(super) fn pop(&mut self, now: Instant, stats: &mut LinkStats) -> Option<QueuedPacket<T>> {
        match &mut self.store {
            Store::Fifo(fifo) => {
                let packet = fifo.pop()?;
                if let Gate::Pie(pie) = &mut self.gate {
                    let is_empty = fifo.occupancy().packets == 0;
                    pie.note_departure(now, now - packet.offered, is_empty);
                }
                Some(packet)
            }
            Store::Codel(fifo, codel) => codel.pop(now, fifo, stats),
            Store::FqCodel(queues) => queues.pop(now, stats),
        }
    }

    /// Passes a packet through an empty queue to an idle transmitter. Only a queue that schedules flows takes notice.
    pub(super) fn pass(
        &mut self,
        now: Instant,
        packet: QueuedPacket<T>,
        stats: &mut LinkStats,
    ) -> Option<QueuedPacket<T>> {
        match &mut self.store {
            Store::Fifo(_) | Store::Codel(..) => Some(packet),
            Store::FqCodel(queues) => {
                queues.push(packet, stats);
                queues.pop(now, stats)
            }
        }
    }

    /// Takes the packets one by one as the link is cut.
    pub(super) fn take_any(&mut self, now: Instant) -> Option<QueuedPacket<T>> {
        match &mut self.store {
            Store::Fifo(fifo) | Store::Codel(fifo, _) => {
                let packet = fifo.pop();
                if let Gate::Pie(pie) = &mut self.gate {
                    pie.note_departure(now, Duration::ZERO, true);
                }
                packet
            }
            Store::FqCodel(queues) => queues.take_any(),
        }
    }
}

impl<T> Queue<T> {
    /// Whether the decision about a packet depends on how many could have been sent while the transmitter was idle.
    pub(super) const fn counts_idle_time(&self) -> bool {
        matches!(self.gate, Gate::Red(_))
    }

    pub(super) fn occupancy(&self) -> Count {
        match &self.store {
            Store::Fifo(fifo) | Store::Codel(fifo, _) => fifo.occupancy(),
            Store::FqCodel(queues) => queues.occupancy(),
        }
    }
}

#[cfg(test)]
mod ns3;
#[cfg(test)]
mod tests;

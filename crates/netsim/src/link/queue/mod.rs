//! Queue of a link: drop-tail or RED. Which packets are queued, and which are dropped?

mod red;

use core::time::Duration;
use std::collections::VecDeque;

use anabranch_types::Rng;
use red::Red;
pub use red::RedConfig;

use super::{Count, DropCause};

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
    /// Serialisation time of the packet.
    pub(super) service: Duration,
}

/// A packet with its size on the link.
#[derive(Debug)]
pub(super) struct QueuedPacket<T> {
    pub(super) item: T,
    pub(super) bytes: u32,
}

/// A FIFO queue of packets.
#[derive(Debug)]
pub(super) struct Queue<T> {
    waiting: VecDeque<QueuedPacket<T>>,
    bytes: u64,
    discipline: Discipline,
}

#[derive(Debug)]
enum Discipline {
    Packets(u32),
    Bytes(u64),
    Red(Red),
}

impl<T> Queue<T> {
    pub(super) const fn new(config: QueueConfig, rng: Rng) -> Self {
        let discipline = match config {
            QueueConfig::Packets(limit) => Discipline::Packets(limit),
            QueueConfig::Bytes(limit) => Discipline::Bytes(limit),
            QueueConfig::Red(config) => Discipline::Red(Red::new(config, rng)),
        };
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
            discipline,
        }
    }

    pub(super) fn occupancy(&self) -> Count {
        Count {
            packets: self.waiting.len() as u64,
            bytes: self.bytes,
        }
    }

    /// Decides whether to accept a packet, without enqueuing it.
    pub(super) fn decide(&mut self, arrival: Arrival) -> Admission {
        let occupancy = self.occupancy();
        let fits = match &mut self.discipline {
            Discipline::Packets(limit) => occupancy.packets < u64::from(*limit),
            Discipline::Bytes(limit) => occupancy.bytes + u64::from(arrival.bytes) <= *limit,
            Discipline::Red(red) => return red.decide(occupancy.packets, arrival),
        };
        if fits || arrival.idle.is_some() {
            Admission::Accept
        } else {
            Admission::Drop(DropCause::QueueFull)
        }
    }

    pub(super) fn push(&mut self, packet: QueuedPacket<T>) {
        self.bytes += u64::from(packet.bytes);
        self.waiting.push_back(packet);
    }

    pub(super) fn pop(&mut self) -> Option<QueuedPacket<T>> {
        let packet = self.waiting.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }
}

#[cfg(test)]
mod tests;

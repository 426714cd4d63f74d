//! Who waits for the line, and who is turned away?

mod red;

use core::time::Duration;
use std::collections::VecDeque;

use anabranch_types::Rng;
use red::Red;
pub use red::RedConfig;

use super::{Count, DropCause};

/// How a queue limits itself. The packet that is leaving does not count, and with drop-tail an idle line always takes one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum QueueConfig {
    /// Drop-tail: at most this many packets wait.
    Packets(u32),
    /// Drop-tail: at most this many bytes of IP wait.
    Bytes(u64),
    /// Random early detection.
    Red(RedConfig),
}

/// What the queue decides about an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Admission {
    Welcome,
    /// Welcome if it can be marked, else dropped early.
    Marked,
    Refused(DropCause),
}

/// What a queue knows when a packet arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Bytes of IP in the packet.
    pub(super) bytes: u32,
    /// For how long the line has had nothing to do; `None` if it is busy.
    pub(super) idle: Option<Duration>,
    /// Time that the packet will occupy the line.
    pub(super) service: Duration,
}

/// An item with its size.
#[derive(Debug)]
pub(super) struct Parcel<T> {
    pub(super) item: T,
    pub(super) bytes: u32,
}

/// Packets that wait for the line, first in, first out.
#[derive(Debug)]
pub(super) struct Queue<T> {
    waiting: VecDeque<Parcel<T>>,
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

    /// Decides about a packet without taking it.
    pub(super) fn judge(&mut self, arrival: Arrival) -> Admission {
        let occupancy = self.occupancy();
        let fits = match &mut self.discipline {
            Discipline::Packets(limit) => occupancy.packets < u64::from(*limit),
            Discipline::Bytes(limit) => occupancy.bytes + u64::from(arrival.bytes) <= *limit,
            Discipline::Red(red) => return red.judge(occupancy.packets, arrival),
        };
        if fits || arrival.idle.is_some() {
            Admission::Welcome
        } else {
            Admission::Refused(DropCause::QueueFull)
        }
    }

    pub(super) fn push(&mut self, parcel: Parcel<T>) {
        self.bytes += u64::from(parcel.bytes);
        self.waiting.push_back(parcel);
    }

    pub(super) fn pop(&mut self) -> Option<Parcel<T>> {
        let parcel = self.waiting.pop_front()?;
        self.bytes -= u64::from(parcel.bytes);
        Some(parcel)
    }
}

#[cfg(test)]
mod tests;

//! First-in-first-out store of packets, with its length in packets and bytes.

use std::collections::VecDeque;

use super::QueuedPacket;
use crate::link::Count;

/// Packets in order of arrival.
#[derive(Debug)]
pub(super) struct Fifo<T> {
    waiting: VecDeque<QueuedPacket<T>>,
    bytes: u64,
}

impl<T> Fifo<T> {
    pub(super) const fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }

    pub(super) fn occupancy(&self) -> Count {
        Count {
            packets: self.waiting.len() as u64,
            bytes: self.bytes,
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

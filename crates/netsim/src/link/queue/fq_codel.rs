//! Flow queue CoDel (FQ-CoDel, RFC 8290). Which flow sends next, and which of its packets are dropped?
//!
//! Packets are hashed to queues by flow. The queues share the link by deficit round robin in bytes, and those that have just
//! become busy go first, so a sparse flow does not wait for a bulk one. Each queue has CoDel of its own. If all together exceed
//! the limit, packets are dropped from the head of the longest queue.

use std::collections::VecDeque;

use anabranch_types::{Instant, Rng, Seed};

use super::codel::Codel;
use super::{CodelConfig, Fifo, QueuedPacket};
use crate::link::{Count, DropCause, LinkStats, Packet};

/// Most packets that are dropped at once if the limit is exceeded (RFC 8290 §4.1).
const MAX_BATCH: u64 = 64;

/// Parameters of FQ-CoDel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FqCodelConfig {
    /// CoDel of each queue; its `limit` is that of all queues together.
    pub codel: CodelConfig,
    /// Number of queues.
    pub flows: u32,
    /// Bytes that a queue may send in a round.
    pub quantum: u32,
}

impl FqCodelConfig {
    /// RFC 8290's 10,240 packets, 1,024 queues and quantum of 1,514 bytes, with marking.
    #[must_use]
    pub const fn standard() -> Self {
        let codel = CodelConfig::standard(10_240);
        Self {
            codel: CodelConfig { mark: true, ..codel },
            flows: 1_024,
            quantum: 1_514,
        }
    }
}

/// All queues of a link.
#[derive(Debug)]
pub(super) struct FqCodel<T> {
    config: FqCodelConfig,
    flows: Vec<Flow<T>>,
    /// Queues that have become busy and have not used up their first quantum.
    new: VecDeque<usize>,
    /// The other busy queues, and empty ones that have not been visited since.
    old: VecDeque<usize>,
    occupancy: Count,
    /// Makes flows that share a queue share another one with another seed.
    perturbation: Seed,
}

#[derive(Debug)]
struct Flow<T> {
    fifo: Fifo<T>,
    codel: Codel,
    deficit: i64,
    is_listed: bool,
}

impl<T> FqCodel<T> {
    pub(super) const fn occupancy(&self) -> Count {
        self.occupancy
    }
}

impl<T: Packet> FqCodel<T> {
    pub(super) fn new(config: FqCodelConfig, mtu: u32, mut rng: Rng) -> Self {
        let flow = |_| Flow {
            fifo: Fifo::new(),
            codel: Codel::new(config.codel, mtu),
            deficit: 0,
            is_listed: false,
        };
        Self {
            config,
            flows: (0..config.flows.max(1)).map(flow).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            occupancy: Count::default(),
            perturbation: Seed(rng.next_u64()),
        }
    }

    pub(super) fn push(&mut self, packet: QueuedPacket<T>, stats: &mut LinkStats) {
        let number = self.number_of(packet.item.flow());
        self.occupancy.add(packet.bytes);
        let flow = &mut self.flows[number];
        flow.fifo.push(packet);
        if !flow.is_listed {
            flow.is_listed = true;
            flow.deficit = self.config.quantum.into();
            self.new.push_back(number);
        }
        if self.occupancy.packets > u64::from(self.config.codel.limit) {
            self.drop_from_longest(stats);
        }
    }

    pub(super) fn pop(&mut self, now: Instant, stats: &mut LinkStats) -> Option<QueuedPacket<T>> {
        loop {
            let is_new = !self.new.is_empty();
            let number = *self.new.front().or_else(|| self.old.front())?;
            let flow = &mut self.flows[number];
            if flow.deficit <= 0 {
                flow.deficit += i64::from(self.config.quantum);
                self.leave_front(is_new);
                self.old.push_back(number);
                continue;
            }
            let before = flow.fifo.occupancy();
            let packet = flow.codel.pop(now, &mut flow.fifo, stats);
            let after = flow.fifo.occupancy();
            self.occupancy.packets -= before.packets - after.packets;
            self.occupancy.bytes -= before.bytes - after.bytes;
            if let Some(packet) = packet {
                flow.deficit -= i64::from(packet.bytes);
                return Some(packet);
            }
            // An empty new queue first becomes an old one, so that it cannot starve those by becoming busy again.
            let stays = is_new && !self.old.is_empty();
            flow.is_listed = stays;
            self.leave_front(is_new);
            if stays {
                self.old.push_back(number);
            }
        }
    }

    /// Takes a packet from any queue, without the control of its delay.
    pub(super) fn take_any(&mut self) -> Option<QueuedPacket<T>> {
        let packet = self.flows.iter_mut().find_map(|flow| flow.fifo.pop())?;
        self.occupancy.packets -= 1;
        self.occupancy.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    fn leave_front(&mut self, is_new: bool) {
        let list = if is_new { &mut self.new } else { &mut self.old };
        list.pop_front();
    }

    fn number_of(&self, flow: u64) -> usize {
        (self.perturbation.nth(flow).0 % self.flows.len() as u64) as usize
    }

    /// Drops half of the packets of the queue with the most bytes, but at most [`MAX_BATCH`].
    fn drop_from_longest(&mut self, stats: &mut LinkStats) {
        let longest = self
            .flows
            .iter_mut()
            .max_by_key(|flow| flow.fifo.occupancy().bytes);
        let Some(flow) = longest else {
            return;
        };
        let batch = (flow.fifo.occupancy().packets / 2).clamp(1, MAX_BATCH);
        for _ in 0..batch {
            if let Some(packet) = flow.fifo.pop() {
                stats.drop(DropCause::QueueFull, packet.bytes);
                self.occupancy.packets -= 1;
                self.occupancy.bytes -= u64::from(packet.bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests;

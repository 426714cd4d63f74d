//! Controlled delay (CoDel, RFC 8289). Which packets are dropped or marked as they leave the queue?
//!
//! The queue is too long if every packet of one interval waited for longer than the target. Then one packet is dropped at a time.
//! The time between drops falls with the square root of their number. Dropping ends when a packet waited for less than the target:
//!
//! ```text
//! next drop = last drop + interval / √count
//! ```
//!
//! The state machine is that of RFC 8289 §5. Where a packet can be marked, the mark counts as the drop would, and the packet
//! is delivered (RFC 8289 leaves marking open; this is what Linux does).

use core::time::Duration;

use anabranch_types::Instant;

use super::{Fifo, QueuedPacket};
use crate::link::{DropCause, LinkStats, Packet};

/// Parameters of CoDel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodelConfig {
    /// Maximum queue length in packets.
    pub limit: u32,
    /// Acceptable standing waiting time.
    pub target: Duration,
    /// Time in which the waiting time must fall below the target: a long round trip.
    pub interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub mark: bool,
}

impl CodelConfig {
    /// RFC 8289's target of 5 ms and interval of 100 ms; no marking.
    #[must_use]
    pub const fn standard(limit: u32) -> Self {
        Self {
            limit,
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mark: false,
        }
    }
}

/// State of CoDel for one queue.
#[derive(Debug)]
pub(super) struct Codel {
    config: CodelConfig,
    /// Up to this many waiting bytes nothing is dropped.
    mtu: u32,
    /// When the waiting time will have been above the target for an interval.
    first_above: Option<Instant>,
    is_dropping: bool,
    drop_next: Instant,
    /// Drops since the dropping state was entered.
    count: u32,
    /// `count` on entering it.
    last_count: u32,
}

impl Codel {
    pub(super) const fn new(config: CodelConfig, mtu: u32) -> Self {
        Self {
            config,
            mtu,
            first_above: None,
            is_dropping: false,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
        }
    }

    /// Takes the next packet to transmit, after dropping those whose turn it is.
    pub(super) fn pop<T: Packet>(
        &mut self,
        now: Instant,
        fifo: &mut Fifo<T>,
        stats: &mut LinkStats,
    ) -> Option<QueuedPacket<T>> {
        let mut packet = fifo.pop();
        let may_drop = self.may_drop(now, packet.as_ref(), fifo);
        if self.is_dropping {
            self.is_dropping = may_drop;
            while self.is_dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                let is_marked = self.signal(&mut packet, fifo, stats);
                if !is_marked {
                    self.is_dropping = self.may_drop(now, packet.as_ref(), fifo);
                }
                if self.is_dropping {
                    self.drop_next = self.after(self.drop_next);
                }
                if is_marked {
                    break;
                }
            }
        } else if may_drop {
            if !self.signal(&mut packet, fifo, stats) {
                self.may_drop(now, packet.as_ref(), fifo);
            }
            self.enter(now);
        }
        packet
    }

    /// Enters the dropping state. If it was left a short time ago, the drop rate that controlled the queue then is the one to
    /// begin with.
    fn enter(&mut self, now: Instant) {
        self.is_dropping = true;
        let drops = self.count.saturating_sub(self.last_count);
        let is_recent = now.saturating_duration_since(self.drop_next) < 16 * self.config.interval;
        self.count = if drops > 1 && is_recent { drops } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.after(now);
    }

    /// Marks the packet, which `true` reports, or drops it and takes the next one.
    fn signal<T: Packet>(
        &self,
        packet: &mut Option<QueuedPacket<T>>,
        fifo: &mut Fifo<T>,
        stats: &mut LinkStats,
    ) -> bool {
        let Some(signalled) = packet else {
            return false;
        };
        if self.config.mark && signalled.item.mark_congestion() {
            stats.marked += 1;
            return true;
        }
        stats.drop(DropCause::Early, signalled.bytes);
        *packet = fifo.pop();
        false
    }

    /// Whether the waiting time has been above the target for an interval.
    fn may_drop<T>(&mut self, now: Instant, packet: Option<&QueuedPacket<T>>, fifo: &Fifo<T>) -> bool {
        let is_above = packet.is_some_and(|packet| {
            now - packet.offered >= self.config.target && fifo.occupancy().bytes > u64::from(self.mtu)
        });
        if !is_above {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + self.config.interval);
                false
            }
            Some(first_above) => now >= first_above,
        }
    }

    /// The control law.
    fn after(&self, last: Instant) -> Instant {
        let interval = self.config.interval.as_nanos() as f64;
        last + Duration::from_nanos((interval / f64::from(self.count.max(1)).sqrt()) as u64)
    }
}

#[cfg(test)]
mod tests;

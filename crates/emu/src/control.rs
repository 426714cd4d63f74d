//! Handle of an emulated link: changes it and reads its statistics while it runs.

use std::time::Duration;

use anabranch_netsim::link::{Count, LinkStats, Loss};
use anabranch_netsim::{Datagram, LinkChange, LinkConfig};
use anabranch_types::Rate;

use crate::emulator::Emulator;
use crate::packet::EmulatedPacket;

/// Handle of a running link. Clones refer to the same link.
#[derive(Clone, Debug)]
pub struct LinkHandle {
    emulator: Emulator,
    index: usize,
}

impl LinkHandle {
    pub(crate) const fn new(emulator: Emulator, index: usize) -> Self {
        Self { emulator, index }
    }

    /// Applies a change to the link now.
    pub fn apply(&self, change: LinkChange) {
        self.emulator.act(self.index, |link, now| link.apply(now, change));
    }

    /// Link down: all packets on the link are lost, and all that come until it [heals](Self::heal).
    pub fn cut(&self) {
        self.apply(LinkChange::Cut);
    }

    /// Link up.
    pub fn heal(&self) {
        self.apply(LinkChange::Heal);
    }

    /// Sets the rate, also for the packet in transmission.
    pub fn set_rate(&self, rate: Rate) {
        self.apply(LinkChange::Rate(Some(rate)));
    }

    /// Sets the propagation delay of packets not yet transmitted.
    pub fn set_delay(&self, delay: Duration) {
        self.apply(LinkChange::Delay(delay));
    }

    /// Sets the loss process.
    pub fn set_loss(&self, loss: Loss) {
        self.apply(LinkChange::Loss(loss));
    }

    /// Current configuration, changes included.
    #[must_use]
    pub fn config(&self) -> LinkConfig {
        self.emulator.act(self.index, |link, _| link.config().clone())
    }

    /// Whether the link is cut.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.emulator.act(self.index, |link, _| link.is_cut())
    }

    /// Statistics up to now.
    #[must_use]
    pub fn statistics(&self) -> LinkStats {
        self.emulator.act(self.index, |link, now| {
            link.settle(now);
            link.stats().clone()
        })
    }

    /// Current queue length, without the packet in transmission.
    #[must_use]
    pub fn waiting(&self) -> Count {
        self.emulator.act(self.index, |link, now| {
            link.settle(now);
            link.waiting()
        })
    }

    pub(crate) fn offer(&self, packets: impl Iterator<Item = EmulatedPacket>) {
        self.emulator.act(self.index, |link, now| {
            for packet in packets {
                let bytes = Datagram::ip_bytes(&packet.datagram);
                link.offer(now, packet, bytes);
            }
        });
    }
}

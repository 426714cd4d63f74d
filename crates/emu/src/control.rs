//! How to change a link while it runs? By its handle.

use std::time::Duration;

use anabranch_netsim::link::{Count, LinkStats, Loss};
use anabranch_netsim::{Datagram, LinkChange, LinkConfig};
use anabranch_types::Rate;

use crate::emulator::Emulator;
use crate::parcel::Parcel;

/// A running link. Clones are the same link.
#[derive(Clone, Debug)]
pub struct LinkHandle {
    emulator: Emulator,
    index: usize,
}

impl LinkHandle {
    pub(crate) const fn new(emulator: Emulator, index: usize) -> Self {
        Self { emulator, index }
    }

    /// Changes the link from now on.
    pub fn apply(&self, change: LinkChange) {
        self.emulator.act(self.index, |link, now| link.apply(now, change));
    }

    /// Pulls the cable: what waits or travels is lost, and so is what comes until it [heals](Self::heal).
    pub fn cut(&self) {
        self.apply(LinkChange::Cut);
    }

    /// Plugs the cable in again.
    pub fn heal(&self) {
        self.apply(LinkChange::Heal);
    }

    /// Sets how fast bits leave, also for the packet that is leaving.
    pub fn set_rate(&self, rate: Rate) {
        self.apply(LinkChange::Rate(Some(rate)));
    }

    /// Sets the time of travel, for packets that have not left.
    pub fn set_delay(&self, delay: Duration) {
        self.apply(LinkChange::Delay(delay));
    }

    /// Sets who vanishes after leaving.
    pub fn set_loss(&self, loss: Loss) {
        self.apply(LinkChange::Loss(loss));
    }

    /// What the link is like now, changes included.
    #[must_use]
    pub fn config(&self) -> LinkConfig {
        self.emulator.act(self.index, |link, _| link.config().clone())
    }

    /// Whether the link is cut.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.emulator.act(self.index, |link, _| link.is_cut())
    }

    /// What the link has done up to now.
    #[must_use]
    pub fn statistics(&self) -> LinkStats {
        self.emulator.act(self.index, |link, now| {
            link.settle(now);
            link.stats().clone()
        })
    }

    /// What waits in the queue now, without the packet that is leaving.
    #[must_use]
    pub fn waiting(&self) -> Count {
        self.emulator.act(self.index, |link, now| {
            link.settle(now);
            link.waiting()
        })
    }

    pub(crate) fn offer(&self, parcels: impl Iterator<Item = Parcel>) {
        self.emulator.act(self.index, |link, now| {
            for parcel in parcels {
                let bytes = Datagram::ip_bytes(&parcel.datagram);
                link.offer(now, parcel, bytes);
            }
        });
    }
}

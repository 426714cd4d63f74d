//! Batch loss. Which packets are lost where segmentation offload makes one packet of several?
//!
//! A sender with segmentation offload hands its device up to 64 KiB as one packet, which is cut into segments later. netem on
//! that device loses it as a whole, and so do queues that hold it uncut.

use anabranch_types::{Instant, Rng};

use crate::Probability;

/// Loss of batches: packets that were offered at the same moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BatchLoss {
    /// Probability that a batch is lost, and so that any packet is.
    pub chance: Probability,
    /// Most packets of a batch; further ones at that moment begin another one.
    pub packets: u32,
}

impl BatchLoss {
    /// Segments of 1,448 bytes in 64 KiB.
    pub const OFFLOADED_SEGMENTS: u32 = 45;
}

/// The current batch.
#[derive(Debug)]
pub(super) struct Batch {
    loss: BatchLoss,
    offered: Instant,
    /// Packets that still belong to it.
    left: u32,
    is_lost: bool,
}

impl Batch {
    pub(super) const fn new(loss: BatchLoss) -> Self {
        Self {
            loss,
            offered: Instant::ZERO,
            left: 0,
            is_lost: false,
        }
    }

    pub(super) fn drops_next(&mut self, offered: Instant, rng: &mut Rng) -> bool {
        if self.left == 0 || offered != self.offered {
            self.offered = offered;
            self.left = self.loss.packets.max(1);
            self.is_lost = self.loss.chance.happens(rng);
        }
        self.left -= 1;
        self.is_lost
    }
}

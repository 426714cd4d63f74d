//! What is this link like? Everything one can say about it, and what of it can change while it runs.

use core::time::Duration;

use anabranch_types::Rate;

use super::{Loss, QueueConfig};
use crate::Probability;

/// Bytes that Ethernet adds to an IP packet on the wire: preamble 8, header 14, checksum 4. A packet of 1,500
/// bytes occupies the wire for 1,526.
pub const ETHERNET_FRAMING: u32 = 26;

/// Bytes that IP adds to each further fragment of a packet.
const FRAGMENT_HEADER: u32 = 20;

/// A unidirectional link. Fields not set stay as [`LinkConfig::new`] leaves them.
///
/// ```
/// use anabranch_netsim::{LinkConfig, Probability, link::{Loss, QueueConfig}};
/// use anabranch_types::Rate;
/// use std::time::Duration;
/// let wireless = LinkConfig::new(Rate::mbit(20), Duration::from_millis(15))
///     .queue(QueueConfig::Packets(50))
///     .loss(Loss::Bernoulli(Probability::of(0.01)));
/// # assert_eq!(wireless.mtu, 1_500);
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct LinkConfig {
    /// For people, captures and the link's seed: links with names of their own keep their random numbers
    /// whatever links are added before them.
    pub name: String,
    /// How fast bits leave; `None` is infinitely fast.
    pub rate: Option<Rate>,
    /// From the last bit's leaving to the packet's arrival.
    pub delay: Duration,
    /// Who waits for the line and who is turned away.
    pub queue: QueueConfig,
    /// Who vanishes after leaving.
    pub loss: Loss,
    /// The largest IP packet in bytes; larger ones are dropped without a word, or cut up if they may be. The pieces
    /// travel together.
    pub mtu: u32,
    /// Bytes that the line adds to each IP packet, see [`ETHERNET_FRAMING`].
    pub framing: u32,
    /// Upper end of a uniformly distributed additional delay. Does not change the order of packets.
    pub jitter: Duration,
    /// Packets arrive only at multiples of this time, all that are due together; zero for any moment. A traffic shaper
    /// that looks at its queues at each tick of the system's clock does that, as dummynet does every millisecond.
    pub tick: Duration,
    /// Who is held back and overtaken.
    pub reorder: Reorder,
    /// How often a packet arrives twice.
    pub duplicate: Probability,
    /// How often a packet arrives with flipped bits.
    pub corrupt: Probability,
}

/// Holding back single packets, so that later ones overtake them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reorder {
    /// How often a packet is held back.
    pub chance: Probability,
    /// For how long.
    pub hold: Duration,
}

impl LinkConfig {
    /// A clean link: MTU 1,500, a drop-tail queue of 100 packets, no framing, nothing goes wrong.
    #[must_use]
    pub const fn new(rate: Rate, delay: Duration) -> Self {
        Self {
            name: String::new(),
            rate: Some(rate),
            delay,
            queue: QueueConfig::Packets(100),
            loss: Loss::None,
            mtu: 1_500,
            framing: 0,
            jitter: Duration::ZERO,
            tick: Duration::ZERO,
            reorder: Reorder {
                chance: Probability::NEVER,
                hold: Duration::ZERO,
            },
            duplicate: Probability::NEVER,
            corrupt: Probability::NEVER,
        }
    }

    /// A clean link without a rate: packets only take time to travel.
    #[must_use]
    pub const fn unlimited(delay: Duration) -> Self {
        let mut config = Self::new(Rate::bits_per_second(0), delay);
        config.rate = None;
        config
    }

    /// Sets the name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..self
        }
    }

    /// Sets the queue.
    #[must_use]
    pub fn queue(self, queue: QueueConfig) -> Self {
        Self { queue, ..self }
    }

    /// Sets the loss.
    #[must_use]
    pub fn loss(self, loss: Loss) -> Self {
        Self { loss, ..self }
    }

    /// Sets the largest IP packet in bytes.
    #[must_use]
    pub fn mtu(self, mtu: u32) -> Self {
        Self { mtu, ..self }
    }

    /// Sets the bytes that the line adds to each packet.
    #[must_use]
    pub fn framing(self, framing: u32) -> Self {
        Self { framing, ..self }
    }

    /// Sets the upper end of the additional delay.
    #[must_use]
    pub fn jitter(self, jitter: Duration) -> Self {
        Self { jitter, ..self }
    }

    /// Sets the time between the moments at which packets arrive.
    #[must_use]
    pub fn tick(self, tick: Duration) -> Self {
        Self { tick, ..self }
    }

    /// Sets how often, and for how long, a packet is held back.
    #[must_use]
    pub fn reorder(self, chance: Probability, hold: Duration) -> Self {
        Self {
            reorder: Reorder { chance, hold },
            ..self
        }
    }

    /// Sets how often a packet arrives twice.
    #[must_use]
    pub fn duplicate(self, duplicate: Probability) -> Self {
        Self { duplicate, ..self }
    }

    /// Sets how often a packet arrives damaged.
    #[must_use]
    pub fn corrupt(self, corrupt: Probability) -> Self {
        Self { corrupt, ..self }
    }

    /// Time that an IP packet of `bytes` occupies the line.
    #[must_use]
    pub fn service_time(&self, bytes: u32) -> Duration {
        self.time_for(self.line_bytes(bytes))
    }

    /// Bytes of an IP packet after it was cut to fit: each piece has a header of its own. `None` if nothing fits.
    pub(super) fn bytes_in_fragments(&self, bytes: u32) -> Option<u32> {
        if bytes <= self.mtu {
            return Some(bytes);
        }
        // "The fragment offset is measured in units of 8 octets" (RFC 791 §3.1).
        let last = self.mtu.checked_sub(FRAGMENT_HEADER)?;
        let piece = last & !7;
        let before = bytes.saturating_sub(FRAGMENT_HEADER).saturating_sub(last);
        let cuts = before.checked_next_multiple_of(piece)?.checked_div(piece)?;
        Some(bytes + cuts * FRAGMENT_HEADER)
    }

    pub(super) fn line_bytes(&self, bytes: u32) -> u64 {
        u64::from(bytes) + u64::from(self.framing)
    }

    pub(super) fn time_for(&self, line_bytes: u64) -> Duration {
        self.rate.map_or(Duration::ZERO, |rate| rate.time_for(line_bytes))
    }
}

/// What can change about a link while it runs.
#[derive(Clone, PartialEq, Debug)]
pub enum LinkChange {
    /// The cable is pulled: what waits or travels is lost, and so is what comes until [`LinkChange::Heal`].
    Cut,
    /// The cable is plugged in again.
    Heal,
    /// Another rate, also for the rest of the packet that is leaving; `None` is infinitely fast.
    Rate(Option<Rate>),
    /// Another delay, for packets that have not left; they still do not overtake those that have.
    Delay(Duration),
    /// Another loss process, which starts afresh: a script counts from here.
    Loss(Loss),
    /// Another largest packet, for packets to come.
    Mtu(u32),
    /// Another jitter, for packets that have not left.
    Jitter(Duration),
    /// Another reordering, for packets that have not left.
    Reorder(Reorder),
    /// Another chance of duplication, for packets that have not left.
    Duplicate(Probability),
    /// Another chance of damage, for packets that have not left.
    Corrupt(Probability),
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::{LinkConfig, Rate};

    #[test]
    fn a_packet_is_cut_into_as_few_pieces_as_fit() {
        let config = LinkConfig::new(Rate::mbit(1), Duration::ZERO);
        for (whole, cut) in [
            (1_500, 1_500),
            (1_501, 1_521),
            (2_980, 3_000),
            (2_981, 3_021),
            (3_000, 3_040),
        ] {
            assert_eq!(config.bytes_in_fragments(whole), Some(cut), "{whole}");
        }
    }
}

//! Link configuration, and the changes that a running link accepts.

use core::time::Duration;
use std::sync::Arc;

use anabranch_types::Rate;

use super::{Clock, DelayVariation, Loss, QueueConfig};
use crate::{Probability, RateTrace};

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
    /// For people, captures and the link's seed: a link with a unique name keeps its random numbers whatever links are
    /// added before it.
    pub name: String,
    /// Transmission rate; `None` is infinite.
    pub rate: Option<Rate>,
    /// Opportunities to transmit, in place of a constant rate.
    pub trace: Option<Arc<RateTrace>>,
    /// Propagation delay.
    pub delay: Duration,
    /// Queue discipline and limit.
    pub queue: QueueConfig,
    /// Loss process, applied after transmission.
    pub loss: Loss,
    /// Largest IP packet in bytes. Larger packets are dropped silently, or fragmented if they allow it; the fragments
    /// travel together.
    pub mtu: u32,
    /// Larger IP packets are dropped silently, whether they may be fragmented or not, as some middleboxes do.
    pub hole: u32,
    /// Bytes that the link layer adds to each IP packet, see [`ETHERNET_FRAMING`].
    pub framing: u32,
    /// Maximum of a uniformly distributed additional delay. Does not reorder packets.
    pub jitter: Duration,
    /// Variation of the delay by which packets overtake one another; `None` keeps them in order.
    pub variation: Option<DelayVariation>,
    /// Packets arrive only at multiples of this time, as behind a traffic shaper that serves its queues at each clock
    /// tick (dummynet: every millisecond). Zero: at any time.
    pub tick: Duration,
    /// The clock that ticks, trace and rate follow.
    pub clock: Clock,
    /// Reordering.
    pub reorder: Reorder,
    /// Probability that a packet is duplicated.
    pub duplicate: Probability,
    /// Probability that bits of a packet are flipped.
    pub corrupt: Probability,
}

/// Reordering: single packets are delayed, so that later ones overtake them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reorder {
    /// Probability that a packet is delayed.
    pub chance: Probability,
    /// Additional delay.
    pub hold: Duration,
}

impl LinkConfig {
    /// A link with MTU 1,500, a drop-tail queue of 100 packets, no framing and no impairments.
    #[must_use]
    pub const fn new(rate: Rate, delay: Duration) -> Self {
        Self {
            name: String::new(),
            rate: Some(rate),
            trace: None,
            delay,
            queue: QueueConfig::Packets(100),
            loss: Loss::None,
            mtu: 1_500,
            hole: u32::MAX,
            framing: 0,
            jitter: Duration::ZERO,
            variation: None,
            tick: Duration::ZERO,
            clock: Clock::TRUE,
            reorder: Reorder {
                chance: Probability::NEVER,
                hold: Duration::ZERO,
            },
            duplicate: Probability::NEVER,
            corrupt: Probability::NEVER,
        }
    }

    /// A link with infinite rate: packets only take the propagation delay.
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

    /// Sets a trace in place of the rate.
    #[must_use]
    pub fn trace(self, trace: Arc<RateTrace>) -> Self {
        let trace = Some(trace);
        Self { trace, ..self }
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

    /// Sets the size above which IP packets are dropped, even if they may be fragmented.
    #[must_use]
    pub fn hole(self, hole: u32) -> Self {
        Self { hole, ..self }
    }

    /// Sets the bytes that the link layer adds to each packet.
    #[must_use]
    pub fn framing(self, framing: u32) -> Self {
        Self { framing, ..self }
    }

    /// Sets the maximum of the additional delay.
    #[must_use]
    pub fn jitter(self, jitter: Duration) -> Self {
        Self { jitter, ..self }
    }

    /// Sets the variation of the delay.
    #[must_use]
    pub fn variation(self, variation: DelayVariation) -> Self {
        let variation = Some(variation);
        Self { variation, ..self }
    }

    /// Sets the time between ticks at which packets arrive.
    #[must_use]
    pub fn tick(self, tick: Duration) -> Self {
        Self { tick, ..self }
    }

    /// Sets the clock.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Sets the probability and the additional delay of reordering.
    #[must_use]
    pub fn reorder(self, chance: Probability, hold: Duration) -> Self {
        Self {
            reorder: Reorder { chance, hold },
            ..self
        }
    }

    /// Sets the probability of duplication.
    #[must_use]
    pub fn duplicate(self, duplicate: Probability) -> Self {
        Self { duplicate, ..self }
    }

    /// Sets the probability of corruption.
    #[must_use]
    pub fn corrupt(self, corrupt: Probability) -> Self {
        Self { corrupt, ..self }
    }

    /// Serialisation time of an IP packet of `bytes`; with a trace, at its mean rate.
    #[must_use]
    pub fn service_time(&self, bytes: u32) -> Duration {
        self.time_for(self.wire_bytes(bytes))
    }

    /// Bytes of an IP packet after fragmentation, headers of all fragments included. `None` if the MTU is too small.
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

    pub(super) fn wire_bytes(&self, bytes: u32) -> u64 {
        u64::from(bytes) + u64::from(self.framing)
    }

    pub(super) fn time_for(&self, wire_bytes: u64) -> Duration {
        let rate = match &self.trace {
            Some(trace) => Some(trace.mean_rate()),
            None => self.rate,
        };
        rate.map_or(Duration::ZERO, |rate| {
            self.clock.passing(rate.time_for(wire_bytes))
        })
    }
}

/// A change of a running link.
#[derive(Clone, PartialEq, Debug)]
pub enum LinkChange {
    /// Link down: all packets on the link are lost, and all that come until [`LinkChange::Heal`].
    Cut,
    /// Link up.
    Heal,
    /// New rate, also for the rest of the packet in transmission; `None` is infinite. Replaces a trace.
    Rate(Option<Rate>),
    /// New delay for packets not yet transmitted. They still do not overtake earlier ones.
    Delay(Duration),
    /// New loss process in its initial state: a script counts from here.
    Loss(Loss),
    /// New MTU for packets to come.
    Mtu(u32),
    /// New size above which packets are dropped from now on, even if they may be fragmented.
    Hole(u32),
    /// New jitter for packets not yet transmitted.
    Jitter(Duration),
    /// New delay variation for packets not yet transmitted. Without, they do not overtake earlier ones.
    Variation(Option<DelayVariation>),
    /// New reordering for packets not yet transmitted.
    Reorder(Reorder),
    /// New probability of duplication for packets not yet transmitted.
    Duplicate(Probability),
    /// New probability of corruption for packets not yet transmitted.
    Corrupt(Probability),
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::{LinkConfig, Rate};

    #[test]
    fn fragmentation_adds_a_header_per_fragment() {
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

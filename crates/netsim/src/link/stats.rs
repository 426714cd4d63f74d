//! Link statistics: packets and bytes offered, delivered and dropped by cause.

use core::time::Duration;

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DropCause {
    /// The link was down, or went down while the packet was on it.
    Cut,
    /// Larger than the MTU.
    TooBig,
    /// The queue was full.
    QueueFull,
    /// Dropped early by active queue management.
    Early,
    /// Dropped by the loss process.
    Lost,
    /// Dropped by a filter.
    Filtered,
}

impl DropCause {
    /// All causes, in the order in which they apply.
    pub const ALL: [Self; 6] = [
        Self::Filtered,
        Self::Cut,
        Self::TooBig,
        Self::QueueFull,
        Self::Early,
        Self::Lost,
    ];
}

/// Number of packets, and of bytes of IP in them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes of IP, without framing.
    pub bytes: u64,
}

impl Count {
    pub(crate) fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// Counters of one link since its start. At any time
/// `offered + duplicated = delivered + dropped + inside`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LinkStats {
    /// Packets offered to the link.
    pub offered: Count,
    /// Packets delivered at the far end, duplicates included.
    pub delivered: Count,
    /// Duplicates that the link created.
    pub duplicated: Count,
    /// Packets with flipped bits.
    pub corrupted: u64,
    /// Packets delayed for reordering.
    pub reordered: u64,
    /// Packets ECN-marked instead of dropped.
    pub marked: u64,
    /// Maximum queue length, without the packet in transmission.
    pub queue_peak: Count,
    /// Time in which the transmitter was busy, up to the end of the last transmission.
    pub busy: Duration,
    drops: [Count; DropCause::ALL.len()],
}

impl LinkStats {
    /// Packets dropped for this cause.
    #[must_use]
    pub const fn dropped(&self, cause: DropCause) -> Count {
        self.drops[cause as usize]
    }

    /// Packets dropped for any cause.
    #[must_use]
    pub fn dropped_in_total(&self) -> Count {
        self.drops.iter().fold(Count::default(), |sum, count| Count {
            packets: sum.packets + count.packets,
            bytes: sum.bytes + count.bytes,
        })
    }

    /// Utilisation: the fraction of `elapsed` in which the transmitter was busy; 0 if no time has passed.
    #[must_use]
    pub fn utilisation(&self, elapsed: Duration) -> f64 {
        if elapsed.is_zero() {
            0.0
        } else {
            self.busy.as_secs_f64() / elapsed.as_secs_f64()
        }
    }

    pub(super) fn drop(&mut self, cause: DropCause, bytes: u32) {
        self.drops[cause as usize].add(bytes);
    }

    pub(super) fn update_queue_peak(&mut self, waiting: Count) {
        self.queue_peak.packets = self.queue_peak.packets.max(waiting.packets);
        self.queue_peak.bytes = self.queue_peak.bytes.max(waiting.bytes);
    }
}

//! What has this link done so far? Counters that never lose a packet.

use core::time::Duration;

/// Why a packet did not arrive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DropCause {
    /// The link is cut, or was cut while the packet was on it.
    Cut,
    /// Larger than the MTU.
    TooBig,
    /// No room in the queue.
    QueueFull,
    /// Turned away early by active queue management.
    Early,
    /// The loss process took it.
    Lost,
    /// The owner's filter took it.
    Filtered,
}

impl DropCause {
    /// All causes, in the order in which a packet meets them.
    pub const ALL: [Self; 6] = [
        Self::Filtered,
        Self::Cut,
        Self::TooBig,
        Self::QueueFull,
        Self::Early,
        Self::Lost,
    ];
}

/// How many packets, and how many bytes of IP in them.
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

/// Counters of one link since its start. At any moment
/// `offered + duplicated = delivered + dropped + inside`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LinkStats {
    /// Packets that came to the link.
    pub offered: Count,
    /// Packets that left it at the far end, duplicates included.
    pub delivered: Count,
    /// Copies that the link made.
    pub duplicated: Count,
    /// Packets whose bits were flipped.
    pub corrupted: u64,
    /// Packets that were held back.
    pub held_back: u64,
    /// Packets that were marked instead of dropped.
    pub marked: u64,
    /// The most that ever waited at once, without the packet that is leaving.
    pub queue_peak: Count,
    /// Time in which the line was occupied, up to the last packet that left.
    pub busy: Duration,
    drops: [Count; DropCause::ALL.len()],
}

impl LinkStats {
    /// Packets that did not arrive for this reason.
    #[must_use]
    pub const fn dropped(&self, cause: DropCause) -> Count {
        self.drops[cause as usize]
    }

    /// Packets that did not arrive for any reason.
    #[must_use]
    pub fn dropped_in_total(&self) -> Count {
        self.drops.iter().fold(Count::default(), |sum, count| Count {
            packets: sum.packets + count.packets,
            bytes: sum.bytes + count.bytes,
        })
    }

    /// The part of `elapsed` in which the line was occupied, from 0 to 1; 0 if no time has passed.
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

    pub(super) fn note_queue(&mut self, waiting: Count) {
        self.queue_peak.packets = self.queue_peak.packets.max(waiting.packets);
        self.queue_peak.bytes = self.queue_peak.bytes.max(waiting.bytes);
    }
}

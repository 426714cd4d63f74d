//! Counters of a path.

use alloc::boxed::Box;

/// The counters of one path as they are kept. Those of losses take no memory before the first.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) packets_sent: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) payload_sent: u64,
    pub(crate) packets_received: u64,
    pub(crate) bytes_received: u64,
    pub(crate) payload_received: u64,
    /// Only the other counters of it are used.
    rare: Option<Box<PathCounters>>,
}

impl Tally {
    /// The counters that most paths do not need, for a change.
    pub(crate) fn rare(&mut self) -> &mut PathCounters {
        self.rare.get_or_insert_default()
    }

    /// Bytes of packets in both directions.
    pub(crate) const fn carried(&self) -> u64 {
        self.bytes_sent + self.bytes_received
    }

    /// All counters.
    pub(crate) fn all(&self) -> PathCounters {
        PathCounters {
            packets_sent: self.packets_sent,
            bytes_sent: self.bytes_sent,
            payload_sent: self.payload_sent,
            packets_received: self.packets_received,
            bytes_received: self.bytes_received,
            payload_received: self.payload_received,
            ..self.rare.as_deref().copied().unwrap_or_default()
        }
    }
}

/// Counters of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PathCounters {
    /// SCTP packets sent.
    pub packets_sent: u64,
    /// Bytes of them, common headers included.
    pub bytes_sent: u64,
    /// Bytes of user data in DATA chunks sent for the first time.
    pub payload_sent: u64,
    /// Bytes of user data in retransmitted DATA chunks.
    pub payload_retransmitted: u64,
    /// Bytes of user data in duplicates of DATA chunks that were in flight on other paths.
    pub payload_duplicated: u64,
    /// SCTP packets received.
    pub packets_received: u64,
    /// Bytes of them, common headers included.
    pub bytes_received: u64,
    /// Bytes of user data in DATA chunks received, duplicates included.
    pub payload_received: u64,
    /// DATA chunks detected as lost because later ones were acknowledged.
    pub fast_retransmits: u64,
    /// Suspected failures because data of other paths was acknowledged and that of this one was not.
    pub suspicions: u64,
    /// Packets received that a router had marked (ECN).
    pub marks_received: u64,
    /// Reductions of cwnd because the peer reported marked packets (ECN).
    pub ecn_reductions: u64,
    /// Expiries of the T3-rtx timer.
    pub timeouts: u64,
    /// Tail loss probes sent.
    pub tail_probes: u64,
    /// DATA chunks that a chunk-rescheduling policy moved to this path.
    pub rescheduled: u64,
    /// Path MTU probes sent (RFC 8899).
    pub mtu_probes: u64,
    /// Changes of the peer's encapsulation port (NAT rebinding, RFC 6951 §5.4).
    pub rebindings: u64,
}

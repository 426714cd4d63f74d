//! Statistics of an association. What did it do so far?

use alloc::vec::Vec;

use super::Association;
use crate::path::PathStatistics;

/// Counts of one association. Bytes are of user data unless said otherwise.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AssociationStatistics {
    /// The state, by its name in RFC 9260 §4.
    pub state: &'static str,
    /// Each path.
    pub paths: Vec<PathStatistics>,
    /// Messages the application handed over.
    pub messages_sent: u64,
    /// Messages the application took.
    pub messages_received: u64,
    /// Bytes in the send buffer: unsent, and sent but not acknowledged.
    pub send_buffer_used: u64,
    /// Of them, bytes that were sent.
    pub send_buffer_sent: u64,
    /// Bytes that the application has not taken yet, incomplete messages included.
    pub receive_buffer_used: u64,
    /// Room in the peer's receive buffer.
    pub peer_window: u64,
    /// SACKs received that changed something.
    pub sacks_received: u64,
    /// Chunks outstanding that were looked at to find out what SACKs acknowledged and what was lost: by how much the
    /// choice of `sack-handling` matters.
    pub sack_elements_visited: u64,
    /// Chunks that the peer had acknowledged and then said it has not; they are outstanding again.
    pub chunks_reneged: u64,
    /// SACKs sent.
    pub sacks_sent: u64,
    /// DATA chunks received again.
    pub duplicates_received: u64,
    /// DATA chunks dropped because the receive buffer had no room.
    pub dropped_for_room: u64,
    /// Packets that carried something unexpected and were dropped: wrong tag, malformed chunk, stale SACK.
    pub packets_dropped: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) messages_sent: u64,
    pub(crate) messages_received: u64,
    pub(crate) packets_dropped: u64,
}

/// How much work SACKs were.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackWork {
    /// [`AssociationStatistics::sacks_received`].
    pub sacks: u64,
    /// [`AssociationStatistics::sack_elements_visited`].
    pub looks: u64,
}

impl Association {
    /// The part of [`Association::statistics`] that costs nothing to ask for.
    #[must_use]
    pub fn sack_work(&self) -> SackWork {
        SackWork {
            sacks: self.transfer.counters.received,
            looks: self.transfer.sender.elements_visited(),
        }
    }

    /// A snapshot of all counts.
    #[must_use]
    pub fn statistics(&self) -> AssociationStatistics {
        let Counters {
            messages_sent,
            messages_received,
            packets_dropped,
        } = self.counters;
        let sacks = self.transfer.counters;
        let received = self.transfer.receiver.statistics();
        AssociationStatistics {
            state: self.state.name(),
            paths: self.transfer.paths.statistics(),
            messages_sent,
            messages_received,
            send_buffer_used: self.transfer.sender.send_used(),
            send_buffer_sent: self.transfer.sender.send_used() - self.transfer.sender.unsent_bytes(),
            receive_buffer_used: self.transfer.receiver.held_bytes(),
            peer_window: self.transfer.sender.peer_window(),
            sacks_received: sacks.received,
            sack_elements_visited: self.transfer.sender.elements_visited(),
            chunks_reneged: sacks.chunks_reneged,
            sacks_sent: sacks.sent,
            duplicates_received: received.duplicates,
            dropped_for_room: received.dropped,
            packets_dropped,
        }
    }
}

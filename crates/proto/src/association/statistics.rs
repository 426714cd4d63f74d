//! Statistics of an association: state, buffers and counters.

use alloc::vec::Vec;

use super::Association;
use crate::path::PathStatistics;
use crate::send::Abandonments;

/// Counters of one association. Bytes count user data.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AssociationStatistics {
    /// The state, by its name in RFC 9260 §4.
    pub state: &'static str,
    /// Statistics of each path.
    pub paths: Vec<PathStatistics>,
    /// Bytes of SCTP packets sent and received, common headers included, over paths that were removed, too.
    pub bytes_carried: u64,
    /// Messages queued by the application.
    pub messages_sent: u64,
    /// Messages received by the application.
    pub messages_received: u64,
    /// Messages that were abandoned (RFC 7496 §4.4).
    pub abandoned: Abandonments,
    /// Size of the send buffer now, in bytes.
    pub send_buffer_size: u64,
    /// Bytes in the send buffer: unsent, and sent but not acknowledged.
    pub send_buffer_used: u64,
    /// Bytes in the send buffer that have been sent.
    pub send_buffer_sent: u64,
    /// Size of the receive buffer now, in bytes.
    pub receive_buffer_size: u64,
    /// Bytes that the application has not received yet, incomplete messages included.
    pub receive_buffer_used: u64,
    /// The peer's receive window, less outstanding bytes.
    pub peer_window: u64,
    /// SACKs received, apart from stale ones.
    pub sacks_received: u64,
    /// Outstanding chunks visited to process SACKs and to find losses: the cost of the selected `sack-handling`.
    pub sack_elements_visited: u64,
    /// Chunks that the peer reneged on: acknowledged by a gap ack block, and later reported as missing.
    pub chunks_reneged: u64,
    /// SACKs sent.
    pub sacks_sent: u64,
    /// Duplicate DATA chunks received.
    pub duplicates_received: u64,
    /// DATA chunks dropped because the receive buffer had no room.
    pub dropped_for_room: u64,
    /// Packets dropped for a wrong tag, a malformed chunk or a stale SACK.
    pub packets_dropped: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) messages_sent: u64,
    pub(crate) messages_received: u64,
    pub(crate) packets_dropped: u64,
}

/// Cost of SACK processing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackWork {
    /// Same as [`AssociationStatistics::sacks_received`].
    pub sacks: u64,
    /// Same as [`AssociationStatistics::sack_elements_visited`].
    pub elements_visited: u64,
}

impl Association {
    /// The part of [`Association::statistics`] that is read without computation.
    #[must_use]
    pub fn sack_work(&self) -> SackWork {
        SackWork {
            sacks: self.transfer.counters.received,
            elements_visited: self.transfer.sender.elements_visited(),
        }
    }

    /// A snapshot of all counters.
    #[must_use]
    pub fn statistics(&self) -> AssociationStatistics {
        let Counters {
            messages_sent,
            messages_received,
            packets_dropped,
        } = self.counters;
        let sacks = &self.transfer.counters;
        let received = self.transfer.receiver.statistics();
        AssociationStatistics {
            state: self.state.name(),
            paths: self.transfer.paths.statistics(),
            bytes_carried: self.transfer.paths.carried(),
            messages_sent,
            messages_received,
            abandoned: self.transfer.sender.abandonments(),
            send_buffer_size: self.transfer.sender.size(),
            send_buffer_used: self.transfer.sender.send_used(),
            send_buffer_sent: self.transfer.sender.send_used() - self.transfer.sender.unsent_bytes(),
            receive_buffer_size: self.transfer.receiver.size(),
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

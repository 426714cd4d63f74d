//! Sent segment: the record kept until its acknowledgement.

use anabranch_types::Instant;
use bytes::Bytes;

use crate::sequence::Position;

/// A range of sequence numbers that were sent together and are not acknowledged yet.
#[derive(Clone, Debug)]
pub(crate) struct SentSegment {
    /// Its first sequence number.
    pub(crate) start: Position,
    /// The sequence number after its last one.
    pub(crate) end: Position,
    /// Payload for retransmission; empty if the peer will not discard it (NR-SACK), and for a FIN alone.
    pub(crate) bytes: Bytes,
    /// Its last number is the FIN.
    pub(crate) fin: bool,
    /// Data position of its first byte, for MPTCP.
    pub(crate) data: Option<Position>,
    /// Its believed state.
    pub(crate) standing: SegmentState,
    /// When it was last sent.
    pub(crate) sent_at: Instant,
    /// When it was first sent.
    pub(crate) first_sent_at: Instant,
    /// Number of its last transmission, among all of the connection.
    pub(crate) order: u64,
    /// Number of transmissions.
    pub(crate) transmissions: u16,
}

/// Content that occupies sequence numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Payload {
    pub(crate) bytes: Bytes,
    pub(crate) fin: bool,
    /// As [`SentSegment::data`].
    pub(crate) data: Option<Position>,
}

/// State of a sent segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SegmentState {
    /// In flight.
    InFlight,
    /// Lost, and not retransmitted yet.
    Lost,
    /// SACKed: received beyond the cumulative acknowledgement.
    Sacked,
}

impl SentSegment {
    /// Length in sequence numbers.
    pub(crate) const fn length(&self) -> u64 {
        self.end - self.start
    }

    pub(crate) const fn was_repeated(&self) -> bool {
        self.transmissions > 1
    }

    /// Drops the sequence numbers before `position`, which lies inside the segment.
    pub(crate) fn cut_before(&mut self, position: Position) {
        let gone = usize::try_from(position - self.start).unwrap_or(usize::MAX);
        let _ = self.bytes.split_to(gone.min(self.bytes.len()));
        if let Some(data) = &mut self.data {
            *data += position - self.start;
        }
        self.start = position;
    }
}

//! Sent segment. What is remembered of it until it is acknowledged?

use anabranch_types::Instant;
use bytes::Bytes;

use crate::sequence::Position;

/// A run of numbers that were sent together, until they are acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct SentSegment {
    /// Its first number.
    pub(crate) start: Position,
    /// The number behind its last one.
    pub(crate) end: Position,
    /// What to send again; empty if the peer has promised to keep it, and for a FIN alone.
    pub(crate) bytes: Bytes,
    /// Its last number is the FIN.
    pub(crate) fin: bool,
    /// Where its first byte is among the data of a connection with several subflows.
    pub(crate) data: Option<Position>,
    /// What is believed to have become of it.
    pub(crate) standing: SegmentState,
    /// When it was sent last.
    pub(crate) sent_at: Instant,
    /// When it was sent first.
    pub(crate) first_sent_at: Instant,
    /// Its last transmission, among all of the connection.
    pub(crate) order: u64,
    /// How often it was sent.
    pub(crate) transmissions: u16,
}

/// What a segment carries that takes numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Payload {
    pub(crate) bytes: Bytes,
    pub(crate) fin: bool,
    /// As [`SentSegment::data`].
    pub(crate) data: Option<Position>,
}

/// What has become of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SegmentState {
    /// On its way, as far as is known.
    InFlight,
    /// Lost, and not sent again yet.
    Lost,
    /// There, beyond the acknowledgement number.
    Sacked,
}

impl SentSegment {
    /// Numbers that it takes.
    pub(crate) const fn length(&self) -> u64 {
        self.end - self.start
    }

    pub(crate) const fn was_repeated(&self) -> bool {
        self.transmissions > 1
    }

    /// Forgets the numbers before `position`, which is inside of it.
    pub(crate) fn cut_before(&mut self, position: Position) {
        let gone = usize::try_from(position - self.start).unwrap_or(usize::MAX);
        let _ = self.bytes.split_to(gone.min(self.bytes.len()));
        if let Some(data) = &mut self.data {
            *data += position - self.start;
        }
        self.start = position;
    }
}

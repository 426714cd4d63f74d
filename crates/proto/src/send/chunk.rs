//! What is in a DATA chunk, apart from its TSN?

use anabranch_types::{MessageId, Ppid, Ssn, StreamId, UnwrappedTsn};
use anabranch_wire::{Data, DataFlags};
use bytes::Bytes;

/// A message or a piece of one, cut for good: "Once a user message is fragmented, it cannot be re-fragmented"
/// (RFC 9260 §6.9).
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub(super) message: MessageId,
    pub(super) stream: StreamId,
    pub(super) ssn: Ssn,
    pub(super) ppid: Ppid,
    pub(super) flags: DataFlags,
    pub(super) payload: Bytes,
}

impl Chunk {
    /// What it takes of the send buffer and of the peer's window, in bytes.
    pub(super) fn payload_bytes(&self) -> u64 {
        self.payload.len() as u64
    }

    /// What it takes of a path, in bytes: "the length of the DATA chunk, including the padding, SHOULD be used"
    /// (RFC 9260 §7.2).
    pub(super) fn bytes(&self) -> u64 {
        padded(Data::HEADER_LEN + self.payload.len()) as u64
    }

    /// The form that goes on the wire.
    pub(super) fn as_data(&self, tsn: UnwrappedTsn) -> Data<'_> {
        Data {
            tsn: tsn.wrap(),
            stream: self.stream,
            ssn: self.ssn,
            ppid: self.ppid,
            flags: self.flags,
            payload: &self.payload,
        }
    }
}

/// `length` with the padding that RFC 9260 §3.2 asks for.
pub(super) const fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

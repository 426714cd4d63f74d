//! Chunks of the sender: the content of a DATA or I-DATA chunk, apart from its TSN.

use anabranch_types::{Fsn, MessageId, Mid, Ppid, Ssn, StreamId, UnwrappedTsn};
use anabranch_wire::{Data, DataFlags, FragmentPlace, IData};
use bytes::Bytes;

use crate::message::{Message, Reliability};
use crate::user_data::UserData;

/// A message or a fragment of one. "Once a user message is fragmented, it cannot be re-fragmented" (RFC 9260 §6.9).
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub(super) message: MessageId,
    pub(super) stream: StreamId,
    pub(super) place: Place,
    pub(super) ppid: Ppid,
    pub(super) flags: DataFlags,
    pub(super) payload: Bytes,
}

/// Sequence number of its message in the stream, and for I-DATA the FSN; for DATA the TSN determines the place in the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Data(Ssn),
    IData(Mid, Fsn),
}

impl Chunk {
    /// Bytes of user data, which count in the send buffer and in the peer's window.
    pub(super) fn payload_bytes(&self) -> u64 {
        self.payload.len() as u64
    }

    //= rfc9260 7.2-4
    /// Bytes that count in the congestion window: "the length of the DATA chunk, including the padding, SHOULD be used" (RFC 9260
    /// §7.2).
    pub(super) fn bytes(&self) -> u64 {
        let header = match self.place {
            Place::Data(_) => Data::HEADER_LEN,
            Place::IData(..) => IData::HEADER_LEN,
        };
        padded(header + self.payload.len()) as u64
    }

    /// The message or part of one that was cut into this chunk alone. It is reliable, and its key is known to the sender.
    pub(super) fn to_message(&self) -> Message {
        Message {
            stream: self.stream,
            ppid: self.ppid,
            unordered: self.flags.unordered,
            acknowledge_at_once: self.flags.immediate,
            reliability: Reliability::Reliable,
            authentication_key: None,
            payload: self.payload.clone(),
        }
    }

    //= rfc8260 2.2.1-1, 2.2.1-2, 2.2.1-3, 2.2.1-4
    /// The chunk as it is written into a packet.
    pub(super) fn as_user_data(&self, tsn: UnwrappedTsn) -> UserData<'_> {
        match self.place {
            Place::Data(ssn) => UserData::Data(Data {
                tsn: tsn.wrap(),
                stream: self.stream,
                ssn,
                ppid: self.ppid,
                flags: self.flags,
                payload: &self.payload,
            }),
            Place::IData(mid, fsn) => UserData::IData(IData {
                tsn: tsn.wrap(),
                stream: self.stream,
                mid,
                place: if self.flags.beginning {
                    FragmentPlace::First(self.ppid)
                } else {
                    FragmentPlace::Later(fsn)
                },
                ending: self.flags.ending,
                unordered: self.flags.unordered,
                immediate: self.flags.immediate,
                payload: &self.payload,
            }),
        }
    }
}

/// `length` with the padding of RFC 9260 §3.2.
pub(super) const fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

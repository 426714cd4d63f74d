//! User data chunks: DATA, or I-DATA if both ends support it (RFC 8260 §2.2.1).

use anabranch_types::{StreamId, Tsn};
use anabranch_wire::{Data, DataFlags, IData, WriteChunk, Writer};

/// A chunk of user data. An association uses only one of the two types.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UserData<'a> {
    /// DATA (RFC 9260 §3.3.1).
    Data(Data<'a>),
    /// I-DATA (RFC 8260 §2.1).
    IData(IData<'a>),
}

impl<'a> UserData<'a> {
    pub(crate) const fn tsn(&self) -> Tsn {
        match self {
            Self::Data(data) => data.tsn,
            Self::IData(data) => data.tsn,
        }
    }

    pub(crate) const fn stream(&self) -> StreamId {
        match self {
            Self::Data(data) => data.stream,
            Self::IData(data) => data.stream,
        }
    }

    pub(crate) const fn flags(&self) -> DataFlags {
        match self {
            Self::Data(data) => data.flags,
            Self::IData(data) => data.flags(),
        }
    }

    pub(crate) const fn payload(&self) -> &'a [u8] {
        match self {
            Self::Data(data) => data.payload,
            Self::IData(data) => data.payload,
        }
    }

    /// Bytes that the chunk takes in a packet and in the congestion window, with padding (RFC 9260 §7.2).
    pub(crate) fn padded_len(&self) -> u64 {
        self.wire_len().next_multiple_of(4) as u64
    }

    /// Sets the I bit, which requests an immediate SACK.
    pub(crate) const fn urging(mut self) -> Self {
        match &mut self {
            Self::Data(data) => data.flags.immediate = true,
            Self::IData(data) => data.immediate = true,
        }
        self
    }
}

impl WriteChunk for UserData<'_> {
    #[inline]
    fn wire_len(&self) -> usize {
        match self {
            Self::Data(data) => data.wire_len(),
            Self::IData(data) => data.wire_len(),
        }
    }

    #[inline]
    fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Self::Data(data) => data.write(writer),
            Self::IData(data) => data.write(writer),
        }
    }
}

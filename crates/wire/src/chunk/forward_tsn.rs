//! FORWARD TSN (RFC 3758 §3.2) and I-FORWARD-TSN (RFC 8260 §2.3.1): the sender has abandoned chunks.
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |  type = 192   |       0       |        length = 8 + 4 n       |  FORWARD TSN
//! +---------------+---------------+-------------------------------+
//! |                      new cumulative TSN                       |
//! +-------------------------------+-------------------------------+
//! |            stream             |    stream sequence number     |  n times
//! +-------------------------------+-------------------------------+
//!
//! +---------------+---------------+-------------------------------+
//! |  type = 194   |       0       |        length = 8 + 8 n       |  I-FORWARD-TSN
//! +---------------+---------------+-------------------------------+
//! |                      new cumulative TSN                       |
//! +-------------------------------+-----------------------------+-+
//! |            stream             |           reserved          |U|  n times
//! +-------------------------------+-----------------------------+-+
//! |                      message identifier                       |
//! +---------------------------------------------------------------+
//! ```

use alloc::vec::Vec;
use core::fmt;

use anabranch_types::{Mid, Ssn, StreamId, Tsn};

use super::{RawChunk, kind};
use crate::reader::{Reader, u32s};
use crate::{DecodeError, WriteChunk, Writer};

/// The U bit of an entry of I-FORWARD-TSN.
const UNORDERED: u16 = 1;

/// A received FORWARD TSN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ForwardTsn<'a> {
    /// New cumulative TSN: the sender sends nothing up to it any more.
    pub cumulative: Tsn,
    entries: &'a [u8],
}

/// A received I-FORWARD-TSN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IForwardTsn<'a> {
    /// New cumulative TSN: the sender sends nothing up to it any more.
    pub cumulative: Tsn,
    entries: &'a [u8],
}

/// The last abandoned message of a stream, as I-FORWARD-TSN reports it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SkippedMid {
    /// The stream.
    pub stream: StreamId,
    /// The U bit: ordered and unordered messages are numbered separately.
    pub unordered: bool,
    /// The highest number of a message that was abandoned.
    pub mid: Mid,
}

impl<'a> ForwardTsn<'a> {
    pub(crate) fn decode(mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        let cumulative = Tsn(reader.u32()?);
        let entries = reader.take(reader.rest().len() / 4 * 4)?;
        reader.end()?;
        Ok(Self { cumulative, entries })
    }

    /// For each stream with abandoned ordered messages, the highest number among them.
    pub fn skipped(&self) -> impl ExactSizeIterator<Item = (StreamId, Ssn)> + Clone + use<'a> {
        u32s(self.entries).map(|entry| (StreamId((entry >> 16) as u16), Ssn(entry as u16)))
    }
}

impl<'a> IForwardTsn<'a> {
    //= rfc8260 2.3.1-3, 2.3.1-5
    pub(crate) fn decode(mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        let cumulative = Tsn(reader.u32()?);
        let entries = reader.take(reader.rest().len() / 8 * 8)?;
        reader.end()?;
        Ok(Self { cumulative, entries })
    }

    /// For each stream with abandoned messages, the highest number among the ordered and among the unordered ones.
    pub fn skipped(&self) -> impl ExactSizeIterator<Item = SkippedMid> + Clone + use<'a> {
        let entries = self.entries.as_chunks().0.iter();
        entries.map(|&[s0, s1, f0, f1, m0, m1, m2, m3]: &[u8; 8]| SkippedMid {
            stream: StreamId(u16::from_be_bytes([s0, s1])),
            unordered: u16::from_be_bytes([f0, f1]) & UNORDERED != 0,
            mid: Mid(u32::from_be_bytes([m0, m1, m2, m3])),
        })
    }
}

/// A FORWARD TSN to be sent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OutboundForwardTsn {
    /// New cumulative TSN.
    pub cumulative: Tsn,
    /// For each stream with abandoned ordered messages, the highest number among them.
    pub skipped: Vec<(StreamId, Ssn)>,
}

/// An I-FORWARD-TSN to be sent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OutboundIForwardTsn {
    /// New cumulative TSN.
    pub cumulative: Tsn,
    /// For each stream with abandoned messages, the highest number among the ordered and among the unordered ones.
    pub skipped: Vec<SkippedMid>,
}

impl OutboundForwardTsn {
    /// Bytes before the entries.
    pub const HEADER_LEN: usize = RawChunk::HEADER_LEN + 4;
    /// Bytes of an entry.
    pub const ENTRY_LEN: usize = 4;
}

impl OutboundIForwardTsn {
    /// Bytes of an entry.
    pub const ENTRY_LEN: usize = 8;
}

impl WriteChunk for OutboundForwardTsn {
    fn wire_len(&self) -> usize {
        Self::HEADER_LEN + Self::ENTRY_LEN * self.skipped.len()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::FORWARD_TSN, 0, self);
        writer.u32(self.cumulative.0);
        for (stream, ssn) in &self.skipped {
            writer.u16(stream.0);
            writer.u16(ssn.0);
        }
    }
}

impl WriteChunk for OutboundIForwardTsn {
    fn wire_len(&self) -> usize {
        OutboundForwardTsn::HEADER_LEN + Self::ENTRY_LEN * self.skipped.len()
    }

    //= rfc8260 2.3.1-2, 2.3.1-4
    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::I_FORWARD_TSN, 0, self);
        writer.u32(self.cumulative.0);
        for skipped in &self.skipped {
            writer.u16(skipped.stream.0);
            writer.u16(if skipped.unordered { UNORDERED } else { 0 });
            writer.u32(skipped.mid.0);
        }
    }
}

impl WriteChunk for ForwardTsn<'_> {
    fn wire_len(&self) -> usize {
        OutboundForwardTsn::HEADER_LEN + self.entries.len()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::FORWARD_TSN, 0, self);
        writer.u32(self.cumulative.0);
        writer.bytes(self.entries);
    }
}

impl WriteChunk for IForwardTsn<'_> {
    fn wire_len(&self) -> usize {
        OutboundForwardTsn::HEADER_LEN + self.entries.len()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::I_FORWARD_TSN, 0, self);
        writer.u32(self.cumulative.0);
        writer.bytes(self.entries);
    }
}

/// `FORWARD-TSN cum=41 3:7`
impl fmt::Display for ForwardTsn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FORWARD-TSN cum={}", self.cumulative)?;
        let mut skipped = self.skipped();
        skipped.try_for_each(|(stream, ssn)| write!(f, " {}:{}", stream.0, ssn.0))
    }
}

/// `I-FORWARD-TSN cum=41 3:7 4:9U`
impl fmt::Display for IForwardTsn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "I-FORWARD-TSN cum={}", self.cumulative)?;
        self.skipped().try_for_each(|skipped| {
            let unordered = if skipped.unordered { "U" } else { "" };
            write!(f, " {}:{}{unordered}", skipped.stream.0, skipped.mid.0)
        })
    }
}

//! HEARTBEAT and HEARTBEAT ACK chunks (RFC 9260 §3.3.5, §3.3.6).
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! | type = 4 or 5 |       0       |        length = 8 + n         |
//! +---------------+---------------+-------------------------------+
//! |      parameter type = 1       |    parameter length = 4 + n   |
//! +-------------------------------+-------------------------------+
//! |         n bytes that mean something to their sender only      |
//! +---------------------------------------------------------------+
//! ```

use core::fmt;

use super::{RawChunk, kind};
use crate::reader::Reader;
use crate::tlv::{self, Hex};
use crate::writer::length_field;
use crate::{DecodeError, DecodeErrorKind, RawParameter, WriteChunk, Writer, parameter};

/// A HEARTBEAT chunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Heartbeat<'a> {
    /// The value of the Heartbeat Info parameter.
    pub info: &'a [u8],
}

/// A HEARTBEAT ACK chunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HeartbeatAck<'a> {
    /// The value of the Heartbeat Info parameter of the HEARTBEAT.
    pub info: &'a [u8],
}

/// The answer to a HEARTBEAT, whatever that held: "the Heartbeat Information TLV, together with any other received TLVs,
/// copied unchanged from the received HEARTBEAT chunk" (RFC 9260 §8.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OutboundHeartbeatAck<'a> {
    /// The value of the HEARTBEAT chunk, unchanged.
    pub value: &'a [u8],
}

impl<'a> Heartbeat<'a> {
    pub(crate) fn decode(reader: Reader<'a>) -> Result<Self, DecodeError> {
        info(reader).map(|info| Self { info })
    }
}

impl<'a> HeartbeatAck<'a> {
    pub(crate) fn decode(reader: Reader<'a>) -> Result<Self, DecodeError> {
        info(reader).map(|info| Self { info })
    }
}

fn info(mut reader: Reader<'_>) -> Result<&[u8], DecodeError> {
    let missing = reader.error(DecodeErrorKind::UnexpectedParameter);
    let first: RawParameter<'_> = tlv::next(&mut reader).ok_or(missing)??;
    if first.kind == parameter::kind::HEARTBEAT_INFO {
        Ok(first.value)
    } else {
        Err(missing)
    }
}

const fn wire_len(info: &[u8]) -> usize {
    RawChunk::HEADER_LEN + tlv::HEADER_LEN + info.len()
}

fn write_info(info: &[u8], writer: &mut Writer<'_>) {
    writer.u16(parameter::kind::HEARTBEAT_INFO);
    writer.u16(length_field(tlv::HEADER_LEN + info.len()));
    writer.bytes(info);
}

impl WriteChunk for Heartbeat<'_> {
    fn wire_len(&self) -> usize {
        wire_len(self.info)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::HEARTBEAT, 0, self);
        write_info(self.info, writer);
    }
}

impl WriteChunk for HeartbeatAck<'_> {
    fn wire_len(&self) -> usize {
        wire_len(self.info)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::HEARTBEAT_ACK, 0, self);
        write_info(self.info, writer);
    }
}

impl WriteChunk for OutboundHeartbeatAck<'_> {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN + self.value.len()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::HEARTBEAT_ACK, 0, self);
        writer.bytes(self.value);
    }
}

/// `HEARTBEAT info=0011`
impl fmt::Display for Heartbeat<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HEARTBEAT info={}", Hex(self.info))
    }
}

/// `HEARTBEAT-ACK info=0011`
impl fmt::Display for HeartbeatAck<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HEARTBEAT-ACK info={}", Hex(self.info))
    }
}

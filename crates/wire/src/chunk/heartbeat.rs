//! HEARTBEAT and HEARTBEAT ACK chunks (RFC 9260 §3.3.5, §3.3.6), and the preference that a HEARTBEAT may carry.
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
//!
//! A HEARTBEAT may have a second parameter, an extension of this project:
//!
//! ```text
//! +-------------------------------+-------------------------------+
//! |        type = 0xbe01          |          length = 16          |
//! +---------------+---------------+-------------------------------+
//! |     cost      |                       0                       |
//! +---------------+-----------------------------------------------+
//! |             limit in bytes per second, 0 for none             |
//! |                           (8 bytes)                           |
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

/// How the sender of a HEARTBEAT wants its path to be used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WirePreference {
    /// Paths with the smallest cost are used.
    pub cost: u8,
    /// Bytes per second that it may carry; 0 for no limit.
    pub limit: u64,
}

/// A HEARTBEAT chunk with a preference.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OutboundHeartbeat<'a> {
    /// The value of the Heartbeat Info parameter.
    pub info: &'a [u8],
    /// How its path is to be used.
    pub preference: WirePreference,
}

impl WirePreference {
    /// Bytes of its parameter.
    const LEN: usize = tlv::HEADER_LEN + 12;

    /// The preference in the value of a HEARTBEAT chunk; `None` without one, or if it is malformed.
    #[must_use]
    pub fn of_heartbeat(value: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(value, 0);
        while let Some(Ok(parameter)) = tlv::next::<RawParameter<'_>>(&mut reader) {
            if parameter.kind == parameter::kind::PATH_PREFERENCE {
                let (head, limit) = parameter.value.split_first_chunk::<4>()?;
                let limit = u64::from_be_bytes(limit.try_into().ok()?);
                return Some(Self { cost: head[0], limit });
            }
        }
        None
    }
}

impl WriteChunk for OutboundHeartbeat<'_> {
    fn wire_len(&self) -> usize {
        wire_len(self.info).next_multiple_of(4) + WirePreference::LEN
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::HEARTBEAT, 0, self);
        write_info(self.info, writer);
        writer.zeros(wire_len(self.info).next_multiple_of(4) - wire_len(self.info));
        writer.u16(parameter::kind::PATH_PREFERENCE);
        writer.u16(length_field(WirePreference::LEN));
        writer.bytes(&[self.preference.cost, 0, 0, 0]);
        writer.bytes(&self.preference.limit.to_be_bytes());
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preference_follows_the_padded_heartbeat_info() {
        let preference = WirePreference {
            cost: 7,
            limit: 0x0102_0304_0506_0708,
        };
        let chunk = OutboundHeartbeat {
            info: b"0123456789",
            preference,
        };
        let mut bytes = alloc::vec::Vec::new();
        chunk.write(&mut Writer::new(&mut bytes, 64));
        assert_eq!(bytes.len(), chunk.wire_len());
        let value = &bytes[RawChunk::HEADER_LEN..];
        assert_eq!(WirePreference::of_heartbeat(value), Some(preference));
        assert_eq!(info(Reader::new(value, 0)), Ok(&b"0123456789"[..]));
        // A parameter that is cut off, and a HEARTBEAT without one.
        assert_eq!(WirePreference::of_heartbeat(&value[..value.len() - 4]), None);
        assert_eq!(WirePreference::of_heartbeat(&value[..14]), None);
    }
}

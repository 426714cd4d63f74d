//! SHUTDOWN, SHUTDOWN ACK and SHUTDOWN COMPLETE chunks (RFC 9260 §3.3.8, §3.3.9, §3.3.13).
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |   type = 7    |       0       |          length = 8           |  SHUTDOWN
//! +---------------+---------------+-------------------------------+
//! |                      cumulative TSN ack                       |
//! +---------------------------------------------------------------+
//!
//! +---------------+---------------+-------------------------------+
//! |   type = 8    |       0       |          length = 4           |  SHUTDOWN ACK
//! +---------------+---------------+-------------------------------+
//!
//! +---------------+-------------+-+-------------------------------+
//! |   type = 14   |      0      |T|          length = 4           |  SHUTDOWN COMPLETE
//! +---------------+-------------+-+-------------------------------+
//! ```

use core::fmt;

use anabranch_types::Tsn;

use super::abort::TAG_REFLECTED;
use super::{RawChunk, kind};
use crate::reader::Reader;
use crate::{DecodeError, WriteChunk, Writer};

/// A SHUTDOWN chunk: the sender has nothing more to send.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shutdown {
    /// Cumulative TSN Ack: everything up to this TSN has arrived. Unlike a SACK it withdraws no gap ack blocks.
    pub cumulative: Tsn,
}

/// A SHUTDOWN ACK chunk: the other side has nothing more to send either.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ShutdownAck;

/// A SHUTDOWN COMPLETE chunk: the association is closed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ShutdownComplete {
    /// The T bit: the sender has no association, and the tag is a copy of the SHUTDOWN ACK's.
    pub tag_reflected: bool,
}

impl Shutdown {
    pub(crate) fn decode(mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let cumulative = Tsn(reader.u32()?);
        reader.end()?;
        Ok(Self { cumulative })
    }
}

impl ShutdownComplete {
    pub(crate) fn decode(flags: u8, reader: Reader<'_>) -> Result<Self, DecodeError> {
        reader.end()?;
        Ok(Self {
            tag_reflected: flags & TAG_REFLECTED != 0,
        })
    }
}

impl WriteChunk for Shutdown {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN + 4
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::SHUTDOWN, 0, self);
        writer.u32(self.cumulative.0);
    }
}

impl WriteChunk for ShutdownAck {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::SHUTDOWN_ACK, 0, self);
    }
}

impl WriteChunk for ShutdownComplete {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN
    }

    fn write(&self, writer: &mut Writer<'_>) {
        let flags = if self.tag_reflected { TAG_REFLECTED } else { 0 };
        writer.chunk_header(kind::SHUTDOWN_COMPLETE, flags, self);
    }
}

/// `SHUTDOWN cum=41`
impl fmt::Display for Shutdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SHUTDOWN cum={}", self.cumulative)
    }
}

/// `SHUTDOWN-ACK`
impl fmt::Display for ShutdownAck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SHUTDOWN-ACK")
    }
}

/// `SHUTDOWN-COMPLETE`, with ` T` if the tag is reflected.
impl fmt::Display for ShutdownComplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.tag_reflected {
            "SHUTDOWN-COMPLETE T"
        } else {
            "SHUTDOWN-COMPLETE"
        })
    }
}

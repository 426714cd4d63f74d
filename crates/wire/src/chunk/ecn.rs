//! ECNE and CWR chunks (RFC 4960 Appendix A; draft-stewart-tsvwg-sctpecn).
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |   type = 12   |       0       |        length = 8 or 12       |
//! +---------------+---------------+-------------------------------+
//! |                          lowest TSN                           |
//! +---------------------------------------------------------------+
//! |            marked packets since the last CWR (draft)          |
//! +---------------------------------------------------------------+
//!
//! +---------------+-------------+-+-------------------------------+
//! |   type = 13   |             |O|          length = 8           |
//! +---------------+-------------+-+-------------------------------+
//! |                          lowest TSN                           |
//! +---------------------------------------------------------------+
//! ```

use core::fmt;

use anabranch_types::Tsn;

use super::{RawChunk, kind};
use crate::reader::Reader;
use crate::{DecodeError, WriteChunk, Writer};

/// An ECNE chunk: a packet arrived marked as congestion experienced (CE).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ecne {
    /// The lowest TSN of the marked packets.
    pub lowest: Tsn,
    /// How many packets were marked since the last CWR; 1 if the chunk has no such field.
    pub packets: u32,
}

/// A CWR chunk: the sender has reduced its cwnd because of an ECNE.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cwr {
    /// The lowest TSN of the ECNE that this answers.
    pub lowest: Tsn,
    /// Whether it answers ECNEs of all paths (override bit), because the sender does not know the path any more.
    pub any_path: bool,
}

/// The override bit.
const ANY_PATH: u8 = 0x01;

impl Ecne {
    pub(crate) fn decode(mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let lowest = Tsn(reader.u32()?);
        let packets = if reader.rest().is_empty() {
            1
        } else {
            reader.u32()?
        };
        reader.end()?;
        Ok(Self { lowest, packets })
    }
}

impl Cwr {
    pub(crate) fn decode(flags: u8, mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let lowest = Tsn(reader.u32()?);
        reader.end()?;
        Ok(Self {
            lowest,
            any_path: flags & ANY_PATH != 0,
        })
    }
}

impl WriteChunk for Ecne {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN + 8
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::ECNE, 0, self);
        writer.u32(self.lowest.0);
        writer.u32(self.packets);
    }
}

impl WriteChunk for Cwr {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN + 4
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::CWR, if self.any_path { ANY_PATH } else { 0 }, self);
        writer.u32(self.lowest.0);
    }
}

/// `ECNE tsn=17 packets=1`
impl fmt::Display for Ecne {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ECNE tsn={} packets={}", self.lowest, self.packets)
    }
}

/// `CWR tsn=17`
impl fmt::Display for Cwr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CWR tsn={}", self.lowest)?;
        f.write_str(if self.any_path { " O" } else { "" })
    }
}

//! ECNE and CWR chunks (RFC 4960 Appendix A).
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |type = 12 or 13|       0       |          length = 8           |
//! +---------------+---------------+-------------------------------+
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
    /// The lowest TSN of the marked packet.
    pub lowest: Tsn,
}

/// A CWR chunk: the sender has reduced its cwnd because of an ECNE.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cwr {
    /// The lowest TSN of the ECNE that this answers.
    pub lowest: Tsn,
}

fn lowest(mut reader: Reader<'_>) -> Result<Tsn, DecodeError> {
    let lowest = Tsn(reader.u32()?);
    reader.end()?;
    Ok(lowest)
}

impl Ecne {
    pub(crate) fn decode(reader: Reader<'_>) -> Result<Self, DecodeError> {
        lowest(reader).map(|lowest| Self { lowest })
    }
}

impl Cwr {
    pub(crate) fn decode(reader: Reader<'_>) -> Result<Self, DecodeError> {
        lowest(reader).map(|lowest| Self { lowest })
    }
}

impl WriteChunk for Ecne {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN + 4
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::ECNE, 0, self);
        writer.u32(self.lowest.0);
    }
}

impl WriteChunk for Cwr {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN + 4
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::CWR, 0, self);
        writer.u32(self.lowest.0);
    }
}

/// `ECNE tsn=17`
impl fmt::Display for Ecne {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ECNE tsn={}", self.lowest)
    }
}

/// `CWR tsn=17`
impl fmt::Display for Cwr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CWR tsn={}", self.lowest)
    }
}

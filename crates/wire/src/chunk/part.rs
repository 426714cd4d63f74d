//! PART chunk: a part of a DATA or I-DATA chunk that is larger than the packets of its path. An extension of this project.
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |  type = 0xbe  |       0       |       length = 12 + n         |
//! +---------------+---------------+-------------------------------+
//! |                        TSN of the chunk                       |
//! +-------------------------------+-------------------------------+
//! |     offset of the bytes       |     length of the chunk       |
//! +-------------------------------+-------------------------------+
//! |       n bytes of the chunk, its header included               |
//! +---------------------------------------------------------------+
//! ```
//!
//! IANA has not assigned this chunk type. A receiver that does not know it skips the chunk (RFC 9260 §3.2). It is sent only to a
//! peer that lists the type in Supported Extensions (RFC 5061 §4.2.7).

use core::fmt;

use anabranch_types::Tsn;

use super::kind;
use crate::reader::Reader;
use crate::{DecodeError, DecodeErrorKind, WriteChunk, Writer};

/// A PART chunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Part<'a> {
    /// TSN of the whole chunk.
    pub tsn: Tsn,
    /// Offset of its bytes in the whole chunk.
    pub offset: u16,
    /// Length of the whole chunk in bytes, with its header and without padding.
    pub total: u16,
    /// Its bytes: at least one, and none beyond `total`.
    pub bytes: &'a [u8],
}

impl<'a> Part<'a> {
    /// Length of the header of a PART chunk.
    pub const HEADER_LEN: usize = 12;

    pub(crate) fn decode(mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        let tsn = Tsn(reader.u32()?);
        let (offset, total) = (reader.u16()?, reader.u16()?);
        let part = Self {
            tsn,
            offset,
            total,
            bytes: reader.rest(),
        };
        if part.bytes.is_empty() || part.end() > usize::from(total) {
            return Err(reader.error(DecodeErrorKind::BadLength));
        }
        Ok(part)
    }

    /// End of its bytes in the whole chunk.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.offset as usize + self.bytes.len()
    }
}

impl WriteChunk for Part<'_> {
    fn wire_len(&self) -> usize {
        Self::HEADER_LEN + self.bytes.len()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::PART, 0, self);
        writer.u32(self.tsn.0);
        writer.u16(self.offset);
        writer.u16(self.total);
        writer.bytes(self.bytes);
    }
}

/// `PART tsn=17 offset=1200 len=252 of 1452`
impl fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (length, total) = (self.bytes.len(), self.total);
        write!(
            f,
            "PART tsn={} offset={} len={length} of {total}",
            self.tsn, self.offset
        )
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{Part, kind};
    use crate::{Chunk, Chunks, DecodeErrorKind, RawChunk, WriteChunk, Writer};
    use anabranch_types::Tsn;

    fn decode(part: &Part<'_>) -> Result<(), DecodeErrorKind> {
        let mut bytes = Vec::new();
        part.write(&mut Writer::new(&mut bytes, part.wire_len()));
        let raw = Chunks::of(&bytes).next().unwrap().unwrap();
        assert_eq!(raw.kind, kind::PART);
        let decoded = raw.decode().map_err(|error| error.kind)?;
        assert_eq!(decoded, Chunk::Part(*part));
        Ok(())
    }

    #[test]
    fn part_is_read_as_written() {
        let part = Part {
            tsn: Tsn(17),
            offset: 1_200,
            total: 1_204,
            bytes: &[1, 2, 3, 4],
        };
        assert_eq!(decode(&part), Ok(()));
        assert_eq!(
            alloc::string::ToString::to_string(&part),
            "PART tsn=17 offset=1200 len=4 of 1204"
        );
    }

    #[test]
    fn part_without_bytes_or_beyond_its_chunk_is_malformed() {
        for (offset, bytes) in [(0, &[][..]), (1_201, &[1, 2, 3, 4]), (u16::MAX, &[0; 9])] {
            let part = Part {
                tsn: Tsn(17),
                offset,
                total: 1_204,
                bytes,
            };
            assert_eq!(decode(&part), Err(DecodeErrorKind::BadLength));
        }
        let short = RawChunk {
            kind: kind::PART,
            flags: 0,
            value: &[0; 7],
            bytes: &[],
            at: 0,
        };
        assert_eq!(short.decode().unwrap_err().kind, DecodeErrorKind::Truncated);
    }
}

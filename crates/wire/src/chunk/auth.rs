//! AUTH chunk (RFC 4895 §5.1): authenticates the chunks behind it.
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |  type = 0x0f  |       0       |        length = 8 + n         |
//! +---------------+---------------+-------------------------------+
//! |     shared key identifier     |        HMAC identifier        |
//! +-------------------------------+-------------------------------+
//! |      n bytes: the HMAC of this chunk, with zeros here, and    |
//! |            everything behind it in the packet                 |
//! +---------------------------------------------------------------+
//! ```

use core::fmt;

use super::{RawChunk, kind};
use crate::reader::Reader;
use crate::{DecodeError, HmacId, WriteChunk, Writer};

/// An AUTH chunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Auth<'a> {
    /// Shared key identifier; 0 is the empty key.
    pub key: u16,
    /// HMAC identifier.
    pub hmac: HmacId,
    /// The HMAC. Its length follows from [`Auth::hmac`]; the receiver must check it.
    pub code: &'a [u8],
}

impl<'a> Auth<'a> {
    /// Bytes before the HMAC.
    pub const HEADER_LEN: usize = 8;

    //= rfc4895 5.1-3
    pub(crate) fn decode(mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            key: reader.u16()?,
            hmac: HmacId(reader.u16()?),
            code: reader.rest(),
        })
    }
}

impl WriteChunk for Auth<'_> {
    fn wire_len(&self) -> usize {
        Self::HEADER_LEN + self.code.len()
    }

    //= rfc4895 5.1-2
    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::AUTH, 0, self);
        writer.u16(self.key);
        writer.u16(self.hmac.0);
        writer.bytes(self.code);
    }
}

const _: () = assert!(Auth::HEADER_LEN == RawChunk::HEADER_LEN + 4);

/// `AUTH key=0 hmac=sha-256`
impl fmt::Display for Auth<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AUTH key={} hmac={}", self.key, self.hmac)
    }
}

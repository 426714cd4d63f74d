//! PAD chunk (RFC 4820 §3), used to probe the path MTU.
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |  type = 0x84  |       0       |        length = 4 + n         |
//! +---------------+---------------+-------------------------------+
//! |                  n bytes, ignored on receipt                  |
//! +---------------------------------------------------------------+
//! ```

use core::fmt;

use super::{RawChunk, kind};
use crate::writer::length_field;
use crate::{WriteChunk, Writer};

/// A PAD chunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pad {
    /// Bytes of padding, the chunk header not counted. Zeros are sent; anything is received.
    pub length: u16,
}

impl Pad {
    //= rfc4820 3-3, 3-4
    pub(crate) fn of_value(value: &[u8]) -> Self {
        Self {
            length: length_field(value.len()),
        }
    }
}

impl WriteChunk for Pad {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN + usize::from(self.length)
    }

    //= rfc4820 3-2
    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::PAD, 0, self);
        writer.zeros(usize::from(self.length));
    }
}

/// `PAD len=200`
impl fmt::Display for Pad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PAD len={}", self.length)
    }
}

//! COOKIE ECHO and COOKIE ACK chunks (RFC 9260 §3.3.11, §3.3.12).
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |   type = 10   |       0       |        length = 4 + n         |  COOKIE ECHO
//! +---------------+---------------+-------------------------------+
//! |         n bytes: the state cookie out of the INIT ACK         |
//! +---------------------------------------------------------------+
//!
//! +---------------+---------------+-------------------------------+
//! |   type = 11   |       0       |          length = 4           |  COOKIE ACK
//! +---------------+---------------+-------------------------------+
//! ```

use core::fmt;

use super::{RawChunk, kind};
use crate::{WriteChunk, Writer};

/// A COOKIE ECHO chunk. It must be the first of its packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CookieEcho<'a> {
    /// The state cookie, exactly as in the INIT ACK.
    pub cookie: &'a [u8],
}

/// A COOKIE ACK chunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CookieAck;

impl WriteChunk for CookieEcho<'_> {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN + self.cookie.len()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::COOKIE_ECHO, 0, self);
        writer.bytes(self.cookie);
    }
}

impl WriteChunk for CookieAck {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::COOKIE_ACK, 0, self);
    }
}

/// `COOKIE-ECHO len=240`
impl fmt::Display for CookieEcho<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "COOKIE-ECHO len={}", self.cookie.len())
    }
}

/// `COOKIE-ACK`
impl fmt::Display for CookieAck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("COOKIE-ACK")
    }
}

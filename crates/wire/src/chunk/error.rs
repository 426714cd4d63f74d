//! ERROR chunk (RFC 9260 §3.3.10): errors that do not end the association.
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |   type = 9    |       0       |            length             |
//! +---------------+---------------+-------------------------------+
//! |                   one or more error causes                    |
//! +---------------------------------------------------------------+
//! ```

use alloc::vec::Vec;
use core::fmt;

use super::{RawChunk, kind};
use crate::reader::Reader;
use crate::{Causes, WriteChunk, Writer};

/// A received ERROR chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorChunk<'a> {
    /// The error causes.
    pub causes: Causes<'a>,
}

impl<'a> ErrorChunk<'a> {
    pub(crate) const fn decode(reader: Reader<'a>) -> Self {
        Self {
            causes: Causes::at(reader),
        }
    }
}

impl WriteChunk for ErrorChunk<'_> {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN + self.causes.bytes().len()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::ERROR, 0, self);
        writer.bytes(self.causes.bytes());
    }
}

/// `ERROR [stale cookie by 5000 us]`
impl fmt::Display for ErrorChunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {}", self.causes)
    }
}

/// An ERROR chunk to be sent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OutboundError {
    /// Error causes made by a [`crate::CauseWriter`]; not empty.
    pub causes: Vec<u8>,
}

impl WriteChunk for OutboundError {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN + self.causes.len()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::ERROR, 0, self);
        writer.bytes(&self.causes);
    }
}

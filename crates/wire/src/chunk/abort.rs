//! ABORT chunk (RFC 9260 §3.3.7).
//!
//! ```text
//! +---------------+-------------+-+-------------------------------+
//! |   type = 6    |      0      |T|            length             |
//! +---------------+-------------+-+-------------------------------+
//! |                  zero or more error causes                    |
//! +---------------------------------------------------------------+
//! ```

use alloc::vec::Vec;
use core::fmt;

use super::{RawChunk, kind};
use crate::reader::Reader;
use crate::{Causes, WriteChunk, Writer};

/// T bit: the packet carries the tag of the receiver's own packets, because the sender has no association
/// (RFC 9260 §8.5.1 B, C). Shared with SHUTDOWN COMPLETE.
pub(super) const TAG_REFLECTED: u8 = 0x01;

/// A received ABORT chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Abort<'a> {
    /// The T bit: the verification tag is reflected, a copy of the tag that the receiver of this chunk had sent.
    pub tag_reflected: bool,
    /// The error causes, possibly none.
    pub causes: Causes<'a>,
}

impl<'a> Abort<'a> {
    pub(crate) const fn decode(flags: u8, reader: Reader<'a>) -> Self {
        Self {
            tag_reflected: flags & TAG_REFLECTED != 0,
            causes: Causes::at(reader),
        }
    }
}

fn write(tag_reflected: bool, causes: &[u8], chunk: &impl WriteChunk, writer: &mut Writer<'_>) {
    writer.chunk_header(kind::ABORT, if tag_reflected { TAG_REFLECTED } else { 0 }, chunk);
    writer.bytes(causes);
}

impl WriteChunk for Abort<'_> {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN + self.causes.bytes().len()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        write(self.tag_reflected, self.causes.bytes(), self, writer);
    }
}

/// `ABORT T [no user data tsn=3]`
impl fmt::Display for Abort<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "ABORT{} {}",
            if self.tag_reflected { " T" } else { "" },
            self.causes
        )
    }
}

/// An ABORT chunk to be sent.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct OutboundAbort {
    /// The T bit: we have no association, and the packet's tag is the received one.
    pub tag_reflected: bool,
    /// Error causes made by a [`crate::CauseWriter`]; may be empty.
    pub causes: Vec<u8>,
}

impl WriteChunk for OutboundAbort {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN + self.causes.len()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        write(self.tag_reflected, &self.causes, self, writer);
    }
}

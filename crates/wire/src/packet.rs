//! Packets: a checked common header, and an iterator over the chunks behind it.

use core::fmt;
use core::iter::FusedIterator;

use anabranch_types::VerificationTag;

use crate::reader::Reader;
use crate::writer::padded;
use crate::{ChunkHead, DecodeError, DecodeErrorKind, RawChunk, checksum};

/// The common header (RFC 9260 §3.1), without the checksum.
///
/// ```text
/// +-------------------------------+-------------------------------+
/// |          source port          |        destination port       |
/// +-------------------------------+-------------------------------+
/// |                        verification tag                       |
/// +---------------------------------------------------------------+
/// |                  CRC32c, least byte first                     |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CommonHeader {
    /// Port of the sending endpoint; never zero in a parsed packet.
    pub source_port: u16,
    /// Port of the endpoint that the packet is for; never zero in a parsed packet.
    pub destination_port: u16,
    /// Verification tag: the incarnation of the association that the packet belongs to; zero with INIT.
    pub tag: VerificationTag,
}

impl CommonHeader {
    /// Bytes on the wire, including the checksum.
    pub const LEN: usize = 12;

    /// The header of an answer: ports exchanged, `tag` as the answerer must set it.
    #[must_use]
    pub const fn reply(self, tag: VerificationTag) -> Self {
        Self {
            source_port: self.destination_port,
            destination_port: self.source_port,
            tag,
        }
    }

    /// The bytes on the wire, with zeros in place of the checksum.
    #[must_use]
    pub(crate) fn unsealed(self) -> [u8; Self::LEN] {
        let [s0, s1] = self.source_port.to_be_bytes();
        let [d0, d1] = self.destination_port.to_be_bytes();
        let [t0, t1, t2, t3] = self.tag.0.to_be_bytes();
        [s0, s1, d0, d1, t0, t1, t2, t3, 0, 0, 0, 0]
    }
}

/// `5000>5001 tag=0a1b2c3d`
impl fmt::Display for CommonHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}>{} tag={:?}",
            self.source_port, self.destination_port, self.tag
        )
    }
}

/// A received packet whose common header is in order. Its chunks are not looked at yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    header: CommonHeader,
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    //= rfc9260 6.8-3, 6.8-4
    /// Checks length, checksum and ports.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TooShort`], [`DecodeErrorKind::BadChecksum`] or [`DecodeErrorKind::ZeroPort`]; such
    /// packets are discarded silently (RFC 9260 §6.8, §3.1).
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let packet = Self::parse_unverified(bytes);
        if bytes.len() >= CommonHeader::LEN && !checksum::is_valid(bytes) {
            return Err(DecodeError {
                at: 8,
                kind: DecodeErrorKind::BadChecksum,
            });
        }
        packet
    }

    /// Like [`Self::parse`], without verifying the checksum: for bytes that cannot have been corrupted.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TooShort`] or [`DecodeErrorKind::ZeroPort`].
    pub fn parse_unverified(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        if bytes.len() < CommonHeader::LEN {
            return Err(DecodeError {
                at: 0,
                kind: DecodeErrorKind::TooShort,
            });
        }
        let mut reader = Reader::new(bytes, 0);
        let header = CommonHeader {
            source_port: port(&mut reader)?,
            destination_port: port(&mut reader)?,
            tag: VerificationTag(reader.u32()?),
        };
        Ok(Self { header, bytes })
    }

    /// Ports and tag.
    #[must_use]
    pub const fn header(&self) -> CommonHeader {
        self.header
    }

    /// Bytes of the whole packet.
    #[expect(
        clippy::len_without_is_empty,
        reason = "a packet has a common header, so it is never empty"
    )]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The whole packet.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The heads of the chunks behind the common header, in order.
    #[must_use]
    pub fn chunk_heads(&self) -> ChunkHeads<'a> {
        ChunkHeads {
            rest: &self.bytes[CommonHeader::LEN..],
        }
    }

    /// The chunks behind the common header, in order.
    #[must_use]
    pub fn chunks(&self) -> Chunks<'a> {
        Chunks {
            reader: Reader::new(&self.bytes[CommonHeader::LEN..], CommonHeader::LEN),
        }
    }
}

/// The heads of the chunks of a packet, in order; ends before the first chunk that is malformed. Cheaper than [`Chunks`].
#[derive(Clone, Debug)]
pub struct ChunkHeads<'a> {
    rest: &'a [u8],
}

impl ChunkHeads<'_> {
    /// Whether nothing follows the last chunk.
    #[must_use]
    pub const fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}

impl Iterator for ChunkHeads<'_> {
    type Item = ChunkHead;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let [kind, flags, high, low, ..] = *self.rest else {
            return None;
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length < RawChunk::HEADER_LEN || length > self.rest.len() {
            return None;
        }
        self.rest = self.rest.get(padded(length)..).unwrap_or_default();
        Some(ChunkHead { kind, flags })
    }
}

//= rfc9260 3.1-1, 3.1-2
fn port(reader: &mut Reader<'_>) -> Result<u16, DecodeError> {
    let zero = reader.error(DecodeErrorKind::ZeroPort);
    match reader.u16()? {
        0 => Err(zero),
        port => Ok(port),
    }
}

/// The chunks of a packet; ends after the first one that is malformed.
#[derive(Clone, Debug)]
pub struct Chunks<'a> {
    reader: Reader<'a>,
}

impl<'a> Chunks<'a> {
    /// The chunks in `bytes` that came without a common header.
    #[must_use]
    pub const fn of(bytes: &'a [u8]) -> Self {
        Self {
            reader: Reader::new(bytes, 0),
        }
    }

    //= rfc9260 3.2-4, 6.10-7
    fn frame(&mut self) -> Result<RawChunk<'a>, DecodeError> {
        let start = self.reader;
        let [kind, flags, high, low] = self.reader.array()?;
        let length = usize::from(u16::from_be_bytes([high, low]));
        let Some(value_len) = length.checked_sub(RawChunk::HEADER_LEN) else {
            return Err(start.error(DecodeErrorKind::BadLength));
        };
        let value = self.reader.take(value_len)?;
        // The last chunk is accepted without its padding, which carries no information.
        self.reader.skip_at_most(padded(length) - length);
        Ok(RawChunk {
            kind,
            flags,
            value,
            bytes: &start.rest()[..length],
            at: start.at(),
        })
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<RawChunk<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.rest().is_empty() {
            return None;
        }
        let frame = self.frame();
        if frame.is_err() {
            self.reader.skip_at_most(usize::MAX);
        }
        Some(frame)
    }
}

impl FusedIterator for Chunks<'_> {}

#[cfg(test)]
mod tests;

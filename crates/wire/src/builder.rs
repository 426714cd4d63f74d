//! Packet builder: writes chunks in place, padded, up to a limit.

use alloc::vec::Vec;

use thiserror::Error;

use crate::writer::padded;
use crate::{CommonHeader, WriteChunk, Writer, checksum};

/// The chunk does not fit into the packet; nothing of it was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("no room for another chunk")]
pub struct NoRoom;

/// Writes one packet at the end of a buffer.
///
/// Several packets may be built one after the other in the same buffer, for segmentation offload.
/// Which chunks may be bundled (RFC 9260 §6.10) is up to the caller.
///
/// ```
/// use anabranch_types::{Tsn, VerificationTag};
/// use anabranch_wire::{CommonHeader, PacketBuilder, Shutdown, dissect};
/// let header = CommonHeader { source_port: 5000, destination_port: 5001, tag: VerificationTag(7) };
/// let mut buffer = Vec::new();
/// let mut packet = PacketBuilder::new(&mut buffer, header, 1_200);
/// packet.push(&Shutdown { cumulative: Tsn(41) })?;
/// assert_eq!(packet.finish(), 20);
/// assert_eq!(dissect::line(&buffer), "5000>5001 tag=00000007 SHUTDOWN cum=41");
/// # Ok::<(), anabranch_wire::NoRoom>(())
/// ```
#[derive(Debug)]
#[must_use = "an unfinished packet lacks its checksum"]
pub struct PacketBuilder<'b> {
    buffer: &'b mut Vec<u8>,
    start: usize,
    limit: usize,
}

impl<'b> PacketBuilder<'b> {
    /// Starts a packet of at most `limit` bytes at the end of `buffer`. The common header is
    /// always written, so a `limit` below its 12 bytes acts like 12.
    pub fn new(buffer: &'b mut Vec<u8>, header: CommonHeader, limit: usize) -> Self {
        let start = buffer.len();
        buffer.extend_from_slice(&header.unsealed());
        Self {
            buffer,
            start,
            limit: limit.max(CommonHeader::LEN),
        }
    }

    /// The largest chunk that still fits: bytes of header and value, before padding.
    #[must_use]
    pub fn room(&self) -> usize {
        // A chunk of n bytes takes n rounded up to 4, so what remains counts rounded down to 4. The length
        // field has 16 bits.
        ((self.limit - self.len()) & !3).min(usize::from(u16::MAX))
    }

    /// Whether no chunk was written yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == CommonHeader::LEN
    }

    /// Bytes of the packet so far, with common header and padding.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buffer.len() - self.start
    }

    //= rfc4895 5.1-4, 5.1-5
    //= rfc9260 3.2-1, 3.2-2, 3.2-3, 3.3.1-8, 3.3.1-9, 3.3.1-10, 6.10-1, 6.10-5
    /// Appends `chunk` and its padding.
    ///
    /// # Errors
    /// [`NoRoom`] if it is larger than [`PacketBuilder::room`]; then the packet is as it was.
    pub fn push(&mut self, chunk: &impl WriteChunk) -> Result<(), NoRoom> {
        let length = chunk.wire_len();
        if length > self.room() {
            return Err(NoRoom);
        }
        let end = self.buffer.len() + padded(length);
        self.buffer.reserve(padded(length));
        chunk.write(&mut Writer::new(self.buffer, length));
        debug_assert_eq!(
            padded(self.buffer.len() - self.start),
            end - self.start,
            "a chunk's wire_len is wrong"
        );
        self.buffer.resize(end, 0);
        Ok(())
    }

    /// The bytes written since the packet was `length` bytes long: for an AUTH chunk, whose HMAC covers all chunks
    /// behind it.
    pub fn written_since(&mut self, length: usize) -> &mut [u8] {
        let from = (self.start + length).min(self.buffer.len());
        &mut self.buffer[from..]
    }

    /// Writes the checksum and returns the length of the packet. A packet without chunks is removed: the
    /// buffer is as before, and the length is 0.
    pub fn finish(self) -> usize {
        if !self.is_empty() {
            checksum::seal(&mut self.buffer[self.start..]);
        }
        self.finish_unsealed()
    }

    /// Like [`Self::finish`], with a checksum of zero: for callers that call [`checksum::seal`] later, or need no checksum.
    pub fn finish_unsealed(self) -> usize {
        if self.is_empty() {
            self.buffer.truncate(self.start);
            return 0;
        }
        self.len()
    }
}

#[cfg(test)]
mod tests;

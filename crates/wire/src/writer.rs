//! Writer: appends bytes in network order, up to a hard limit.

use alloc::vec::Vec;

/// A chunk that can be sent.
pub trait WriteChunk {
    /// Bytes of header and value, without padding.
    #[must_use]
    fn wire_len(&self) -> usize;

    /// Writes header and value: exactly [`WriteChunk::wire_len`] bytes.
    fn write(&self, writer: &mut Writer<'_>);
}

/// Appends to a buffer, up to a hard limit.
#[derive(Debug)]
pub struct Writer<'b> {
    buffer: &'b mut Vec<u8>,
    end: usize,
}

impl<'b> Writer<'b> {
    /// A writer that appends at most `limit` bytes to `buffer`.
    pub fn new(buffer: &'b mut Vec<u8>, limit: usize) -> Self {
        let end = buffer.len().saturating_add(limit);
        Self { buffer, end }
    }

    /// How many bytes may still be written.
    #[must_use]
    #[inline]
    pub fn room(&self) -> usize {
        self.end - self.buffer.len()
    }

    /// Appends `bytes`, up to the limit.
    ///
    /// A chunk that writes more than it announced is a bug, yet the packet must not exceed
    /// the path MTU because of it.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        // The length of most appends is known when this is compiled, so the usual case is a few moves and no call.
        if bytes.len() <= self.room() {
            self.buffer.extend_from_slice(bytes);
        } else {
            self.truncated(bytes);
        }
    }

    /// Appends as much of `bytes` as fits.
    #[cold]
    fn truncated(&mut self, bytes: &[u8]) {
        debug_assert!(false, "a chunk wrote more than its wire_len");
        let fitting = &bytes[..self.room()];
        self.buffer.extend_from_slice(fitting);
    }

    /// Appends `count` zero bytes, up to the limit.
    pub fn zeros(&mut self, count: usize) {
        let count = count.min(self.room());
        self.buffer.resize(self.buffer.len() + count, 0);
    }

    /// Appends one byte.
    pub fn u8(&mut self, value: u8) {
        self.bytes(&[value]);
    }

    /// Appends two bytes in network order.
    #[inline]
    pub fn u16(&mut self, value: u16) {
        self.bytes(&value.to_be_bytes());
    }

    //= rfc9260 3-2
    /// Appends four bytes in network order.
    #[inline]
    pub fn u32(&mut self, value: u32) {
        self.bytes(&value.to_be_bytes());
    }

    /// Appends type, flags and length of `chunk`.
    pub fn chunk_header(&mut self, kind: u8, flags: u8, chunk: &impl WriteChunk) {
        self.bytes(&[kind, flags]);
        self.u16(length_field(chunk.wire_len()));
    }
}

/// `length` as a 16-bit length field.
///
/// The builder refuses chunks whose length does not fit, so the upper end is never reached on the wire.
pub(crate) fn length_field(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

/// `length` rounded up to the 4 bytes that chunks, parameters and causes are aligned to (RFC 9260 §3.2).
pub(crate) const fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

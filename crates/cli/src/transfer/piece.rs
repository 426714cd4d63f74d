//! Data messages. How is a part of the file sent? In an unordered message that starts with the offset of the part.
//!
//! Pieces can arrive out of order over different paths. The offset lets the receiver write each piece as soon as it
//! arrives, without head-of-line blocking.

use std::ops::Range;

use anabranch::{Bytes, Message, StreamId};

use super::error::Violation;

/// Stream on which we send data.
const DATA: StreamId = StreamId(1);

/// Bytes of the file in each piece that we send: large enough to make the cost per message negligible, and small
/// compared to any buffer.
pub(crate) const PIECE: usize = 64 << 10;

/// Maximum size of an accepted piece, in bytes of the file.
const LONGEST: usize = 256 << 10;

/// Length of the offset field, in bytes.
pub(super) const HEADER: usize = 8;

/// Maximum size of a message in bytes; others are shorter than a piece.
pub(crate) const LONGEST_MESSAGE: usize = HEADER + LONGEST;

/// Maximum end offset; file systems use signed 64-bit offsets.
const LARGEST_FILE: u64 = i64::MAX as u64;

/// A contiguous part of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    offset: u64,
    bytes: Bytes,
}

impl Piece {
    /// Starts the buffer of a piece; the caller appends the bytes of the file.
    pub(crate) fn begin(offset: u64) -> Vec<u8> {
        let mut buffer = Vec::with_capacity(HEADER + PIECE);
        buffer.extend_from_slice(&offset.to_be_bytes());
        buffer
    }

    /// Builds the message from a buffer that was [begun](Self::begin) and filled.
    pub(crate) fn message(buffer: Vec<u8>) -> Message {
        Message::new(DATA, buffer).unordered()
    }

    /// # Errors
    ///
    /// Fails if the offset is missing, the piece is empty or too long, or its end exceeds the maximum file size.
    pub(crate) fn parse(mut payload: Bytes) -> Result<Self, Violation> {
        if payload.len() <= HEADER || payload.len() > LONGEST_MESSAGE {
            return Err(Violation::PieceLength);
        }
        let header = payload.split_to(HEADER);
        let offset = u64::from_be_bytes(header[..].try_into().expect("invariant: split off above"));
        let end = offset
            .checked_add(payload.len() as u64)
            .filter(|end| *end <= LARGEST_FILE);
        end.map(|_| Self {
            offset,
            bytes: payload,
        })
        .ok_or(Violation::PieceBeyondEnd)
    }

    /// Byte range of the piece in the file.
    pub(crate) const fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.len()
    }

    pub(crate) const fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(offset: u64, length: usize) -> Bytes {
        let mut buffer = Piece::begin(offset);
        buffer.resize(HEADER + length, 7);
        Piece::message(buffer).payload
    }

    #[test]
    fn piece_has_its_range_and_bytes() {
        let piece = Piece::parse(payload(1_000, 3)).unwrap();
        assert_eq!((piece.range(), piece.bytes()), (1_000..1_003, &[7, 7, 7][..]));
        assert!(Piece::parse(payload(LARGEST_FILE - 1, 1)).is_ok());
    }

    #[test]
    fn piece_of_invalid_length_or_offset_is_a_violation() {
        for length in [0, LONGEST + 1] {
            assert_eq!(
                Piece::parse(payload(0, length)),
                Err(Violation::PieceLength),
                "{length}"
            );
        }
        assert_eq!(
            Piece::parse(Bytes::from_static(b"1234567")),
            Err(Violation::PieceLength)
        );
        for offset in [LARGEST_FILE, u64::MAX] {
            assert_eq!(
                Piece::parse(payload(offset, 1)),
                Err(Violation::PieceBeyondEnd),
                "{offset}"
            );
        }
    }
}

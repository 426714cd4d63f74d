//! Data messages. How does a part of the file travel? In an unordered message that says where in the file it belongs.
//!
//! Pieces overtake each other, for paths differ; with the offset in front, the receiver writes each where it
//! belongs as soon as it is there, and none waits for another.

use std::ops::Range;

use anabranch::{Bytes, Message, StreamId};

use super::error::Violation;

/// The stream that we send data on.
const DATA: StreamId = StreamId(1);

/// Bytes of the file in one piece, as we send it: large enough that the price of a message does not matter, and
/// a small part of any buffer.
pub(crate) const PIECE: usize = 64 << 10;

/// The longest piece that we accept, in bytes of the file.
const LONGEST: usize = 256 << 10;

/// Bytes of the offset.
pub(super) const HEADER: usize = 8;

/// The largest offset of an end: what file systems count with.
const LARGEST_FILE: u64 = i64::MAX as u64;

/// A part of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    offset: u64,
    bytes: Bytes,
}

impl Piece {
    /// Begins the buffer of a piece: the bytes of the file are to be appended.
    pub(crate) fn begin(offset: u64) -> Vec<u8> {
        let mut buffer = Vec::with_capacity(HEADER + PIECE);
        buffer.extend_from_slice(&offset.to_be_bytes());
        buffer
    }

    /// The message for a buffer that was [begun](Self::begin) and filled.
    pub(crate) fn message(buffer: Vec<u8>) -> Message {
        Message::new(DATA, buffer).unordered()
    }

    /// # Errors
    ///
    /// No offset, no bytes, too many bytes, or an end that no file has.
    pub(crate) fn parse(mut payload: Bytes) -> Result<Self, Violation> {
        if payload.len() <= HEADER || payload.len() > HEADER + LONGEST {
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

    /// Where in the file.
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
    fn a_piece_says_where_it_belongs() {
        let piece = Piece::parse(payload(1_000, 3)).unwrap();
        assert_eq!((piece.range(), piece.bytes()), (1_000..1_003, &[7, 7, 7][..]));
        assert!(Piece::parse(payload(LARGEST_FILE - 1, 1)).is_ok());
    }

    #[test]
    fn a_piece_that_fits_no_file_is_a_violation() {
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

//! Data messages. How is a part of a file sent? In an unordered message that starts with the numbers of the file and the offset.
//!
//! Pieces can arrive out of order over different paths. The offset lets the receiver write each piece as soon as it
//! arrives, without head-of-line blocking. A hole of a sparse file is a message that states its length.

use std::ops::Range;

use anabranch::{Bytes, Message, StreamId};

use super::error::Violation;

/// Stream on which we send data.
const DATA: StreamId = StreamId(1);

/// Stream of the holes of sparse files.
pub(super) const HOLES: StreamId = StreamId(2);

/// Bytes of the file in each piece that we send: large enough to make the cost per message negligible, and small
/// compared to any buffer.
pub(crate) const PIECE: usize = 64 << 10;

/// Maximum size of an accepted piece, in bytes of the file.
const LONGEST: usize = 256 << 10;

/// Length of the number of the file and the offset, in bytes.
pub(super) const HEADER: usize = 16;

/// Maximum size of a message in bytes; others are shorter than a piece.
pub(crate) const LONGEST_MESSAGE: usize = HEADER + LONGEST;

/// Maximum end offset; file systems use signed 64-bit offsets.
const LARGEST_FILE: u64 = i64::MAX as u64;

/// A contiguous part of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    file: u64,
    offset: u64,
    bytes: Bytes,
}

/// A part of a file that reads as zeros and takes no space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Hole {
    file: u64,
    range: Range<u64>,
}

impl Piece {
    /// Starts the buffer of a piece; the caller appends the bytes of the file.
    pub(crate) fn begin(file: u64, offset: u64) -> Vec<u8> {
        let mut buffer = Vec::with_capacity(HEADER + PIECE);
        buffer.extend_from_slice(&file.to_be_bytes());
        buffer.extend_from_slice(&offset.to_be_bytes());
        buffer
    }

    /// Builds the message from a buffer that was [begun](Self::begin) and filled.
    pub(crate) fn message(buffer: Vec<u8>) -> Message {
        Message::new(DATA, buffer).unordered()
    }

    /// # Errors
    ///
    /// Fails if the header is missing, the piece is empty or too long, or its end exceeds the maximum file size.
    pub(crate) fn parse(mut payload: Bytes) -> Result<Self, Violation> {
        if payload.len() <= HEADER || payload.len() > LONGEST_MESSAGE {
            return Err(Violation::PieceLength);
        }
        let (file, offset) = (number(&mut payload), number(&mut payload));
        end_of(offset, payload.len() as u64).map(|_| Self {
            file,
            offset,
            bytes: payload,
        })
    }

    /// Number of the file among the entries of the transfer.
    pub(crate) const fn file(&self) -> u64 {
        self.file
    }

    /// Byte range of the piece in the file.
    pub(crate) const fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.bytes.len() as u64
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Hole {
    pub(crate) fn message(file: u64, offset: u64, length: u64) -> Message {
        let fields = [file, offset, length].map(u64::to_be_bytes);
        Message::new(HOLES, fields.concat()).unordered()
    }

    /// # Errors
    ///
    /// Fails if the message has another length, the hole is empty, or its end exceeds the maximum file size.
    pub(crate) fn parse(mut payload: Bytes) -> Result<Self, Violation> {
        if payload.len() != 3 * size_of::<u64>() {
            return Err(Violation::PieceLength);
        }
        let [file, offset, length] = std::array::from_fn(|_| number(&mut payload));
        if length == 0 {
            return Err(Violation::PieceLength);
        }
        let end = end_of(offset, length)?;
        Ok(Self {
            file,
            range: offset..end,
        })
    }

    /// Number of the file among the entries of the transfer.
    pub(crate) const fn file(&self) -> u64 {
        self.file
    }

    /// Byte range of the hole in the file.
    pub(crate) fn range(&self) -> Range<u64> {
        self.range.clone()
    }
}

/// Takes eight bytes, of which the caller has checked that they are there.
fn number(payload: &mut Bytes) -> u64 {
    let bytes = payload.split_to(size_of::<u64>());
    u64::from_be_bytes(bytes[..].try_into().expect("invariant: split off above"))
}

fn end_of(offset: u64, length: u64) -> Result<u64, Violation> {
    let end = offset.checked_add(length).filter(|end| *end <= LARGEST_FILE);
    end.ok_or(Violation::PieceBeyondEnd)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(offset: u64, length: usize) -> Bytes {
        let mut buffer = Piece::begin(3, offset);
        buffer.resize(HEADER + length, 7);
        Piece::message(buffer).payload
    }

    #[test]
    fn piece_has_its_file_range_and_bytes() {
        let piece = Piece::parse(payload(1_000, 3)).unwrap();
        assert_eq!(
            (piece.file(), piece.range(), piece.bytes()),
            (3, 1_000..1_003, &[7, 7, 7][..])
        );
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
            Piece::parse(Bytes::from_static(b"123456789012345")),
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

    #[test]
    fn hole_has_a_length_and_an_end() {
        let parsed = |offset, length| Hole::parse(Hole::message(5, offset, length).payload);
        let hole = parsed(4_096, 8_192).unwrap();
        assert_eq!((hole.file(), hole.range()), (5, 4_096..12_288));
        assert_eq!(parsed(0, 0), Err(Violation::PieceLength));
        assert_eq!(parsed(u64::MAX, 2), Err(Violation::PieceBeyondEnd));
        assert_eq!(
            Hole::parse(Bytes::from_static(&[0; 23])),
            Err(Violation::PieceLength)
        );
    }
}

//! TLV format of parameters and causes: type, length, value, padded to 4 bytes (RFC 9260 §3.2.1).
//!
//! ```text
//! +-------------------------------+-------------------------------+
//! |             type              |  length (without the padding) |
//! +-------------------------------+-------------------------------+
//! |                 value, then 0 to 3 zero bytes                 |
//! +---------------------------------------------------------------+
//! ```

use alloc::vec::Vec;
use core::fmt;

use crate::list::Frame;
use crate::reader::Reader;
use crate::writer::{length_field, padded};
use crate::{DecodeError, DecodeErrorKind};

/// Bytes of type and length.
pub(crate) const HEADER_LEN: usize = 4;

//= rfc4895 3.1-4, 3.2-4, 3.3-5, 4.1-5, 5.1-6
//= rfc9260 3.2.1-3
/// The next item of a list, `None` at its end. An error ends the list.
pub(crate) fn next<'a, Kind>(reader: &mut Reader<'a>) -> Option<Result<Frame<'a, Kind>, DecodeError>> {
    // RFC 9260 §3.2: "A robust implementation is expected to accept the chunk whether or not the final
    // padding has been included in the Chunk Length." So up to three bytes behind the last frame are padding.
    if reader.rest().len() < HEADER_LEN {
        return None;
    }
    let frame = frame(reader);
    if frame.is_err() {
        reader.skip_at_most(usize::MAX);
    }
    Some(frame)
}

fn frame<'a, Kind>(reader: &mut Reader<'a>) -> Result<Frame<'a, Kind>, DecodeError> {
    let start = *reader;
    let kind = reader.u16()?;
    let length = usize::from(reader.u16()?);
    let Some(value_len) = length.checked_sub(HEADER_LEN) else {
        return Err(start.error(DecodeErrorKind::BadLength));
    };
    let value = reader.take(value_len)?;
    reader.skip_at_most(padded(length) - length);
    Ok(Frame::new(kind, value, &start.rest()[..length], start.at()))
}

/// The header of an item that has `length` bytes with it.
fn header(kind: u16, length: usize) -> [u8; HEADER_LEN] {
    let ([k0, k1], [l0, l1]) = (kind.to_be_bytes(), length_field(length).to_be_bytes());
    [k0, k1, l0, l1]
}

/// The header of a parameter with this value.
#[must_use]
pub fn parameter_header(kind: u16, value: &[u8]) -> [u8; HEADER_LEN] {
    header(kind, HEADER_LEN + value.len())
}

//= rfc4895 3.1-2, 3.1-3, 3.2-2, 3.2-3, 3.3-3, 3.3-4, 4.1-3, 4.1-4
//= rfc5061 4.2.7-3
//= rfc9260 3.2.1-1, 3.2.1-2
/// Appends one item to a list.
///
/// The padding of an item is written only when another one follows: that of the last one is not part of the length
/// of the chunk (RFC 9260 §3.2).
pub(crate) fn push(list: &mut Vec<u8>, kind: u16, value: &[&[u8]]) {
    let length = HEADER_LEN + value.iter().map(|part| part.len()).sum::<usize>();
    debug_assert!(
        length <= usize::from(u16::MAX),
        "a frame longer than its length field can say"
    );
    list.resize(padded(list.len()), 0);
    list.extend_from_slice(&header(kind, length));
    value.iter().for_each(|part| list.extend_from_slice(part));
}

/// What to do with a chunk or parameter of unknown type, by its two highest bits (RFC 9260 §3.2, §3.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnknownAction {
    /// 00: stop processing.
    Stop,
    /// 01: stop processing and report it.
    StopAndReport,
    /// 10: skip it and continue.
    Skip,
    /// 11: skip it, continue and report it.
    SkipAndReport,
}

impl UnknownAction {
    /// For a chunk of type `kind`.
    #[must_use]
    pub const fn of_chunk(kind: u8) -> Self {
        match kind >> 6 {
            0b00 => Self::Stop,
            0b01 => Self::StopAndReport,
            0b10 => Self::Skip,
            _ => Self::SkipAndReport,
        }
    }

    /// For a parameter of type `kind`.
    #[must_use]
    pub const fn of_parameter(kind: u16) -> Self {
        Self::of_chunk((kind >> 8) as u8)
    }

    /// Whether processing continues behind it.
    #[must_use]
    pub const fn goes_on(self) -> bool {
        matches!(self, Self::Skip | Self::SkipAndReport)
    }

    /// Whether it is reported to the sender.
    #[must_use]
    pub const fn reports(self) -> bool {
        matches!(self, Self::StopAndReport | Self::SkipAndReport)
    }
}

/// A list as parameters and causes print it: `[first, second, !truncated field at byte 40]`.
pub(crate) fn write_list<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    mut items: impl Iterator<Item = Result<T, DecodeError>>,
) -> fmt::Result {
    let mut separator = "";
    f.write_str("[")?;
    items.try_for_each(|item| {
        f.write_str(core::mem::replace(&mut separator, ", "))?;
        match item {
            Ok(item) => write!(f, "{item}"),
            Err(error) => write!(f, "!{error}"),
        }
    })?;
    f.write_str("]")
}

/// Bytes in hexadecimal without blanks; long ones end in `…` after sixteen.
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        self.0
            .iter()
            .take(SHOWN)
            .try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(if self.0.len() > SHOWN { "…" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::{Reader, UnknownAction, next, push};
    use crate::DecodeErrorKind;

    //= rfc4895 3.1-2, 3.1-3, 3.1-4, 3.2-2, 3.2-3, 3.2-4, 3.3-3, 3.3-4, 3.3-5, 4.1-5
    //= rfc5061 4.2.7-3
    //= rfc9260 3.2.1-1, 3.2.1-2, 3.2.1-3
    #[test]
    fn frames_are_aligned_and_the_last_one_is_not_padded() {
        let mut list = Vec::new();
        push(&mut list, 7, &[b"a"]);
        push(&mut list, 8, &[b"bc", b"def"]);
        assert_eq!(
            list,
            [
                0, 7, 0, 5, b'a', 0, 0, 0, 0, 8, 0, 9, b'b', b'c', b'd', b'e', b'f'
            ]
        );
    }

    #[test]
    fn final_padding_inside_the_list_is_no_frame() {
        let list = [0, 7, 0, 5, b'a', 0, 0, 0, 0, 0];
        let mut reader = Reader::new(&list, 0);
        let frame = next::<()>(&mut reader).expect("a frame").expect("well formed");
        assert_eq!((frame.kind, frame.value), (7, &b"a"[..]));
        assert!(next::<()>(&mut reader).is_none());
    }

    #[test]
    fn a_list_ends_at_its_first_error() {
        for (list, kind) in [
            (vec![0, 7, 0, 3, 0, 8, 0, 4], DecodeErrorKind::BadLength),
            (vec![0, 7, 0, 9, 0, 8, 0, 4], DecodeErrorKind::Truncated),
        ] {
            let mut reader = Reader::new(&list, 0);
            assert_eq!(
                next::<()>(&mut reader)
                    .expect("an item")
                    .expect_err("an error")
                    .kind,
                kind
            );
            assert!(next::<()>(&mut reader).is_none());
        }
    }

    #[test]
    fn the_upper_two_bits_select_the_unknown_action() {
        assert_eq!(UnknownAction::of_chunk(0x3f), UnknownAction::Stop);
        assert_eq!(UnknownAction::of_chunk(0x7f), UnknownAction::StopAndReport);
        assert_eq!(UnknownAction::of_parameter(0x8008), UnknownAction::Skip);
        assert_eq!(UnknownAction::of_parameter(0xc000), UnknownAction::SkipAndReport);
        assert!(UnknownAction::Skip.goes_on() && !UnknownAction::Skip.reports());
    }
}

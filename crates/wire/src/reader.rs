//! Reader: a cursor over received bytes that knows its offset and never reads beyond the end.

use crate::{DecodeError, DecodeErrorKind};

/// A cursor over received bytes, big endian.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A cursor at the start of `bytes`, which themselves start at offset `at` of the packet.
    pub(crate) const fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { rest: bytes, at }
    }

    /// Offset in the packet of the byte that comes next.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    /// The bytes not read yet.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// An error of `kind` at the next byte.
    pub(crate) const fn error(&self, kind: DecodeErrorKind) -> DecodeError {
        DecodeError { at: self.at, kind }
    }

    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return Err(self.error(DecodeErrorKind::Truncated));
        };
        self.rest = rest;
        self.at += count;
        Ok(taken)
    }

    /// Skips up to `count` bytes; fewer if there are fewer.
    pub(crate) fn skip_at_most(&mut self, count: usize) {
        let count = count.min(self.rest.len());
        self.rest = &self.rest[count..];
        self.at += count;
    }

    /// The next `N` bytes.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.error(DecodeErrorKind::Truncated));
        };
        self.rest = rest;
        self.at += N;
        Ok(*taken)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u128(&mut self) -> Result<u128, DecodeError> {
        self.array().map(u128::from_be_bytes)
    }

    /// Checks that nothing is left.
    pub(crate) const fn end(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.error(DecodeErrorKind::BadLength))
        }
    }
}

/// Splits `bytes` into big-endian 16-bit numbers; an odd last byte is left out.
pub(crate) fn u16s(bytes: &[u8]) -> impl ExactSizeIterator<Item = u16> + Clone + '_ {
    bytes.as_chunks().0.iter().map(|pair| u16::from_be_bytes(*pair))
}

/// Splits `bytes` into big-endian 32-bit numbers; up to three last bytes are left out.
pub(crate) fn u32s(bytes: &[u8]) -> impl ExactSizeIterator<Item = u32> + Clone + '_ {
    bytes.as_chunks().0.iter().map(|four| u32::from_be_bytes(*four))
}

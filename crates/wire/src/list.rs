//! Lists of parameters and of error causes, decoded item by item.

use core::iter::FusedIterator;
use core::marker::PhantomData;

use crate::DecodeError;
use crate::reader::Reader;
use crate::tlv;

/// A list of TLV items of one kind, decoded as it is iterated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct List<'a, Kind> {
    reader: Reader<'a>,
    of: PhantomData<Kind>,
}

impl<'a, Kind> List<'a, Kind> {
    /// The list in `bytes`; positions in errors count from their start.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self::at(Reader::new(bytes, 0))
    }

    pub(crate) const fn at(reader: Reader<'a>) -> Self {
        Self {
            reader,
            of: PhantomData,
        }
    }

    /// The list as in the packet.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.reader.rest()
    }

    /// The items in order; ends after the first one that is malformed.
    #[must_use]
    pub const fn iter(&self) -> Frames<'a, Kind> {
        Frames {
            reader: self.reader,
            of: PhantomData,
        }
    }
}

impl<'a, Kind> IntoIterator for List<'a, Kind> {
    type Item = Result<Frame<'a, Kind>, DecodeError>;
    type IntoIter = Frames<'a, Kind>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, Kind> IntoIterator for &List<'a, Kind> {
    type Item = Result<Frame<'a, Kind>, DecodeError>;
    type IntoIter = Frames<'a, Kind>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Iterates over a [`List`].
#[derive(Clone, Debug)]
pub struct Frames<'a, Kind> {
    reader: Reader<'a>,
    of: PhantomData<Kind>,
}

impl<'a, Kind> Iterator for Frames<'a, Kind> {
    type Item = Result<Frame<'a, Kind>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        tlv::next(&mut self.reader)
    }
}

impl<Kind> FusedIterator for Frames<'_, Kind> {}

/// One item of a list, its value not decoded yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame<'a, Kind> {
    /// The type or cause code; see [`crate::parameter::kind`] and [`crate::cause::kind`].
    pub kind: u16,
    /// What follows the length field, without padding.
    pub value: &'a [u8],
    /// The whole item without padding, as a report must quote it.
    pub bytes: &'a [u8],
    /// Where the item begins in its packet.
    pub at: usize,
    of: PhantomData<Kind>,
}

impl<'a, Kind> Frame<'a, Kind> {
    /// The item `bytes` that begins at `at`, split into code and value.
    pub(crate) const fn new(kind: u16, value: &'a [u8], bytes: &'a [u8], at: usize) -> Self {
        Self {
            kind,
            value,
            bytes,
            at,
            of: PhantomData,
        }
    }
}

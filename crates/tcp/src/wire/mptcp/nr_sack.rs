//! NR-SACK blocks of MPTCP: data received beyond a gap that will never be discarded. They are part of a data acknowledgement
//! (Yang 2015, appendix A.2).
//!
//! Block edges are relative to the data acknowledgement. Whether an edge has three or four bytes is negotiated in the handshake
//! and not repeated, so blocks are decoded where that is known. The paper's figures do not show their place in the option; here
//! they are at the end, where a host that does not know them finds all other fields in place.

use alloc::vec::Vec;

/// Form of the blocks, which sets their length.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NrSackForm {
    /// 6 bytes: edges up to 2²⁴ beyond the acknowledgement.
    Short,
    /// 8 bytes: edges up to 2³² beyond it.
    Long,
}

impl NrSackForm {
    /// The form negotiated from two offers: "the size of one NR-SACK block is 6 bytes only if both endpoints set n = 1" (Yang
    /// 2015, appendix A.1).
    #[must_use]
    pub const fn agreed(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(Self::Short), Some(Self::Short)) => Some(Self::Short),
            (Some(_), Some(_)) => Some(Self::Long),
            _ => None,
        }
    }

    /// Bytes of `count` blocks, padding included: "when the size of one NR-SACK block is 6 bytes and 1 or 3 NR-SACK
    /// blocks are present, two bytes paddings are used" (Yang 2015, appendix A.2).
    const fn bytes(self, count: usize) -> usize {
        match self {
            Self::Short => (6 * count).next_multiple_of(4),
            Self::Long => 8 * count,
        }
    }

    const fn edge(self) -> usize {
        match self {
            Self::Short => 3,
            Self::Long => 4,
        }
    }

    /// Largest offset of an edge from the acknowledgement.
    const fn reach(self) -> u32 {
        match self {
            Self::Short => (1 << 24) - 1,
            Self::Long => u32::MAX,
        }
    }
}

/// A range of data beyond a gap, relative to the data acknowledgement. It is not empty and does not start at offset 0, which is
/// missing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RelativeBlock {
    start: u32,
    end: u32,
}

impl RelativeBlock {
    /// The range from `start` to `end` (exclusive); `None` if it is invalid.
    #[must_use]
    pub const fn new(start: u32, end: u32) -> Option<Self> {
        if 0 < start && start < end {
            Some(Self { start, end })
        } else {
            None
        }
    }

    /// Offset of its first byte from the acknowledgement.
    #[must_use]
    pub const fn start(self) -> u32 {
        self.start
    }

    /// Offset of the number behind its last byte.
    #[must_use]
    pub const fn end(self) -> u32 {
        self.end
    }
}

/// The blocks of one data acknowledgement in wire format: the latest arrival first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NrSacks {
    count: u8,
    /// Bytes in use, padding included.
    length: u8,
    bytes: [u8; Self::MAX_BYTES],
}

impl NrSacks {
    /// Maximum number of blocks, limited by the two-bit count.
    pub const MAX: usize = 3;
    const MAX_BYTES: usize = 8 * Self::MAX;

    /// Encodes as many of `blocks` as possible; those beyond the range of the form are left out.
    #[must_use]
    pub fn new(form: NrSackForm, blocks: impl IntoIterator<Item = RelativeBlock>) -> Self {
        let mut all = Self::default();
        let edge = form.edge();
        let reachable = blocks.into_iter().filter(|block| block.end <= form.reach());
        for (place, block) in reachable.take(Self::MAX).enumerate() {
            let at = 2 * edge * place;
            all.bytes[at..at + edge].copy_from_slice(&block.start.to_be_bytes()[4 - edge..]);
            all.bytes[at + edge..at + 2 * edge].copy_from_slice(&block.end.to_be_bytes()[4 - edge..]);
            all.count += 1;
            all.length = form.bytes(place + 1) as u8;
        }
        all
    }

    /// Decodes the blocks; `None` if they do not have this form or one of them is invalid.
    #[must_use]
    pub fn blocks(&self, form: NrSackForm) -> Option<Vec<RelativeBlock>> {
        if self.bytes() != form.bytes(self.len()) {
            return None;
        }
        let edge = form.edge();
        let number = |at: usize| {
            let bytes = &self.bytes[at..at + edge];
            bytes
                .iter()
                .fold(0, |number, &byte| (number << 8) | u32::from(byte))
        };
        (0..self.len())
            .map(|place| 2 * edge * place)
            .map(|at| RelativeBlock::new(number(at), number(at + edge)))
            .collect()
    }

    /// Number of blocks.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are no blocks.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Removes the last block.
    pub(in crate::wire) fn shorten(&mut self) {
        let long = self.bytes() == NrSackForm::Long.bytes(self.len());
        let form = if long { NrSackForm::Long } else { NrSackForm::Short };
        self.count = self.count.saturating_sub(1);
        self.length = form.bytes(self.len()) as u8;
        let used = 2 * form.edge() * self.len();
        self.bytes[used..].fill(0);
    }

    /// Length in bytes.
    pub(super) const fn bytes(&self) -> usize {
        self.length as usize
    }

    /// `None` if no form gives this number of blocks this length.
    pub(super) fn parse(count: u8, value: &[u8]) -> Option<Self> {
        let forms = [NrSackForm::Short, NrSackForm::Long];
        if !forms
            .iter()
            .any(|form| form.bytes(usize::from(count)) == value.len())
        {
            return None;
        }
        let mut bytes = [0; Self::MAX_BYTES];
        bytes[..value.len()].copy_from_slice(value);
        Some(Self {
            count,
            length: value.len() as u8,
            bytes,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes[..self.bytes()]);
    }
}

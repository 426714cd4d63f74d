//! NR-SACK blocks of MPTCP. Which data has arrived beyond a gap, and will never be discarded? They are part of a data
//! acknowledgement (Yang 2015, appendix A.2).
//!
//! Their edges are counted from the data acknowledgement. Whether an edge has three or four bytes was agreed on when
//! the connection began and is not told again, so blocks are read where that is known. The figures of the paper do not
//! say where in the option they stand; here it is the end, where who does not know them finds all else in its place.

use alloc::vec::Vec;

/// How many bytes a block takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NrSackForm {
    /// 6: edges up to 2²⁴ beyond the acknowledgement.
    Short,
    /// 8: edges up to 2³² beyond it.
    Long,
}

impl NrSackForm {
    /// What two offers come to: "the size of one NR-SACK block is 6 bytes only if both endpoints set n = 1" (Yang 2015,
    /// appendix A.1).
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

    /// How far beyond the acknowledgement an edge can be.
    const fn reach(self) -> u32 {
        match self {
            Self::Short => (1 << 24) - 1,
            Self::Long => u32::MAX,
        }
    }
}

/// A run of data beyond what is missing, counted from the data acknowledgement. Neither empty nor at its very
/// beginning, which is missing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RelativeBlock {
    start: u32,
    end: u32,
}

impl RelativeBlock {
    /// From `start` up to but not including `end`; `None` for a block that cannot be.
    #[must_use]
    pub const fn new(start: u32, end: u32) -> Option<Self> {
        if 0 < start && start < end {
            Some(Self { start, end })
        } else {
            None
        }
    }

    /// How far its first byte is beyond the acknowledgement.
    #[must_use]
    pub const fn start(self) -> u32 {
        self.start
    }

    /// How far the number behind its last byte is beyond it.
    #[must_use]
    pub const fn end(self) -> u32 {
        self.end
    }
}

/// The blocks of one data acknowledgement, as they are on the wire: that of the latest arrival first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NrSacks {
    count: u8,
    /// Bytes in use, padding included.
    length: u8,
    bytes: [u8; Self::MAX_BYTES],
}

impl NrSacks {
    /// As many as the two bits that count them can say.
    pub const MAX: usize = 3;
    const MAX_BYTES: usize = 8 * Self::MAX;

    /// As many of `blocks` as can be told; what is beyond the reach of the form is left out.
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

    /// The blocks; `None` if they are not of this form or one of them cannot be.
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

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Leaves the last one out.
    pub(in crate::wire) fn shorten(&mut self) {
        let long = self.bytes() == NrSackForm::Long.bytes(self.len());
        let form = if long { NrSackForm::Long } else { NrSackForm::Short };
        self.count = self.count.saturating_sub(1);
        self.length = form.bytes(self.len()) as u8;
        let used = 2 * form.edge() * self.len();
        self.bytes[used..].fill(0);
    }

    /// Bytes that they take.
    pub(super) const fn bytes(&self) -> usize {
        self.length as usize
    }

    /// `None` if so many blocks do not take so many bytes in any form.
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

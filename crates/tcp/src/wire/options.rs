//! TCP options that this implementation knows.

use alloc::vec::Vec;

use super::mptcp::{self, MptcpOption, MptcpOptions};
use super::{DecodeError, DecodeErrorKind, MAX_OPTIONS};
use crate::sequence::SequenceNumber;

const END: u8 = 0;
pub(super) const NO_OPERATION: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// "the shift count MUST be limited to 14" (RFC 7323 §2.3).
const LARGEST_SCALE: u8 = 14;

/// The options of one segment; absent ones are `None`, `false` or empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Maximum segment size (RFC 9293 §3.7.1); with SYN only.
    pub mss: Option<u16>,
    /// Window scale shift, at most 14 (RFC 7323 §2.2); with SYN only.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018 §2); with SYN only.
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323 §3.2).
    pub timestamps: Option<Timestamps>,
    /// SACK blocks (RFC 2018 §3).
    pub sack: SackBlocks,
    /// MPTCP options (RFC 8684 §3).
    pub mptcp: MptcpOptions,
}

/// The two fields of the timestamps option.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Timestamps {
    /// The sender's clock (TSval).
    pub value: u32,
    /// The echoed timestamp (TSecr); meaningless without ACK.
    pub echo: u32,
}

/// SACK block: a range of bytes that arrived out of order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlock {
    /// Left edge: its first byte.
    pub start: SequenceNumber,
    /// Right edge: the sequence number after its last byte.
    pub end: SequenceNumber,
}

/// Up to four SACK blocks in wire order: the latest arrival first (RFC 2018 §4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks {
    blocks: [SackBlock; Self::MAX],
    count: u8,
}

impl SackBlocks {
    /// Maximum number of blocks without other options; with timestamps, three (RFC 2018 §3).
    pub const MAX: usize = 4;

    /// Appends a block; a fifth one is left out.
    pub fn push(&mut self, block: SackBlock) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.count)) {
            *slot = block;
            self.count += 1;
        }
    }

    /// The blocks, in wire order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = SackBlock> + '_ {
        self.blocks[..usize::from(self.count)].iter().copied()
    }

    /// Whether there are no blocks.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Number of blocks that fit into `room` bytes of options.
    #[must_use]
    pub const fn fitting(room: usize) -> usize {
        let most = room.saturating_sub(4) / 8;
        if most < Self::MAX { most } else { Self::MAX }
    }
}

impl FromIterator<SackBlock> for SackBlocks {
    fn from_iter<I: IntoIterator<Item = SackBlock>>(blocks: I) -> Self {
        let mut all = Self::default();
        blocks.into_iter().for_each(|block| all.push(block));
        all
    }
}

impl Options {
    /// Decodes the options, which start at offset `at` of the segment.
    pub(super) fn parse(mut bytes: &[u8], mut at: usize) -> Result<Self, DecodeError> {
        let mut options = Self::default();
        while let [kind, rest @ ..] = bytes {
            let length = match (*kind, rest) {
                (END, _) => break,
                (NO_OPERATION, _) => 1,
                (_, [length, ..]) => usize::from(*length),
                (_, []) => 0,
            };
            let option = match (*kind, length) {
                (NO_OPERATION, _) => Some((bytes, rest)),
                (_, 0 | 1) => None,
                _ => bytes.split_at_checked(length),
            };
            let Some((option, behind)) = option else {
                return Err(bad(at));
            };
            if *kind != NO_OPERATION {
                options.take(*kind, &option[2..]).ok_or_else(|| bad(at))?;
            }
            bytes = behind;
            at += length;
        }
        Ok(options)
    }

    /// `None` if the length is invalid for the kind.
    fn take(&mut self, kind: u8, value: &[u8]) -> Option<()> {
        match kind {
            MSS => self.mss = Some(u16::from_be_bytes(value.try_into().ok()?)),
            WINDOW_SCALE => {
                let [scale] = value.try_into().ok()?;
                self.window_scale = Some(LARGEST_SCALE.min(scale));
            }
            SACK_PERMITTED => self.sack_permitted = value.is_empty().then_some(true)?,
            TIMESTAMPS => {
                let (value, echo) = value.split_at_checked(4)?;
                self.timestamps = Some(Timestamps {
                    value: number(value)?,
                    echo: number(echo)?,
                });
            }
            SACK => {
                let (blocks, rest) = value.as_chunks::<8>();
                if !rest.is_empty() || blocks.is_empty() {
                    return None;
                }
                self.sack = blocks.iter().map(block).collect();
            }
            mptcp::KIND => self.mptcp.take(value)?,
            _ => {}
        }
        Some(())
    }

    /// Appends the options, padded to a multiple of four bytes, each aligned as usual (RFC 7323 appendix A).
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        if let Some(size) = self.mss {
            let [high, low] = size.to_be_bytes();
            out.extend_from_slice(&[MSS, 4, high, low]);
        }
        if let Some(scale) = self.window_scale {
            out.extend_from_slice(&[NO_OPERATION, WINDOW_SCALE, 3, scale]);
        }
        if self.sack_permitted {
            out.extend_from_slice(&[NO_OPERATION, NO_OPERATION, SACK_PERMITTED, 2]);
        }
        if let Some(Timestamps { value, echo }) = self.timestamps {
            out.extend_from_slice(&[NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10]);
            out.extend_from_slice(&value.to_be_bytes());
            out.extend_from_slice(&echo.to_be_bytes());
        }
        if !self.sack.is_empty() {
            out.extend_from_slice(&[NO_OPERATION, NO_OPERATION, SACK, 2 + 8 * self.sack.count]);
            for SackBlock { start, end } in self.sack.iter() {
                out.extend_from_slice(&start.0.to_be_bytes());
                out.extend_from_slice(&end.0.to_be_bytes());
            }
        }
        self.mptcp.write(out);
    }

    /// Reduces the options to fit a header, and returns the notices without space: a later segment may carry them.
    ///
    /// Options are dropped in this order: NR-SACKs, which "yield the TCP option space to all TCP and other MPTCP options" (Yang
    /// 2015, appendix A.2); SACK blocks, the oldest first; notices, the latest first. Timestamps stay, since a segment without
    /// them would be dropped (RFC 7323 §3.2), and so does the primary MPTCP option, which determines the meaning of the segment.
    pub fn fit(&mut self) -> Vec<MptcpOption> {
        while self.len() > MAX_OPTIONS
            && let Some(nr_sacks) = self.mptcp.nr_sacks_mut()
            && !nr_sacks.is_empty()
        {
            nr_sacks.shorten();
        }
        while self.len() > MAX_OPTIONS && !self.sack.is_empty() {
            self.sack.count -= 1;
            self.sack.blocks[usize::from(self.sack.count)] = SackBlock::default();
        }
        let mut left = Vec::new();
        while self.len() > MAX_OPTIONS
            && let Some(option) = self.mptcp.others.pop()
        {
            left.insert(0, option);
        }
        left
    }

    /// Length of the options in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        let fours = usize::from(self.mss.is_some())
            + usize::from(self.window_scale.is_some())
            + usize::from(self.sack_permitted);
        let timestamps = if self.timestamps.is_some() { 12 } else { 0 };
        let sack = match self.sack.count {
            0 => 0,
            count => 4 + 8 * usize::from(count),
        };
        fours * 4 + timestamps + sack + self.mptcp.len()
    }

    /// Whether there are no options.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Space left for further options in bytes.
    #[must_use]
    pub fn room(&self) -> usize {
        MAX_OPTIONS.saturating_sub(self.len())
    }
}

fn bad(at: usize) -> DecodeError {
    DecodeError {
        at,
        kind: DecodeErrorKind::BadOption,
    }
}

fn number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

fn block(bytes: &[u8; 8]) -> SackBlock {
    let [a, b, c, d, e, f, g, h] = *bytes;
    SackBlock {
        start: SequenceNumber(u32::from_be_bytes([a, b, c, d])),
        end: SequenceNumber(u32::from_be_bytes([e, f, g, h])),
    }
}

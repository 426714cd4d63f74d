//! Buffer sizing. How large are the send buffer and the receive buffer of an association now?
//!
//! A size is fixed, or a range within which the buffer sizes itself. Only the limit moves; nothing is allocated for it.
//!
//! | buffer | size within the range |
//! |---|---|
//! | send | what was sent and is still held, and what all paths send in two of the longest round trips |
//! | receive | twice what became readable in the longest round trip, while the application keeps up |

mod receive;
mod send;

use core::fmt;
use core::str::FromStr;

pub use receive::{ReceiveFacts, ReceiveSizing};
pub use send::{SendFacts, in_longest_round, send_buffer};

#[cfg(test)]
mod tests;

/// Size of a send or receive buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BufferSize {
    /// Always this many bytes.
    Fixed(u64),
    /// The buffer sizes itself.
    SelfSized(SizeRange),
}

/// The range of a buffer that sizes itself, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SizeRange {
    /// Size at the start, and the smallest one.
    pub initial: u64,
    /// Largest size.
    pub max: u64,
}

impl SizeRange {
    /// 1 to 64 MiB: the start of a transfer is not limited, and 1 Gbit/s over 250 ms has room twice.
    pub const DEFAULT: Self = Self {
        initial: 1 << 20,
        max: 64 << 20,
    };

    /// `bytes`, or the nearer end of the range.
    #[must_use]
    pub fn clamp(&self, bytes: u64) -> u64 {
        bytes.min(self.max).max(self.smallest())
    }

    /// The smallest size: at most the largest one, whatever `initial` says.
    #[must_use]
    pub fn smallest(&self) -> u64 {
        self.initial.min(self.max)
    }
}

impl Default for SizeRange {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl BufferSize {
    /// A buffer that sizes itself within [`SizeRange::DEFAULT`].
    pub const AUTO: Self = Self::SelfSized(SizeRange::DEFAULT);

    /// Size at the start, in bytes.
    #[must_use]
    pub fn initial(&self) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::SelfSized(range) => range.smallest(),
        }
    }

    /// Largest size, in bytes.
    #[must_use]
    pub const fn max(&self) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::SelfSized(range) => range.max,
        }
    }

    /// The range, if the buffer sizes itself.
    #[must_use]
    pub const fn range(&self) -> Option<&SizeRange> {
        match self {
            Self::Fixed(_) => None,
            Self::SelfSized(range) => Some(range),
        }
    }
}

impl From<u64> for BufferSize {
    fn from(bytes: u64) -> Self {
        Self::Fixed(bytes)
    }
}

impl From<SizeRange> for BufferSize {
    fn from(range: SizeRange) -> Self {
        Self::SelfSized(range)
    }
}

/// Neither a number of bytes nor `auto`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoBufferSize;

impl fmt::Display for NoBufferSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected `auto` or a number of bytes such as 65536 or 8MiB")
    }
}

impl core::error::Error for NoBufferSize {}

/// Units of sizes, each with its factor.
const UNITS: [(&str, u64); 3] = [("kib", 1 << 10), ("mib", 1 << 20), ("gib", 1 << 30)];

impl FromStr for BufferSize {
    type Err = NoBufferSize;

    /// Reads `auto`, or a number of bytes, which may have the unit `KiB`, `MiB` or `GiB`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("auto") {
            return Ok(Self::AUTO);
        }
        let end = text.find(|letter: char| !letter.is_ascii_digit());
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        let unit = unit.trim_start();
        let known = UNITS.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name));
        let factor = match known {
            Some((_, factor)) => *factor,
            None if unit.is_empty() => 1,
            None => return Err(NoBufferSize),
        };
        let number: u64 = number.parse().map_err(|_| NoBufferSize)?;
        let bytes = number.checked_mul(factor).filter(|bytes| *bytes > 0);
        bytes.map(Self::Fixed).ok_or(NoBufferSize)
    }
}

impl fmt::Display for BufferSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(bytes) => write!(f, "{bytes}"),
            Self::SelfSized(range) if *range == SizeRange::DEFAULT => f.write_str("auto"),
            Self::SelfSized(range) => write!(f, "{} to {}", range.smallest(), range.max),
        }
    }
}

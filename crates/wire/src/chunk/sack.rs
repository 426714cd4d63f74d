//! SACK chunk (RFC 9260 §3.3.4).
//!
//! ```text
//! +---------------+---+-----------+-------------------------------+
//! |   type = 3    |DAC|     0     |  length = 16 + 4 n + 4 m      |
//! +---------------+---+-----------+-------------------------------+
//! |                      cumulative TSN ack                       |
//! +---------------------------------------------------------------+
//! |             advertised receiver window credit                 |
//! +-------------------------------+-------------------------------+
//! |   number of gap blocks = n    |   number of duplicates = m    |
//! +-------------------------------+-------------------------------+
//! |       gap block start         |        gap block end          |  n times, offsets from the
//! +-------------------------------+-------------------------------+  cumulative TSN, inclusive
//! |                         duplicate TSN                         |  m times
//! +---------------------------------------------------------------+
//! ```
//!
//! The two DAC bits are those of delayed acknowledgement in Concurrent Multipath Transfer (Iyengar, Amer and
//! Stewart 2006): how many packets the receiver has got since its last SACK, so that the sender does not
//! mistake a delayed acknowledgement for a gap. In RFC 9260 the flags are zero, which carries no information.

use core::fmt;

use anabranch_types::Tsn;

use super::{RawChunk, kind};
use crate::reader::{Reader, u32s};
use crate::writer::length_field;
use crate::{DecodeError, WriteChunk, Writer};

/// Bytes of the fields before the blocks, without the chunk header.
const FIXED_LEN: usize = 12;

/// A gap ack block: offsets from the cumulative TSN, both inclusive.
///
/// As received; a hostile block may be empty or reversed ([`crate::ValidSack`] removes those).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GapBlock {
    /// Offset of the first TSN; at least 2 in an honest block, for an offset of 1 would be cumulative.
    pub start: u16,
    /// Offset of the last TSN.
    pub end: u16,
}

impl GapBlock {
    const fn bits(self) -> u32 {
        (self.start as u32) << 16 | self.end as u32
    }

    pub(super) const fn from_bits(bits: u32) -> Self {
        Self {
            start: (bits >> 16) as u16,
            end: bits as u16,
        }
    }
}

/// `2-3`
impl fmt::Display for GapBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.start, self.end)
    }
}

/// A received SACK: well formed, not validated yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sack<'a> {
    /// Cumulative TSN Ack: everything up to this TSN has arrived.
    pub cumulative: Tsn,
    /// Advertised receiver window (a_rwnd), in bytes.
    pub a_rwnd: u32,
    /// The flags byte; see [`Sack::packet_count`].
    pub flags: u8,
    gap_blocks: &'a [u8],
    duplicates: &'a [u8],
}

impl<'a> Sack<'a> {
    #[inline]
    pub(crate) fn decode(flags: u8, mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        let [c0, c1, c2, c3, w0, w1, w2, w3, g0, g1, d0, d1] = reader.array::<FIXED_LEN>()?;
        let gap_block_count = usize::from(u16::from_be_bytes([g0, g1]));
        let duplicate_count = usize::from(u16::from_be_bytes([d0, d1]));
        let gap_blocks = reader.take(4 * gap_block_count)?;
        let duplicates = reader.take(4 * duplicate_count)?;
        reader.end()?;
        Ok(Self {
            cumulative: Tsn(u32::from_be_bytes([c0, c1, c2, c3])),
            a_rwnd: u32::from_be_bytes([w0, w1, w2, w3]),
            flags,
            gap_blocks,
            duplicates,
        })
    }

    /// How many packets this SACK acknowledges; 2 stands for two or more, `None` if the receiver does not
    /// report it.
    #[must_use]
    pub const fn packet_count(&self) -> Option<u8> {
        packet_count(self.flags)
    }

    /// The gap ack blocks, in the order of the wire.
    pub fn gap_blocks(&self) -> impl ExactSizeIterator<Item = GapBlock> + Clone + use<'a> {
        u32s(self.gap_blocks).map(GapBlock::from_bits)
    }

    /// The TSNs received more than once since the last SACK.
    pub fn duplicates(&self) -> impl ExactSizeIterator<Item = Tsn> + Clone + use<'a> {
        u32s(self.duplicates).map(Tsn)
    }
}

/// The DAC bits of SACK and NR-SACK, read: 01 is one packet, 10 and 11 are two or more.
pub(super) const fn packet_count(flags: u8) -> Option<u8> {
    match flags >> 6 {
        0 => None,
        1 => Some(1),
        _ => Some(2),
    }
}

/// The DAC bits of SACK and NR-SACK, to be sent.
pub(super) fn packet_count_bits(count: Option<u8>) -> u8 {
    count.map_or(0, |count| count.min(2) << 6)
}

impl WriteChunk for Sack<'_> {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN + FIXED_LEN + self.gap_blocks.len() + self.duplicates.len()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::SACK, self.flags, self);
        writer.u32(self.cumulative.0);
        writer.u32(self.a_rwnd);
        writer.u16(count_field(self.gap_blocks.len() / 4));
        writer.u16(count_field(self.duplicates.len() / 4));
        writer.bytes(self.gap_blocks);
        writer.bytes(self.duplicates);
    }
}

/// `SACK cum=16 rwnd=65536 gaps=2-3,7-7 dup=1`; empty parts are left out.
impl fmt::Display for Sack<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SACK cum={} rwnd={}", self.cumulative, self.a_rwnd)?;
        write_blocks(f, "gaps", self.gap_blocks())?;
        write_tail(f, self.duplicates.len() / 4, self.packet_count())
    }
}

/// A list of blocks as `SACK` and `NR-SACK` print it: ` gaps=2-3,7-7`.
pub(super) fn write_blocks(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    blocks: impl Iterator<Item = GapBlock>,
) -> fmt::Result {
    for (index, block) in blocks.enumerate() {
        if index == 0 {
            write!(f, " {name}={block}")?;
        } else {
            write!(f, ",{block}")?;
        }
    }
    Ok(())
}

/// What `SACK` and `NR-SACK` print last: ` dup=1 packets=2`.
pub(super) fn write_tail(
    f: &mut fmt::Formatter<'_>,
    duplicates: usize,
    packet_count: Option<u8>,
) -> fmt::Result {
    if duplicates > 0 {
        write!(f, " dup={duplicates}")?;
    }
    packet_count.map_or(Ok(()), |count| write!(f, " packets={count}"))
}

/// `count` as it stands in a 16-bit field. A larger list does not fit a chunk, so the builder refuses it.
pub(super) fn count_field(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// A SACK to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OutboundSack<'a> {
    /// Cumulative TSN Ack: everything up to this TSN has arrived.
    pub cumulative: Tsn,
    /// Our advertised receiver window (a_rwnd), in bytes.
    pub a_rwnd: u32,
    /// How many packets have arrived since the last SACK; two or more are encoded alike. `None` (and zero) leaves the
    /// flags at zero, as in RFC 9260.
    pub packet_count: Option<u8>,
    /// Gap ack blocks, ascending and disjoint.
    pub blocks: &'a [GapBlock],
    /// TSNs received more than once since the last SACK.
    pub duplicates: &'a [Tsn],
}

impl OutboundSack<'_> {
    /// Bytes before the blocks: what a SACK needs at least.
    pub const HEADER_LEN: usize = RawChunk::HEADER_LEN + FIXED_LEN;
    /// Bytes of one gap block or one duplicate.
    pub const ENTRY_LEN: usize = 4;
}

impl WriteChunk for OutboundSack<'_> {
    fn wire_len(&self) -> usize {
        Self::HEADER_LEN + Self::ENTRY_LEN * (self.blocks.len() + self.duplicates.len())
    }

    //= rfc9260 3.3.4-1
    fn write(&self, writer: &mut Writer<'_>) {
        // One append for all fields before the blocks: most SACKs have none.
        let [l0, l1] = length_field(self.wire_len()).to_be_bytes();
        let [t0, t1, t2, t3] = self.cumulative.0.to_be_bytes();
        let [w0, w1, w2, w3] = self.a_rwnd.to_be_bytes();
        let [b0, b1] = count_field(self.blocks.len()).to_be_bytes();
        let [d0, d1] = count_field(self.duplicates.len()).to_be_bytes();
        let flags = packet_count_bits(self.packet_count);
        writer.bytes(&[
            kind::SACK,
            flags,
            l0,
            l1,
            t0,
            t1,
            t2,
            t3,
            w0,
            w1,
            w2,
            w3,
            b0,
            b1,
            d0,
            d1,
        ]);
        write_block_list(writer, self.blocks);
        self.duplicates.iter().for_each(|tsn| writer.u32(tsn.0));
    }
}

/// Appends the blocks of SACK and NR-SACK.
pub(super) fn write_block_list(writer: &mut Writer<'_>, blocks: &[GapBlock]) {
    // In pieces: a list may be long, and each append checks the limit.
    for some in blocks.chunks(16) {
        let mut bytes = [0; 16 * OutboundSack::ENTRY_LEN];
        for (place, block) in bytes.as_chunks_mut().0.iter_mut().zip(some) {
            *place = block.bits().to_be_bytes();
        }
        writer.bytes(&bytes[..some.len() * OutboundSack::ENTRY_LEN]);
    }
}

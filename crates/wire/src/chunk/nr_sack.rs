//! NR-SACK chunk (draft-natarajan-tsvwg-sctp-nrsack): a SACK with non-renegable gap blocks.
//!
//! ```text
//! +---------------+---+-----------+-------------------------------+
//! |  type = 16    |DAC|     0     | length = 20 + 4 r + 4 n + 4 m |
//! +---------------+---+-----------+-------------------------------+
//! |                      cumulative TSN ack                       |
//! +---------------------------------------------------------------+
//! |             advertised receiver window credit                 |
//! +-------------------------------+-------------------------------+
//! |   number of gap blocks = r    |  number of NR gap blocks = n  |
//! +-------------------------------+-------------------------------+
//! |   number of duplicates = m    |           reserved            |
//! +-------------------------------+-------------------------------+
//! |       gap block start         |        gap block end          |  r times
//! +-------------------------------+-------------------------------+
//! |      NR gap block start       |       NR gap block end        |  n times
//! +-------------------------------+-------------------------------+
//! |                         duplicate TSN                         |  m times
//! +---------------------------------------------------------------+
//! ```
//!
//! The receiver may still drop data that only the first list reports; data in the second list it keeps, so the
//! sender can free it. Both sides list the chunk in Supported Extensions.

use core::fmt;

use anabranch_types::Tsn;

use super::sack::{
    GapBlock, count_field, packet_count, packet_count_bits, write_block_list, write_blocks, write_tail,
};
use super::{RawChunk, kind};
use crate::reader::{Reader, u32s};
use crate::{DecodeError, WriteChunk, Writer};

/// Bytes of the fields before the blocks, without the chunk header.
const FIXED_LEN: usize = 16;

/// A received NR-SACK: well formed, not validated yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NrSack<'a> {
    /// Cumulative TSN Ack: everything up to this TSN has arrived and is kept.
    pub cumulative: Tsn,
    /// Advertised receiver window (a_rwnd), in bytes.
    pub a_rwnd: u32,
    /// The flags byte; see [`NrSack::packet_count`].
    pub flags: u8,
    renegable: &'a [u8],
    non_renegable: &'a [u8],
    duplicates: &'a [u8],
}

impl<'a> NrSack<'a> {
    pub(crate) fn decode(flags: u8, mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        let cumulative = Tsn(reader.u32()?);
        let a_rwnd = reader.u32()?;
        let [renegable, non_renegable, duplicates] = [reader.u16()?, reader.u16()?, reader.u16()?];
        let _reserved = reader.u16()?;
        let renegable = reader.take(4 * usize::from(renegable))?;
        let non_renegable = reader.take(4 * usize::from(non_renegable))?;
        let duplicates = reader.take(4 * usize::from(duplicates))?;
        reader.end()?;
        Ok(Self {
            cumulative,
            a_rwnd,
            flags,
            renegable,
            non_renegable,
            duplicates,
        })
    }

    /// How many packets this chunk acknowledges; 2 stands for two or more, `None` if the receiver does not
    /// report it.
    #[must_use]
    pub const fn packet_count(&self) -> Option<u8> {
        packet_count(self.flags)
    }

    /// Renegable gap ack blocks: received above the cumulative TSN, and may still be dropped.
    pub fn gap_blocks(&self) -> impl ExactSizeIterator<Item = GapBlock> + Clone + use<'a> {
        u32s(self.renegable).map(GapBlock::from_bits)
    }

    /// Non-renegable gap ack blocks: received above the cumulative TSN and kept.
    pub fn non_renegable_blocks(&self) -> impl ExactSizeIterator<Item = GapBlock> + Clone + use<'a> {
        u32s(self.non_renegable).map(GapBlock::from_bits)
    }

    /// The TSNs received more than once since the last acknowledgement.
    pub fn duplicates(&self) -> impl ExactSizeIterator<Item = Tsn> + Clone + use<'a> {
        u32s(self.duplicates).map(Tsn)
    }
}

impl WriteChunk for NrSack<'_> {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN
            + FIXED_LEN
            + self.renegable.len()
            + self.non_renegable.len()
            + self.duplicates.len()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::NR_SACK, self.flags, self);
        writer.u32(self.cumulative.0);
        writer.u32(self.a_rwnd);
        for list in [self.renegable, self.non_renegable, self.duplicates] {
            writer.u16(count_field(list.len() / 4));
        }
        writer.u16(0);
        writer.bytes(self.renegable);
        writer.bytes(self.non_renegable);
        writer.bytes(self.duplicates);
    }
}

/// `NR-SACK cum=16 rwnd=65536 gaps=2-3 nr=7-7 dup=1`; empty parts are left out.
impl fmt::Display for NrSack<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NR-SACK cum={} rwnd={}", self.cumulative, self.a_rwnd)?;
        write_blocks(f, "gaps", self.gap_blocks())?;
        write_blocks(f, "nr", self.non_renegable_blocks())?;
        write_tail(f, self.duplicates.len() / 4, self.packet_count())
    }
}

/// An NR-SACK to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OutboundNrSack<'a> {
    /// Cumulative TSN Ack: everything up to this TSN has arrived and is kept.
    pub cumulative: Tsn,
    /// Our advertised receiver window (a_rwnd), in bytes.
    pub a_rwnd: u32,
    /// How many packets have arrived since the last acknowledgement; see
    /// [`super::OutboundSack::packet_count`].
    pub packet_count: Option<u8>,
    /// Received above and may still be dropped, ascending and disjoint.
    pub blocks: &'a [GapBlock],
    /// Received above and kept, ascending, disjoint, and none of it in `blocks`.
    pub non_renegable: &'a [GapBlock],
    /// TSNs received more than once since the last acknowledgement.
    pub duplicates: &'a [Tsn],
}

impl OutboundNrSack<'_> {
    /// Bytes before the blocks: what an NR-SACK needs at least.
    pub const HEADER_LEN: usize = RawChunk::HEADER_LEN + FIXED_LEN;
    /// Bytes of one block of either list or one duplicate.
    pub const ENTRY_LEN: usize = 4;
}

impl WriteChunk for OutboundNrSack<'_> {
    fn wire_len(&self) -> usize {
        let entries = self.blocks.len() + self.non_renegable.len() + self.duplicates.len();
        Self::HEADER_LEN + Self::ENTRY_LEN * entries
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::NR_SACK, packet_count_bits(self.packet_count), self);
        writer.u32(self.cumulative.0);
        writer.u32(self.a_rwnd);
        writer.u16(count_field(self.blocks.len()));
        writer.u16(count_field(self.non_renegable.len()));
        writer.u16(count_field(self.duplicates.len()));
        writer.u16(0);
        write_block_list(writer, self.blocks);
        write_block_list(writer, self.non_renegable);
        self.duplicates.iter().for_each(|tsn| writer.u32(tsn.0));
    }
}

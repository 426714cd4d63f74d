//! Data sequence signal (DSS, RFC 8684 §3.3): mapping and acknowledgement of data, with NR-SACKs (Yang 2015, appendix A.2).

use alloc::vec::Vec;

use super::checksum::DataChecksum;
use super::nr_sack::NrSacks;
use super::subtype;

/// DATA_FIN (F).
const FIN: u8 = 0x10;
/// The data sequence number has 8 bytes (m).
const LONG_NUMBER: u8 = 0x08;
/// A mapping is present (M).
const MAPPING: u8 = 0x04;
/// The DATA_ACK has 8 bytes (a).
const LONG_ACK: u8 = 0x02;
/// A DATA_ACK is present (A).
const ACK: u8 = 0x01;
/// Number of NR-SACK blocks (C of Yang 2015, appendix A.2). The position of C is our interpretation: the bits before F.
const NR_SACKS: u8 = 0x60;
const NR_SACKS_SHIFT: u32 = NR_SACKS.trailing_zeros();

/// The data sequence signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dss {
    /// Data acknowledgement.
    pub ack: Option<DataAck>,
    /// Mapping of the data in this segment and those that follow it.
    pub mapping: Option<Mapping>,
}

/// A data sequence number, with all 64 bits or the lower 32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dsn {
    /// The lower 32 bits.
    Short(u32),
    /// All 64 bits.
    Long(u64),
}

impl Dsn {
    /// The 64-bit data sequence number nearest to `near`.
    #[must_use]
    pub const fn nearest(self, near: u64) -> u64 {
        match self {
            Self::Long(number) => number,
            Self::Short(low) => {
                let ahead = low.wrapping_sub(near as u32).cast_signed();
                near.wrapping_add_signed(ahead as i64)
            }
        }
    }

    const fn len(self) -> usize {
        match self {
            Self::Short(_) => 4,
            Self::Long(_) => 8,
        }
    }

    fn parse(bytes: &[u8], long: bool) -> Option<(Self, &[u8])> {
        if long {
            let (&number, rest) = bytes.split_first_chunk()?;
            return Some((Self::Long(u64::from_be_bytes(number)), rest));
        }
        let (&number, rest) = bytes.split_first_chunk()?;
        Some((Self::Short(u32::from_be_bytes(number)), rest))
    }

    fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Short(number) => out.extend_from_slice(&number.to_be_bytes()),
            Self::Long(number) => out.extend_from_slice(&number.to_be_bytes()),
        }
    }
}

/// Data acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataAck {
    /// The next data sequence number expected (DATA_ACK).
    pub number: Dsn,
    /// Data received beyond it that will never be discarded (NR-SACK).
    pub nr_sacks: NrSacks,
}

impl DataAck {
    /// A cumulative acknowledgement only.
    #[must_use]
    pub fn cumulative(number: Dsn) -> Self {
        Self {
            number,
            nr_sacks: NrSacks::default(),
        }
    }
}

/// Mapping of subflow bytes to data sequence numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// Data sequence number of the first byte (DSN).
    pub dsn: Dsn,
    /// Subflow sequence number of the first byte, relative to the SYN at 0; 0 for a mapping without bytes.
    pub ssn: u32,
    /// Length, DATA_FIN included; 0 for an infinite mapping, by which a connection falls back to TCP (RFC 8684 §3.7).
    pub length: u16,
    /// The last number covered is DATA_FIN.
    pub fin: bool,
    /// Checksum, if checksums were negotiated ([`DataChecksum`]).
    pub checksum: Option<u16>,
}

impl Mapping {
    /// Number of subflow bytes covered.
    #[must_use]
    pub const fn payload(&self) -> u16 {
        self.length - self.fin as u16
    }

    /// Starts the checksum of this mapping, to which its bytes are to be added. `data` is the 64-bit number of its first byte.
    #[must_use]
    pub fn begin_checksum(&self, data: u64) -> DataChecksum {
        DataChecksum::new(data, self.ssn, self.length)
    }

    const fn len(&self) -> usize {
        let checksum = if self.checksum.is_some() { 2 } else { 0 };
        self.dsn.len() + 6 + checksum
    }

    /// Decodes the mapping and the NR-SACK blocks behind it, whose length is a multiple of four bytes.
    fn parse(bytes: &[u8], flags: u8) -> Option<(Self, &[u8])> {
        let (dsn, rest) = Dsn::parse(bytes, flags & LONG_NUMBER != 0)?;
        let (&ssn, rest) = rest.split_first_chunk()?;
        let (&length, mut rest) = rest.split_first_chunk()?;
        let length = u16::from_be_bytes(length);
        let mut checksum = None;
        if rest.len() % 4 == 2 {
            let (&sum, behind) = rest.split_first_chunk()?;
            checksum = Some(u16::from_be_bytes(sum));
            rest = behind;
        }
        let fin = flags & FIN != 0;
        if fin && length == 0 {
            return None;
        }
        let mapping = Self {
            dsn,
            ssn: u32::from_be_bytes(ssn),
            length,
            fin,
            checksum,
        };
        Some((mapping, rest))
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.dsn.write(out);
        out.extend_from_slice(&self.ssn.to_be_bytes());
        out.extend_from_slice(&self.length.to_be_bytes());
        out.extend(self.checksum.map(u16::to_be_bytes).into_iter().flatten());
    }
}

impl Dss {
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let (&[_, flags], mut rest) = value.split_first_chunk()?;
        let mut number = None;
        if flags & ACK != 0 {
            let (ack, behind) = Dsn::parse(rest, flags & LONG_ACK != 0)?;
            number = Some(ack);
            rest = behind;
        }
        let mut mapping = None;
        if flags & MAPPING != 0 {
            let (found, behind) = Mapping::parse(rest, flags)?;
            mapping = Some(found);
            rest = behind;
        } else if flags & FIN != 0 {
            return None;
        }
        let nr_sacks = NrSacks::parse((flags & NR_SACKS) >> NR_SACKS_SHIFT, rest)?;
        let ack = number.map(|number| DataAck { number, nr_sacks });
        // "The NR-SACKs can be present only when DATA ACK is present" (Yang 2015, appendix A.2).
        (ack.is_some() || nr_sacks.is_empty()).then_some(Self { ack, mapping })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[subtype::SIGNAL << 4, self.flags()]);
        if let Some(ack) = &self.ack {
            ack.number.write(out);
        }
        if let Some(mapping) = &self.mapping {
            mapping.write(out);
        }
        if let Some(ack) = &self.ack {
            ack.nr_sacks.write(out);
        }
    }

    fn flags(&self) -> u8 {
        let ack = self.ack.map_or(0, |ack| {
            let long = matches!(ack.number, Dsn::Long(_));
            let count = ack.nr_sacks.len() as u8;
            ACK | count << NR_SACKS_SHIFT | if long { LONG_ACK } else { 0 }
        });
        let mapping = self.mapping.map_or(0, |mapping| {
            let long = matches!(mapping.dsn, Dsn::Long(_));
            let fin = if mapping.fin { FIN } else { 0 };
            MAPPING | fin | if long { LONG_NUMBER } else { 0 }
        });
        ack | mapping
    }

    pub(super) fn len(&self) -> usize {
        let ack = |ack: &DataAck| ack.number.len() + ack.nr_sacks.bytes();
        4 + self.ack.as_ref().map_or(0, ack) + self.mapping.as_ref().map_or(0, Mapping::len)
    }
}

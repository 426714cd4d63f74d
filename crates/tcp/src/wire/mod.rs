//! TCP segment format: header, options, payload and checksum of RFC 9293 §3.1.

pub(crate) mod checksum;
mod error;
mod mptcp;
mod options;

use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

pub use error::{DecodeError, DecodeErrorKind};
pub use mptcp::{
    AddressCode, AddressId, AddressIds, AdvertisedAddress, DataAck, DataChecksum, Dsn, Dss, FirstData,
    JoinCode, Key, Mapping, MpCapable, MpCapableForm, MpJoin, MptcpOption, MptcpOptions, Nonce, NrSackForm,
    NrSacks, PrimaryOption, RelativeBlock, ResetReason, Token,
};
pub use options::{Options, SackBlock, SackBlocks, Timestamps};

use crate::sequence::SequenceNumber;

/// Length of the fixed header.
pub const HEADER: usize = 20;
/// Maximum length of the options: the header length is counted in units of four bytes, at most 15 of them.
pub const MAX_OPTIONS: usize = 40;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;

/// Kind of a segment. Flag combinations that exclude each other cannot be represented.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Kind {
    /// Data, an acknowledgement, or both.
    #[default]
    Plain,
    /// Start of a direction (SYN).
    Syn,
    /// End of a direction (FIN), possibly with data.
    Fin,
    /// Reset of the connection (RST).
    Reset,
}

/// One TCP segment. URG, ECE and CWR are neither sent nor interpreted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Segment<'a> {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Sequence number of the first byte, or of the SYN.
    pub sequence: SequenceNumber,
    /// Next sequence number that the sender expects (ACK).
    pub acknowledgement: Option<SequenceNumber>,
    /// Kind of the segment.
    pub kind: Kind,
    /// The receiver should deliver the data without waiting for more (PSH).
    pub push: bool,
    /// The window field as on the wire, not scaled (RFC 7323 §2.2).
    pub window: u16,
    /// The options.
    pub options: Options,
    /// The payload.
    pub payload: &'a [u8],
}

impl<'a> Segment<'a> {
    /// Decodes a segment that IP delivered from `source` to `destination`. Unknown options are ignored.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] for bytes that are not a valid segment, or are damaged.
    pub fn parse(bytes: &'a [u8], source: IpAddr, destination: IpAddr) -> Result<Self, DecodeError> {
        let parts = Parts::of(bytes)?;
        match checksum::checksum(bytes, source, destination)? {
            0 => parts.decode(),
            _ => Err(error(16, DecodeErrorKind::BadChecksum)),
        }
    }

    /// Decodes a segment without verifying its checksum.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] for bytes that are not a valid segment.
    #[inline]
    pub fn parse_unverified(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Parts::of(bytes)?.decode()
    }

    /// Appends the segment to `out`, with its checksum.
    ///
    /// # Panics
    ///
    /// If the options take more than [`MAX_OPTIONS`] bytes, or the addresses are of two IP versions.
    pub fn write(&self, source: IpAddr, destination: IpAddr, out: &mut Vec<u8>) {
        let start = out.len();
        self.write_unsealed(out);
        checksum::seal(&mut out[start..], source, destination);
    }

    /// Appends the segment to `out`, with a checksum of zero.
    ///
    /// # Panics
    ///
    /// If the options take more than [`MAX_OPTIONS`] bytes.
    pub fn write_unsealed(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.reserve(HEADER + MAX_OPTIONS + self.payload.len());
        out.extend_from_slice(&self.header());
        self.options.write(out);
        let header_length = out.len() - start;
        assert!(header_length <= HEADER + MAX_OPTIONS, "options too long");
        out[start + 12] = ((header_length / 4) as u8) << 4;
        out.extend_from_slice(self.payload);
    }

    /// The fixed header. Its length, checksum and urgent pointer are zero.
    fn header(&self) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..2].copy_from_slice(&self.source_port.to_be_bytes());
        header[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        header[4..8].copy_from_slice(&self.sequence.0.to_be_bytes());
        header[8..12].copy_from_slice(&self.acknowledgement.unwrap_or_default().0.to_be_bytes());
        header[13] = self.flags();
        header[14..16].copy_from_slice(&self.window.to_be_bytes());
        header
    }

    /// Length in sequence numbers: the payload, and one for SYN or FIN (RFC 9293 §3.4).
    #[must_use]
    pub fn length(&self) -> u32 {
        let control = matches!(self.kind, Kind::Syn | Kind::Fin);
        u32::try_from(self.payload.len()).unwrap_or(u32::MAX) + u32::from(control)
    }

    fn flags(&self) -> u8 {
        let kind = match self.kind {
            Kind::Plain => 0,
            Kind::Syn => SYN,
            Kind::Fin => FIN,
            Kind::Reset => RST,
        };
        let acknowledges = if self.acknowledgement.is_some() { ACK } else { 0 };
        let push = if self.push { PSH } else { 0 };
        kind | acknowledges | push
    }
}

/// The parts of a segment as they were received.
struct Parts<'a> {
    header: &'a [u8; HEADER],
    options: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Parts<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else {
            return Err(error(0, DecodeErrorKind::TooShort));
        };
        let header_length = usize::from(header[12] >> 4) * 4;
        let options = header_length
            .checked_sub(HEADER)
            .and_then(|length| rest.split_at_checked(length));
        let Some((options, payload)) = options else {
            return Err(error(12, DecodeErrorKind::TooShort));
        };
        Ok(Self {
            header,
            options,
            payload,
        })
    }

    #[inline]
    fn decode(self) -> Result<Segment<'a>, DecodeError> {
        let Self {
            header,
            options,
            payload,
        } = self;
        let flags = header[13];
        let Some(kind) = kind_of(flags) else {
            return Err(error(13, DecodeErrorKind::BadFlags));
        };
        let acknowledgement = SequenceNumber(u32_at(header, 8));
        let options = Options::parse(options, HEADER)?;
        if !options.mptcp.suits(kind, flags & ACK != 0) {
            return Err(error(HEADER, DecodeErrorKind::WrongStep));
        }
        Ok(Segment {
            source_port: u16_at(header, 0),
            destination_port: u16_at(header, 2),
            sequence: SequenceNumber(u32_at(header, 4)),
            acknowledgement: (flags & ACK != 0).then_some(acknowledgement),
            kind,
            push: flags & PSH != 0,
            window: u16_at(header, 14),
            options,
            payload,
        })
    }
}

const fn error(at: usize, kind: DecodeErrorKind) -> DecodeError {
    DecodeError { at, kind }
}

/// `None` if SYN is combined with FIN or RST. A RST ends both directions, so a FIN with it adds nothing.
const fn kind_of(flags: u8) -> Option<Kind> {
    match flags & (FIN | SYN | RST) {
        0 => Some(Kind::Plain),
        SYN => Some(Kind::Syn),
        FIN => Some(Kind::Fin),
        RST => Some(Kind::Reset),
        both if both == RST | FIN => Some(Kind::Reset),
        _ => None,
    }
}

fn u16_at(header: &[u8; HEADER], at: usize) -> u16 {
    u16::from_be_bytes([header[at], header[at + 1]])
}

fn u32_at(header: &[u8; HEADER], at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

/// One line in the style of packet analysers: `[SYN] 1..2 ack 7 win 65535`.
impl fmt::Display for Segment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.sequence;
        write!(f, "{} → {} ", self.source_port, self.destination_port)?;
        match self.kind {
            Kind::Plain => {}
            Kind::Syn => f.write_str("[SYN] ")?,
            Kind::Fin => f.write_str("[FIN] ")?,
            Kind::Reset => f.write_str("[RST] ")?,
        }
        write!(f, "{first}..{}", first + self.length())?;
        if let Some(acknowledgement) = self.acknowledgement {
            write!(f, " ack {acknowledgement}")?;
        }
        for block in self.options.sack.iter() {
            write!(f, " sack {}..{}", block.start, block.end)?;
        }
        write!(f, " win {}", self.window)
    }
}

#[cfg(test)]
mod tests;

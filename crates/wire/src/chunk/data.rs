//! DATA chunk (RFC 9260 §3.3.1): a message or a fragment of one.
//!
//! ```text
//! +---------------+-------+-+-+-+-+-------------------------------+
//! |   type = 0    |  res  |I|U|B|E|       length = 16 + n         |
//! +---------------+-------+-+-+-+-+-------------------------------+
//! |                              TSN                              |
//! +-------------------------------+-------------------------------+
//! |       stream identifier       |    stream sequence number     |
//! +-------------------------------+-------------------------------+
//! |                  payload protocol identifier                  |
//! +---------------------------------------------------------------+
//! |                       n bytes of user data                    |
//! +---------------------------------------------------------------+
//! ```

use core::fmt;

use anabranch_types::{Ppid, Ssn, StreamId, Tsn};

use super::kind;
use crate::reader::Reader;
use crate::writer::length_field;
use crate::{DecodeError, WriteChunk, Writer};

/// A DATA chunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Data<'a> {
    /// Transmission sequence number.
    pub tsn: Tsn,
    /// Stream identifier.
    pub stream: StreamId,
    /// Stream sequence number; without meaning if unordered.
    pub ssn: Ssn,
    /// Payload protocol identifier, set by the application and carried unchanged.
    pub ppid: Ppid,
    /// The flags.
    pub flags: DataFlags,
    /// The user data. RFC 9260 §3.3.1 requires at least one byte; an empty payload is decoded because the receiver must
    /// answer it with an ABORT that names the TSN (§6.2).
    pub payload: &'a [u8],
}

/// The flags of a DATA chunk. The other four bits are reserved: sent as zero, ignored on receipt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DataFlags {
    /// B: the first fragment of its message.
    pub beginning: bool,
    /// E: the last fragment of its message.
    pub ending: bool,
    /// U: the message is unordered.
    pub unordered: bool,
    /// I: the receiver is to acknowledge immediately (RFC 9260 §6.2, from RFC 7053).
    pub immediate: bool,
}

impl DataFlags {
    const ENDING: u8 = 0x01;
    const BEGINNING: u8 = 0x02;
    const UNORDERED: u8 = 0x04;
    const IMMEDIATE: u8 = 0x08;

    /// An ordered message in one chunk.
    pub const WHOLE: Self = Self {
        beginning: true,
        ending: true,
        unordered: false,
        immediate: false,
    };

    /// From the flags byte.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self {
            beginning: bits & Self::BEGINNING != 0,
            ending: bits & Self::ENDING != 0,
            unordered: bits & Self::UNORDERED != 0,
            immediate: bits & Self::IMMEDIATE != 0,
        }
    }

    /// The flags byte.
    #[must_use]
    pub const fn bits(self) -> u8 {
        bit(self.ending, Self::ENDING)
            | bit(self.beginning, Self::BEGINNING)
            | bit(self.unordered, Self::UNORDERED)
            | bit(self.immediate, Self::IMMEDIATE)
    }
}

const fn bit(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

impl From<u8> for DataFlags {
    fn from(bits: u8) -> Self {
        Self::from_bits(bits)
    }
}

impl From<DataFlags> for u8 {
    fn from(flags: DataFlags) -> Self {
        flags.bits()
    }
}

/// The letters of the flags that are set: `BE`, `IUB`, `-` if none is.
impl fmt::Display for DataFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = [
            (self.immediate, "I"),
            (self.unordered, "U"),
            (self.beginning, "B"),
            (self.ending, "E"),
        ];
        if letters.iter().all(|(set, _)| !set) {
            return f.write_str("-");
        }
        letters
            .iter()
            .filter(|(set, _)| *set)
            .try_for_each(|(_, letter)| f.write_str(letter))
    }
}

impl<'a> Data<'a> {
    /// Bytes before the payload.
    pub const HEADER_LEN: usize = 16;

    #[inline]
    pub(crate) fn decode(flags: u8, mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        // One bounds check for the header: this is the hot path of a receiver.
        let [t0, t1, t2, t3, s0, s1, n0, n1, p0, p1, p2, p3] = reader.array()?;
        Ok(Self {
            tsn: Tsn(u32::from_be_bytes([t0, t1, t2, t3])),
            stream: StreamId(u16::from_be_bytes([s0, s1])),
            ssn: Ssn(u16::from_be_bytes([n0, n1])),
            ppid: Ppid(u32::from_be_bytes([p0, p1, p2, p3])),
            flags: DataFlags::from_bits(flags),
            payload: reader.rest(),
        })
    }
}

impl WriteChunk for Data<'_> {
    #[inline]
    fn wire_len(&self) -> usize {
        Self::HEADER_LEN + self.payload.len()
    }

    //= rfc9260 3.3.1-1
    #[inline]
    fn write(&self, writer: &mut Writer<'_>) {
        // One append for the header and one for the payload: this is the hot path of a sender.
        let [l0, l1] = length_field(self.wire_len()).to_be_bytes();
        let [t0, t1, t2, t3] = self.tsn.0.to_be_bytes();
        let [s0, s1] = self.stream.0.to_be_bytes();
        let [n0, n1] = self.ssn.0.to_be_bytes();
        let [p0, p1, p2, p3] = self.ppid.0.to_be_bytes();
        let flags = self.flags.bits();
        writer.bytes(&[
            kind::DATA,
            flags,
            l0,
            l1,
            t0,
            t1,
            t2,
            t3,
            s0,
            s1,
            n0,
            n1,
            p0,
            p1,
            p2,
            p3,
        ]);
        writer.bytes(self.payload);
    }
}

/// `DATA tsn=17 sid=0 ssn=3 len=1400 BE`, with `ppid=` only if it is not zero.
impl fmt::Display for Data<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DATA tsn={} sid={} ssn={}", self.tsn, self.stream, self.ssn)?;
        if self.ppid != Ppid::default() {
            write!(f, " ppid={}", self.ppid.0)?;
        }
        write!(f, " len={} {}", self.payload.len(), self.flags)
    }
}

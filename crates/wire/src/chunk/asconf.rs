//! ASCONF and ASCONF ACK chunks (RFC 5061 §4.1).
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |  type = 0xc1  |       0       |            length             |  ASCONF
//! +---------------+---------------+-------------------------------+
//! |                        sequence number                        |
//! +---------------------------------------------------------------+
//! |   address parameter: one that the peer knows the sender by    |
//! +---------------------------------------------------------------+
//! |       requests: add, delete, set primary; in this order       |
//! +---------------------------------------------------------------+
//!
//! +---------------+---------------+-------------------------------+
//! |  type = 0x80  |       0       |            length             |  ASCONF ACK
//! +---------------+---------------+-------------------------------+
//! |                 sequence number of the ASCONF                 |
//! +---------------------------------------------------------------+
//! |      what went wrong; what is not mentioned went well         |
//! +---------------------------------------------------------------+
//! ```
//!
//! Both are valid only behind an AUTH chunk.

use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use anabranch_types::AsconfNumber;

use super::{RawChunk, kind};
use crate::parameter::{address_len, decode_address, write_address};
use crate::reader::Reader;
use crate::{DecodeError, Parameters, WriteChunk, Writer};

/// Bytes of the sequence number, after the chunk header.
const NUMBER_LEN: usize = 4;

/// A received ASCONF chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asconf<'a> {
    /// Sequence number among the ASCONF chunks of this direction.
    pub number: AsconfNumber,
    /// An address of the sender by which the association is found if the packet's source is unknown; may be unspecified.
    pub address: IpAddr,
    /// The requests, in the order in which they are to be processed.
    pub requests: Parameters<'a>,
}

/// A received ASCONF ACK chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AsconfAck<'a> {
    /// The sequence number of the ASCONF.
    pub number: AsconfNumber,
    /// The responses to its requests.
    pub responses: Parameters<'a>,
}

impl<'a> Asconf<'a> {
    pub(crate) fn decode(mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            number: AsconfNumber(reader.u32()?),
            address: decode_address(&mut reader)?,
            requests: Parameters::at(reader),
        })
    }
}

impl<'a> AsconfAck<'a> {
    pub(crate) fn decode(mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            number: AsconfNumber(reader.u32()?),
            responses: Parameters::at(reader),
        })
    }
}

impl WriteChunk for Asconf<'_> {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN + NUMBER_LEN + address_len(self.address) + self.requests.bytes().len()
    }

    //= rfc5061 4.1.1-5, 4.1.1-6
    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::ASCONF, 0, self);
        writer.u32(self.number.0);
        write_address(self.address, writer);
        writer.bytes(self.requests.bytes());
    }
}

impl WriteChunk for AsconfAck<'_> {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN + NUMBER_LEN + self.responses.bytes().len()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::ASCONF_ACK, 0, self);
        writer.u32(self.number.0);
        writer.bytes(self.responses.bytes());
    }
}

/// `ASCONF seq=1 from=10.0.0.1 [add 10.2.0.1 id=1]`
impl fmt::Display for Asconf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "ASCONF seq={} from={} {}",
            self.number, self.address, self.requests
        )
    }
}

/// `ASCONF-ACK seq=1 []`
impl fmt::Display for AsconfAck<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ASCONF-ACK seq={} {}", self.number, self.responses)
    }
}

/// An ASCONF chunk to be sent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OutboundAsconf {
    /// Sequence number among our ASCONF chunks.
    pub number: AsconfNumber,
    /// One of our addresses that the peer knows.
    pub address: IpAddr,
    /// Requests made by a [`crate::ParameterWriter`].
    pub requests: Vec<u8>,
}

impl OutboundAsconf {
    fn view(&self) -> Asconf<'_> {
        Asconf {
            number: self.number,
            address: self.address,
            requests: Parameters::new(&self.requests),
        }
    }
}

impl WriteChunk for OutboundAsconf {
    fn wire_len(&self) -> usize {
        self.view().wire_len()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        self.view().write(writer);
    }
}

/// An ASCONF ACK chunk to be sent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OutboundAsconfAck {
    /// The sequence number of the ASCONF.
    pub number: AsconfNumber,
    /// Responses made by a [`crate::ParameterWriter`]; empty if all requests succeeded.
    pub responses: Vec<u8>,
}

impl OutboundAsconfAck {
    fn view(&self) -> AsconfAck<'_> {
        AsconfAck {
            number: self.number,
            responses: Parameters::new(&self.responses),
        }
    }
}

impl WriteChunk for OutboundAsconfAck {
    fn wire_len(&self) -> usize {
        self.view().wire_len()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        self.view().write(writer);
    }
}

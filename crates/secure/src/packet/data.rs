//! Data packet: one header byte, receiver index, packet number.

use super::{DATA_HEADER_LEN, OVERHEAD, ParseError, Reader};
use crate::index::{INDEX_LEN, Index};
use crate::number::SpaceId;

/// The header of a data packet: it is sent in the clear and authenticated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DataHeader {
    /// The lowest two bits of the key phase.
    pub(crate) phase: u8,
    pub(crate) space: SpaceId,
    pub(crate) receiver: Index,
    /// The lowest 32 bits of the packet number.
    pub(crate) number: u32,
}

impl DataHeader {
    pub(super) fn parse(datagram: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(datagram, 0);
        let first = reader.u8()?;
        let header = Self {
            phase: (first >> 5) & 3,
            space: SpaceId::from_low_bits(first),
            receiver: reader.index()?,
            number: reader.u32()?,
        };
        if datagram.len() < OVERHEAD {
            return Err(ParseError::Truncated(DATA_HEADER_LEN));
        }
        Ok(header)
    }

    /// The header as it is sent.
    pub(crate) fn encode(&self) -> [u8; DATA_HEADER_LEN] {
        let mut bytes = [0; DATA_HEADER_LEN];
        bytes[0] = (self.phase & 3) << 5 | self.space.get();
        bytes[1..=INDEX_LEN].copy_from_slice(self.receiver.as_bytes());
        bytes[1 + INDEX_LEN..].copy_from_slice(&self.number.to_be_bytes());
        bytes
    }
}

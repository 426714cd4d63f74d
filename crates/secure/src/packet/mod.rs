//! Packet format. Of which type is a datagram, and what do its fields say?
//!
//! `docs/sealed-datagrams.md` draws the packets. Parsing checks lengths only; what is sealed is opened later.

mod data;
mod frame;
mod long;

pub(crate) use data::DataHeader;
pub(crate) use frame::{ACK_LEN, CRYPTO_HEADER, Frame, Frames, write_ack, write_close, write_crypto};
pub(crate) use long::{
    ClientInitial, Handshake, Request, Retry, ServerInitial, VersionNegotiation, write_client_initial,
    write_handshake, write_request, write_retry, write_server_initial, write_version_negotiation,
};

use crate::index::{INDEX_LEN, Index};

/// Bytes of an authentication tag: all AEADs of TLS 1.3 in use have this length (RFC 9001 §5.3).
pub const TAG_LEN: usize = 16;
/// Bytes before the payload of a data packet.
pub const DATA_HEADER_LEN: usize = 1 + INDEX_LEN + 4;
/// Bytes that sealing adds to a payload.
pub const OVERHEAD: usize = DATA_HEADER_LEN + TAG_LEN;
/// Least length of a Request: no reply to one is longer.
pub(crate) const MIN_REQUEST: usize = 64;
/// Greatest length of a cookie.
pub(crate) const MAX_COOKIE: usize = 128;

/// Why a datagram is none of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseError {
    /// It ends before the field at this offset is complete.
    #[error("the packet ends within the field at byte {0}")]
    Truncated(usize),
    /// The type is unknown.
    #[error("unknown packet type {0:#04x}")]
    UnknownType(u8),
    /// A Request shorter than its replies may be.
    #[error("a Request of {0} bytes, shorter than {MIN_REQUEST}")]
    ShortRequest(usize),
    /// The field at this offset has a value that it may not have.
    #[error("invalid value in the field at byte {0}")]
    InvalidValue(usize),
}

/// A datagram of a known type.
#[derive(Debug)]
pub(crate) enum Packet {
    Data(DataHeader),
    Request(Request),
    Retry(Retry),
    VersionNegotiation(VersionNegotiation),
    ClientInitial(ClientInitial),
    ServerInitial(ServerInitial),
    Handshake(Handshake),
}

impl Packet {
    /// Parses the clear part of `datagram`.
    pub(crate) fn parse(datagram: &[u8]) -> Result<Self, ParseError> {
        let first = *datagram.first().ok_or(ParseError::Truncated(0))?;
        if first & 0x80 == 0 {
            return DataHeader::parse(datagram).map(Self::Data);
        }
        match first {
            long::REQUEST => Request::parse(datagram).map(Self::Request),
            long::RETRY => Retry::parse(datagram).map(Self::Retry),
            long::VERSION_NEGOTIATION => VersionNegotiation::parse(datagram).map(Self::VersionNegotiation),
            long::CLIENT_INITIAL => ClientInitial::parse(datagram).map(Self::ClientInitial),
            long::SERVER_INITIAL => ServerInitial::parse(datagram).map(Self::ServerInitial),
            long::HANDSHAKE => Handshake::parse(datagram).map(Self::Handshake),
            other => Err(ParseError::UnknownType(other)),
        }
    }
}

/// Reads fields from the start of a datagram.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8], offset: usize) -> Self {
        Self { bytes, offset }
    }

    pub(crate) const fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.offset)
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.offset).copied()
    }

    /// Passes over a byte that [`Reader::peek`] returned.
    pub(crate) const fn skip(&mut self) {
        self.offset += 1;
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], ParseError> {
        let end = self.offset + len;
        let field = self
            .bytes
            .get(self.offset..end)
            .ok_or(ParseError::Truncated(self.offset))?;
        self.offset = end;
        Ok(field)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], ParseError> {
        let offset = self.offset;
        self.take(N)?
            .try_into()
            .map_err(|_| ParseError::Truncated(offset))
    }

    pub(crate) fn u8(&mut self) -> Result<u8, ParseError> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, ParseError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, ParseError> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn index(&mut self) -> Result<Index, ParseError> {
        self.array().map(Index)
    }
}

#[cfg(test)]
mod tests;

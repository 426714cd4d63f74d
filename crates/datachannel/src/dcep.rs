//! Messages of the Data Channel Establishment Protocol (RFC 8832 §5). Are they well-formed?

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;
use thiserror::Error;

use crate::options::{ChannelOptions, ChannelReliability};

/// DATA_CHANNEL_ACK (RFC 8832 §8.2.1).
const ACK: u8 = 0x02;
/// DATA_CHANNEL_OPEN.
const OPEN: u8 = 0x03;

/// Channel types (RFC 8832 §8.2.2).
const RELIABLE: u8 = 0x00;
const PARTIAL_RELIABLE_REXMIT: u8 = 0x01;
const PARTIAL_RELIABLE_TIMED: u8 = 0x02;
/// The bit of channel types whose messages are unordered.
const UNORDERED: u8 = 0x80;

/// Offsets of the fields of DATA_CHANNEL_OPEN.
const CHANNEL_TYPE: usize = 1;
const PRIORITY: usize = 2;
const RELIABILITY: usize = 4;
const LABEL_LENGTH: usize = 8;
const PROTOCOL_LENGTH: usize = 10;
const LABEL: usize = 12;

/// A message of the protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DcepMessage {
    /// DATA_CHANNEL_OPEN: the sender has opened a channel with these properties.
    Open(ChannelOptions),
    /// DATA_CHANNEL_ACK: the sender has accepted it.
    Ack,
}

/// Why a message is malformed, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("DCEP message, byte {position}: {kind}")]
pub struct ParseError {
    /// Offset of the field in bytes.
    pub position: usize,
    /// What is wrong with it.
    pub kind: ParseErrorKind,
}

/// What is wrong with a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The message ends before it.
    #[error("the message is too short")]
    TooShort,
    /// The message is longer than its fields.
    #[error("the message is longer than its fields")]
    TooLong,
    /// The message type is not defined.
    #[error("unknown message type {0:#04x}")]
    MessageType(u8),
    /// The channel type is not defined.
    #[error("unknown channel type {0:#04x}")]
    ChannelType(u8),
    /// A string is not UTF-8.
    #[error("the string is not UTF-8")]
    Text,
}

impl ParseErrorKind {
    const fn at(self, position: usize) -> ParseError {
        ParseError { position, kind: self }
    }
}

impl DcepMessage {
    //= rfc8832 5.1-2
    /// Parses a message. Bytes behind DATA_CHANNEL_ACK are ignored.
    ///
    /// # Errors
    ///
    /// It is malformed.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        match bytes.first() {
            Some(&OPEN) => parse_open(bytes).map(Self::Open),
            Some(&ACK) => Ok(Self::Ack),
            Some(&other) => Err(ParseErrorKind::MessageType(other).at(0)),
            None => Err(ParseErrorKind::TooShort.at(0)),
        }
    }

    //= rfc8832 5.1-1
    /// Encodes the message; `None` if the label or the protocol is longer than 65,535 bytes.
    #[must_use]
    pub fn encode(&self) -> Option<Bytes> {
        let Self::Open(options) = self else {
            return Some(Bytes::from_static(&[ACK]));
        };
        let label = u16::try_from(options.label.len()).ok()?;
        let protocol = u16::try_from(options.protocol.len()).ok()?;
        let (kind, parameter) = match options.reliability {
            ChannelReliability::Reliable => (RELIABLE, 0),
            ChannelReliability::Retransmissions(count) => (PARTIAL_RELIABLE_REXMIT, count),
            ChannelReliability::Lifetime(millis) => (PARTIAL_RELIABLE_TIMED, millis),
        };
        let mut bytes = Vec::with_capacity(LABEL + options.text_bytes());
        bytes.push(OPEN);
        bytes.push(if options.ordered { kind } else { kind | UNORDERED });
        bytes.extend(options.priority.to_be_bytes());
        bytes.extend(parameter.to_be_bytes());
        bytes.extend(label.to_be_bytes());
        bytes.extend(protocol.to_be_bytes());
        bytes.extend(options.label.as_bytes());
        bytes.extend(options.protocol.as_bytes());
        Some(bytes.into())
    }
}

fn parse_open(bytes: &[u8]) -> Result<ChannelOptions, ParseError> {
    let kind = *field::<1>(bytes, CHANNEL_TYPE)?.first().unwrap_or(&0);
    let parameter = u32::from_be_bytes(field(bytes, RELIABILITY)?);
    let reliability = match kind & !UNORDERED {
        RELIABLE => ChannelReliability::Reliable,
        PARTIAL_RELIABLE_REXMIT => ChannelReliability::Retransmissions(parameter),
        PARTIAL_RELIABLE_TIMED => ChannelReliability::Lifetime(parameter),
        _ => return Err(ParseErrorKind::ChannelType(kind).at(CHANNEL_TYPE)),
    };
    let label = usize::from(u16::from_be_bytes(field(bytes, LABEL_LENGTH)?));
    let protocol = usize::from(u16::from_be_bytes(field(bytes, PROTOCOL_LENGTH)?));
    let end = LABEL + label + protocol;
    if bytes.len() > end {
        return Err(ParseErrorKind::TooLong.at(end));
    }
    Ok(ChannelOptions {
        label: text(bytes, LABEL, label)?,
        protocol: text(bytes, LABEL + label, protocol)?,
        ordered: kind & UNORDERED == 0,
        reliability,
        priority: u16::from_be_bytes(field(bytes, PRIORITY)?),
    })
}

/// The `N` bytes at `position`.
fn field<const N: usize>(bytes: &[u8], position: usize) -> Result<[u8; N], ParseError> {
    let found = bytes.get(position..).and_then(<[u8]>::first_chunk);
    found
        .copied()
        .ok_or_else(|| ParseErrorKind::TooShort.at(position))
}

/// The string of `length` bytes at `position`.
fn text(bytes: &[u8], position: usize, length: usize) -> Result<String, ParseError> {
    let found = bytes.get(position..position + length);
    let found = found.ok_or_else(|| ParseErrorKind::TooShort.at(position))?;
    let text = str::from_utf8(found).map_err(|_| ParseErrorKind::Text.at(position))?;
    Ok(text.into())
}

#[cfg(test)]
mod tests;

//! Parameters of RE-CONFIG (RFC 6525 §4): requests to reset or add streams, and the response.

use core::fmt;

use anabranch_types::{ReConfigNumber, StreamId, Tsn};

use super::{RawParameter, kind};
use crate::DecodeError;
use crate::reader::{Reader, u16s};
use crate::tlv;

/// A well-formed parameter of RE-CONFIG.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReConfigParameter<'a> {
    /// The sender begins the sequence numbers of its outgoing streams anew (RFC 6525 §4.1).
    ResetOutgoing {
        /// Number of the request.
        number: ReConfigNumber,
        /// Number of the peer's request that this one answers, or of its last one.
        response: ReConfigNumber,
        /// The last TSN that was sent before.
        last: Tsn,
        /// The streams; all if there are none.
        streams: StreamIds<'a>,
    },
    /// The receiver is to begin the sequence numbers of its outgoing streams anew (RFC 6525 §4.2).
    ResetIncoming {
        /// Number of the request.
        number: ReConfigNumber,
        /// The streams; all if there are none.
        streams: StreamIds<'a>,
    },
    /// Both begin TSNs and sequence numbers anew (RFC 6525 §4.3).
    ResetAssociation {
        /// Number of the request.
        number: ReConfigNumber,
    },
    /// What became of a request (RFC 6525 §4.4).
    Response(ReConfigResponse),
    /// The sender asks for more outgoing streams (RFC 6525 §4.5).
    AddOutgoing {
        /// Number of the request.
        number: ReConfigNumber,
        /// Number of additional streams.
        count: u16,
    },
    /// The sender asks the receiver for more outgoing streams (RFC 6525 §4.6).
    AddIncoming {
        /// Number of the request.
        number: ReConfigNumber,
        /// Number of additional streams.
        count: u16,
    },
    /// An unknown type.
    Unknown(RawParameter<'a>),
}

/// The response to a request (RFC 6525 §4.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReConfigResponse {
    /// Number of the request.
    pub number: ReConfigNumber,
    /// What became of it.
    pub result: ReConfigResult,
    /// The TSNs of the next DATA chunks of the sender and of the receiver of the response.
    pub next: Option<(Tsn, Tsn)>,
}

/// What became of a request (RFC 6525 §4.4, table 3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReConfigResult {
    /// Nothing to do; a success.
    NothingToDo,
    /// Performed.
    Performed,
    /// Denied.
    Denied,
    /// Wrong stream number.
    WrongSsn,
    /// Another request is in progress.
    RequestInProgress,
    /// The request has not the expected number.
    BadSequenceNumber,
    /// Not performed yet.
    InProgress,
    /// A number without a meaning.
    Other(u32),
}

impl ReConfigResult {
    /// The number on the wire.
    #[must_use]
    pub const fn code(self) -> u32 {
        match self {
            Self::NothingToDo => 0,
            Self::Performed => 1,
            Self::Denied => 2,
            Self::WrongSsn => 3,
            Self::RequestInProgress => 4,
            Self::BadSequenceNumber => 5,
            Self::InProgress => 6,
            Self::Other(code) => code,
        }
    }

    const fn of(code: u32) -> Self {
        match code {
            0 => Self::NothingToDo,
            1 => Self::Performed,
            2 => Self::Denied,
            3 => Self::WrongSsn,
            4 => Self::RequestInProgress,
            5 => Self::BadSequenceNumber,
            6 => Self::InProgress,
            code => Self::Other(code),
        }
    }
}

/// A list of streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamIds<'a>(&'a [u8]);

impl<'a> StreamIds<'a> {
    /// In the order of the wire.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = StreamId> + Clone + use<'a> {
        u16s(self.0).map(StreamId)
    }
}

impl<'a> ReConfigParameter<'a> {
    /// Decodes a parameter. Unknown types become [`ReConfigParameter::Unknown`].
    ///
    /// # Errors
    /// If the value does not have the form that the type prescribes.
    pub fn decode(raw: RawParameter<'a>) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(raw.value, raw.at + tlv::HEADER_LEN);
        let reader = &mut reader;
        match raw.kind {
            kind::RESET_OUTGOING => Ok(Self::ResetOutgoing {
                number: number(reader)?,
                response: number(reader)?,
                last: Tsn(reader.u32()?),
                streams: streams(reader)?,
            }),
            kind::RESET_INCOMING => Ok(Self::ResetIncoming {
                number: number(reader)?,
                streams: streams(reader)?,
            }),
            kind::RESET_ASSOCIATION => {
                let number = number(reader)?;
                reader.end().map(|()| Self::ResetAssociation { number })
            }
            kind::RE_CONFIG_RESPONSE => response(reader).map(Self::Response),
            kind::ADD_OUTGOING => {
                let (number, count) = addition(reader)?;
                Ok(Self::AddOutgoing { number, count })
            }
            kind::ADD_INCOMING => {
                let (number, count) = addition(reader)?;
                Ok(Self::AddIncoming { number, count })
            }
            _ => Ok(Self::Unknown(raw)),
        }
    }
}

fn number(reader: &mut Reader<'_>) -> Result<ReConfigNumber, DecodeError> {
    reader.u32().map(ReConfigNumber)
}

fn streams<'a>(reader: &mut Reader<'a>) -> Result<StreamIds<'a>, DecodeError> {
    let bytes = reader.take(reader.rest().len() / 2 * 2)?;
    reader.end().map(|()| StreamIds(bytes))
}

fn response(reader: &mut Reader<'_>) -> Result<ReConfigResponse, DecodeError> {
    let number = number(reader)?;
    let result = ReConfigResult::of(reader.u32()?);
    let next = if reader.rest().is_empty() {
        None
    } else {
        Some((Tsn(reader.u32()?), Tsn(reader.u32()?)))
    };
    reader.end().map(|()| ReConfigResponse { number, result, next })
}

fn addition(reader: &mut Reader<'_>) -> Result<(ReConfigNumber, u16), DecodeError> {
    let number = number(reader)?;
    let count = reader.u16()?;
    reader.u16()?;
    reader.end().map(|()| (number, count))
}

/// `3,4`, or `all`
impl fmt::Display for StreamIds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut streams = self.iter();
        match streams.next() {
            None => f.write_str("all"),
            Some(first) => {
                write!(f, "{}", first.0)?;
                streams.try_for_each(|stream| write!(f, ",{}", stream.0))
            }
        }
    }
}

impl fmt::Display for ReConfigParameter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ResetOutgoing {
                number,
                response,
                last,
                streams,
            } => write!(
                f,
                "reset-outgoing seq={number} resp={response} last={last} streams={streams}"
            ),
            Self::ResetIncoming { number, streams } => {
                write!(f, "reset-incoming seq={number} streams={streams}")
            }
            Self::ResetAssociation { number } => write!(f, "reset-association seq={number}"),
            Self::Response(response) => {
                let code = response.result.code();
                write!(f, "response seq={} result={code}", response.number)?;
                let mut next = response.next.into_iter();
                next.try_for_each(|(sender, receiver)| write!(f, " next={sender},{receiver}"))
            }
            Self::AddOutgoing { number, count } => write!(f, "add-outgoing seq={number} count={count}"),
            Self::AddIncoming { number, count } => write!(f, "add-incoming seq={number} count={count}"),
            Self::Unknown(raw) => write!(f, "parameter {:#06x} len={}", raw.kind, raw.value.len()),
        }
    }
}

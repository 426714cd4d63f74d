//! Error causes in ABORT and ERROR chunks (RFC 9260 §3.3.10.1 to §3.3.10.13,
//! RFC 5061 §4.3, RFC 4895 §4.1), and in responses to address configuration requests.

mod writer;

use core::fmt;

use anabranch_types::{StreamId, Tsn};
pub use writer::CauseWriter;

use crate::list::{Frame, Frames, List};
use crate::reader::{Reader, u16s};
use crate::tlv::{self, Hex};
use crate::{DecodeError, HmacId, Parameters};

/// Cause codes.
pub mod kind {
    /// Invalid Stream Identifier (RFC 9260 §3.3.10.1).
    pub const INVALID_STREAM: u16 = 1;
    /// Missing Mandatory Parameter (RFC 9260 §3.3.10.2).
    pub const MISSING_PARAMETERS: u16 = 2;
    /// Stale Cookie (RFC 9260 §3.3.10.3).
    pub const STALE_COOKIE: u16 = 3;
    /// Out of Resource (RFC 9260 §3.3.10.4).
    pub const OUT_OF_RESOURCE: u16 = 4;
    /// Unresolvable Address (RFC 9260 §3.3.10.5).
    pub const UNRESOLVABLE_ADDRESS: u16 = 5;
    /// Unrecognized Chunk Type (RFC 9260 §3.3.10.6).
    pub const UNRECOGNIZED_CHUNK: u16 = 6;
    /// Invalid Mandatory Parameter (RFC 9260 §3.3.10.7).
    pub const INVALID_MANDATORY_PARAMETER: u16 = 7;
    /// Unrecognized Parameters (RFC 9260 §3.3.10.8).
    pub const UNRECOGNIZED_PARAMETERS: u16 = 8;
    /// No User Data (RFC 9260 §3.3.10.9).
    pub const NO_USER_DATA: u16 = 9;
    /// Cookie Received While Shutting Down (RFC 9260 §3.3.10.10).
    pub const COOKIE_WHILE_SHUTTING_DOWN: u16 = 10;
    /// Restart of an Association with New Addresses (RFC 9260 §3.3.10.11).
    pub const RESTART_WITH_NEW_ADDRESSES: u16 = 11;
    /// User-Initiated Abort (RFC 9260 §3.3.10.12).
    pub const USER_INITIATED_ABORT: u16 = 12;
    /// Protocol Violation (RFC 9260 §3.3.10.13).
    pub const PROTOCOL_VIOLATION: u16 = 13;
    /// Request to Delete Last Remaining IP Address (RFC 5061 §4.3.1).
    pub const DELETE_LAST_ADDRESS: u16 = 0xa0;
    /// Operation Refused Due to Resource Shortage (RFC 5061 §4.3.2).
    pub const RESOURCE_SHORTAGE: u16 = 0xa1;
    /// Request to Delete Source IP Address (RFC 5061 §4.3.3).
    pub const DELETE_SOURCE_ADDRESS: u16 = 0xa2;
    /// Association Aborted Due to Illegal ASCONF-ACK (RFC 5061 §4.3.4).
    pub const ILLEGAL_ASCONF_ACK: u16 = 0xa3;
    /// Request Refused - No Authorization (RFC 5061 §4.3.5).
    pub const NO_AUTHORIZATION: u16 = 0xa4;
    //= rfc4895 4.1-1
    /// Unsupported HMAC Identifier (RFC 4895 §4.1).
    pub const UNSUPPORTED_HMAC: u16 = 0x0105;
}

/// Marks lists and frames of causes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OfCause {}

/// A list of causes, decoded as it is iterated.
pub type Causes<'a> = List<'a, OfCause>;

/// Iterates over a list of causes.
pub type CauseIter<'a> = Frames<'a, OfCause>;

/// One cause, its value not decoded yet.
pub type RawCause<'a> = Frame<'a, OfCause>;

/// `[no user data tsn=3, user abort "bye"]`
impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        tlv::write_list(f, self.iter().map(|raw| raw?.decode()))
    }
}

/// A well-formed cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause<'a> {
    /// A DATA chunk arrived on a stream that does not exist.
    InvalidStream(StreamId),
    /// INIT or INIT ACK lacks parameters that it must have.
    MissingParameters(MissingParameters<'a>),
    /// A valid cookie arrived too late.
    StaleCookie {
        /// Measure of staleness in µs; 0 if the sender does not report it.
        staleness: u32,
    },
    /// The sender lacks memory or the like.
    OutOfResource,
    /// An address that the sender cannot use: the whole parameter.
    UnresolvableAddress(&'a [u8]),
    /// A chunk that the sender does not know: the whole chunk.
    UnrecognizedChunk(&'a [u8]),
    /// A mandatory parameter of INIT or INIT ACK has an invalid value.
    InvalidMandatoryParameter,
    /// Parameters of the INIT ACK that the sender does not know: the whole frames.
    UnrecognizedParameters(&'a [u8]),
    /// The DATA chunk with this TSN had no data.
    NoUserData(Tsn),
    /// A COOKIE ECHO arrived after the SHUTDOWN ACK was sent.
    CookieWhileShuttingDown,
    /// A restart wanted to add these addresses.
    RestartWithNewAddresses(Parameters<'a>),
    /// The application aborted, for this reason.
    UserInitiatedAbort(&'a [u8]),
    /// Another protocol violation, with additional information.
    ProtocolViolation(&'a [u8]),
    /// A request, here as it came, would have left its sender without address.
    DeleteLastAddress(&'a [u8]),
    /// There are no resources for this request.
    ResourceShortage(&'a [u8]),
    /// A request would have deleted the source address of its packet.
    DeleteSourceAddress(&'a [u8]),
    /// An ASCONF ACK arrived for an ASCONF that was never sent.
    IllegalAsconfAck,
    /// This request is not allowed here.
    NoAuthorization(&'a [u8]),
    /// An AUTH chunk has an HMAC identifier that its receiver did not offer.
    UnsupportedHmac(HmacId),
    /// An unknown code.
    Unknown(RawCause<'a>),
}

/// The types of parameters that were missing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MissingParameters<'a> {
    kinds: &'a [u8],
}

impl<'a> MissingParameters<'a> {
    fn decode(mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        let count = reader.u32()?;
        // Saturated, a hostile count is only longer than anything that a packet holds.
        let length = usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(2);
        reader.take(length).map(|kinds| Self { kinds })
    }

    /// The types, in the order of the wire.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u16> + Clone + use<'a> {
        u16s(self.kinds)
    }
}

impl<'a> RawCause<'a> {
    /// Decodes the value. Unknown codes become [`Cause::Unknown`].
    ///
    /// # Errors
    /// If the value is shorter than the code prescribes. A longer value is accepted: the rest is ignored.
    pub fn decode(self) -> Result<Cause<'a>, DecodeError> {
        let mut reader = Reader::new(self.value, self.at + tlv::HEADER_LEN);
        Ok(match self.kind {
            kind::INVALID_STREAM => Cause::InvalidStream(StreamId(reader.u16()?)),
            kind::MISSING_PARAMETERS => Cause::MissingParameters(MissingParameters::decode(reader)?),
            kind::STALE_COOKIE => Cause::StaleCookie {
                staleness: reader.u32()?,
            },
            kind::OUT_OF_RESOURCE => Cause::OutOfResource,
            kind::UNRESOLVABLE_ADDRESS => Cause::UnresolvableAddress(self.value),
            kind::UNRECOGNIZED_CHUNK => Cause::UnrecognizedChunk(self.value),
            kind::INVALID_MANDATORY_PARAMETER => Cause::InvalidMandatoryParameter,
            kind::UNRECOGNIZED_PARAMETERS => Cause::UnrecognizedParameters(self.value),
            kind::NO_USER_DATA => Cause::NoUserData(Tsn(reader.u32()?)),
            kind::COOKIE_WHILE_SHUTTING_DOWN => Cause::CookieWhileShuttingDown,
            kind::RESTART_WITH_NEW_ADDRESSES => Cause::RestartWithNewAddresses(Parameters::at(reader)),
            kind::USER_INITIATED_ABORT => Cause::UserInitiatedAbort(self.value),
            kind::PROTOCOL_VIOLATION => Cause::ProtocolViolation(self.value),
            _ => self.decode_of_extension(reader)?,
        })
    }

    /// Those beyond RFC 9260.
    fn decode_of_extension(self, mut reader: Reader<'a>) -> Result<Cause<'a>, DecodeError> {
        Ok(match self.kind {
            kind::DELETE_LAST_ADDRESS => Cause::DeleteLastAddress(self.value),
            kind::RESOURCE_SHORTAGE => Cause::ResourceShortage(self.value),
            kind::DELETE_SOURCE_ADDRESS => Cause::DeleteSourceAddress(self.value),
            kind::ILLEGAL_ASCONF_ACK => Cause::IllegalAsconfAck,
            kind::NO_AUTHORIZATION => Cause::NoAuthorization(self.value),
            kind::UNSUPPORTED_HMAC => Cause::UnsupportedHmac(HmacId(reader.u16()?)),
            _ => Cause::Unknown(self),
        })
    }
}

impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidStream(stream) => write!(f, "invalid stream {stream}"),
            Self::MissingParameters(missing) => {
                f.write_str("missing parameters")?;
                missing.iter().try_for_each(|kind| write!(f, " {kind}"))
            }
            Self::StaleCookie { staleness } => write!(f, "stale cookie by {staleness} us"),
            Self::OutOfResource => f.write_str("out of resource"),
            Self::UnresolvableAddress(address) => write!(f, "unresolvable address {}", Hex(address)),
            Self::UnrecognizedChunk(chunk) => write!(f, "unrecognized chunk {}", Hex(chunk)),
            Self::InvalidMandatoryParameter => f.write_str("invalid mandatory parameter"),
            Self::UnrecognizedParameters(list) => write!(f, "unrecognized parameters {}", Hex(list)),
            Self::NoUserData(tsn) => write!(f, "no user data tsn={tsn}"),
            Self::CookieWhileShuttingDown => f.write_str("cookie while shutting down"),
            Self::RestartWithNewAddresses(list) => write!(f, "restart with new addresses {list}"),
            Self::UserInitiatedAbort(reason) => write!(f, "user abort \"{}\"", reason.escape_ascii()),
            Self::ProtocolViolation(detail) => write!(f, "protocol violation \"{}\"", detail.escape_ascii()),
            Self::DeleteLastAddress(request) => write!(f, "last address not deleted {}", Hex(request)),
            Self::ResourceShortage(request) => write!(f, "resource shortage {}", Hex(request)),
            Self::DeleteSourceAddress(request) => write!(f, "source address not deleted {}", Hex(request)),
            Self::IllegalAsconfAck => f.write_str("illegal ASCONF-ACK"),
            Self::NoAuthorization(request) => write!(f, "no authorization {}", Hex(request)),
            Self::UnsupportedHmac(id) => write!(f, "unsupported hmac {id}"),
            Self::Unknown(raw) => write!(f, "cause {} len={}", raw.kind, raw.value.len()),
        }
    }
}

#[cfg(test)]
mod tests;

//! Parameters of INIT, INIT ACK, ASCONF and ASCONF ACK (RFC 9260 §3.3.2.1,
//! §3.3.3.1, RFC 4895 §3, RFC 5061 §4.2).

mod address;
mod reconfig;
mod writer;

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};
use core::time::Duration;

pub use address::{AddressRequest, CorrelationId};
pub(crate) use address::{address_len, decode_address, write_address};
pub use reconfig::{ReConfigParameter, ReConfigResponse, ReConfigResult, StreamIds};
pub use writer::ParameterWriter;

use crate::list::{Frame, Frames, List};
use crate::reader::{Reader, u16s};
use crate::tlv::{self, Hex};
use crate::{Causes, DecodeError};

/// Parameter types.
pub mod kind {
    /// Heartbeat Info (RFC 9260 §3.3.5).
    pub const HEARTBEAT_INFO: u16 = 1;
    /// Path Preference, in a HEARTBEAT; an extension of this project, with a number that IANA has not assigned.
    pub const PATH_PREFERENCE: u16 = 0xbe01;
    /// IPv4 Address (RFC 9260 §3.3.2.1.1).
    pub const IPV4: u16 = 5;
    /// IPv6 Address (RFC 9260 §3.3.2.1.2).
    pub const IPV6: u16 = 6;
    /// State Cookie (RFC 9260 §3.3.3.1.1).
    pub const STATE_COOKIE: u16 = 7;
    /// Unrecognized Parameter (RFC 9260 §3.3.3.1.2).
    pub const UNRECOGNIZED: u16 = 8;
    /// Cookie Preservative (RFC 9260 §3.3.2.1.3).
    pub const COOKIE_PRESERVATIVE: u16 = 9;
    /// Host Name Address, deprecated (RFC 9260 §3.3.2.1.4).
    pub const HOST_NAME: u16 = 11;
    /// Supported Address Types (RFC 9260 §3.3.2.1.5).
    pub const SUPPORTED_ADDRESS_TYPES: u16 = 12;
    /// Outgoing SSN Reset Request (RFC 6525 §4.1).
    pub const RESET_OUTGOING: u16 = 13;
    /// Incoming SSN Reset Request (RFC 6525 §4.2).
    pub const RESET_INCOMING: u16 = 14;
    /// SSN/TSN Reset Request (RFC 6525 §4.3).
    pub const RESET_ASSOCIATION: u16 = 15;
    /// Re-configuration Response (RFC 6525 §4.4).
    pub const RE_CONFIG_RESPONSE: u16 = 16;
    /// Add Outgoing Streams Request (RFC 6525 §4.5).
    pub const ADD_OUTGOING: u16 = 17;
    /// Add Incoming Streams Request (RFC 6525 §4.6).
    pub const ADD_INCOMING: u16 = 18;
    /// ECN Capable (RFC 4960 Appendix A; RFC 9260 §3.3.2 reserves it).
    pub const ECN_CAPABLE: u16 = 0x8000;
    /// Zero Checksum Acceptable (RFC 9653 §4).
    pub const ZERO_CHECKSUM_ACCEPTABLE: u16 = 0x8001;
    //= rfc4895 3.1-1
    /// Random (RFC 4895 §3.1).
    pub const RANDOM: u16 = 0x8002;
    //= rfc4895 3.2-1
    /// Chunk List (RFC 4895 §3.2).
    pub const CHUNK_LIST: u16 = 0x8003;
    //= rfc4895 3.3-2
    /// Requested HMAC Algorithm (RFC 4895 §3.3).
    pub const HMAC_ALGORITHMS: u16 = 0x8004;
    //= rfc4820 4-1
    /// Padding (RFC 4820 §4).
    pub const PADDING: u16 = 0x8005;
    /// Supported Extensions (RFC 5061 §4.2.7).
    pub const SUPPORTED_EXTENSIONS: u16 = 0x8008;
    /// Forward-TSN-Supported (RFC 3758 §3.1).
    pub const FORWARD_TSN_SUPPORTED: u16 = 0xc000;
    /// Add IP Address (RFC 5061 §4.2.1).
    pub const ADD_ADDRESS: u16 = 0xc001;
    /// Delete IP Address (RFC 5061 §4.2.2).
    pub const DELETE_ADDRESS: u16 = 0xc002;
    /// Error Cause Indication (RFC 5061 §4.2.3).
    pub const ERROR_INDICATION: u16 = 0xc003;
    /// Set Primary IP Address (RFC 5061 §4.2.4).
    pub const SET_PRIMARY: u16 = 0xc004;
    /// Success Indication (RFC 5061 §4.2.5).
    pub const SUCCESS_INDICATION: u16 = 0xc005;
    /// Adaptation Layer Indication (RFC 5061 §4.2.6).
    pub const ADAPTATION_LAYER: u16 = 0xc006;
}

/// Marks lists and frames of parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OfParameter {}

/// A list of parameters, decoded as it is iterated.
pub type Parameters<'a> = List<'a, OfParameter>;

/// Iterates over a list of parameters.
pub type ParameterIter<'a> = Frames<'a, OfParameter>;

/// One parameter, its value not decoded yet.
pub type RawParameter<'a> = Frame<'a, OfParameter>;

/// `[ipv4 10.0.0.1, cookie len=240]`
impl fmt::Display for Parameters<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        tlv::write_list(f, self.iter().map(|raw| raw?.decode()))
    }
}

/// A well-formed parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parameter<'a> {
    /// Heartbeat information, which the HEARTBEAT ACK returns.
    HeartbeatInfo(&'a [u8]),
    /// An address of the sender.
    Ipv4(Ipv4Addr),
    /// An address of the sender; never an IPv4-mapped one.
    Ipv6(Ipv6Addr),
    /// The state cookie, which the receiver of an INIT ACK must echo.
    StateCookie(&'a [u8]),
    /// A parameter of the INIT that its receiver did not recognize, including type and length.
    Unrecognized(&'a [u8]),
    /// Suggested increment of the cookie's life span; milliseconds on the wire.
    CookiePreservative(Duration),
    /// The deprecated host name address; its receiver must abort.
    HostName,
    /// The address types that the sender supports. Types other than these two are ignored.
    SupportedAddressTypes {
        /// IPv4 is listed.
        ipv4: bool,
        /// IPv6 is listed.
        ipv6: bool,
    },
    /// The sender supports ECN.
    EcnCapable,
    /// The sender supports FORWARD TSN.
    ForwardTsnSupported,
    /// The sender accepts packets with a checksum of zero, because this method detects errors.
    ZeroChecksumAcceptable(DetectionMethod),
    /// Chunk types beyond RFC 9260 that the sender supports.
    SupportedExtensions(&'a [u8]),
    /// The sender's random number for the key, 32 bytes by RFC 4895 §3.1; the receiver checks that.
    Random(&'a [u8]),
    /// Chunk types that the sender accepts only if they are authenticated.
    ChunkList(&'a [u8]),
    /// HMAC identifiers that the sender supports, in order of preference.
    HmacAlgorithms(HmacIds<'a>),
    /// The sender adds an address.
    AddAddress(AddressRequest),
    /// The sender removes an address.
    DeleteAddress(AddressRequest),
    /// The sender asks the peer to send to this address.
    SetPrimary(AddressRequest),
    /// A request failed.
    ErrorIndication {
        /// The one that failed.
        id: CorrelationId,
        /// Why.
        causes: Causes<'a>,
    },
    /// The request with this number succeeded.
    SuccessIndication(CorrelationId),
    /// The adaptation layer above SCTP, for the application only.
    AdaptationLayer(u32),
    /// An unknown type; [`crate::UnknownAction::of_parameter`] tells what to do.
    Unknown(RawParameter<'a>),
}

impl<'a> RawParameter<'a> {
    /// Decodes the value. Unknown types become [`Parameter::Unknown`].
    ///
    /// # Errors
    /// If the value does not have the form that the type prescribes.
    pub fn decode(self) -> Result<Parameter<'a>, DecodeError> {
        let mut reader = Reader::new(self.value, self.at + tlv::HEADER_LEN);
        let fixed = |parameter, reader: Reader<'_>| reader.end().map(|()| parameter);
        match self.kind {
            kind::HEARTBEAT_INFO => Ok(Parameter::HeartbeatInfo(self.value)),
            kind::IPV4 => fixed(Parameter::Ipv4(address::ipv4(&mut reader)?), reader),
            kind::IPV6 => fixed(Parameter::Ipv6(address::ipv6(&mut reader)?), reader),
            kind::STATE_COOKIE => Ok(Parameter::StateCookie(self.value)),
            kind::UNRECOGNIZED => Ok(Parameter::Unrecognized(self.value)),
            kind::COOKIE_PRESERVATIVE => fixed(
                Parameter::CookiePreservative(Duration::from_millis(reader.u32()?.into())),
                reader,
            ),
            kind::HOST_NAME => Ok(Parameter::HostName),
            kind::SUPPORTED_ADDRESS_TYPES => Ok(supported_address_types(self.value)),
            kind::ECN_CAPABLE => fixed(Parameter::EcnCapable, reader),
            kind::FORWARD_TSN_SUPPORTED => fixed(Parameter::ForwardTsnSupported, reader),
            //= rfc9653 4-1
            kind::ZERO_CHECKSUM_ACCEPTABLE => fixed(
                Parameter::ZeroChecksumAcceptable(DetectionMethod(reader.u32()?)),
                reader,
            ),
            kind::SUPPORTED_EXTENSIONS => Ok(Parameter::SupportedExtensions(self.value)),
            kind::RANDOM => Ok(Parameter::Random(self.value)),
            kind::CHUNK_LIST => Ok(Parameter::ChunkList(self.value)),
            kind::HMAC_ALGORITHMS => Ok(Parameter::HmacAlgorithms(HmacIds(self.value))),
            kind::ADAPTATION_LAYER => fixed(Parameter::AdaptationLayer(reader.u32()?), reader),
            _ => self.decode_about_addresses(reader),
        }
    }

    /// Decodes the parameters of ASCONF and ASCONF ACK.
    fn decode_about_addresses(self, mut reader: Reader<'a>) -> Result<Parameter<'a>, DecodeError> {
        match self.kind {
            kind::ADD_ADDRESS => AddressRequest::decode(&mut reader).map(Parameter::AddAddress),
            kind::DELETE_ADDRESS => AddressRequest::decode(&mut reader).map(Parameter::DeleteAddress),
            kind::SET_PRIMARY => AddressRequest::decode(&mut reader).map(Parameter::SetPrimary),
            kind::ERROR_INDICATION => Ok(Parameter::ErrorIndication {
                id: CorrelationId(reader.u32()?),
                causes: Causes::at(reader),
            }),
            kind::SUCCESS_INDICATION => {
                let id = CorrelationId(reader.u32()?);
                reader.end().map(|()| Parameter::SuccessIndication(id))
            }
            _ => Ok(Parameter::Unknown(self)),
        }
    }
}

/// HMAC identifier of an AUTH chunk (RFC 4895 §3.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HmacId(pub u16);

impl HmacId {
    /// HMAC with SHA-1: every implementation has it.
    pub const SHA_1: Self = Self(1);
    /// HMAC with SHA-256.
    pub const SHA_256: Self = Self(3);
}

impl fmt::Display for HmacId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::SHA_1 => f.write_str("sha-1"),
            Self::SHA_256 => f.write_str("sha-256"),
            Self(other) => other.fmt(f),
        }
    }
}

/// Error detection method identifier of a Zero Checksum Acceptable parameter (RFC 9653 §4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DetectionMethod(pub u32);

impl DetectionMethod {
    /// SCTP over DTLS (RFC 9653 §6).
    pub const DTLS: Self = Self(1);
}

impl fmt::Display for DetectionMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::DTLS => f.write_str("dtls"),
            Self(other) => other.fmt(f),
        }
    }
}

/// A list of HMAC identifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HmacIds<'a>(&'a [u8]);

impl<'a> HmacIds<'a> {
    /// In the order of the wire, that is in the sender's order of preference.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = HmacId> + Clone + use<'a> {
        u16s(self.0).map(HmacId)
    }
}

//= rfc9260 3.3.2.1.5-2
fn supported_address_types(value: &[u8]) -> Parameter<'_> {
    let lists = |version| u16s(value).any(|listed| listed == version);
    Parameter::SupportedAddressTypes {
        ipv4: lists(kind::IPV4),
        ipv6: lists(kind::IPV6),
    }
}

impl fmt::Display for Parameter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HeartbeatInfo(info) => write!(f, "heartbeat info {}", Hex(info)),
            Self::Ipv4(address) => write!(f, "ipv4 {address}"),
            Self::Ipv6(address) => write!(f, "ipv6 {address}"),
            Self::StateCookie(cookie) => write!(f, "cookie len={}", cookie.len()),
            Self::Unrecognized(parameter) => write!(f, "unrecognized {}", Hex(parameter)),
            Self::CookiePreservative(life) => write!(f, "cookie life +{} ms", life.as_millis()),
            Self::HostName => f.write_str("host name"),
            Self::SupportedAddressTypes {
                ipv4: true,
                ipv6: true,
            } => f.write_str("supports ipv4 ipv6"),
            Self::SupportedAddressTypes {
                ipv4: true,
                ipv6: false,
            } => f.write_str("supports ipv4"),
            Self::SupportedAddressTypes {
                ipv4: false,
                ipv6: true,
            } => f.write_str("supports ipv6"),
            Self::SupportedAddressTypes {
                ipv4: false,
                ipv6: false,
            } => f.write_str("supports no address"),
            Self::EcnCapable => f.write_str("ecn"),
            Self::ForwardTsnSupported => f.write_str("forward-tsn"),
            Self::ZeroChecksumAcceptable(method) => write!(f, "zero checksum {method}"),
            Self::SupportedExtensions(kinds) => write!(f, "extensions {}", Hex(kinds)),
            Self::Random(bytes) => write!(f, "random len={}", bytes.len()),
            Self::ChunkList(kinds) => write!(f, "authenticate {}", Hex(kinds)),
            Self::HmacAlgorithms(ids) => {
                f.write_str("hmac")?;
                ids.iter().try_for_each(|id| write!(f, " {id}"))
            }
            Self::AddAddress(request) => write!(f, "add {request}"),
            Self::DeleteAddress(request) => write!(f, "delete {request}"),
            Self::SetPrimary(request) => write!(f, "set primary {request}"),
            Self::ErrorIndication { id, causes } => write!(f, "failed id={id} {causes}"),
            Self::SuccessIndication(id) => write!(f, "done id={id}"),
            Self::AdaptationLayer(code) => write!(f, "adaptation layer {code:#010x}"),
            Self::Unknown(raw) => write!(f, "type {:#06x} len={}", raw.kind, raw.value.len()),
        }
    }
}

#[cfg(test)]
mod tests;

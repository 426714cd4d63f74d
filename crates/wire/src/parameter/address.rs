//! Address parameters, alone or in an address configuration request (RFC 9260 §3.3.2.1, RFC 5061 §4.2).
//!
//! ```text
//! +-------------------------------+-------------------------------+
//! |  add, delete or set primary   |        length = 8 + n         |
//! +-------------------------------+-------------------------------+
//! |                        correlation id                         |
//! +---------------------------------------------------------------+
//! |          n bytes: an IPv4 or IPv6 address parameter           |
//! +---------------------------------------------------------------+
//! ```

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{RawParameter, kind};
use crate::reader::Reader;
use crate::tlv;
use crate::writer::length_field;
use crate::{DecodeError, DecodeErrorKind, Writer};

/// ASCONF-Request Correlation ID: chosen by the sender of a request, copied into its response.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CorrelationId(pub u32);

impl fmt::Display for CorrelationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A request about one address of its sender.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AddressRequest {
    /// The correlation ID that the response repeats.
    pub id: CorrelationId,
    /// The address; an unspecified one stands for the source of the packet (RFC 5061 §4.2).
    pub address: IpAddr,
}

impl AddressRequest {
    //= rfc5061 4.1.1-7
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let id = CorrelationId(reader.u32()?);
        let address = decode_address(reader)?;
        reader.end()?;
        Ok(Self { id, address })
    }
}

/// `10.2.0.1 id=1`
impl fmt::Display for AddressRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} id={}", self.address, self.id)
    }
}

/// The address parameter that comes next.
pub(crate) fn decode_address(reader: &mut Reader<'_>) -> Result<IpAddr, DecodeError> {
    let unexpected = reader.error(DecodeErrorKind::UnexpectedParameter);
    let raw: RawParameter<'_> = tlv::next(reader).ok_or(unexpected)??;
    let mut value = Reader::new(raw.value, raw.at + tlv::HEADER_LEN);
    let address = match raw.kind {
        kind::IPV4 => ipv4(&mut value)?.into(),
        kind::IPV6 => ipv6(&mut value)?.into(),
        _ => return Err(unexpected),
    };
    value.end()?;
    Ok(address)
}

pub(super) fn ipv4(reader: &mut Reader<'_>) -> Result<Ipv4Addr, DecodeError> {
    reader.u32().map(Ipv4Addr::from_bits)
}

pub(super) fn ipv6(reader: &mut Reader<'_>) -> Result<Ipv6Addr, DecodeError> {
    let forbidden = reader.error(DecodeErrorKind::BadAddress);
    let address = Ipv6Addr::from_bits(reader.u128()?);
    // RFC 9260 §3.3.2.1.2: "A sender MUST NOT use an IPv4-mapped IPv6 address".
    if address.to_ipv4_mapped().is_some() {
        Err(forbidden)
    } else {
        Ok(address)
    }
}

/// Bytes of an address parameter.
pub(crate) fn address_len(address: IpAddr) -> usize {
    tlv::HEADER_LEN + with_octets(address, |_, octets| octets.len())
}

pub(crate) fn write_address(address: IpAddr, writer: &mut Writer<'_>) {
    with_octets(address, |kind, octets| {
        writer.u16(kind);
        writer.u16(length_field(tlv::HEADER_LEN + octets.len()));
        writer.bytes(octets);
    });
}

//= rfc9260 3.3.2.1.2-1, 3.3.2.1.2-2
/// Calls `act` with type and value of the parameter. An IPv4-mapped IPv6 address becomes the IPv4 address that it
/// means.
pub(super) fn with_octets<T>(address: IpAddr, act: impl FnOnce(u16, &[u8]) -> T) -> T {
    match address.to_canonical() {
        IpAddr::V4(v4) => act(kind::IPV4, &v4.octets()),
        IpAddr::V6(v6) => act(kind::IPV6, &v6.octets()),
    }
}

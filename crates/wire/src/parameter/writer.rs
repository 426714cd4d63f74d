//! Writer of parameters. Parameters that must not be sent have no method.

use alloc::vec::Vec;
use core::net::IpAddr;
use core::time::Duration;

use super::address::with_octets;
use super::{AddressRequest, CorrelationId, DetectionMethod, HmacId, kind};
use crate::tlv;

/// Collects the parameters of an outbound INIT or INIT ACK.
///
/// ```
/// use anabranch_wire::{ParameterWriter, Parameters};
/// let mut parameters = ParameterWriter::new();
/// parameters.push_address([10, 0, 0, 1].into()).push_supported_extensions(&[0x10]);
/// let bytes = parameters.finish();
/// assert_eq!(Parameters::new(&bytes).to_string(), "[ipv4 10.0.0.1, extensions 10]");
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ParameterWriter {
    bytes: Vec<u8>,
}

impl ParameterWriter {
    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    /// An empty list with memory for `capacity` bytes.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        let bytes = Vec::with_capacity(capacity);
        Self { bytes }
    }

    /// The list as [`crate::OutboundInit`] takes it: the last parameter is not padded.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    //= rfc9260 3.3.2-2, 3.3.2.1.4-1, 3.3.3-1, 3.3.3.1-1
    /// One of our addresses. An IPv4-mapped IPv6 address goes out as the IPv4 address that it means.
    pub fn push_address(&mut self, address: IpAddr) -> &mut Self {
        with_octets(address, |kind, octets| self.push_raw(kind, octets))
    }

    /// The cookie that the peer must echo.
    pub fn push_state_cookie(&mut self, cookie: &[u8]) -> &mut Self {
        self.push_raw(kind::STATE_COOKIE, cookie)
    }

    /// A parameter of the peer's INIT that we do not know, the whole frame (RFC 9260 §3.2.2).
    pub fn push_unrecognized(&mut self, parameter: &[u8]) -> &mut Self {
        self.push_raw(kind::UNRECOGNIZED, parameter)
    }

    /// Suggested increment of the cookie's life span; in milliseconds, at most 2³² − 1.
    pub fn push_cookie_preservative(&mut self, increment: Duration) -> &mut Self {
        let millis = u32::try_from(increment.as_millis()).unwrap_or(u32::MAX);
        self.push_raw(kind::COOKIE_PRESERVATIVE, &millis.to_be_bytes())
    }

    //= rfc9260 3.3.2.1.5-1
    /// The address types that we support; nothing is written if there are none.
    pub fn push_supported_address_types(&mut self, ipv4: bool, ipv6: bool) -> &mut Self {
        let [v4, v6] = [kind::IPV4.to_be_bytes(), kind::IPV6.to_be_bytes()];
        match (ipv4, ipv6) {
            (true, true) => self.push_raw(kind::SUPPORTED_ADDRESS_TYPES, [v4, v6].as_flattened()),
            (true, false) => self.push_raw(kind::SUPPORTED_ADDRESS_TYPES, &v4),
            (false, true) => self.push_raw(kind::SUPPORTED_ADDRESS_TYPES, &v6),
            (false, false) => self,
        }
    }

    /// We support ECN.
    pub fn push_ecn_capable(&mut self) -> &mut Self {
        self.push_raw(kind::ECN_CAPABLE, &[])
    }

    /// We support FORWARD TSN.
    pub fn push_forward_tsn_supported(&mut self) -> &mut Self {
        self.push_raw(kind::FORWARD_TSN_SUPPORTED, &[])
    }

    /// We accept packets with a checksum of zero, because `method` detects errors (RFC 9653 §4).
    pub fn push_zero_checksum_acceptable(&mut self, method: DetectionMethod) -> &mut Self {
        self.push_raw(kind::ZERO_CHECKSUM_ACCEPTABLE, &method.0.to_be_bytes())
    }

    /// Chunk types beyond RFC 9260 that we support.
    pub fn push_supported_extensions(&mut self, chunk_kinds: &[u8]) -> &mut Self {
        self.push_raw(kind::SUPPORTED_EXTENSIONS, chunk_kinds)
    }

    /// Our random number for the key (RFC 4895 §3.1).
    pub fn push_random(&mut self, random: &[u8; 32]) -> &mut Self {
        self.push_raw(kind::RANDOM, random)
    }

    /// Chunk types that we accept only if they are authenticated.
    pub fn push_chunk_list(&mut self, chunk_kinds: &[u8]) -> &mut Self {
        self.push_raw(kind::CHUNK_LIST, chunk_kinds)
    }

    /// HMAC identifiers that we support, in order of preference.
    pub fn push_hmac_algorithms(&mut self, ids: &[HmacId]) -> &mut Self {
        let bytes: Vec<u8> = ids.iter().flat_map(|id| id.0.to_be_bytes()).collect();
        self.push_raw(kind::HMAC_ALGORITHMS, &bytes)
    }

    /// Adds an address.
    pub fn push_add_address(&mut self, request: AddressRequest) -> &mut Self {
        self.push_request(kind::ADD_ADDRESS, request)
    }

    /// Removes an address.
    pub fn push_delete_address(&mut self, request: AddressRequest) -> &mut Self {
        self.push_request(kind::DELETE_ADDRESS, request)
    }

    /// Asks the peer to send to this address.
    pub fn push_set_primary(&mut self, request: AddressRequest) -> &mut Self {
        self.push_request(kind::SET_PRIMARY, request)
    }

    fn push_request(&mut self, kind: u16, request: AddressRequest) -> &mut Self {
        let mut address = Self::new();
        address.push_address(request.address);
        let id = request.id.0.to_be_bytes();
        tlv::push(&mut self.bytes, kind, &[&id, &address.finish()]);
        self
    }

    /// A request failed; `causes` are made by a [`crate::CauseWriter`].
    pub fn push_error_indication(&mut self, id: CorrelationId, causes: &[u8]) -> &mut Self {
        tlv::push(
            &mut self.bytes,
            kind::ERROR_INDICATION,
            &[&id.0.to_be_bytes(), causes],
        );
        self
    }

    /// A request succeeded.
    pub fn push_success_indication(&mut self, id: CorrelationId) -> &mut Self {
        self.push_raw(kind::SUCCESS_INDICATION, &id.0.to_be_bytes())
    }

    /// The adaptation layer above SCTP (RFC 5061 §4.2.6).
    pub fn push_adaptation_layer(&mut self, code: u32) -> &mut Self {
        self.push_raw(kind::ADAPTATION_LAYER, &code.to_be_bytes())
    }

    /// Any other parameter. `value` must be shorter than 65,532 bytes; no packet could carry more.
    pub fn push_raw(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        tlv::push(&mut self.bytes, kind, &[value]);
        self
    }
}

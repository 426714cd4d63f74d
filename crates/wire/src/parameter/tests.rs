//! Tests of each parameter: written and read again, and malformed.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::net::IpAddr;
use core::time::Duration;

use super::{
    AddressRequest, CorrelationId, DetectionMethod, HmacId, Parameter, ParameterWriter, Parameters,
    RawParameter, kind,
};
use crate::captures::{self, bytes};
use crate::{Cause, CauseWriter, Chunk, DecodeErrorKind, Packet, RawChunk};

fn decode_error(kind: u16, value: &[u8]) -> Option<DecodeErrorKind> {
    let raw = RawParameter::new(kind, value, &[], 0);
    raw.decode().err().map(|error| error.kind)
}

#[test]
fn parameters_are_read_as_written() {
    let v6: IpAddr = "2001:db8::1".parse().expect("an address");
    let mut writer = ParameterWriter::new();
    writer
        .push_address([10, 0, 0, 1].into())
        .push_address(v6)
        .push_state_cookie(b"cookie")
        .push_unrecognized(&[0xc0, 0, 0, 4])
        .push_cookie_preservative(Duration::from_millis(1_500))
        .push_supported_address_types(true, false)
        .push_ecn_capable()
        .push_zero_checksum_acceptable(DetectionMethod::DTLS)
        .push_supported_extensions(&[0x10, 0x84])
        .push_raw(0xc123, &[1]);
    let list = writer.finish();
    let decoded: Vec<Parameter<'_>> = Parameters::new(&list)
        .iter()
        .map(|raw| raw.and_then(RawParameter::decode).expect("well formed"))
        .collect();
    assert_eq!(
        decoded[..9],
        [
            Parameter::Ipv4([10, 0, 0, 1].into()),
            Parameter::Ipv6("2001:db8::1".parse().expect("an address")),
            Parameter::StateCookie(b"cookie"),
            Parameter::Unrecognized(&[0xc0, 0, 0, 4]),
            Parameter::CookiePreservative(Duration::from_millis(1_500)),
            Parameter::SupportedAddressTypes {
                ipv4: true,
                ipv6: false
            },
            Parameter::EcnCapable,
            Parameter::ZeroChecksumAcceptable(DetectionMethod::DTLS),
            Parameter::SupportedExtensions(&[0x10, 0x84]),
        ]
    );
    assert!(matches!(decoded[9], Parameter::Unknown(raw) if raw.kind == 0xc123 && raw.bytes.len() == 5));
}

#[test]
fn asconf_parameters_are_read_as_written() {
    let request = |id, address: &str| AddressRequest {
        id: CorrelationId(id),
        address: address.parse().expect("an address"),
    };
    let mut writer = ParameterWriter::new();
    writer
        .push_add_address(request(1, "10.2.0.1"))
        .push_delete_address(request(2, "2001:db8::1"))
        .push_set_primary(request(3, "0.0.0.0"))
        .push_error_indication(CorrelationId(4), &CauseWriter::one(Cause::OutOfResource))
        .push_success_indication(CorrelationId(5))
        .push_adaptation_layer(6);
    assert_eq!(
        Parameters::new(&writer.finish()).to_string(),
        "[add 10.2.0.1 id=1, delete 2001:db8::1 id=2, set primary 0.0.0.0 id=3, \
         failed id=4 [out of resource], done id=5, adaptation layer 0x00000006]"
    );
}

#[test]
fn a_request_matches_the_diagram_of_rfc_5061() {
    let mut writer = ParameterWriter::new();
    writer.push_add_address(AddressRequest {
        id: CorrelationId(0x0102_3474),
        address: [192, 0, 2, 1].into(),
    });
    let drawn = [0xc0, 1, 0, 16, 1, 2, 0x34, 0x74, 0, 5, 0, 8, 192, 0, 2, 1];
    assert_eq!(writer.finish(), drawn);
}

//= rfc5061 4.1.1-7
#[test]
fn a_request_without_address_or_with_more_than_one_is_refused() {
    for (value, kind_of_error) in [
        (&[0, 0, 0, 1][..], DecodeErrorKind::UnexpectedParameter),
        (
            &[0, 0, 0, 1, 0, 7, 0, 8, 1, 2, 3, 4],
            DecodeErrorKind::UnexpectedParameter,
        ),
        // A host name.
        (
            b"\0\0\0\x01\0\x0b\0\x08abc\0",
            DecodeErrorKind::UnexpectedParameter,
        ),
        (
            &[0, 0, 0, 1, 0, 5, 0, 8, 1, 2, 3, 4, 0],
            DecodeErrorKind::BadLength,
        ),
        (&[0, 0, 0, 1, 0, 5, 0, 7, 1, 2, 3], DecodeErrorKind::Truncated),
    ] {
        assert_eq!(decode_error(kind::ADD_ADDRESS, value), Some(kind_of_error));
    }
}

//= rfc4895 3.1-1, 3.2-1, 3.3-2
#[test]
fn auth_parameters_are_read_as_written() {
    let mut writer = ParameterWriter::new();
    writer
        .push_random(&[7; 32])
        .push_chunk_list(&[0xc1, 0x80])
        .push_hmac_algorithms(&[HmacId::SHA_256, HmacId::SHA_1, HmacId(2)]);
    assert_eq!(
        Parameters::new(&writer.finish()).to_string(),
        "[random len=32, authenticate c180, hmac sha-256 sha-1 2]"
    );
}

#[test]
fn captured_init_ack_has_extensions_and_a_cookie() {
    let packet = bytes(captures::INIT_ACK);
    let mut chunks = Packet::parse(&packet).expect("a valid packet").chunks();
    let chunk = chunks
        .next()
        .expect("a chunk")
        .and_then(RawChunk::decode)
        .expect("well formed");
    let Chunk::InitAck(init_ack) = chunk else {
        panic!("not an INIT ACK")
    };
    assert_eq!(
        init_ack.parameters.to_string(),
        "[forward-tsn, extensions c00fc18082, random len=32, hmac sha-1, \
         authenticate 80c1, cookie len=308]"
    );
}

//= rfc9260 3.3.2.1.2-1, 3.3.2.1.2-2
#[test]
fn mapped_addresses_are_sent_as_ipv4_and_refused_inbound() {
    let mapped: IpAddr = "::ffff:10.0.0.1".parse().expect("an address");
    let mut writer = ParameterWriter::new();
    writer.push_address(mapped);
    assert_eq!(Parameters::new(&writer.finish()).to_string(), "[ipv4 10.0.0.1]");
    let IpAddr::V6(mapped) = mapped else {
        panic!("not IPv6")
    };
    assert_eq!(
        decode_error(kind::IPV6, &mapped.octets()),
        Some(DecodeErrorKind::BadAddress)
    );
}

//= rfc9653 4-1
#[test]
fn zero_checksum_acceptable_of_another_length_is_refused() {
    assert_eq!(decode_error(kind::ZERO_CHECKSUM_ACCEPTABLE, &[0, 0, 0, 1]), None);
    for value in [&[][..], &[0, 0, 1], &[0, 0, 0, 1, 0], &[0; 8]] {
        assert!(
            decode_error(kind::ZERO_CHECKSUM_ACCEPTABLE, value).is_some(),
            "{value:?}"
        );
    }
}

#[test]
fn addresses_of_another_length_are_refused() {
    assert_eq!(
        decode_error(kind::IPV4, &[10, 0, 0]),
        Some(DecodeErrorKind::Truncated)
    );
    assert_eq!(
        decode_error(kind::IPV4, &[10, 0, 0, 1, 0]),
        Some(DecodeErrorKind::BadLength)
    );
    assert_eq!(
        decode_error(kind::IPV6, &[0; 17]),
        Some(DecodeErrorKind::BadLength)
    );
}

//= rfc9260 3.3.2.1.5-1, 3.3.2.1.5-2
#[test]
fn address_types_other_than_ip_are_ignored() {
    let value = [0, 11, 0, 6, 0xff];
    let raw = RawParameter::new(kind::SUPPORTED_ADDRESS_TYPES, &value, &[], 0);
    assert_eq!(
        raw.decode(),
        Ok(Parameter::SupportedAddressTypes {
            ipv4: false,
            ipv6: true
        })
    );
}

//= rfc9260 3.3.2-2, 3.3.2.1.4-1, 3.3.3-1, 3.3.3.1-1
#[test]
fn a_host_name_is_decoded_but_cannot_be_sent() {
    let raw = RawParameter::new(kind::HOST_NAME, b"example\0", &[], 0);
    assert_eq!(raw.decode(), Ok(Parameter::HostName));
}

#[test]
fn a_list_prints_its_malformed_end() {
    let list = [0x80, 0, 0, 4, 0, 5, 0, 99];
    assert_eq!(
        Parameters::new(&list).to_string(),
        "[ecn, !truncated field at byte 8]"
    );
}

//! Known answers of RFC 9001 appendix A, and the limits of keys.

use rustls::Side;
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256;
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::quic::{PacketKey, Tag};

use super::{LevelKeys, SealError, Sealer};
use crate::index::Index;
use crate::number::SpaceId;
use crate::packet::{DATA_HEADER_LEN, DataHeader};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] * 16 + pair[1]) as u8)
        .collect()
}

/// `plain` behind `header`, sealed as packet `number` of `space`.
fn sealed(sealer: &mut Sealer, space: SpaceId, number: u64, header: &[u8], plain: &[u8]) -> Vec<u8> {
    sealer.skip_to(space, number);
    let mut payload = plain.to_vec();
    let tag = sealer.next(space).unwrap().seal(header, &mut payload).unwrap();
    payload.extend(tag.as_ref());
    payload
}

fn space(number: u8) -> SpaceId {
    SpaceId::new(number).unwrap()
}

/// The key of RFC 9001 §A.5.
fn chacha20() -> Sealer {
    let suite = TLS13_CHACHA20_POLY1305_SHA256.tls13().unwrap();
    let key: [u8; 32] = bytes("c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8")
        .try_into()
        .unwrap();
    let iv: [u8; 12] = bytes("e0459b3474bdd0e44a41c144").try_into().unwrap();
    Sealer::new(suite.quic.unwrap().packet_key(AeadKey::from(key), Iv::from(iv)))
}

#[test]
fn server_initial_of_rfc_9001_a_3_is_sealed_and_opened() {
    let client = Index(bytes("8394c8f03e515708").try_into().unwrap());
    let header = bytes("c1000000010008f067a5502a4262b50040750001");
    let plain = bytes(
        "02000000000600405a020000560303eefce7f7b37ba1d1632e96677825ddf739 \
         88cfc79825df566dc5430b9a045a1200130100002e00330024001d00209d3c94 \
         0d89690b84d08a60993c144eca684d1081287c834d5311bcf32bb9da1a002b00 020304",
    );
    // The protected packet of the RFC behind its header.
    let expected = bytes(
        "5a482cd0991cd25b0aac406a 5816b6394100f37a1c69797554780bb38cc5a99f5ede4cf73c3ec2493a1839b3 \
         dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84 \
         022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc4 2158407dd074ee",
    );
    let mut server = LevelKeys::initial(client, Side::Server);
    let sealed = sealed(&mut server.sealer, space(0), 1, &header, &plain);
    assert_eq!(sealed, expected);

    let mut datagram = [header.clone(), sealed].concat();
    let opened = LevelKeys::initial(client, Side::Client);
    assert_eq!(opened.open(1, header.len(), &mut datagram).unwrap(), plain);
}

#[test]
fn chacha20_packet_of_rfc_9001_a_5_is_sealed_in_space_0() {
    let sealed = sealed(
        &mut chacha20(),
        space(0),
        654_360_564,
        &bytes("4200bff4"),
        &bytes("01"),
    );
    assert_eq!(sealed, bytes("655e5cd55c41f69080575d7999c25a5bfb"));
}

/// The vector of `docs/sealed-datagrams.md`, which another implementation of the AEAD computed.
#[test]
fn data_packet_of_the_specification_is_sealed() {
    let header = DataHeader {
        phase: 2,
        space: space(5),
        receiver: Index([1, 2, 3, 4, 5, 6, 7, 8]),
        number: 0,
    };
    let mut packet = [&header.encode()[..], &bytes("736374700a"), &[0; 16]].concat();
    let mut sealer = chacha20();
    sealer.skip_to(space(5), 654_360_564);
    sealer.seal(space(5), DATA_HEADER_LEN, &mut packet).unwrap();
    let expected = "4501020304050607082700bff4255849cf95805a7f673444120c0a6717e4e11d4d67";
    assert_eq!(packet, bytes(expected));
}

#[test]
fn space_is_part_of_the_nonce() {
    let sealed: Vec<Vec<u8>> = (0..32)
        .map(|number| sealed(&mut chacha20(), space(number), 7, b"", &[0; 16]))
        .collect();
    for (index, first) in sealed.iter().enumerate() {
        assert!(sealed[..index].iter().all(|other| other != first));
    }
}

#[test]
fn packet_numbers_count_up_in_each_space() {
    let mut sealer = chacha20();
    for (number, expected) in [(0, 0), (3, 0), (0, 1), (3, 1), (0, 2)] {
        let mut packet = vec![0; 4 + 16];
        sealer.seal(space(number), 4, &mut packet).unwrap();
        assert_eq!(packet[..4], u32::to_be_bytes(expected));
    }
}

/// A key of three packets.
struct Short;

impl PacketKey for Short {
    fn encrypt_in_place(
        &self,
        _number: u64,
        _header: &[u8],
        _payload: &mut [u8],
    ) -> Result<Tag, rustls::Error> {
        Err(rustls::Error::EncryptError)
    }

    fn encrypt_in_place_for_path(
        &self,
        _path: u32,
        _number: u64,
        _header: &[u8],
        _payload: &mut [u8],
    ) -> Result<Tag, rustls::Error> {
        Ok(Tag::from(&[0; 16][..]))
    }

    fn decrypt_in_place<'a>(
        &self,
        _number: u64,
        _header: &[u8],
        _payload: &'a mut [u8],
    ) -> Result<&'a [u8], rustls::Error> {
        Err(rustls::Error::DecryptError)
    }

    fn tag_len(&self) -> usize {
        16
    }

    fn confidentiality_limit(&self) -> u64 {
        3
    }

    fn integrity_limit(&self) -> u64 {
        3
    }
}

#[test]
fn key_at_its_limit_seals_nothing_more() {
    let mut sealer = Sealer::new(Box::new(Short));
    let mut packet = [0; 20];
    for _ in 0..3 {
        sealer.seal(space(0), 4, &mut packet).unwrap();
    }
    assert_eq!(
        sealer.seal(space(1), 4, &mut packet),
        Err(SealError::KeyExhausted)
    );
    sealer.replace_key(Box::new(Short));
    sealer.seal(space(0), 4, &mut packet).unwrap();
    assert_eq!(packet[..4], [0, 0, 0, 3], "numbers continue across keys");
}

#[test]
fn space_at_its_last_number_seals_nothing_more() {
    let mut sealer = chacha20();
    sealer.skip_to(space(0), (1 << 62) - 1);
    assert_eq!(
        sealer.seal(space(0), 4, &mut [0; 20]),
        Err(SealError::KeyExhausted)
    );
}

//! Tests of authentication (AUTH chunks): which HMACs are accepted.

use alloc::vec::Vec;

use anabranch_types::{AsconfNumber, VerificationTag};
use anabranch_wire::{
    Auth, Chunk, CommonHeader, CookieAck, HmacId, OutboundAsconf, Packet, PacketBuilder, ParameterWriter,
    Parameters, RawChunk, RawParameter,
};

use super::{Agreed, Algorithm, Authentication, BadRandom, KeyVector, KeyVectorReader, Stage, Verdict};

const ASCONF: [u8; 2] = [0xc1, 0x80];

/// An endpoint with this random number and shared key, before a handshake.
fn end(random: u8, shared: &[u8]) -> Authentication {
    Authentication::new(&[random; 32], &[], &ASCONF, shared)
}

/// Two endpoints after a handshake, each with its shared key.
fn ends(shared: [&[u8]; 2]) -> (Authentication, Authentication) {
    let (mut alice, mut bob) = (end(1, shared[0]), end(2, shared[1]));
    let [alices, bobs] = [&alice, &bob].map(Authentication::ours);
    alice.agree(bobs, shared[0]);
    bob.agree(alices, shared[1]);
    (alice, bob)
}

fn packet_of(sender: &Authentication) -> Vec<u8> {
    let header = CommonHeader {
        source_port: 1,
        destination_port: 2,
        tag: VerificationTag(3),
    };
    let mut buffer = Vec::new();
    let mut packet = PacketBuilder::new(&mut buffer, header, 200);
    packet.push(&CookieAck).expect("it fits");
    let asconf = OutboundAsconf {
        number: AsconfNumber(7),
        address: [10, 0, 0, 1].into(),
        requests: Vec::new(),
    };
    sender.push(&mut packet, &[asconf]).expect("it fits");
    packet.finish();
    buffer
}

/// The verdict of `receiver` on the AUTH chunk in `bytes`.
fn judged(receiver: &Authentication, bytes: &[u8]) -> Verdict {
    let packet = Packet::parse_unverified(bytes).expect("a packet");
    let raw = packet
        .chunks()
        .flatten()
        .find(|raw| matches!(raw.decode(), Ok(Chunk::Auth(_))))
        .expect("an AUTH chunk");
    let Ok(Chunk::Auth(auth)) = RawChunk::decode(raw) else {
        panic!("it was one before")
    };
    receiver.judge(&auth, &bytes[raw.at..])
}

//= rfc4895 6.2-3, 6.2-4, 6.2-6
#[test]
fn hmac_is_valid_only_for_the_peer() {
    let (alice, bob) = ends([b"", b""]);
    let packet = packet_of(&alice);
    assert_eq!(judged(&bob, &packet), Verdict::Genuine);
    let mut mallory = end(3, b"");
    mallory.agree(end(1, b"").ours(), b"");
    assert_eq!(judged(&mallory, &packet), Verdict::Forged);
    assert_eq!(
        judged(&end(2, b""), &packet),
        Verdict::Forged,
        "no handshake, no trust"
    );
}

//= rfc4895 6.2-2, 6.3-6
//= rfc5061 6-1
#[test]
fn different_shared_keys_invalidate_the_hmac() {
    let (alice, bob) = ends([b"secret", b"secret"]);
    assert_eq!(judged(&bob, &packet_of(&alice)), Verdict::Genuine);
    let (alice, bob) = ends([b"", b"secret"]);
    assert_eq!(judged(&bob, &packet_of(&alice)), Verdict::Forged);
}

//= rfc4895 6.2-6
#[test]
fn flipped_bit_after_the_auth_header_invalidates_the_hmac() {
    let (alice, bob) = ends([b"", b""]);
    let packet = packet_of(&alice);
    let first = CommonHeader::LEN + 4;
    for bit in (first + 4) * 8..packet.len() * 8 {
        let mut forged = packet.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        if Packet::parse_unverified(&forged).is_ok_and(|packet| packet.chunks().all(|raw| raw.is_ok())) {
            assert_ne!(judged(&bob, &forged), Verdict::Genuine, "bit {bit}");
        }
    }
}

//= rfc4895 6.3-2
#[test]
fn unsupported_hmac_differs_from_a_forged_one() {
    let (alice, bob) = ends([b"", b""]);
    let mut packet = packet_of(&alice);
    let auth_at = CommonHeader::LEN + 4;
    packet[auth_at + 7] = 2;
    assert_eq!(judged(&bob, &packet), Verdict::UnsupportedHmac);
    packet[auth_at + 7] = 1;
    assert_eq!(
        judged(&bob, &packet),
        Verdict::Forged,
        "SHA-1 with a code of 32 bytes"
    );
}

//= rfc4895 3.2-7, 3.3-7, 5.1-1, 6.1-6, 6.1-7, 6.2-5, 6.3-2
#[test]
fn peer_that_prefers_sha_1_gets_sha_1() {
    let mut words = ParameterWriter::new();
    words
        .push_random(&[9; 32])
        .push_chunk_list(&[0xc1, 0x80, 0x0f, 0x01])
        .push_hmac_algorithms(&[HmacId(2), HmacId::SHA_1, HmacId::SHA_256]);
    let theirs = read(&words.finish()).expect("32 bytes").expect("a vector");
    assert_eq!(theirs.algorithm(), Some(Algorithm::Sha1));
    assert!(theirs.demands(0xc1) && !theirs.demands(0x0f) && !theirs.demands(0x01));
    let (mut alice, mut old) = (end(1, b""), end(9, b""));
    let alices = alice.ours().expect("nothing is agreed");
    alice.agree(Some(theirs.clone()), b"");
    old.stage = Stage::Agreed(Agreed::on(&theirs, &alices, b"").expect("a common algorithm"));
    let packet = packet_of(&alice);
    assert_eq!(packet[CommonHeader::LEN + 4..][..8], [0x0f, 0, 0, 28, 0, 0, 0, 1]);
    assert_eq!(judged(&old, &packet), Verdict::Genuine);
}

#[test]
fn both_ends_derive_the_same_key() {
    let (small, large) = (
        KeyVector::ours(&[1; 32], &ASCONF),
        KeyVector::ours(&[2; 32], &ASCONF),
    );
    assert_eq!(small.key(&large, b"s"), large.key(&small, b"s"));
    let vectors = [small.bytes(), large.bytes()].concat();
    assert_eq!(small.key(&large, b"s")[..], [b"s", &vectors[..]].concat());
}

fn read(parameters: &[u8]) -> Result<Option<KeyVector>, BadRandom> {
    let mut reader = KeyVectorReader::default();
    for raw in Parameters::new(parameters).iter().flatten() {
        reader.note(raw, &RawParameter::decode(raw).expect("well formed"));
    }
    reader.finish()
}

//= rfc4895 6.1-8, 6.1-9
#[test]
fn key_vector_is_read_as_written() {
    let ours = KeyVector::ours(&[7; 32], &ASCONF);
    let mut writer = ParameterWriter::new();
    ours.push(&mut writer);
    assert_eq!(read(&writer.finish()), Ok(Some(ours.clone())));
    assert_eq!(KeyVector::from_bytes(ours.bytes()), ours);
    assert!(!ours.demands_more_than_asconf() && KeyVector::ours(&[7; 32], &[0]).demands_more_than_asconf());
}

#[test]
fn key_vectors_of_wrong_size_are_refused_or_ignored() {
    let mut short = ParameterWriter::new();
    short.push_raw(0x8002, &[7; 31]);
    assert_eq!(read(&short.finish()), Err(BadRandom));
    assert_eq!(read(&[]), Ok(None));
    let mut long = ParameterWriter::new();
    let all: Vec<u8> = (0..=255).collect();
    long.push_random(&[7; 32]).push_chunk_list(&all);
    assert_eq!(read(&long.finish()), Ok(None));
    let cut = KeyVector::from_bytes(&[0x80, 2, 0, 3, 0x80]);
    assert!(cut.algorithm().is_none() && !cut.demands(0));
}

#[test]
fn auth_overhead_is_header_and_hmac() {
    let (alice, _) = ends([b"", b""]);
    assert_eq!(alice.overhead(), Auth::HEADER_LEN + 32);
    assert_eq!(end(1, b"").overhead(), 0);
}

/// A packet of `sender` with a change made before its HMAC is computed.
fn resealed(sender: &Authentication, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut packet = packet_of(sender);
    let covered = &mut packet[CommonHeader::LEN + 4..];
    let agreed = sender.agreed().expect("there was a handshake");
    covered[Auth::HEADER_LEN..][..agreed.algorithm.code_len()].fill(0);
    change(covered);
    agreed.algorithm.seal(&agreed.key, covered);
    packet
}

//= rfc4895 5.1-2, 5.1-3, 6.3-5, 6.3-7
#[test]
fn auth_flags_are_ignored_and_unknown_key_ids_refused() {
    for shared in [&b""[..], b"secret"] {
        let (alice, bob) = ends([shared, shared]);
        assert_eq!(packet_of(&alice)[CommonHeader::LEN + 5], 0, "flags");
        let with_flags = resealed(&alice, |auth| auth[1] = 0xff);
        assert_eq!(judged(&bob, &with_flags), Verdict::Genuine);
        let with_another_key = resealed(&alice, |auth| auth[5] = 1);
        assert_eq!(judged(&bob, &with_another_key), Verdict::Forged);
    }
}

//= rfc4895 6.2-7
#[test]
fn hmac_covers_chunk_padding() {
    let (alice, bob) = ends([b"", b""]);
    let mut packet = packet_of(&alice);
    packet.truncate(CommonHeader::LEN + 4);
    let mut bytes = Vec::new();
    let header = Packet::parse_unverified(&packet).expect("a packet").header();
    let mut builder = PacketBuilder::new(&mut bytes, header, 200);
    builder.push(&CookieAck).expect("it fits");
    alice
        .push(&mut builder, &[anabranch_wire::Heartbeat { info: b"x" }])
        .expect("it fits");
    builder.finish();
    assert_eq!(judged(&bob, &bytes), Verdict::Genuine);
    *bytes.last_mut().expect("padding") ^= 1;
    assert_eq!(judged(&bob, &bytes), Verdict::Forged);
}

//= rfc4895 6.2-2, 6.3-4, 6.3-6, 6.3-7
#[test]
fn packets_are_genuine_by_any_key_that_the_receiver_has() {
    let secret = b"first";
    let general = |random| Authentication::new(&[random; 32], &[0], &[0], secret);
    let (mut alice, mut bob) = (general(1), general(2));
    let [alices, bobs] = [&alice, &bob].map(Authentication::ours);
    alice.agree(bobs, secret);
    bob.agree(alices, secret);
    alice.add_key(7, b"second").expect("room");
    assert_eq!(
        judged(&bob, &packet_of(&alice)),
        Verdict::Genuine,
        "key 0 is in use"
    );
    alice.use_key(7).expect("it was added");
    let packet = packet_of(&alice);
    assert_eq!(judged(&bob, &packet), Verdict::Forged, "an unknown key");
    bob.add_key(7, b"other").expect("room");
    assert_eq!(judged(&bob, &packet), Verdict::Forged, "another secret");
    bob.add_key(7, b"second").expect("it is replaced");
    assert_eq!(judged(&bob, &packet), Verdict::Genuine);
    assert_eq!(
        judged(&alice, &packet_of(&bob)),
        Verdict::Genuine,
        "the ends select independently"
    );
    alice.delete_key(0).expect("it is not in use");
    assert_eq!(judged(&alice, &packet_of(&bob)), Verdict::Forged);
    assert!(bob.peer_uses(7) && !bob.peer_uses(7) && bob.peer_uses(0));
}

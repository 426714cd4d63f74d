//! Tests of extensions in the handshake (RFC 4895 §6, RFC 5061 §4.2.7, §6): which ones the endpoint lists, and which peers
//! it refuses.

use anabranch_wire::{Auth, GapBlock, HmacId, OutboundSack, Pad, checksum};

use super::ends::Ends;
use super::*;
use crate::PacketCounts;
use crate::extensions::{PACKET_COUNTS, SELECTED_GAPS};

/// The parameters of a peer that lists these extensions, with a RANDOM parameter of `random` bytes, if any.
fn extension_parameters(kinds: &[u8], random: Option<usize>) -> Vec<u8> {
    let mut parameters = ParameterWriter::new();
    if let Some(length) = random {
        parameters.push_raw(anabranch_wire::parameter::kind::RANDOM, &vec![7; length]);
        parameters.push_chunk_list(&[kind::ASCONF, kind::ASCONF_ACK]);
        parameters.push_hmac_algorithms(&[HmacId::SHA_1]);
    }
    parameters.push_supported_extensions(kinds);
    parameters.push_state_cookie(&[7; 40]);
    parameters.finish()
}

fn without_address_changes() -> AssociationConfig {
    let mut config = config();
    config
        .policies
        .set("add-ip", "off")
        .expect("a choice of the catalog");
    config
}

const ALL: [u8; 3] = [kind::AUTH, kind::ASCONF, kind::ASCONF_ACK];

/// The reply to an INIT with these parameters.
fn answer_to_init(config: AssociationConfig, parameters: Vec<u8>) -> Vec<Vec<u8>> {
    let mut endpoint = endpoint_with(config);
    let call = init(5, parameters);
    deliver(&mut endpoint, START, peer(2), VerificationTag::ZERO, &call)
}

/// The reply to an INIT ACK with these parameters.
fn answer_to_init_ack(config: &AssociationConfig, parameters: Vec<u8>) -> Vec<Vec<u8>> {
    let mut endpoint = endpoint();
    endpoint
        .connect(START, &[peer(2)], config)
        .expect("a path to the peer");
    let (tag, _) = tag_and_cookie(&poll_packets(&mut endpoint, START));
    let answer = OutboundInit {
        acknowledges: true,
        ..init(5, parameters)
    };
    deliver(&mut endpoint, START, peer(2), tag, &answer)
}

fn first_cause(packets: &[Vec<u8>]) -> Option<u16> {
    let packet = Packet::parse(&packets[0]).expect("a packet in order");
    let chunk = packet.chunks().flatten().next()?.decode().ok()?;
    let Chunk::Abort(abort) = chunk else { return None };
    abort.causes.iter().flatten().next().map(|cause| cause.kind)
}

//= rfc5061 6-3, 6-4, 6-5
#[test]
fn peer_that_lists_asconf_without_auth_is_refused() {
    let bare = [kind::ASCONF, kind::ASCONF_ACK];
    assert_eq!(
        kinds(&answer_to_init(config(), extension_parameters(&bare, None))),
        [kind::ABORT]
    );
    assert_eq!(
        kinds(&answer_to_init_ack(&config(), extension_parameters(&bare, None))),
        [kind::ABORT]
    );
    for (config, listed, random) in [
        (config(), &ALL[..], Some(32)),
        (config(), &[], None),
        (without_address_changes(), &bare, None),
    ] {
        let answer = answer_to_init(config.clone(), extension_parameters(listed, random));
        assert_eq!(kinds(&answer), [kind::INIT_ACK]);
        let answer = answer_to_init_ack(&config, extension_parameters(listed, random));
        assert_eq!(kinds(&answer), [kind::COOKIE_ECHO]);
    }
}

//= rfc4895 6.1-3, 6.1-4
#[test]
fn random_number_of_another_length_is_a_protocol_violation() {
    for length in [0, 31, 33] {
        let parameters = || extension_parameters(&ALL, Some(length));
        let to_init = answer_to_init(config(), parameters());
        let to_init_ack = answer_to_init_ack(&config(), parameters());
        for answer in [to_init, to_init_ack] {
            assert_eq!(kinds(&answer), [kind::ABORT], "{length}");
            assert_eq!(first_cause(&answer), Some(13), "{length}");
        }
    }
}

/// The values of the parameters of type `wanted` in an INIT or INIT ACK.
fn listed_in(packets: &[Vec<u8>], wanted: u16) -> Vec<Vec<u8>> {
    let packet = Packet::parse(&packets[0]).expect("a packet in order");
    let chunk = packet.chunks().flatten().next().expect("a chunk");
    let (Ok(Chunk::Init(said)) | Ok(Chunk::InitAck(said))) = chunk.decode() else {
        panic!("neither INIT nor INIT ACK");
    };
    let found = said.parameters.iter().flatten().filter(|raw| raw.kind == wanted);
    found.map(|raw| raw.value.to_vec()).collect()
}

//= rfc4895 3.1-5, 3.2-5, 3.2-6, 3.3-1, 3.3-6, 6.1-1, 6.1-2, 6.1-5, 6.1-7
//= rfc5061 4.2.7-2, 4.2.7-4, 4.2.7-5
#[test]
fn init_and_init_ack_list_auth_and_asconf_once() {
    use anabranch_wire::parameter::kind::{CHUNK_LIST, HMAC_ALGORITHMS, RANDOM, SUPPORTED_EXTENSIONS};
    let mut caller = endpoint();
    caller
        .connect(START, &[peer(2)], &config())
        .expect("a path to the peer");
    let call = poll_packets(&mut caller, START);
    let answer = answer_to_init(config(), extension_parameters(&ALL, Some(32)));
    for packets in [call, answer] {
        let [extensions] = &listed_in(&packets, SUPPORTED_EXTENSIONS)[..] else {
            panic!("not once")
        };
        assert!(ALL.iter().all(|kind| extensions.contains(kind)), "{extensions:?}");
        let [random] = &listed_in(&packets, RANDOM)[..] else {
            panic!("not once")
        };
        assert_eq!(random.len(), 32);
        let demanded = [kind::ASCONF, kind::ASCONF_ACK];
        assert_eq!(listed_in(&packets, CHUNK_LIST), [demanded.to_vec()]);
        let [hmacs] = &listed_in(&packets, HMAC_ALGORITHMS)[..] else {
            panic!("not once")
        };
        assert!(hmacs.chunks(2).any(|id| id == [0, 1]), "SHA-1 is among them");
    }
}

//= rfc5061 4.2-1, 4.2-2
#[test]
fn parameters_of_asconf_in_an_init_are_ignored() {
    for strange in [0xc001, 0xc002, 0xc004] {
        let mut parameters = ParameterWriter::new();
        parameters.push_raw(strange, &[0, 0, 0, 1, 0, 5, 0, 8, 10, 0, 0, 9]);
        let answer = answer_to_init(config(), parameters.finish());
        assert_eq!(kinds(&answer), [kind::INIT_ACK], "{strange:x}");
    }
}

//= rfc4895 6.3-16
#[test]
fn cookie_holds_no_shared_key() {
    let shared = b"a key that both ends share".to_vec();
    let with_key = AssociationConfig {
        authentication_key: shared.clone(),
        ..config()
    };
    let answer = answer_to_init(with_key, extension_parameters(&ALL, Some(32)));
    let (_, cookie) = tag_and_cookie(&answer);
    assert!(cookie.len() > 32, "it holds the peer's part of the key");
    assert!(!cookie.windows(8).any(|bytes| bytes == &shared[..8]));
}

//= rfc4895 6.3-13, 6.3-14
/// RFC 4895 §6.3: an out of the blue packet is treated as if it had no AUTH chunk.
#[test]
fn ootb_auth_chunk_is_skipped() {
    let auth = Auth {
        key: 0,
        hmac: HmacId::SHA_1,
        code: &[7; 20],
    };
    let abort = OutboundAbort {
        tag_reflected: false,
        causes: Vec::new(),
    };
    let tag = VerificationTag(77);
    let mut endpoint = endpoint();
    let answer = deliver_two(&mut endpoint, peer(2), tag, &auth, &ShutdownAck);
    assert_eq!(kinds(&answer), [kind::SHUTDOWN_COMPLETE]);
    let answer = deliver_two(&mut endpoint, peer(2), tag, &auth, &Heartbeat { info: b"there?" });
    assert_eq!(kinds(&answer), [kind::ABORT]);
    assert!(deliver_two(&mut endpoint, peer(2), tag, &auth, &abort).is_empty());
    assert!(deliver_two(&mut endpoint, peer(2), tag, &auth, &CookieAck).is_empty());
}

fn unknown_chunk(kind: u8) -> RawChunk<'static> {
    RawChunk {
        kind,
        flags: 0,
        // The value of an ASCONF with an address parameter.
        value: &[0, 0, 0, 7, 0, 5, 0, 8, 10, 0, 0, 2],
        bytes: &[],
        at: 0,
    }
}

/// An association without extensions reports a chunk of this type and processes the chunks after it.
fn is_skipped_and_reported(kind_of_chunk: u8) {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    let heartbeat = Heartbeat { info: b"next" };
    let answer = deliver_two(
        &mut endpoint,
        peer(2),
        tag,
        &unknown_chunk(kind_of_chunk),
        &heartbeat,
    );
    let answered = kinds(&answer);
    assert!(answered.contains(&kind::ERROR) && answered.contains(&kind::HEARTBEAT_ACK));
    assert!(endpoint.associations().all(Association::is_connected));
}

//= rfc5061 4.1.1-8
#[test]
fn asconf_not_negotiated_is_skipped_and_reported() {
    is_skipped_and_reported(kind::ASCONF);
}

//= rfc3758 3.3.1-1, 3.3.2-3
#[test]
fn forward_tsn_is_skipped_and_reported() {
    is_skipped_and_reported(0xc0);
}

const FORWARD_TSN_SUPPORTED: u16 = 0xc000;

//= rfc3758 3.3.2-1, 3.3.2-2
#[test]
fn forward_tsn_supported_is_reported_as_unknown() {
    use anabranch_wire::parameter::kind::UNRECOGNIZED;
    let mut parameters = ParameterWriter::new();
    parameters.push_raw(FORWARD_TSN_SUPPORTED, &[]);
    let answer = answer_to_init(config(), parameters.clone().finish());
    assert_eq!(listed_in(&answer, UNRECOGNIZED), [[0xc0, 0, 0, 4]]);

    let mut endpoint = endpoint();
    let (_, tag) = send_init(&mut endpoint);
    parameters.push_state_cookie(&[7; 40]);
    let ours = OutboundInit {
        acknowledges: true,
        ..init(5, parameters.finish())
    };
    let answer = deliver(&mut endpoint, START, peer(2), tag, &ours);
    assert_eq!(kinds(&answer), [kind::COOKIE_ECHO, kind::ERROR]);
    let then = deliver(&mut endpoint, START, peer(2), tag, &CookieAck);
    assert!(!kinds(&then).contains(&kind::ERROR), "once");
}

//= rfc9260 3.2.2-2
#[test]
fn error_too_large_for_cookie_echo_packet_follows_cookie_ack() {
    const STRANGE: u16 = 0xc0de;
    for (cookie, is_bundled) in [(400, true), (1_300, false)] {
        let mut parameters = ParameterWriter::new();
        parameters.push_raw(STRANGE, &[1; 200]);
        parameters.push_state_cookie(&vec![7; cookie]);
        let mut endpoint = endpoint();
        let (_, tag) = send_init(&mut endpoint);
        let ours = OutboundInit {
            acknowledges: true,
            ..init(5, parameters.finish())
        };
        let bytes = long_packet(tag, &ours);
        let answer = deliver_packet(&mut endpoint, START, peer(2), &bytes);
        assert_eq!(kinds(&answer).first(), Some(&kind::COOKIE_ECHO));
        assert_eq!(kinds(&answer).contains(&kind::ERROR), is_bundled);
        let then = deliver(&mut endpoint, START, peer(2), tag, &CookieAck);
        assert_eq!(kinds(&then).contains(&kind::ERROR), !is_bundled);
    }
}

fn long_packet(tag: VerificationTag, chunk: &impl WriteChunk) -> Vec<u8> {
    let header = CommonHeader {
        source_port: DEFAULT_PORT,
        destination_port: DEFAULT_PORT,
        tag,
    };
    let mut bytes = Vec::new();
    let mut packet = PacketBuilder::new(&mut bytes, header, 4_000);
    packet.push(chunk).expect("room");
    packet.finish();
    bytes
}

//= rfc5061 4.2.6-2, 6-6
#[test]
fn adaptation_layer_indication_changes_no_reply() {
    use anabranch_wire::parameter::kind::{ADAPTATION_LAYER, UNRECOGNIZED};
    let mut parameters = ParameterWriter::new();
    parameters.push_adaptation_layer(7);
    let answer = answer_to_init(config(), parameters.finish());
    assert_eq!(kinds(&answer), [kind::INIT_ACK]);
    assert_eq!(listed_in(&answer, UNRECOGNIZED), Vec::<Vec<u8>>::new());
    assert_eq!(listed_in(&answer, ADAPTATION_LAYER), Vec::<Vec<u8>>::new());
}

//= rfc5061 4.2.6-3, 4.2.6-4
#[test]
fn adaptation_layers_are_told_to_both_applications() {
    use anabranch_wire::parameter::kind::ADAPTATION_LAYER;
    let with = |code| AssociationConfig {
        adaptation_layer: code,
        ..config()
    };
    for (ours, theirs) in [(Some(7), Some(u32::MAX)), (Some(0), None), (None, Some(1))] {
        let mut ends = Ends::connecting(&with(ours), with(theirs));
        for (sent, declared) in ends.packets.iter().zip([ours, theirs]) {
            let first = sent.first().expect("INIT or INIT ACK");
            let listed = listed_in(core::slice::from_ref(first), ADAPTATION_LAYER);
            let expected = declared.map(|code| code.to_be_bytes().to_vec());
            assert_eq!(listed, Vec::from_iter(expected));
        }
        assert_eq!(ends.association(0).peer_adaptation_layer(), theirs);
        for (index, declared) in [(0, theirs), (1, ours)] {
            let mut expected = vec![Event::Connected { incoming: index == 1 }];
            expected.extend(declared.map(Event::AdaptationIndication));
            let mut seen = events(&mut ends.ends[index]);
            seen.retain(|event| matches!(event, Event::Connected { .. } | Event::AdaptationIndication(_)));
            assert_eq!(seen, expected);
        }
    }
}

//= rfc4895 6.2-1
#[test]
fn peer_requiring_authenticated_data_is_accepted() {
    let mut parameters = ParameterWriter::new();
    parameters.push_random(&[7; 32]).push_chunk_list(&[kind::DATA]);
    parameters.push_hmac_algorithms(&[HmacId::SHA_1]);
    parameters.push_supported_extensions(&ALL);
    parameters.push_state_cookie(&[7; 40]);
    let answer = answer_to_init_ack(&config(), parameters.clone().finish());
    assert_eq!(kinds(&answer), [kind::COOKIE_ECHO]);
    let answer = answer_to_init(config(), parameters.finish());
    assert_eq!(kinds(&answer), [kind::INIT_ACK]);
    let random = listed_in(&answer, anabranch_wire::parameter::kind::RANDOM);
    assert_eq!(random.len(), 1);
}

/// A peer that lists these types in Supported Extensions.
fn accept_peer_with(endpoint: &mut Endpoint, supported: &[u8]) -> VerificationTag {
    let mut parameters = ParameterWriter::new();
    parameters.push_supported_extensions(supported);
    let call = init(5, parameters.finish());
    let (tag, cookie) = request_cookie(endpoint, peer(2), &call);
    deliver(endpoint, START, peer(2), tag, &CookieEcho { cookie: &cookie });
    tag
}

/// RFC 9260 §3.3.4 has them zero, unless both ends agreed on the number of packets.
#[test]
fn sack_flags_are_zero_unless_packet_counts_were_negotiated() {
    for (supported, packet_counts, expected) in [
        (&[][..], PacketCounts::Negotiated, None),
        (&[PACKET_COUNTS], PacketCounts::Negotiated, Some(1)),
        (&[], PacketCounts::Assumed, Some(1)),
    ] {
        let mut endpoint = endpoint_with(AssociationConfig {
            packet_counts,
            ..config()
        });
        let tag = accept_peer_with(&mut endpoint, supported);
        let answer = deliver(&mut endpoint, START, peer(2), tag, &DATA);
        let packet = Packet::parse(&answer[0]).expect("a packet in order");
        let mut chunks = packet.chunks().flatten().flat_map(RawChunk::decode);
        let Some(Chunk::Sack(sack)) = chunks.next() else {
            panic!("the first packet is acknowledged at once")
        };
        assert_eq!(sack.packet_count(), expected, "{packet_counts:?}, {supported:?}");
    }
}

/// Each SACK counts as one packet unless both ends have negotiated packet counts. With a count of two, two SACKs mean a
/// loss, instead of three.
#[test]
fn packet_counts_of_a_peer_are_ignored_unless_negotiated() {
    for supported in [&[][..], &[PACKET_COUNTS]] {
        let mut endpoint = endpoint();
        let tag = accept_peer_with(&mut endpoint, supported);
        for _ in 0..5 {
            let id = endpoint.associations().map(Association::id).next().expect("one");
            let mut association = endpoint.association_mut(id).expect("it lives");
            association.send(Message::new(StreamId(0), "data")).expect("room");
            drop(association);
            assert!(kinds(&poll_packets(&mut endpoint, START)).contains(&kind::DATA));
        }
        let later = START + core::time::Duration::from_millis(50);
        let mut answered = Vec::new();
        for end in [3, 5] {
            let sack = OutboundSack {
                cumulative: Tsn(tag.0.wrapping_sub(1)),
                a_rwnd: 100_000,
                packet_count: Some(2),
                blocks: &[GapBlock { start: 2, end }],
                duplicates: &[],
            };
            answered = kinds(&deliver(&mut endpoint, later, peer(2), tag, &sack));
        }
        assert_eq!(
            answered.contains(&kind::DATA),
            !supported.is_empty(),
            "{answered:?}"
        );
    }
}

/// A peer that agreed to selected gap ack blocks never reneges, so a TSN that it leaves out stays acknowledged. One that did not agree is
/// taken at its word.
#[test]
fn tsns_that_a_sack_leaves_out_stay_acknowledged_if_selected_gaps_were_negotiated() {
    for (supported, reneged) in [(&[][..], 1), (&[SELECTED_GAPS], 0)] {
        let mut endpoint = endpoint();
        let tag = accept_peer_with(&mut endpoint, supported);
        let id = endpoint.associations().map(Association::id).next().expect("one");
        for _ in 0..8 {
            let mut association = endpoint.association_mut(id).expect("it lives");
            association.send(Message::new(StreamId(0), "data")).expect("room");
            drop(association);
            poll_packets(&mut endpoint, START);
        }
        let report = |blocks| OutboundSack {
            cumulative: Tsn(tag.0.wrapping_sub(1)),
            a_rwnd: 100_000,
            packet_count: None,
            blocks,
            duplicates: &[],
        };
        let block = |at| GapBlock { start: at, end: at };
        for blocks in [&[block(2), block(4)][..], &[block(4), block(6)]] {
            deliver(&mut endpoint, START, peer(2), tag, &report(blocks));
        }
        let association = endpoint.association(id).expect("it lives");
        assert_eq!(association.statistics().chunks_reneged, reneged, "{supported:?}");
    }
}

//= rfc4820 3-1, 3-2, 3-3, 3-4, 3-5
#[test]
fn pad_chunk_is_discarded_and_the_next_chunk_handled() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 7, &[]);
    for (flags, byte) in [(0, 0), (0xff, 0xaa)] {
        let heartbeat = Heartbeat { info: b"any" };
        let mut bytes = packet(tag, |packet| {
            packet.push(&Pad { length: 9 }).expect("room");
            packet.push(&heartbeat).expect("room");
        });
        assert_eq!(bytes[12..16], [0x84, 0, 0, 13]);
        bytes[13] = flags;
        bytes[16..25].fill(byte);
        checksum::seal(&mut bytes);
        let answer = deliver_packet(&mut endpoint, START, peer(2), &bytes);
        assert_eq!(kinds(&answer), [kind::HEARTBEAT_ACK]);
    }
}

//= rfc4820 4-1, 4-2, 4-3, 4-4, 4-5
#[test]
fn pad_parameter_does_not_change_the_init_ack() {
    use anabranch_wire::parameter::kind::{PADDING, STATE_COOKIE, UNRECOGNIZED};
    let mut answers = Vec::new();
    for padding in [&[][..], &[0; 60], &[1; 61]] {
        let mut parameters = ParameterWriter::new();
        // The limit of amplification must not be the reason for a difference.
        parameters.push_raw(0x9000, &[0; 200]);
        if !padding.is_empty() {
            parameters.push_raw(PADDING, padding);
        }
        parameters.push_supported_extensions(&ALL);
        let answer = answer_to_init(config(), parameters.finish());
        assert_eq!(listed_in(&answer, PADDING), Vec::<Vec<u8>>::new());
        assert_eq!(listed_in(&answer, UNRECOGNIZED), Vec::<Vec<u8>>::new());
        answers.push(listed_in(&answer, STATE_COOKIE)[0].len());
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[2]);
}

//! Tests of association setup, rule by rule (RFC 9260 §3.3.2, §3.3.3, §5.1 and §5.2): what is sent, and how received
//! packets are treated.

use core::time::Duration;

use anabranch_policy::BufferSize;
use anabranch_wire::{OutboundSack, ShutdownAck, checksum};

use super::*;
use crate::CloseReason;
use crate::config::MIN_RECEIVE_BUFFER;
use crate::endpoint::cookie::Ports;

/// Decodes one packet: its verification tag and its chunks.
fn read<T>(bytes: &[u8], look: impl FnOnce(VerificationTag, &[Chunk<'_>]) -> T) -> T {
    let packet = Packet::parse(bytes).expect("a packet in order");
    let chunks: Vec<Chunk<'_>> = packet.chunks().flatten().flat_map(RawChunk::decode).collect();
    look(packet.header().tag, &chunks)
}

/// The only packet must hold one INIT or INIT ACK. Returns the verification tag, the fields and the parameter types.
fn setup_chunk(packets: &[Vec<u8>]) -> (VerificationTag, OutboundInit, Vec<u16>) {
    let [bytes] = packets else { panic!("{packets:?}") };
    read(bytes, |tag, chunks| {
        let [Chunk::Init(said) | Chunk::InitAck(said)] = chunks else {
            panic!("{chunks:?}")
        };
        let fields = OutboundInit {
            acknowledges: matches!(chunks[0], Chunk::InitAck(_)),
            initiate_tag: said.initiate_tag,
            a_rwnd: said.a_rwnd,
            outbound_streams: said.outbound_streams,
            inbound_streams: said.inbound_streams,
            initial_tsn: said.initial_tsn,
            parameters: Vec::new(),
        };
        let kinds = said.parameters.iter().flatten().map(|raw| raw.kind).collect();
        (tag, fields, kinds)
    })
}

/// Asserts that the only packet holds an ABORT with the peer's `tag` and a cause for which `is_cause` is true.
#[track_caller]
fn is_abort(packets: &[Vec<u8>], tag: u32, is_cause: impl Fn(&Cause<'_>) -> bool) {
    let [bytes] = packets else { panic!("{packets:?}") };
    read(bytes, |sent_with, chunks| {
        let [Chunk::Abort(abort)] = chunks else {
            panic!("{chunks:?}")
        };
        assert_eq!((sent_with, abort.tag_reflected), (VerificationTag(tag), false));
        let mut causes = abort.causes.iter().flatten().flat_map(RawCause::decode);
        assert!(causes.any(|cause| is_cause(&cause)), "{chunks:?}");
    });
}

fn invalid_parameter(cause: &Cause<'_>) -> bool {
    matches!(cause, Cause::InvalidMandatoryParameter)
}

fn init_from_peer(endpoint: &mut Endpoint, init: &OutboundInit) -> Vec<Vec<u8>> {
    deliver(endpoint, START, peer(2), VerificationTag::ZERO, init)
}

/// INITs with a receiver window that is too small, without outbound streams, and without inbound streams.
fn invalid_inits(tag: u32) -> [OutboundInit; 3] {
    let generous = || init(tag, Vec::new());
    [
        OutboundInit {
            a_rwnd: 1_499,
            ..generous()
        },
        OutboundInit {
            outbound_streams: 0,
            ..generous()
        },
        OutboundInit {
            inbound_streams: 0,
            ..generous()
        },
    ]
}

fn acknowledging(init: OutboundInit) -> OutboundInit {
    let mut parameters = ParameterWriter::new();
    parameters.push_state_cookie(&[7; 40]);
    OutboundInit {
        acknowledges: true,
        parameters: parameters.finish(),
        ..init
    }
}

fn is_connected(endpoint: &Endpoint) -> bool {
    endpoint.associations().all(Association::is_connected)
}

fn decode_cookie(endpoint: &mut Endpoint, packets: &[Vec<u8>]) -> crate::endpoint::cookie::Cookie {
    let (tag, sealed) = tag_and_cookie(packets);
    let ports = Ports {
        ours: DEFAULT_PORT,
        peers: DEFAULT_PORT,
        channel: ChannelId::NONE,
    };
    endpoint
        .cookies
        .open(&sealed, ports, tag, START)
        .expect("a cookie of its own")
}

//= rfc9260 3.1-4, 3.3.2-1, 5.1-1
#[test]
fn init_has_tag_zero_and_distinct_parameters() {
    let mut endpoint = endpoint_of_two_addresses();
    endpoint
        .connect(START, &[peer(2)], &config())
        .expect("a path to the peer");
    let (tag, fields, kinds) = setup_chunk(&poll_packets(&mut endpoint, START));
    assert_eq!(tag, VerificationTag::ZERO);
    assert!(fields.initiate_tag != VerificationTag::ZERO && fields.a_rwnd >= 1_500);
    for kind in &kinds {
        let times = kinds.iter().filter(|other| *other == kind).count();
        assert!(times == 1 || *kind == IPV4, "{kinds:?}");
    }
}

/// An endpoint with two addresses, which its INIT lists.
fn endpoint_of_two_addresses() -> Endpoint {
    let config = EndpointConfig {
        local: vec![here(), SocketAddr::from(([10, 0, 1, 1], DEFAULT_PORT))],
        accept: Some(config()),
        ..EndpointConfig::default()
    };
    Endpoint::new(config, Seed(1))
}

//= rfc9260 5.1-3, 5.1-4, 5.1-5, 5.1-12, 5.1.2-7
#[test]
fn init_ack_goes_to_the_source_with_tags_and_cookie() {
    let mut endpoint = endpoint();
    let path = PathAddr {
        local: here(),
        remote: SocketAddr::from(([10, 0, 0, 2], 5_555)),
    };
    let call = packet(VerificationTag::ZERO, |packet| {
        let lists_another = init(5, listing(&[peer(3).ip()]));
        packet.push(&lists_another).expect("a small chunk");
    });
    endpoint.handle_datagram(START, path, Ecn::NotCapable, &call);
    let mut buffer = Vec::new();
    let transmit = endpoint.poll_transmit(START, &mut buffer, 1).expect("an answer");
    assert_eq!(transmit.path.remote, path.remote);
    let (tag, fields, kinds) = setup_chunk(&[buffer]);
    assert_eq!(tag, VerificationTag(5));
    assert!(fields.acknowledges && fields.initiate_tag != VerificationTag::ZERO);
    assert!(kinds.contains(&anabranch_wire::parameter::kind::STATE_COOKIE));
}

/// Optional parameters are left out if IP would have to fragment the packet.
#[test]
fn init_ack_to_a_long_init_fits_the_path() {
    let mut parameters = ParameterWriter::new();
    for _ in 0..1_000 {
        parameters.push_raw(0xc0de, &[7; 12]);
    }
    let header = CommonHeader {
        source_port: DEFAULT_PORT,
        destination_port: DEFAULT_PORT,
        tag: VerificationTag::ZERO,
    };
    let mut bytes = Vec::new();
    let mut packet = PacketBuilder::new(&mut bytes, header, 20_000);
    packet.push(&init(5, parameters.finish())).expect("room");
    packet.finish();
    let answer = deliver_packet(&mut endpoint(), START, peer(2), &bytes);
    assert_eq!(kinds(&answer), [kind::INIT_ACK]);
    // 1,500 bytes, less the headers of IPv4 and UDP.
    assert!(answer[0].len() <= 1_472, "{}", answer[0].len());
}

//= rfc9260 3.3.2-3, 3.3.2.1.4-2, 5.1.2-2, 5.1.2-3
#[test]
fn init_with_host_name_is_answered_with_abort() {
    let mut endpoint = endpoint();
    let mut parameters = ParameterWriter::new();
    parameters.push_raw(HOST_NAME, b"peer.example\0\0\0\0");
    let answer = init_from_peer(&mut endpoint, &init(5, parameters.finish()));
    let parameter = *b"\x00\x0b\x00\x14peer.example\0\0\0\0";
    is_abort(&answer, 5, |cause| {
        *cause == Cause::UnresolvableAddress(&parameter)
    });
    assert_eq!(endpoint.associations().len(), 0);
}

//= rfc9260 3.3.2-9, 3.3.2-10, 3.3.2-11, 3.3.2-14, 3.3.2-15, 3.3.2-16, 3.3.2-18, 3.3.2-19, 3.3.2-20, 5.1-16
//= rfc9260 5.1-17, 5.1-18
#[test]
fn init_with_small_window_or_no_streams_is_answered_with_abort() {
    for (index, invalid_inits) in invalid_inits(6).into_iter().enumerate() {
        let mut endpoint = endpoint();
        is_abort(
            &init_from_peer(&mut endpoint, &invalid_inits),
            6,
            invalid_parameter,
        );
        assert_eq!(endpoint.associations().len(), 0, "{index}");
        let tag = accept_peer(&mut endpoint, 5, &[]);
        is_abort(
            &init_from_peer(&mut endpoint, &invalid_inits),
            6,
            invalid_parameter,
        );
        assert!(is_connected(&endpoint), "{index}");
        deliver(&mut endpoint, START, peer(2), tag, &DATA);
        assert!(events(&mut endpoint).contains(&Event::Readable), "{index}");
    }
}

//= rfc9260 3.3.2-5, 3.3.3-3
#[test]
fn flags_of_init_and_init_ack_are_zero_and_ignored() {
    const FLAGS: usize = CommonHeader::LEN + 1;
    let with_flags = |tag: VerificationTag, chunk: &OutboundInit| {
        let mut bytes = packet(tag, |packet| packet.push(chunk).expect("a small chunk"));
        bytes[FLAGS] = 0xff;
        checksum::seal(&mut bytes);
        bytes
    };
    let mut endpoint = endpoint();
    let call = with_flags(VerificationTag::ZERO, &init(5, Vec::new()));
    let answer = deliver_packet(&mut endpoint, START, peer(2), &call);
    assert_eq!((kinds(&answer), answer[0][FLAGS]), (vec![kind::INIT_ACK], 0));

    endpoint
        .connect(START, &[peer(3)], &config())
        .expect("a path to the peer");
    let call = poll_packets(&mut endpoint, START);
    assert_eq!(call[0][FLAGS], 0);
    let (tag, _) = tag_and_cookie(&call);
    let answer = with_flags(tag, &init_ack(5, &[]));
    assert_eq!(
        kinds(&deliver_packet(&mut endpoint, START, peer(3), &answer)),
        [kind::COOKIE_ECHO]
    );
}

//= rfc9260 3.3.2-21, 3.3.3-5, 3.3.3-23, 5.1-2, 5.3.1-1, 5.3.1-3
#[test]
fn tags_and_initial_tsns_differ_between_connects() {
    let mut tags = Vec::new();
    let mut tsns = Vec::new();
    for seed in 0..20 {
        let mut endpoint = Endpoint::new(
            EndpointConfig {
                local: vec![here()],
                accept: Some(config()),
                ..EndpointConfig::default()
            },
            Seed(seed),
        );
        for _ in 0..5 {
            let (id, _) = send_init(&mut endpoint);
            let (_, answered, _) = setup_chunk(&deliver(
                &mut endpoint,
                START,
                peer(3),
                VerificationTag::ZERO,
                &init(5, Vec::new()),
            ));
            let association = endpoint.association(id).expect("it lives");
            tags.extend([association.local.tag, answered.initiate_tag]);
            tsns.extend([association.local.initial_tsn, answered.initial_tsn]);
            endpoint.association_mut(id).expect("it lives").abort(b"");
            poll_packets(&mut endpoint, START);
        }
    }
    assert!(!tags.contains(&VerificationTag::ZERO));
    let high: usize = tags.iter().filter(|tag| tag.0 > u32::MAX / 2).count();
    assert!((50..150).contains(&high), "{high} of 200 in the upper half");
    let distinct = |mut numbers: Vec<u32>| {
        numbers.sort_unstable();
        numbers.dedup();
        numbers.len()
    };
    assert_eq!(distinct(tags.iter().map(|tag| tag.0).collect()), 200);
    assert_eq!(distinct(tsns.iter().map(|tsn| tsn.0).collect()), 200);
}

//= rfc9260 3.3.2-8, 3.3.2-13, 3.3.2-17, 3.3.3-9, 3.3.3-14, 3.3.3-19
#[test]
fn zero_streams_and_tiny_buffers_are_announced_as_the_minimum() {
    let invalid_inits = AssociationConfig {
        receive_buffer: BufferSize::Fixed(10),
        outbound_streams: 0,
        max_inbound_streams: 0,
        ..config()
    };
    let mut endpoint = endpoint_with(invalid_inits.clone());
    endpoint
        .connect(START, &[peer(3)], &invalid_inits)
        .expect("a path to the peer");
    let (_, call, _) = setup_chunk(&poll_packets(&mut endpoint, START));
    let (_, answer, _) = setup_chunk(&init_from_peer(&mut endpoint, &init(5, Vec::new())));
    for said in [call, answer] {
        assert_eq!(u64::from(said.a_rwnd), MIN_RECEIVE_BUFFER);
        assert_eq!((said.outbound_streams, said.inbound_streams), (1, 1));
    }
}

//= rfc9260 3.3.2.1.2-3, 3.3.3-26, 5.1.2-1
#[test]
fn peer_that_lists_no_address_has_its_source_only() {
    let mut endpoint = endpoint_of_two_addresses();
    accept_peer(&mut endpoint, 5, &[]);
    endpoint
        .connect(START, &[peer(3)], &config())
        .expect("a path to the peer");
    let (tag, _) = tag_and_cookie(&poll_packets(&mut endpoint, START));
    deliver(&mut endpoint, START, peer(3), tag, &init_ack(6, &[]));
    let remotes: Vec<Vec<SocketAddr>> = endpoint
        .associations()
        .map(|association| {
            let mut remotes: Vec<_> = association
                .path_addresses()
                .iter()
                .map(|addr| addr.remote)
                .collect();
            remotes.dedup();
            remotes
        })
        .collect();
    assert_eq!(remotes, [[peer(2)], [peer(3)]]);
}

//= rfc9260 3.3.3-15
#[test]
fn init_ack_announces_no_more_streams_than_the_init_allows() {
    let mut endpoint = endpoint();
    let allows_three = OutboundInit {
        inbound_streams: 3,
        ..init(5, Vec::new())
    };
    let (_, answer, _) = setup_chunk(&init_from_peer(&mut endpoint, &allows_three));
    assert_eq!(answer.outbound_streams, 3);
}

//= rfc9260 3.3.3-6, 3.3.3-7, 3.3.3-16, 3.3.3-17, 3.3.3-20, 3.3.3-21
#[test]
fn init_ack_with_zero_tag_or_no_streams_ends_the_attempt() {
    let [_, no_outbound, no_inbound] = invalid_inits(5);
    for (answer, is_told) in [
        (init(0, Vec::new()), false),
        (no_outbound, true),
        (no_inbound, true),
    ] {
        let mut endpoint = endpoint();
        let (id, tag) = send_init(&mut endpoint);
        let replies = deliver(&mut endpoint, START, peer(2), tag, &acknowledging(answer));
        assert!(endpoint.association(id).is_some_and(Association::is_closed));
        if is_told {
            is_abort(&replies, 5, invalid_parameter);
        } else {
            // The peer's initiate tag is invalid: the ABORT carries the verification tag of the INIT ACK.
            read(&replies[0], |sent_with, chunks| {
                let [Chunk::Abort(abort)] = chunks else {
                    panic!("{chunks:?}")
                };
                assert_eq!((sent_with, abort.tag_reflected), (tag, true));
            });
        }
    }
}

//= rfc9260 3.3.3-10, 3.3.3-12
#[test]
fn init_ack_with_small_window_changes_nothing() {
    let mut endpoint = endpoint();
    let (id, tag) = send_init(&mut endpoint);
    let before = endpoint.poll_timeout();
    let [small_window, ..] = invalid_inits(5);
    let replies = deliver(&mut endpoint, START, peer(2), tag, &acknowledging(small_window));
    assert_eq!(replies, Vec::<Vec<u8>>::new());
    assert!(!endpoint.association(id).is_some_and(Association::is_closed));
    assert_eq!(endpoint.poll_timeout(), before, "T1-init runs on");
    let replies = deliver(&mut endpoint, START, peer(2), tag, &init_ack(5, &[]));
    assert_eq!(kinds(&replies), [kind::COOKIE_ECHO]);
}

//= rfc9260 3.3.3-8, 3.3.3-18, 3.3.3-22, 5.2.3-1
#[test]
fn init_ack_outside_cookie_wait_is_discarded() {
    let mut endpoint = endpoint();
    let (_, tag) = send_init(&mut endpoint);
    deliver(&mut endpoint, START, peer(2), tag, &init_ack(5, &[]));
    let nothing = Vec::<Vec<u8>>::new();
    let [_, no_outbound, no_inbound] = invalid_inits(6);
    let late = [
        init_ack(6, &[]),
        acknowledging(init(0, Vec::new())),
        acknowledging(no_outbound),
        acknowledging(no_inbound),
    ];
    for answer in &late {
        assert_eq!(deliver(&mut endpoint, START, peer(2), tag, answer), nothing);
    }
    deliver(&mut endpoint, START, peer(2), tag, &CookieAck);
    assert!(is_connected(&endpoint));
    for answer in &late {
        assert_eq!(deliver(&mut endpoint, START, peer(2), tag, answer), nothing);
    }
    assert!(is_connected(&endpoint));
}

//= rfc9260 3.3.3-24
#[test]
fn init_ack_of_more_than_1500_bytes_is_accepted() {
    let mut endpoint = endpoint();
    let (_, tag) = send_init(&mut endpoint);
    let mut parameters = ParameterWriter::new();
    parameters.push_raw(0x8abc, &[0; 4_000]);
    parameters.push_state_cookie(&[7; 40]);
    let large = OutboundInit {
        acknowledges: true,
        ..init(5, parameters.finish())
    };
    let header = CommonHeader {
        source_port: DEFAULT_PORT,
        destination_port: DEFAULT_PORT,
        tag,
    };
    let mut bytes = Vec::new();
    let mut packet = PacketBuilder::new(&mut bytes, header, 5_000);
    packet.push(&large).expect("room");
    packet.finish();
    let replies = deliver_packet(&mut endpoint, START, peer(2), &bytes);
    assert_eq!(kinds(&replies), [kind::COOKIE_ECHO]);
}

//= rfc9260 3.1-3, 3.3.3-4, 3.3.11-1, 3.3.11-2, 5-1, 5.1-8, 6-1
#[test]
fn cookie_is_echoed_unchanged_and_no_packet_follows_before_cookie_ack() {
    let mut endpoint = endpoint();
    let (id, tag) = send_init(&mut endpoint);
    queue(&mut endpoint, id, Message::new(StreamId(0), "hello"));
    queue(&mut endpoint, id, Message::new(StreamId(0), vec![7; 3_000]));
    assert_eq!(poll_packets(&mut endpoint, START), Vec::<Vec<u8>>::new());
    let replies = deliver(&mut endpoint, START, peer(2), tag, &init_ack(5, &[]));
    let [echo] = &replies[..] else {
        panic!("{replies:?}")
    };
    read(echo, |sent_with, chunks| {
        assert_eq!(sent_with, VerificationTag(5));
        let [Chunk::CookieEcho(echo), Chunk::Data(data)] = chunks else {
            panic!("{chunks:?}")
        };
        assert_eq!(echo.cookie, [7; 40]);
        assert_eq!(data.payload, b"hello");
    });
    assert_eq!(poll_packets(&mut endpoint, START), Vec::<Vec<u8>>::new());
    let replies = deliver(&mut endpoint, START, peer(2), tag, &CookieAck);
    assert_eq!(kinds(&replies)[0], kind::DATA);
}

/// Lets the timers of an endpoint expire until none is running. Returns the packets sent meanwhile.
fn run_timers(endpoint: &mut Endpoint) -> Vec<Vec<u8>> {
    let mut sent = Vec::new();
    while let Some(at) = endpoint
        .poll_timeout()
        .filter(|at| *at < START + Duration::from_secs(3_600))
    {
        endpoint.handle_timeout(at);
        sent.append(&mut poll_packets(endpoint, at));
    }
    sent
}

//= rfc9260 4-4, 4-5, 4-7, 4-8, 5.1.4-2
#[test]
fn init_and_cookie_echo_stop_after_max_init_retransmits() {
    let times = usize::from(config().max_init_retransmits);
    let gave_up = |endpoint: &mut Endpoint| events(endpoint).contains(&Event::Closed(CloseReason::NoAnswer));

    let mut endpoint = endpoint();
    let (_, _) = send_init(&mut endpoint);
    assert_eq!(kinds(&run_timers(&mut endpoint)), vec![kind::INIT; times]);
    assert!(gave_up(&mut endpoint));

    let mut endpoint = self::endpoint();
    let (_, tag) = send_init(&mut endpoint);
    deliver(&mut endpoint, START, peer(2), tag, &init_ack(5, &[]));
    let mut expected = vec![kind::COOKIE_ECHO; times];
    expected.push(kind::ABORT);
    assert_eq!(kinds(&run_timers(&mut endpoint)), expected);
    assert!(gave_up(&mut endpoint));
}

//= rfc9260 5.2.1-1, 5.2.1-2, 5.2.1-5, 5.2.1-11, 5.2.1-12, 5.2.1-13, 5.2.1-14
#[test]
fn init_in_cookie_wait_is_answered_with_our_init_fields() {
    let mut endpoint = endpoint();
    endpoint
        .connect(START, &[peer(2)], &config())
        .expect("a path to the peer");
    let (_, own, _) = setup_chunk(&poll_packets(&mut endpoint, START));
    let before = endpoint.poll_timeout();
    let answers = init_from_peer(&mut endpoint, &init(5, listing(&[peer(2).ip(), peer(3).ip()])));
    let (tag, answer, _) = setup_chunk(&answers);
    assert_eq!(tag, VerificationTag(5));
    let expected = OutboundInit {
        acknowledges: true,
        outbound_streams: 10,
        ..own.clone()
    };
    assert_eq!(answer, expected, "the peer takes ten streams");
    assert!(decode_cookie(&mut endpoint, &answers).tie_tags.is_none());
    assert_eq!(endpoint.poll_timeout(), before, "T1-init runs on");
    let replies = deliver(&mut endpoint, START, peer(2), own.initiate_tag, &init_ack(5, &[]));
    assert_eq!(kinds(&replies), [kind::COOKIE_ECHO], "still in COOKIE-WAIT");
}

//= rfc9260 5.2.1-6, 5.2.1-7, 5.2.1-8, 5.2.1-9, 5.2.1-10, 5.2.1-11, 5.2.1-15
#[test]
fn init_in_cookie_echoed_is_answered_unless_it_adds_an_address() {
    let mut endpoint = endpoint();
    let (_, tag) = send_init(&mut endpoint);
    deliver(&mut endpoint, START, peer(2), tag, &init_ack(5, &[]));
    let answers = init_from_peer(&mut endpoint, &init(6, Vec::new()));
    let (_, answer, _) = setup_chunk(&answers);
    assert_eq!(answer.initiate_tag, tag);
    let tie_tags = endpoint.randoms.tie(tag, VerificationTag(5));
    assert_eq!(decode_cookie(&mut endpoint, &answers).tie_tags, Some(tie_tags));
    let adding = init(7, listing(&[peer(2).ip(), peer(3).ip()]));
    is_abort(&init_from_peer(&mut endpoint, &adding), 7, |cause| {
        let Cause::RestartWithNewAddresses(new) = cause else {
            return false;
        };
        let mut new = new.iter().flatten().flat_map(RawParameter::decode);
        new.next() == Some(Parameter::Ipv4(Ipv4Addr::new(10, 0, 0, 3))) && new.next().is_none()
    });
    assert!(!is_connected(&endpoint));
    deliver(&mut endpoint, START, peer(2), tag, &CookieAck);
    assert!(is_connected(&endpoint), "still in COOKIE-ECHOED before");
}

//= rfc9260 5.2.2-1, 5.2.2-5, 5.2.2-6, 5.2.2-7, 5.2.2-8, 5.2.2-9, 5.2.2-10, 5.2.2-11
#[test]
fn init_when_established_gets_a_new_tag_and_old_fields() {
    let mut endpoint = endpoint();
    let call = init(5, Vec::new());
    let answers = init_from_peer(&mut endpoint, &call);
    assert!(
        decode_cookie(&mut endpoint, &answers).tie_tags.is_none(),
        "there was no association"
    );
    let (_, first, _) = setup_chunk(&answers);
    let tag = accept_peer(&mut endpoint, 5, &[]);
    let answers = init_from_peer(&mut endpoint, &init(6, Vec::new()));
    let (sent_with, again, _) = setup_chunk(&answers);
    assert_eq!(sent_with, VerificationTag(6));
    assert!(again.initiate_tag != tag && again.initiate_tag != VerificationTag::ZERO);
    let fields = |init: &OutboundInit| (init.a_rwnd, init.outbound_streams, init.inbound_streams);
    assert_eq!(fields(&again), fields(&first));
    let tie_tags = endpoint.randoms.tie(tag, VerificationTag(5));
    assert_eq!(decode_cookie(&mut endpoint, &answers).tie_tags, Some(tie_tags));
    deliver(&mut endpoint, START, peer(2), tag, &DATA);
    assert!(
        events(&mut endpoint).contains(&Event::Readable),
        "nothing has changed"
    );
}

//= rfc9260 5.2.2-2, 5.2.2-3
#[test]
fn init_that_adds_an_address_is_aborted_with_its_own_tag() {
    let mut endpoint = endpoint();
    accept_peer(&mut endpoint, 5, &[]);
    let adding = init(6, listing(&[peer(2).ip(), peer(3).ip()]));
    is_abort(&init_from_peer(&mut endpoint, &adding), 6, |cause| {
        matches!(cause, Cause::RestartWithNewAddresses(_))
    });
    assert!(is_connected(&endpoint));
}

//= rfc9260 4-2, 5.1.5-4, 5.1.5-5, 5.2.4-1, 5.2.4-2
#[test]
fn stale_cookie_of_other_tags_gets_error_and_data_is_dropped() {
    for has_association in [false, true] {
        let mut endpoint = endpoint();
        if has_association {
            accept_peer(&mut endpoint, 5, &[]);
        }
        let (tag, cookie) = tag_and_cookie(&init_from_peer(&mut endpoint, &init(6, Vec::new())));
        let echo = packet(tag, |packet| {
            packet
                .push(&CookieEcho { cookie: &cookie })
                .expect("a small chunk");
            packet.push(&DATA).expect("another one");
        });
        let late = START + Duration::from_secs(61);
        let replies = deliver_packet(&mut endpoint, late, peer(2), &echo);
        read(&replies[0], |sent_with, chunks| {
            let [Chunk::Error(error)] = chunks else {
                panic!("{chunks:?}")
            };
            assert_eq!(sent_with, VerificationTag(6));
            let cause = error.causes.iter().flatten().next().expect("a cause");
            let Ok(Cause::StaleCookie { staleness }) = cause.decode() else {
                panic!("{error:?}")
            };
            assert_eq!(staleness, 1_000_000, "microseconds");
        });
        assert_eq!(endpoint.associations().len(), usize::from(has_association));
        assert!(!events(&mut endpoint).contains(&Event::Readable));
    }
}

//= rfc9260 5.2.4-5
#[test]
fn restarted_peer_starts_with_the_initial_cwnd() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    let cwnd = |endpoint: &Endpoint| endpoint.associations().next().expect("it lives").path_facts()[0].cwnd;
    let initial = cwnd(&endpoint);
    let id = endpoint.associations().next().expect("it lives").id();
    let mut association = endpoint.association_mut(id).expect("it lives");
    association
        .send(Message::new(StreamId(0), vec![7; 50_000]))
        .expect("room");
    drop(association);
    let last = transfer::tsns(&poll_packets(&mut endpoint, START))
        .pop()
        .expect("data");
    let sack = OutboundSack {
        cumulative: last,
        a_rwnd: 100_000,
        packet_count: None,
        blocks: &[],
        duplicates: &[],
    };
    deliver(
        &mut endpoint,
        START + Duration::from_millis(10),
        peer(2),
        tag,
        &sack,
    );
    assert!(cwnd(&endpoint) > initial);
    accept_peer(&mut endpoint, 6, &[]);
    assert_eq!(cwnd(&endpoint), initial);
}

//= rfc9260 5.2.4-6
#[test]
fn restart_of_the_peer_in_shutdown_ack_sent_is_refused() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    let (new_tag, cookie) = tag_and_cookie(&init_from_peer(&mut endpoint, &init(6, Vec::new())));
    let association = endpoint.associations().next().expect("it lives");
    let cumulative = Tsn(association.local.initial_tsn.0.wrapping_sub(1));
    let replies = deliver(&mut endpoint, START, peer(2), tag, &Shutdown { cumulative });
    assert_eq!(kinds(&replies), [kind::SHUTDOWN_ACK]);
    let echo = CookieEcho { cookie: &cookie };
    let replies = deliver(&mut endpoint, START, peer(2), new_tag, &echo);
    assert_eq!(kinds(&replies), [kind::ERROR, kind::SHUTDOWN_ACK]);
    read(&replies[0], |_, chunks| {
        let [Chunk::Error(error)] = chunks else {
            panic!("{chunks:?}")
        };
        let cause = error.causes.iter().flatten().next().expect("a cause");
        assert_eq!(cause.decode(), Ok(Cause::CookieWhileShuttingDown));
    });
    deliver(&mut endpoint, START, peer(2), tag, &ShutdownAck);
    assert!(events(&mut endpoint).contains(&Event::Closed(CloseReason::Finished)));
}

//= rfc9260 5.2.4-3, 5.2.4-9, 5.2.4-10, 5.2.4-11
/// RFC 9260 §5.2.4: action C, and a case that the table does not list.
#[test]
fn late_cookies_of_an_earlier_init_are_discarded() {
    for tag_of_answer in [5, 9] {
        let mut endpoint = endpoint();
        let (early_tag, cookie) = tag_and_cookie(&init_from_peer(&mut endpoint, &init(5, Vec::new())));
        let (_, tag) = send_init(&mut endpoint);
        deliver(&mut endpoint, START, peer(2), tag, &init_ack(tag_of_answer, &[]));
        let before = endpoint.poll_timeout();
        let echo = CookieEcho { cookie: &cookie };
        let replies = deliver(&mut endpoint, START, peer(2), early_tag, &echo);
        assert_eq!(replies, Vec::<Vec<u8>>::new());
        assert!(!is_connected(&endpoint));
        assert_eq!(endpoint.poll_timeout(), before, "T1-cookie runs on");
        assert_eq!(endpoint.associations().len(), 1);
    }
}

//= rfc9260 5.2.5-1
#[test]
fn cookie_ack_outside_cookie_echoed_is_discarded() {
    let mut endpoint = endpoint();
    let (_, tag) = send_init(&mut endpoint);
    let nothing = Vec::<Vec<u8>>::new();
    assert_eq!(deliver(&mut endpoint, START, peer(2), tag, &CookieAck), nothing);
    assert!(!is_connected(&endpoint));
    deliver(&mut endpoint, START, peer(2), tag, &init_ack(5, &[]));
    deliver(&mut endpoint, START, peer(2), tag, &CookieAck);
    events(&mut endpoint);
    assert_eq!(deliver(&mut endpoint, START, peer(2), tag, &CookieAck), nothing);
    assert_eq!(events(&mut endpoint), []);
}

//= rfc9260 5.2.6-1, 5.2.6-2
#[test]
fn stale_cookie_error_outside_cookie_echoed_changes_nothing() {
    let causes = CauseWriter::one(Cause::StaleCookie { staleness: 1 });
    let stale = OutboundError { causes };
    let mut endpoint = endpoint();
    let (_, tag) = send_init(&mut endpoint);
    let nothing = Vec::<Vec<u8>>::new();
    let before = endpoint.poll_timeout();
    assert_eq!(deliver(&mut endpoint, START, peer(2), tag, &stale), nothing);
    assert_eq!(endpoint.poll_timeout(), before, "T1-init runs on");
    deliver(&mut endpoint, START, peer(2), tag, &init_ack(5, &[]));
    deliver(&mut endpoint, START, peer(2), tag, &CookieAck);
    assert_eq!(deliver(&mut endpoint, START, peer(2), tag, &stale), nothing);
    assert!(is_connected(&endpoint));
}

//= rfc9260 5.1.2-10, 5.1.2-11
#[test]
fn init_from_an_address_type_it_does_not_list_is_answered() {
    let mut endpoint = endpoint();
    let mut parameters = ParameterWriter::new();
    parameters.push_supported_address_types(false, true);
    let answer = init_from_peer(&mut endpoint, &init(5, parameters.finish()));
    assert_eq!(kinds(&answer), [kind::INIT_ACK]);
    let (tag, cookie) = tag_and_cookie(&answer);
    let answer = deliver(
        &mut endpoint,
        START,
        peer(2),
        tag,
        &CookieEcho { cookie: &cookie },
    );
    assert_eq!(kinds(&answer), [kind::COOKIE_ACK]);
}

//= rfc9260 5.1.3-4
#[test]
fn cookie_of_another_endpoint_is_discarded() {
    let mut endpoint = endpoint();
    let (tag, cookie) = tag_and_cookie(&init_from_peer(&mut endpoint, &init(5, Vec::new())));
    let other = EndpointConfig {
        local: vec![here()],
        accept: Some(config()),
        ..EndpointConfig::default()
    };
    let mut other = Endpoint::new(other, Seed(2));
    let echo = CookieEcho { cookie: &cookie };
    assert_eq!(
        deliver(&mut other, START, peer(2), tag, &echo),
        Vec::<Vec<u8>>::new()
    );
    assert_eq!(other.associations().len(), 0);
}

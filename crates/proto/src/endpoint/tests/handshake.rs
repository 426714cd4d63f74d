//! Tests of unusual handshakes: restarts, crossing INITs, old and forged cookies, limits.

use core::time::Duration;

use super::*;

#[test]
fn queued_heartbeat_ack_is_dropped_with_its_path() {
    let mut endpoint = endpoint();
    let (id, tag) = send_init(&mut endpoint);
    let both = [peer(2).ip(), peer(3).ip()];
    deliver(&mut endpoint, START, peer(2), tag, &init_ack(5, &both));
    let heartbeat = Heartbeat { info: b"there?" };
    deliver(&mut endpoint, START, peer(3), tag, &heartbeat);
    // The peer's INIT crosses ours, and the peer has lost an address meanwhile.
    receive_crossing_init(&mut endpoint, tag, 6);
    let association = endpoint.association(id).expect("it lives");
    assert!(association.is_connected());
    assert_eq!(association.path_facts().len(), 1);
}

//= rfc9260 5.1.2-8, 5.1.2-9
/// RFC 9260 §5.1.2: addresses of a family that we do not support "MAY be ignored", and no error is indicated.
#[test]
fn restart_may_list_addresses_of_an_unsupported_family() {
    let mut endpoint = endpoint();
    let listed = [peer(2).ip(), IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, 2])];
    accept_peer(&mut endpoint, 5, &listed);
    accept_peer(&mut endpoint, 6, &listed);
    let is_restart = |event: &Event| matches!(event, Event::Restarted { .. });
    assert!(events(&mut endpoint).iter().any(is_restart));
}

#[test]
fn restart_with_new_addresses_is_aborted() {
    let mut endpoint = endpoint();
    accept_peer(&mut endpoint, 5, &[peer(2).ip()]);
    let anew = init(6, listing(&[peer(2).ip(), peer(3).ip()]));
    let answer = deliver(&mut endpoint, START, peer(2), VerificationTag::ZERO, &anew);
    assert_eq!(kinds(&answer), [kind::ABORT]);
}

//= rfc9260 5.2.2-4
/// RFC 9260 §5.2.2: the error "SHOULD list the addresses that were added to the restarting association".
#[test]
fn abort_of_a_restart_lists_its_new_addresses() {
    let mut endpoint = endpoint();
    accept_peer(&mut endpoint, 5, &[peer(2).ip()]);
    let anew = init(6, listing(&[peer(2).ip(), peer(3).ip()]));
    let answer = deliver(&mut endpoint, START, peer(2), VerificationTag::ZERO, &anew);
    let packet = Packet::parse(&answer[0]).expect("a packet in order");
    let chunk = packet.chunks().flatten().next().expect("a chunk");
    let Ok(Chunk::Abort(abort)) = chunk.decode() else {
        panic!("{answer:?}")
    };
    let mut causes = abort.causes.iter().flatten().flat_map(RawCause::decode);
    let Some(Cause::RestartWithNewAddresses(new)) = causes.next() else {
        panic!("{abort:?}")
    };
    let new: Vec<_> = new.iter().flatten().flat_map(RawParameter::decode).collect();
    assert_eq!(new, [Parameter::Ipv4(Ipv4Addr::new(10, 0, 0, 3))]);
}

/// All addresses were listed before, though the endpoint did not keep them all: it keeps a limited number, or only one if
/// it is single-homed.
#[test]
fn restart_with_the_same_addresses_is_accepted() {
    let single_homed = AssociationConfig {
        single_homed: true,
        ..config()
    };
    let listed: Vec<IpAddr> = (2..42).map(|number| peer(number).ip()).collect();
    for mut endpoint in [endpoint_with(single_homed), endpoint()] {
        accept_peer(&mut endpoint, 5, &listed);
        accept_peer(&mut endpoint, 6, &listed);
        let is_restart = |event: &Event| matches!(event, Event::Restarted { .. });
        assert!(events(&mut endpoint).iter().any(is_restart));
    }
}

/// After a restart, the cookie of the first incarnation counts as used, like that of an association that ended.
#[test]
fn cookie_older_than_a_restart_is_refused() {
    let mut endpoint = endpoint();
    let first = init(5, Vec::new());
    let (old_tag, cookie) = request_cookie(&mut endpoint, peer(2), &first);
    let echo = CookieEcho { cookie: &cookie };
    deliver(&mut endpoint, START, peer(2), old_tag, &echo);
    let tag = accept_peer(&mut endpoint, 6, &[]);
    let abort = OutboundAbort {
        tag_reflected: false,
        causes: Vec::new(),
    };
    deliver(&mut endpoint, START, peer(2), tag, &abort);
    let answer = deliver(&mut endpoint, START, peer(2), old_tag, &echo);
    assert_eq!(kinds(&answer), [kind::ABORT]);
    assert!(endpoint.associations().all(Association::is_closed));
}

/// The endpoint remembers the used cookie for as long as it is valid, however many associations end meanwhile.
#[test]
fn used_cookie_is_refused_after_2000_other_associations() {
    let mut endpoint = endpoint();
    let first = init(5, Vec::new());
    let (old_tag, cookie) = request_cookie(&mut endpoint, peer(2), &first);
    let echo = CookieEcho { cookie: &cookie };
    let abort = OutboundAbort {
        tag_reflected: false,
        causes: Vec::new(),
    };
    deliver(&mut endpoint, START, peer(2), old_tag, &echo);
    deliver(&mut endpoint, START, peer(2), old_tag, &abort);
    for number in 0..2_000 {
        let tag = accept_peer_at(&mut endpoint, peer(3), 6 + number, &[]);
        deliver(&mut endpoint, START, peer(3), tag, &abort);
        let ended: Vec<AssociationId> = endpoint.associations().map(Association::id).collect();
        ended.into_iter().for_each(|id| endpoint.forget(id));
    }
    let answer = deliver(&mut endpoint, START, peer(2), old_tag, &echo);
    assert_eq!(kinds(&answer), [kind::ABORT]);
    assert_eq!(endpoint.associations().count(), 0);
}

//= rfc9260 5.1-16, 5.1-18
/// RFC 9260 §5.1: an endpoint that does not establish an association for "lack of local resources [...] SHOULD respond
/// with an ABORT chunk".
#[test]
fn cookie_beyond_max_associations_gets_abort() {
    let config = EndpointConfig {
        local: vec![here()],
        accept: Some(config()),
        max_associations: 1,
        ..EndpointConfig::default()
    };
    let mut endpoint = Endpoint::new(config, Seed(1));
    let cookies = [2, 3].map(|number| {
        let call = init(number.into(), Vec::new());
        request_cookie(&mut endpoint, peer(number), &call)
    });
    let [first, second] = [2, 3].map(|number| {
        let (tag, cookie) = &cookies[usize::from(number) - 2];
        deliver(&mut endpoint, START, peer(number), *tag, &CookieEcho { cookie })
    });
    assert_eq!(kinds(&first).first(), Some(&kind::COOKIE_ACK));
    assert_eq!(kinds(&second), [kind::ABORT]);
    let packet = Packet::parse(&second[0]).expect("a packet in order");
    assert_eq!(packet.header().tag, VerificationTag(3));
    assert_eq!(endpoint.counters().dropped, 1);
}

#[test]
fn loopback_and_multicast_addresses_become_no_paths() {
    let mut endpoint = endpoint_at(SocketAddr::from(([0, 0, 0, 0], DEFAULT_PORT)));
    let strange = [[127, 0, 0, 1], [0, 0, 0, 0], [224, 0, 0, 1], [255, 255, 255, 255]].map(IpAddr::from);
    accept_peer(&mut endpoint, 5, &strange);
    let paths = |endpoint: &Endpoint| -> usize {
        endpoint
            .associations()
            .map(|known| known.path_facts().len())
            .sum()
    };
    assert_eq!(paths(&endpoint), 1);

    let mut endpoint = endpoint_at(SocketAddr::from(([0, 0, 0, 0], DEFAULT_PORT)));
    let (_, tag) = send_init(&mut endpoint);
    deliver(&mut endpoint, START, peer(2), tag, &init_ack(5, &strange));
    assert_eq!(paths(&endpoint), 1);
}

/// The types of the parameters in an INIT or INIT ACK.
fn parameters(packets: &[Vec<u8>]) -> Vec<u16> {
    let packet = Packet::parse(&packets[0]).expect("a packet in order");
    let chunk = packet.chunks().flatten().next().expect("a chunk");
    let (Ok(Chunk::Init(said)) | Ok(Chunk::InitAck(said))) = chunk.decode() else {
        panic!("neither INIT nor INIT ACK");
    };
    said.parameters.iter().flatten().map(|raw| raw.kind).collect()
}

/// An endpoint with two addresses, configured for WebRTC data channels.
fn webrtc() -> Endpoint {
    let config = EndpointConfig {
        local: vec![here(), SocketAddr::from(([10, 0, 1, 1], DEFAULT_PORT))],
        ..EndpointConfig::webrtc()
    };
    Endpoint::new(config, Seed(1))
}

//= rfc6951 3.2-1
/// RFC 8261 §6.1: over DTLS, INIT and INIT ACK list neither addresses nor address types.
#[test]
fn single_homed_init_neither_lists_nor_uses_addresses() {
    let mut endpoint = webrtc();
    let called = endpoint.connect(START, &[peer(2), peer(3)], &AssociationConfig::webrtc());
    let id = called.expect("a path to the peer");
    let call = poll_packets(&mut endpoint, START);
    assert_eq!(call.len(), 1, "one path");
    let header = Packet::parse(&call[0]).expect("a packet in order").header();
    assert_eq!((header.source_port, header.destination_port), (5_000, 5_000));
    let unwanted = [IPV4, IPV6, SUPPORTED_ADDRESS_TYPES];
    assert!(!parameters(&call).iter().any(|kind| unwanted.contains(kind)));
    let (tag, _) = tag_and_cookie(&call);
    let answer = init_ack(5, &[peer(2).ip(), peer(4).ip()]);
    let ports = CommonHeader {
        source_port: 5_000,
        destination_port: 5_000,
        tag,
    };
    let mut bytes = Vec::new();
    let mut packet = PacketBuilder::new(&mut bytes, ports, 1_400);
    packet.push(&answer).expect("a small chunk");
    packet.finish();
    assert_eq!(
        kinds(&deliver_packet(&mut endpoint, START, peer(2), &bytes)),
        [kind::COOKIE_ECHO]
    );
    assert_eq!(
        endpoint.association(id).map(|known| known.path_facts().len()),
        Some(1)
    );
}

//= rfc6951 3.2-1
#[test]
fn single_homed_init_ack_neither_lists_nor_uses_addresses() {
    let config = EndpointConfig {
        local: vec![here(), SocketAddr::from(([10, 0, 1, 1], DEFAULT_PORT))],
        accept: Some(AssociationConfig {
            single_homed: true,
            ..config()
        }),
        ..EndpointConfig::default()
    };
    let mut endpoint = Endpoint::new(config, Seed(1));
    let call = init(5, listing(&[peer(2).ip(), peer(3).ip()]));
    let answer = deliver(&mut endpoint, START, peer(2), VerificationTag::ZERO, &call);
    assert!(!parameters(&answer).iter().any(|kind| [IPV4, IPV6].contains(kind)));
    let (tag, cookie) = tag_and_cookie(&answer);
    deliver(
        &mut endpoint,
        START,
        peer(2),
        tag,
        &CookieEcho { cookie: &cookie },
    );
    let paths = |known: &Association| known.path_addresses();
    let both: Vec<PathAddr> = endpoint.associations().flat_map(paths).collect();
    let [only] = both[..] else { panic!("{both:?}") };
    assert_eq!((only.local, only.remote), (here(), peer(2)));
}

/// With 100,000 ended associations, one of 40,000 random tags is that of one of them.
#[test]
fn tag_of_an_ended_association_is_not_drawn_again() {
    let mut endpoint = endpoint();
    let secrets = endpoint.secrets.clone();
    let (id, tag) = send_init(&mut endpoint);
    endpoint.forget(id);
    endpoint.secrets = secrets;
    let (_, next_tag) = send_init(&mut endpoint);
    assert_ne!(next_tag, tag);
}

#[test]
fn repeated_stale_cookie_errors_end_the_attempt() {
    let mut endpoint = endpoint();
    let (id, mut tag) = send_init(&mut endpoint);
    let causes = CauseWriter::one(Cause::StaleCookie { staleness: 1 });
    let stale = OutboundError { causes };
    for _ in 0..20 {
        deliver(&mut endpoint, START, peer(2), tag, &init_ack(5, &[]));
        let answer = deliver(&mut endpoint, START, peer(2), tag, &stale);
        if kinds(&answer) != [kind::INIT] {
            break;
        }
        (tag, _) = tag_and_cookie(&answer);
    }
    assert!(endpoint.association(id).is_some_and(Association::is_closed));
}

/// The errors about two copies of the first cookie overtake each other, and one arrives after the second cookie was sent, which has made an
/// association of the peer's. Starting again would make another one if the third cookie comes from an unconfirmed address.
#[test]
fn late_error_about_an_earlier_cookie_is_ignored() {
    let mut endpoint = endpoint();
    let (id, tag) = send_init(&mut endpoint);
    deliver(&mut endpoint, START, peer(2), tag, &init_ack(5, &[]));
    let causes = CauseWriter::one(Cause::StaleCookie { staleness: 1 });
    let stale = OutboundError { causes };
    let (next_tag, _) = tag_and_cookie(&deliver(&mut endpoint, START, peer(2), tag, &stale));
    assert_ne!(next_tag, tag);
    let echo = deliver(&mut endpoint, START, peer(2), next_tag, &init_ack(6, &[]));
    assert_eq!(kinds(&echo), [kind::COOKIE_ECHO]);
    let nothing = Vec::<Vec<u8>>::new();
    assert_eq!(deliver(&mut endpoint, START, peer(2), tag, &stale), nothing);
    deliver(&mut endpoint, START, peer(2), next_tag, &CookieAck);
    assert!(endpoint.association(id).is_some_and(Association::is_connected));
}

/// The association has ended, so its addresses and its port are free for another one.
#[test]
fn stale_cookie_error_with_an_abort_ends_the_attempt() {
    let mut endpoint = endpoint();
    let (id, tag) = send_init(&mut endpoint);
    deliver(&mut endpoint, START, peer(2), tag, &init_ack(5, &[]));
    let causes = CauseWriter::one(Cause::StaleCookie { staleness: 1 });
    let abort = OutboundAbort {
        tag_reflected: false,
        causes: Vec::new(),
    };
    deliver_two(&mut endpoint, peer(2), tag, &OutboundError { causes }, &abort);
    assert!(endpoint.association(id).is_some_and(Association::is_closed));
    assert!(endpoint.connect(START, &[peer(2)], &config()).is_ok());
}

/// The INITs cross, and the peer finds our cookie stale. Its cookie is for the tag of before and completes nothing; what it echoes after
/// another INIT completes the handshake that starts again.
#[test]
fn crossing_cookie_completes_a_handshake_that_starts_again() {
    let mut endpoint = endpoint();
    let (id, tag) = send_init(&mut endpoint);
    deliver(&mut endpoint, START, peer(2), tag, &init_ack(5, &[]));
    let (_, cookie) = request_cookie(&mut endpoint, peer(2), &init(5, Vec::new()));
    let causes = CauseWriter::one(Cause::StaleCookie { staleness: 1 });
    let again = deliver(&mut endpoint, START, peer(2), tag, &OutboundError { causes });
    let (next_tag, _) = tag_and_cookie(&again);
    let nothing = Vec::<Vec<u8>>::new();
    let echo = CookieEcho { cookie: &cookie };
    assert_eq!(deliver(&mut endpoint, START, peer(2), tag, &echo), nothing);
    let (its_tag, cookie) = request_cookie(&mut endpoint, peer(2), &init(5, Vec::new()));
    assert_eq!(its_tag, next_tag);
    let echo = CookieEcho { cookie: &cookie };
    let answer = deliver(&mut endpoint, START, peer(2), next_tag, &echo);
    assert_eq!(kinds(&answer), [kind::COOKIE_ACK]);
    assert!(endpoint.association(id).is_some_and(Association::is_connected));
    assert_eq!(endpoint.associations().count(), 1);
    let late = deliver(&mut endpoint, START, peer(2), next_tag, &init_ack(6, &[]));
    assert_eq!(late, nothing, "the answer to the second INIT");
}

/// The INITs cross, and the peer's cookie is stale when it arrives. Its first copy came before INIT ACK and was answered with an error, so
/// the peer starts again; if a second copy completed our handshake, its next INIT would find this end connected.
#[test]
fn stale_cookie_does_not_complete_our_own_handshake() {
    let mut endpoint = endpoint();
    let (id, tag) = send_init(&mut endpoint);
    let (_, cookie) = request_cookie(&mut endpoint, peer(2), &init(5, Vec::new()));
    let echo = CookieEcho { cookie: &cookie };
    let later = START + Duration::from_secs(61);
    assert_eq!(
        kinds(&deliver(&mut endpoint, later, peer(2), tag, &echo)),
        [kind::ERROR]
    );
    deliver(&mut endpoint, later, peer(2), tag, &init_ack(5, &[]));
    assert_eq!(
        kinds(&deliver(&mut endpoint, later, peer(2), tag, &echo)),
        [kind::ERROR]
    );
    let is_connected = |endpoint: &Endpoint| endpoint.association(id).is_some_and(Association::is_connected);
    assert!(!is_connected(&endpoint));
    deliver(&mut endpoint, later, peer(2), tag, &CookieAck);
    assert!(is_connected(&endpoint));
    assert_eq!(
        kinds(&deliver(&mut endpoint, later, peer(2), tag, &echo)),
        [kind::COOKIE_ACK],
        "the peer misses only the COOKIE ACK"
    );
}

/// RFC 9260 §8.5.1 B: a reflected tag is the peer's, which is not known before INIT ACK.
#[test]
fn abort_with_t_bit_is_ignored_before_the_peer_tag_is_known() {
    let mut endpoint = endpoint();
    let (id, _) = send_init(&mut endpoint);
    let abort = OutboundAbort {
        tag_reflected: true,
        causes: Vec::new(),
    };
    deliver(&mut endpoint, START, peer(2), VerificationTag::ZERO, &abort);
    assert!(!endpoint.association(id).is_some_and(Association::is_closed));
}

//= rfc9260 3.3.2.1.4-2, 3.3.3-2, 5.1-16, 5.1-18, 12.2.4.1-1
/// RFC 9260 §5.1.2 B (host name) and §3.3.10.2 (missing cookie).
#[test]
fn init_ack_with_host_name_or_without_cookie_gets_abort() {
    let mut with_name = ParameterWriter::new();
    with_name.push_state_cookie(&[7; 40]);
    with_name.push_raw(HOST_NAME, b"peer.example\0\0\0\0");
    for (parameters, has_name) in [(with_name.finish(), true), (Vec::new(), false)] {
        let mut endpoint = endpoint();
        let (id, tag) = send_init(&mut endpoint);
        let answer = OutboundInit {
            acknowledges: true,
            ..init(5, parameters)
        };
        let replies = deliver(&mut endpoint, START, peer(2), tag, &answer);
        assert_eq!(kinds(&replies), [kind::ABORT]);
        let packet = Packet::parse(&replies[0]).expect("a packet in order");
        assert_eq!(packet.header().tag, VerificationTag(5));
        if has_name {
            let name = b"\x00\x0b\x00\x14peer.example\0\0\0\0";
            let is_told = replies[0].windows(name.len()).any(|part| part == name);
            assert!(is_told, "the parameter, in the cause Unresolvable Address");
        }
        assert!(endpoint.association(id).is_some_and(Association::is_closed));
    }
}

#[test]
fn messages_on_streams_refused_by_a_crossing_init_are_reported() {
    let mut endpoint = endpoint();
    let (id, tag) = send_init(&mut endpoint);
    let mut association = endpoint.association_mut(id).expect("it lives");
    association
        .send(Message::new(StreamId(500), "nobody listens"))
        .expect("it may be queued");
    drop(association);
    receive_crossing_init(&mut endpoint, tag, 6);
    assert!(events(&mut endpoint).contains(&Event::Undeliverable { messages: 1 }));
}

#[test]
fn association_ids_in_use_are_not_reused() {
    let mut endpoint = endpoint();
    let (first, _) = send_init(&mut endpoint);
    endpoint.next_id = u32::MAX;
    let mut ids = vec![first];
    for number in 3..6 {
        ids.push(
            endpoint
                .connect(START, &[peer(number)], &config())
                .expect("a path to the peer"),
        );
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

//= rfc9260 5.1.5-2
/// RFC 9260 §5.1.5: a packet is discarded with all its chunks if its cookie is not ours.
#[test]
fn chunks_after_a_forged_cookie_are_discarded() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    let abort = OutboundAbort {
        tag_reflected: false,
        causes: Vec::new(),
    };
    let forged = CookieEcho { cookie: &[7; 40] };
    deliver_two(&mut endpoint, peer(2), tag, &forged, &abort);
    assert!(endpoint.associations().all(Association::is_connected));
}

#[test]
fn unverified_peers_beyond_the_reply_limit_are_counted() {
    let mut endpoint = endpoint();
    let call = packet(VerificationTag::ZERO, |packet| {
        packet.push(&init(5, Vec::new())).expect("a small chunk");
    });
    let path = PathAddr {
        local: here(),
        remote: peer(2),
    };
    for _ in 0..300 {
        endpoint.handle_datagram(START, path, Ecn::NotCapable, &call);
    }
    assert_eq!(poll_packets(&mut endpoint, START).len(), 256);
    assert_eq!(endpoint.counters().unanswered, 44);
}

/// RFC 5062 §2: an attacker has to guess the client's port.
#[test]
fn default_local_port_is_random_and_ephemeral() {
    let local_port = |seed: u64| {
        let config = EndpointConfig {
            local: vec![here()],
            ..EndpointConfig::default()
        };
        let mut endpoint = Endpoint::new(config, Seed(seed));
        let called = endpoint.connect(START, &[peer(2)], &AssociationConfig::default());
        let id = called.expect("a free port");
        endpoint.association(id).expect("it lives").local_port()
    };
    let ports: Vec<u16> = (0..100).map(local_port).collect();
    assert!(ports.iter().all(|port| *port >= 49_152), "{ports:?}");
    let distinct: alloc::collections::BTreeSet<_> = ports.iter().collect();
    assert!(distinct.len() > 90, "{ports:?}");
}

#[test]
fn consecutive_connects_use_non_adjacent_ports() {
    let config = EndpointConfig {
        local: vec![here()],
        ..EndpointConfig::default()
    };
    let mut endpoint = Endpoint::new(config, Seed(1));
    let ports = [2, 3].map(|remote| {
        let called = endpoint.connect(START, &[peer(remote)], &AssociationConfig::default());
        endpoint
            .association(called.expect("a free port"))
            .expect("it lives")
            .local_port()
    });
    assert!(ports[0].abs_diff(ports[1]) > 1, "{ports:?}");
}

/// A listed address proves nothing (ADR 0067): listing another host's address does not block the INITs of that host.
#[test]
fn init_from_an_address_listed_by_another_peer_is_accepted() {
    for lists_more in [false, true] {
        let mut endpoint = endpoint();
        accept_peer(&mut endpoint, 5, &[peer(2).ip(), peer(3).ip()]);
        let more = [peer(3).ip(), peer(9).ip()];
        let listed = if lists_more { &more[..] } else { &[] };
        let call = init(6, listing(listed));
        let answer = deliver(&mut endpoint, START, peer(3), VerificationTag::ZERO, &call);
        assert_eq!(kinds(&answer), [kind::INIT_ACK]);
        let (tag, cookie) = tag_and_cookie(&answer);
        let answer = deliver(
            &mut endpoint,
            START,
            peer(3),
            tag,
            &CookieEcho { cookie: &cookie },
        );
        assert_eq!(kinds(&answer).first(), Some(&kind::COOKIE_ACK));
        assert_eq!(endpoint.associations().count(), 2);
        let is_restart = |event: &Event| matches!(event, Event::Restarted { .. });
        assert!(!events(&mut endpoint).iter().any(is_restart));
    }
    let mut endpoint = endpoint();
    accept_peer(&mut endpoint, 5, &[peer(2).ip(), peer(3).ip()]);
    assert!(endpoint.connect(START, &[peer(3)], &config()).is_ok());
}

//= rfc9260 3-1, 6.10-8
#[test]
fn connect_with_two_hundred_local_addresses_sends_init() {
    let local = (0..200).map(|number| SocketAddr::from(([10, 1, number, 1], DEFAULT_PORT)));
    let config_of_many = EndpointConfig {
        local: local.collect(),
        ..EndpointConfig::default()
    };
    let mut endpoint = Endpoint::new(config_of_many, Seed(1));
    assert!(endpoint.connect(START, &[peer(2)], &config()).is_ok());
    assert_eq!(kinds(&poll_packets(&mut endpoint, START)), [kind::INIT]);
}

/// An application that does not poll for a long time still learns of data.
#[test]
fn flood_of_error_chunks_does_not_hide_readable() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    let error = OutboundError {
        causes: CauseWriter::one(Cause::StaleCookie { staleness: 1 }),
    };
    for _ in 0..1_100 {
        deliver(&mut endpoint, START, peer(2), tag, &error);
    }
    deliver(&mut endpoint, START, peer(2), tag, &DATA);
    assert!(events(&mut endpoint).contains(&Event::Readable));
}

/// RFC 9260 §5.2.4 B: by its tag, the cookie shows that the peer had restarted before our COOKIE ECHO arrived.
#[test]
fn restart_during_crossing_inits_is_completed() {
    let mut endpoint = endpoint();
    let (id, tag) = send_init(&mut endpoint);
    deliver(&mut endpoint, START, peer(2), tag, &init_ack(5, &[]));
    // The second incarnation of the peer sends its INIT before the COOKIE ACK of the first has arrived.
    let anew = OutboundInit {
        initial_tsn: Tsn(1_000_000),
        ..init(6, Vec::new())
    };
    let (_, cookie) = request_cookie(&mut endpoint, peer(2), &anew);
    deliver(&mut endpoint, START, peer(2), tag, &CookieAck);
    let says = |endpoint: &mut Endpoint| {
        let mut association = endpoint.association_mut(id).expect("it lives");
        association.send(Message::new(StreamId(0), "lost")).expect("room");
        drop(association);
        poll_packets(endpoint, START)
    };
    assert!(kinds(&says(&mut endpoint)).contains(&kind::DATA));
    let echo = CookieEcho { cookie: &cookie };
    for _ in 0..2 {
        let answer = deliver(&mut endpoint, START, peer(2), tag, &echo);
        assert_eq!(kinds(&answer), [kind::COOKIE_ACK], "a copy is answered, too");
    }
    let data = Data {
        tsn: Tsn(1_000_000),
        ..DATA
    };
    deliver(&mut endpoint, START, peer(2), tag, &data);
    let events = events(&mut endpoint);
    assert!(
        events.contains(&Event::Restarted { undelivered: 1 }),
        "{events:?}"
    );
    assert!(events.contains(&Event::Readable), "{events:?}");
    let packets = says(&mut endpoint);
    let mut numbers = Vec::new();
    for bytes in &packets {
        let packet = Packet::parse(bytes).expect("a packet in order");
        let chunks = packet.chunks().flatten().flat_map(RawChunk::decode);
        numbers.extend(chunks.filter_map(|chunk| match chunk {
            Chunk::Data(data) => Some(data.tsn),
            _ => None,
        }));
    }
    assert_eq!(
        numbers,
        [Tsn(tag.0)],
        "the numbers start again as the cookie said"
    );
}

//= rfc9260 5.1.4-1, 6.10-8
#[test]
fn init_ack_with_another_chunk_is_dropped() {
    let mut endpoint = endpoint();
    let (_, tag) = send_init(&mut endpoint);
    let answer = init_ack(5, &[peer(3).ip(), peer(2).ip()]);
    let heartbeat = Heartbeat { info: b"there?" };
    assert!(deliver_two(&mut endpoint, peer(2), tag, &answer, &heartbeat).is_empty());
    let replies = deliver(&mut endpoint, START, peer(2), tag, &answer);
    assert_eq!(kinds(&replies), [kind::COOKIE_ECHO]);
}

fn confirmed(endpoint: &Endpoint) -> Vec<SocketAddr> {
    let association = endpoint.associations().next().expect("it lives");
    let facts = association.path_facts().iter();
    let all = facts.zip(association.path_addresses());
    let confirmed = all.filter(|(facts, _)| facts.is_usable());
    confirmed.map(|(_, addr)| addr.remote).collect()
}

#[test]
fn init_ack_to_any_local_address_confirms_its_source() {
    let config_of_two = EndpointConfig {
        local: vec![SocketAddr::from(([0, 0, 0, 0], DEFAULT_PORT)), here()],
        ..EndpointConfig::default()
    };
    let mut endpoint = Endpoint::new(config_of_two, Seed(1));
    let (_, tag) = send_init(&mut endpoint);
    let answer = init_ack(5, &[peer(3).ip(), peer(2).ip()]);
    deliver(&mut endpoint, START, peer(2), tag, &answer);
    deliver(&mut endpoint, START, peer(2), tag, &CookieAck);
    assert_eq!(confirmed(&endpoint), [peer(2)]);
}

/// The cookie was sent to that address alone; the peer merely listed the others.
#[test]
fn cookie_confirms_only_the_address_that_got_it() {
    let v4 = (1..17).map(|number| SocketAddr::from(([10, 1, number, 1], DEFAULT_PORT)));
    let v6 = |last: u16| SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, last], DEFAULT_PORT));
    let config_of_many = EndpointConfig {
        local: v4.chain([v6(1)]).collect(),
        accept: Some(config()),
        ..EndpointConfig::default()
    };
    let mut endpoint = Endpoint::new(config_of_many, Seed(1));
    let call = packet(VerificationTag::ZERO, |packet| {
        let listed = listing(&[peer(2).ip(), v6(2).ip()]);
        packet.push(&init(5, listed)).expect("a small chunk");
    });
    let from_v6 = PathAddr {
        local: v6(1),
        remote: v6(2),
    };
    endpoint.handle_datagram(START, from_v6, Ecn::NotCapable, &call);
    let (tag, cookie) = tag_and_cookie(&poll_packets(&mut endpoint, START));
    deliver(
        &mut endpoint,
        START,
        peer(2),
        tag,
        &CookieEcho { cookie: &cookie },
    );
    assert_eq!(confirmed(&endpoint), [v6(2)]);
}

/// With raw sockets, each program receives the packets of all programs.
#[test]
fn ootb_packets_over_ip_to_other_ports_are_ignored() {
    let mut endpoint = endpoint();
    let call = init(5, Vec::new());
    let answers = |endpoint: &mut Endpoint, port: u16, encapsulation: u16| {
        let header = |tag| CommonHeader {
            source_port: 7,
            destination_port: port,
            tag,
        };
        let mut kinds_of = |tag, chunk: &dyn Fn(&mut PacketBuilder<'_>)| {
            let mut bytes = Vec::new();
            let mut packet = PacketBuilder::new(&mut bytes, header(tag), 1_400);
            chunk(&mut packet);
            packet.finish();
            let mut path = PathAddr {
                local: here(),
                remote: peer(2),
            };
            path.local.set_port(encapsulation);
            path.remote.set_port(encapsulation);
            endpoint.handle_datagram(START, path, Ecn::NotCapable, &bytes);
            kinds(&poll_packets(endpoint, START))
        };
        let to_call = kinds_of(VerificationTag::ZERO, &|packet| packet.push(&call).expect("room"));
        let to_data = kinds_of(VerificationTag(9), &|packet| packet.push(&DATA).expect("room"));
        (to_call, to_data)
    };
    let abort = || vec![kind::ABORT];
    assert_eq!(answers(&mut endpoint, 3_868, DEFAULT_PORT), (abort(), abort()));
    assert_eq!(answers(&mut endpoint, 3_868, 0), (vec![], vec![]));
    assert_eq!(
        answers(&mut endpoint, DEFAULT_PORT, 0),
        (vec![kind::INIT_ACK], abort())
    );
}

/// Two peers list the address; the reflected tag says which association an ABORT is for.
#[test]
fn reflected_tag_selects_the_association_to_abort() {
    let mut endpoint = endpoint();
    accept_peer(&mut endpoint, 5, &[peer(2).ip(), peer(3).ip()]);
    let call = init(6, Vec::new());
    let (tag, cookie) = request_cookie(&mut endpoint, peer(3), &call);
    deliver(
        &mut endpoint,
        START,
        peer(3),
        tag,
        &CookieEcho { cookie: &cookie },
    );
    let abort = OutboundAbort {
        tag_reflected: true,
        causes: Vec::new(),
    };
    deliver(&mut endpoint, START, peer(3), VerificationTag(6), &abort);
    let closed: Vec<bool> = endpoint.associations().map(Association::is_closed).collect();
    assert_eq!(closed, [false, true]);
}

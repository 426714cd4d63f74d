//! Tests of verification tags and out of the blue packets (RFC 9260 §8.4, §8.5): which tag a packet carries, and which
//! packets are accepted.

use super::*;

fn tag_of(packet: &[u8]) -> VerificationTag {
    Packet::parse(packet).expect("a packet in order").header().tag
}

/// The only chunk of a packet.
fn only_chunk(packet: &[u8]) -> RawChunk<'_> {
    let packet = Packet::parse(packet).expect("a packet in order");
    let mut chunks = packet.chunks().flatten();
    let chunk = chunks.next().expect("a chunk");
    assert!(chunks.next().is_none(), "it stands alone");
    chunk
}

const ABORT: OutboundAbort = OutboundAbort {
    tag_reflected: false,
    causes: Vec::new(),
};

/// An association in SHUTDOWN-ACK-SENT: the peer sent SHUTDOWN. Returns the verification tag of packets to the endpoint.
fn receive_shutdown(endpoint: &mut Endpoint) -> VerificationTag {
    let tag = accept_peer(endpoint, 5, &[]);
    let shutdown = Shutdown {
        cumulative: Tsn(tag.0.wrapping_sub(1)),
    };
    let answer = deliver(endpoint, START, peer(2), tag, &shutdown);
    assert_eq!(kinds(&answer), [kind::SHUTDOWN_ACK]);
    tag
}

//= rfc9260 8.4-1
#[test]
fn packets_of_non_unicast_addresses_are_discarded() {
    let local = SocketAddr::from(([0, 0, 0, 0], DEFAULT_PORT));
    let init = packet(VerificationTag::ZERO, |packet| {
        packet.push(&init(5, Vec::new())).expect("a small chunk");
    });
    let shutdown_ack = packet(VerificationTag(9), |packet| {
        packet.push(&ShutdownAck).expect("a small chunk");
    });
    for (to, from, is_answered) in [
        ([10, 0, 0, 1], [10, 0, 0, 2], true),
        ([0, 0, 0, 0], [10, 0, 0, 2], true),
        ([10, 0, 0, 1], [255, 255, 255, 255], false),
        ([10, 0, 0, 1], [224, 0, 0, 1], false),
        ([224, 0, 0, 1], [10, 0, 0, 2], false),
        ([255, 255, 255, 255], [10, 0, 0, 2], false),
    ] {
        for bytes in [&init, &shutdown_ack] {
            let mut endpoint = endpoint_at(local);
            let path = PathAddr {
                local: SocketAddr::from((to, DEFAULT_PORT)),
                remote: SocketAddr::from((from, DEFAULT_PORT)),
            };
            endpoint.handle_datagram(START, path, Ecn::NotCapable, bytes);
            assert_eq!(
                !poll_packets(&mut endpoint, START).is_empty(),
                is_answered,
                "{path}"
            );
        }
    }
}

//= rfc9260 8.4-4, 12.2.4.1-1
#[test]
fn refused_init_gets_an_abort_with_its_own_tag_and_no_t_bit() {
    let mut host_name = ParameterWriter::new();
    host_name.push_raw(HOST_NAME, b"peer.example\0\0\0\0");
    for (parameters, streams) in [(Vec::new(), 0), (host_name.finish(), 10)] {
        let refused = OutboundInit {
            outbound_streams: streams,
            ..init(5, parameters)
        };
        let answer = deliver(&mut endpoint(), START, peer(2), VerificationTag::ZERO, &refused);
        assert_eq!(tag_of(&answer[0]), VerificationTag(5));
        let abort = only_chunk(&answer[0]);
        assert_eq!((abort.kind, abort.flags), (kind::ABORT, 0));
    }
}

//= rfc9260 8.5-1, 8.5.1-1, 8.5.1-14, 12.3-1, 12.3-2
#[test]
fn packets_carry_the_tag_that_the_peer_chose_and_an_init_zero() {
    let mut endpoint = endpoint();
    let id = endpoint.connect(START, &[peer(2)], &config()).expect("a path");
    let call = poll_packets(&mut endpoint, START);
    assert_eq!(tag_of(&call[0]), VerificationTag::ZERO);
    let (tag, _) = tag_and_cookie(&call);
    let echo = deliver(&mut endpoint, START, peer(2), tag, &init_ack(5, &[]));
    assert_eq!(kinds(&echo), [kind::COOKIE_ECHO]);
    assert_eq!(tag_of(&echo[0]), VerificationTag(5));
    deliver(&mut endpoint, START, peer(2), tag, &CookieAck);
    let mut association = endpoint.association_mut(id).expect("it lives");
    association.send(Message::new(StreamId(0), "data")).expect("room");
    drop(association);
    let data = poll_packets(&mut endpoint, START);
    assert_eq!(tag_of(&data[0]), VerificationTag(5));
}

//= rfc9260 8.5.1-4, 9.1-1, 9.1-2, 9.1-3, 9.1-4
#[test]
fn abort_with_queued_data_has_only_its_tag_and_cause() {
    let mut endpoint = endpoint();
    accept_peer(&mut endpoint, 5, &[]);
    let id = endpoint.associations().map(Association::id).next().expect("one");
    let mut association = endpoint.association_mut(id).expect("it lives");
    association
        .send(Message::new(StreamId(0), "never sent"))
        .expect("room");
    association.abort(b"enough");
    drop(association);
    let last = poll_packets(&mut endpoint, START);
    assert_eq!(last.len(), 1);
    assert_eq!(tag_of(&last[0]), VerificationTag(5));
    let abort = only_chunk(&last[0]);
    assert_eq!((abort.kind, abort.flags), (kind::ABORT, 0));
    let Ok(Chunk::Abort(abort)) = abort.decode() else {
        panic!("{abort:?}")
    };
    let cause = abort.causes.iter().flatten().next().map(RawCause::decode);
    assert_eq!(cause, Some(Ok(Cause::UserInitiatedAbort(b"enough"))));
}

//= rfc9260 8.5.1-8, 8.5.1-9, 9.2-21, 9.2-30
#[test]
fn shutdown_ack_is_answered_with_the_peers_tag_and_no_t_bit() {
    let mut shut_down = endpoint();
    let tag = accept_peer(&mut shut_down, 5, &[]);
    let id = shut_down.associations().map(Association::id).next().expect("one");
    shut_down.association_mut(id).expect("it lives").shutdown();
    poll_packets(&mut shut_down, START);
    // Both ends have sent SHUTDOWN ACK.
    let mut crossing = endpoint();
    let other_tag = receive_shutdown(&mut crossing);
    for (mut endpoint, tag) in [(shut_down, tag), (crossing, other_tag)] {
        let answer = deliver(&mut endpoint, START, peer(2), tag, &ShutdownAck);
        assert_eq!(tag_of(&answer[0]), VerificationTag(5));
        let complete = only_chunk(&answer[0]);
        assert_eq!((complete.kind, complete.flags), (kind::SHUTDOWN_COMPLETE, 0));
        assert!(endpoint.associations().all(Association::is_closed));
        assert!(
            endpoint.associations().all(|one| one.poll_timeout().is_none()),
            "T2 is stopped"
        );
    }
}

//= rfc9260 8.5.1-13, 9.2-22
#[test]
fn shutdown_complete_is_ignored_unless_shutdown_ack_was_sent() {
    let complete = ShutdownComplete { tag_reflected: false };
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    assert!(deliver(&mut endpoint, START, peer(2), tag, &complete).is_empty());
    assert!(endpoint.associations().all(Association::is_connected));
    let id = endpoint.associations().map(Association::id).next().expect("one");
    endpoint.association_mut(id).expect("it lives").shutdown();
    poll_packets(&mut endpoint, START);
    assert!(deliver(&mut endpoint, START, peer(2), tag, &complete).is_empty());
    assert!(
        !endpoint.associations().any(Association::is_closed),
        "SHUTDOWN-SENT"
    );
}

//= rfc9260 8.5.1-12, 9.2-23
#[test]
fn shutdown_complete_is_valid_with_own_or_reflected_peer_tag() {
    let peers = VerificationTag(5);
    for (tag_reflected, is_ours, closes) in [
        (false, true, true),
        (true, false, true),
        (true, true, false),
        (false, false, false),
    ] {
        let mut endpoint = endpoint();
        let ours = receive_shutdown(&mut endpoint);
        let tag = if is_ours { ours } else { peers };
        let answer = deliver(
            &mut endpoint,
            START,
            peer(2),
            tag,
            &ShutdownComplete { tag_reflected },
        );
        assert!(answer.is_empty());
        assert_eq!(endpoint.associations().all(Association::is_closed), closes);
        let is_stopped = |one: &Association| one.poll_timeout().is_none();
        assert_eq!(endpoint.associations().all(is_stopped), closes, "T2");
    }
}

//= rfc9260 6.10-8, 8.5.1-6, 8.5.1-7, 8.5.1-12
/// With the T bit the packet carries the peer's tag, which anybody who sees our packets knows; other chunks need ours.
#[test]
fn chunks_after_abort_with_reflected_tag_are_dropped() {
    let complete = ShutdownComplete { tag_reflected: true };
    let abort = OutboundAbort {
        tag_reflected: true,
        ..ABORT
    };
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    events(&mut endpoint);
    let shutdown = Shutdown {
        cumulative: Tsn(tag.0.wrapping_sub(1)),
    };
    let peers = VerificationTag(5);
    assert!(deliver_two(&mut endpoint, peer(2), peers, &complete, &DATA).is_empty());
    assert!(deliver_two(&mut endpoint, peer(2), peers, &complete, &shutdown).is_empty());
    assert!(deliver_two(&mut endpoint, peer(2), peers, &abort, &DATA).is_empty());
    assert!(events(&mut endpoint).is_empty());
    assert_eq!(endpoint.counters().dropped, 3);
    assert!(endpoint.associations().all(Association::is_connected));
}

//= rfc9260 6.10-8, 8.5.1-6, 8.5.1-7
#[test]
fn abort_with_the_t_bit_behind_another_chunk_is_dropped() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    events(&mut endpoint);
    let abort = OutboundAbort {
        tag_reflected: true,
        ..ABORT
    };
    for tag in [tag, VerificationTag(5)] {
        assert!(deliver_two(&mut endpoint, peer(2), tag, &DATA, &abort).is_empty());
    }
    assert!(events(&mut endpoint).is_empty());
    assert!(endpoint.associations().all(Association::is_connected));
}

/// The number of associations searched among those that list an address is limited.
#[test]
fn peer_is_found_by_source_address_among_a_hundred_listing_it() {
    let mut endpoint = endpoint();
    for number in 100..200 {
        accept_peer_at(
            &mut endpoint,
            peer(number),
            1_000 + u32::from(number),
            &[peer(2).ip()],
        );
    }
    accept_peer(&mut endpoint, 5, &[]);
    let abort = OutboundAbort {
        tag_reflected: true,
        ..ABORT
    };
    assert!(deliver(&mut endpoint, START, peer(2), VerificationTag(5), &abort).is_empty());
    let closed = endpoint.associations().filter(|one| one.is_closed());
    assert_eq!(closed.count(), 1);
}

//= rfc9260 6.10-8
#[test]
fn unbundleable_chunk_in_a_bundle_is_dropped() {
    let complete = ShutdownComplete { tag_reflected: false };
    let mut ending = endpoint();
    let tag = receive_shutdown(&mut ending);
    assert!(deliver_two(&mut ending, peer(2), tag, &complete, &DATA).is_empty());
    assert!(deliver_two(&mut ending, peer(2), tag, &DATA, &complete).is_empty());
    assert!(!ending.associations().any(Association::is_closed));
    assert!(deliver(&mut ending, START, peer(2), tag, &complete).is_empty());
    assert!(ending.associations().all(Association::is_closed), "it alone");

    let mut calling = endpoint();
    let (_, tag) = send_init(&mut calling);
    assert!(deliver_two(&mut calling, peer(2), tag, &init_ack(5, &[]), &DATA).is_empty());
    assert!(deliver_two(&mut calling, peer(2), tag, &DATA, &init_ack(5, &[])).is_empty());
    let answer = deliver(&mut calling, START, peer(2), tag, &init_ack(5, &[]));
    assert_eq!(kinds(&answer), [kind::COOKIE_ECHO], "it alone");

    let mut joined = endpoint();
    let tag = accept_peer(&mut joined, 5, &[]);
    events(&mut joined);
    assert!(deliver_two(&mut joined, peer(2), tag, &DATA, &init(6, Vec::new())).is_empty());
    assert!(events(&mut joined).is_empty());
}

/// Bundling is checked before the cookie.
#[test]
fn cookie_echo_after_shutdown_complete_is_ignored() {
    let mut endpoint = endpoint();
    let call = init(5, Vec::new());
    let (tag, cookie) = request_cookie(&mut endpoint, peer(2), &call);
    let echo = CookieEcho { cookie: &cookie };
    let complete = ShutdownComplete { tag_reflected: false };
    assert!(deliver_two(&mut endpoint, peer(2), tag, &echo, &complete).is_empty());
    assert_eq!(endpoint.associations().count(), 0);
}

//= rfc9260 8.5.1-15, 9.2-27
#[test]
fn shutdown_ack_during_the_handshake_is_out_of_the_blue() {
    for cookie_echoed in [false, true] {
        let mut endpoint = endpoint();
        let (_, tag) = send_init(&mut endpoint);
        if cookie_echoed {
            deliver(&mut endpoint, START, peer(2), tag, &init_ack(5, &[]));
        }
        let runs_until = endpoint.poll_timeout();
        let answer = deliver(&mut endpoint, START, peer(2), VerificationTag(77), &ShutdownAck);
        assert_eq!(tag_of(&answer[0]), VerificationTag(77));
        let complete = only_chunk(&answer[0]);
        assert_eq!((complete.kind, complete.flags), (kind::SHUTDOWN_COMPLETE, 1));
        assert_eq!(endpoint.poll_timeout(), runs_until, "T1 goes on");
        assert!(!endpoint.associations().any(Association::is_closed));
    }
}

//= rfc9260 9.2-28
#[test]
fn shutdown_during_the_handshake_is_discarded() {
    for cookie_echoed in [false, true] {
        let mut endpoint = endpoint();
        let (_, tag) = send_init(&mut endpoint);
        if cookie_echoed {
            deliver(&mut endpoint, START, peer(2), tag, &init_ack(5, &[]));
        }
        let before = endpoint.associations().map(|one| one.statistics().state).next();
        let shutdown = Shutdown { cumulative: Tsn(0) };
        assert!(deliver(&mut endpoint, START, peer(2), tag, &shutdown).is_empty());
        let after = endpoint.associations().map(|one| one.statistics().state).next();
        assert_eq!(after, before);
    }
}

//= rfc9260 8.3-2
#[test]
fn heartbeats_are_answered_from_cookie_echoed_on() {
    let mut endpoint = endpoint();
    let (_, tag) = send_init(&mut endpoint);
    let heartbeat = Heartbeat { info: b"there?" };
    assert!(deliver(&mut endpoint, START, peer(2), tag, &heartbeat).is_empty());
    deliver(&mut endpoint, START, peer(2), tag, &init_ack(5, &[]));
    let answer = deliver(&mut endpoint, START, peer(2), tag, &heartbeat);
    assert_eq!(kinds(&answer), [kind::HEARTBEAT_ACK]);
    deliver(&mut endpoint, START, peer(2), tag, &CookieAck);
    let answer = deliver(&mut endpoint, START, peer(2), tag, &heartbeat);
    assert_eq!(kinds(&answer), [kind::HEARTBEAT_ACK]);
}

//= rfc9260 9.1-5
/// RFC 9260 §9.1, whatever chunks precede the ABORT.
#[test]
fn packet_with_an_abort_is_not_answered() {
    let empty = Data {
        tsn: Tsn(1),
        stream: StreamId(0),
        ssn: Ssn(0),
        ppid: Ppid(0),
        flags: DataFlags::WHOLE,
        payload: b"",
    };
    let mut joined = endpoint();
    let tag = accept_peer(&mut joined, 5, &[]);
    let answer = deliver_two(&mut joined, peer(2), tag, &Heartbeat { info: b"there?" }, &ABORT);
    assert!(answer.is_empty());
    assert!(joined.associations().all(Association::is_closed));

    let mut joined = endpoint();
    let tag = accept_peer(&mut joined, 5, &[]);
    assert!(deliver_two(&mut joined, peer(2), tag, &empty, &ABORT).is_empty());
    assert!(joined.associations().all(Association::is_closed));

    let mut ending = endpoint();
    let tag = receive_shutdown(&mut ending);
    assert!(deliver_two(&mut ending, peer(2), tag, &ShutdownAck, &ABORT).is_empty());
    assert!(ending.associations().all(Association::is_closed));
}

//= rfc9260 9.1-5
/// The same with a cookie that is refused.
#[test]
fn refused_cookie_bundled_with_abort_is_not_answered() {
    let mut endpoint = endpoint();
    let call = init(5, Vec::new());
    let (tag, cookie) = request_cookie(&mut endpoint, peer(2), &call);
    let both = packet(tag, |packet| {
        packet.push(&CookieEcho { cookie: &cookie }).expect("room");
        packet.push(&ABORT).expect("room");
    });
    let late = START + core::time::Duration::from_secs(61);
    assert!(deliver_packet(&mut endpoint, late, peer(2), &both).is_empty());
    assert_eq!(endpoint.associations().count(), 0);
}

/// An ABORT for an unknown association would end this one.
#[test]
fn packet_with_the_right_tag_and_a_malformed_chunk_is_not_answered() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    let short = RawChunk {
        kind: kind::DATA,
        flags: 0,
        value: b"short",
        bytes: &[],
        at: 0,
    };
    assert!(deliver(&mut endpoint, START, peer(2), tag, &short).is_empty());
    assert_eq!(endpoint.counters().out_of_the_blue, 0);
    assert!(!endpoint.associations().any(Association::is_closed));
}

//= rfc9260 12.4-2
#[test]
fn replies_to_one_packet_are_bundled_into_one() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    let strange = |kind| RawChunk {
        kind,
        flags: 0,
        value: b"what?",
        bytes: &[],
        at: 0,
    };
    let many = packet(tag, |packet| {
        for number in 0..3 {
            let heartbeat = Heartbeat { info: &[number; 8] };
            packet.push(&heartbeat).expect("room");
            packet.push(&strange(0xfa)).expect("room");
        }
    });
    let answers = deliver_packet(&mut endpoint, START, peer(2), &many);
    assert_eq!(answers.len(), 1);
    let answered = kinds(&answers);
    assert!(answered.contains(&kind::HEARTBEAT_ACK) && answered.contains(&kind::ERROR));
}

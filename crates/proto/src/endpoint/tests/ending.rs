//! Tests of the end of associations: shutdown, ABORT, and packets that arrive afterwards.

use super::*;

/// The application calls `shutdown` while nothing is left to send.
fn shut_down(endpoint: &mut Endpoint) {
    let id = endpoint.associations().map(Association::id).next().expect("one");
    endpoint.association_mut(id).expect("it lives").shutdown();
    assert!(kinds(&poll_packets(endpoint, START)).contains(&kind::SHUTDOWN));
}

//= rfc9260 9.2-7
/// RFC 9260 §9.2: what the peer sends meanwhile gives it "ample opportunity".
#[test]
fn peer_sending_after_our_shutdown_stays_connected() {
    let mut endpoint = endpoint_with(AssociationConfig {
        max_retransmits: 2,
        ..config()
    });
    let tag = accept_peer(&mut endpoint, 5, &[]);
    shut_down(&mut endpoint);
    for _ in 0..5 {
        let now = endpoint.poll_timeout().expect("T2 runs");
        endpoint.handle_timeout(now);
        assert_eq!(kinds(&poll_packets(&mut endpoint, now)), [kind::SHUTDOWN]);
        let heartbeat = Heartbeat { info: b"busy" };
        deliver(&mut endpoint, now, peer(2), tag, &heartbeat);
    }
    assert!(endpoint.associations().all(Association::is_connected));
}

//= rfc9260 9.2-26
/// RFC 9260 §9.2: our SHUTDOWN COMPLETE was lost and the peer sends an INIT, which lists more addresses than before.
#[test]
fn init_in_shutdown_ack_sent_gets_shutdown_ack() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    let shutdown = Shutdown {
        cumulative: Tsn(tag.0.wrapping_sub(1)),
    };
    let answer = deliver(&mut endpoint, START, peer(2), tag, &shutdown);
    assert_eq!(kinds(&answer), [kind::SHUTDOWN_ACK]);
    let anew = init(6, listing(&[peer(2).ip(), peer(3).ip()]));
    let answer = deliver(&mut endpoint, START, peer(2), VerificationTag::ZERO, &anew);
    assert_eq!(kinds(&answer), [kind::SHUTDOWN_ACK]);
}

#[test]
fn shutdown_continues_after_the_peer_restarts() {
    let mut endpoint = endpoint();
    accept_peer(&mut endpoint, 5, &[]);
    shut_down(&mut endpoint);
    let init = init(6, Vec::new());
    let (tag, cookie) = request_cookie(&mut endpoint, peer(2), &init);
    let answer = deliver(
        &mut endpoint,
        START,
        peer(2),
        tag,
        &CookieEcho { cookie: &cookie },
    );
    assert_eq!(kinds(&answer), [kind::COOKIE_ACK, kind::SHUTDOWN]);
}

#[test]
fn late_cookie_of_a_forgotten_association_gets_abort() {
    let mut endpoint = endpoint();
    let init = init(5, Vec::new());
    let (tag, cookie) = request_cookie(&mut endpoint, peer(2), &init);
    let echo = CookieEcho { cookie: &cookie };
    deliver(&mut endpoint, START, peer(2), tag, &echo);
    let id = endpoint.associations().map(Association::id).next().expect("one");
    endpoint.forget(id);
    assert_eq!(
        kinds(&deliver(&mut endpoint, START, peer(2), tag, &echo))[0],
        kind::ABORT
    );
    assert_eq!(endpoint.associations().len(), 0);
}

/// RFC 9260 §6.5: data on an invalid stream is acknowledged, reported and discarded, also when it is fragmented.
#[test]
fn fragments_on_an_invalid_stream_get_errors_not_abort() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    for (tsn, beginning, ending) in [(1, true, false), (2, false, false), (3, false, true)] {
        let data = Data {
            tsn: Tsn(tsn),
            stream: StreamId(200),
            ssn: Ssn(0),
            ppid: Ppid(0),
            flags: DataFlags {
                beginning,
                ending,
                ..DataFlags::default()
            },
            payload: b"nowhere",
        };
        let answer = kinds(&deliver(&mut endpoint, START, peer(2), tag, &data));
        assert!(answer.contains(&kind::ERROR) && !answer.contains(&kind::ABORT));
    }
}

//= rfc9260 14.2-1
/// The ABORT for an out of the blue packet (RFC 9260 §8.4) would give no reason.
#[test]
fn abort_reason_precedes_answers_to_unknown_peers() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    let id = endpoint.associations().map(Association::id).next().expect("one");
    endpoint.association_mut(id).expect("it lives").abort(b"enough");
    let answer = deliver(&mut endpoint, START, peer(2), tag, &Heartbeat { info: b"busy" });
    assert_eq!(kinds(&answer), [kind::ABORT]);
    assert!(answer[0].windows(6).any(|bytes| bytes == b"enough"));
    let later = deliver(&mut endpoint, START, peer(2), tag, &Heartbeat { info: b"busy" });
    assert_eq!(kinds(&later), [kind::ABORT], "now it is an unknown peer");
}

/// A batch of packets is processed before anything is sent: the association of the first copy of a cookie may have ended
/// by then.
#[test]
fn cookie_copy_before_a_queued_abort_creates_nothing() {
    let mut endpoint = endpoint();
    let call = init(5, Vec::new());
    let (tag, cookie) = request_cookie(&mut endpoint, peer(2), &call);
    let path = PathAddr {
        local: here(),
        remote: peer(2),
    };
    let copy = packet(tag, |packet| {
        packet.push(&CookieEcho { cookie: &cookie }).expect("room");
    });
    endpoint.handle_datagram(START, path, Ecn::NotCapable, &copy);
    let id = endpoint.associations().map(Association::id).next().expect("one");
    endpoint.association_mut(id).expect("it lives").abort(b"enough");
    endpoint.handle_datagram(START, path, Ecn::NotCapable, &copy);
    assert_eq!(endpoint.associations().count(), 1);
    assert!(kinds(&poll_packets(&mut endpoint, START)).contains(&kind::ABORT));

    endpoint.forget(id);
    let again = init(6, Vec::new());
    let answer = deliver(&mut endpoint, START, peer(2), VerificationTag::ZERO, &again);
    assert_eq!(kinds(&answer), [kind::INIT_ACK], "the address is free");
}

/// Peers of two associations may list the same address (ADR 0067). When the first association has ended, packets from
/// that address find the second.
#[test]
fn address_listed_twice_finds_the_remaining_association() {
    let mut endpoint = endpoint();
    let first = accept_peer(&mut endpoint, 5, &[]);
    let listed = listing(&[peer(2).ip(), peer(4).ip()]);
    let call = init(6, listed);
    let (tag, cookie) = request_cookie(&mut endpoint, peer(4), &call);
    deliver(
        &mut endpoint,
        START,
        peer(4),
        tag,
        &CookieEcho { cookie: &cookie },
    );
    assert_eq!(endpoint.associations().count(), 2);

    let abort = OutboundAbort {
        tag_reflected: false,
        causes: Vec::new(),
    };
    deliver(&mut endpoint, START, peer(2), first, &abort);
    let reflected = OutboundAbort {
        tag_reflected: true,
        causes: Vec::new(),
    };
    deliver(&mut endpoint, START, peer(2), VerificationTag(6), &reflected);
    assert!(endpoint.associations().all(Association::is_closed));
}

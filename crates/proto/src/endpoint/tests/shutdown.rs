//! Tests of graceful shutdown, step by step (RFC 9260 §9.2): what is sent in which state, how often, and for how long.

use core::time::Duration;

use super::*;
use crate::{CloseReason, SendError};

fn data(tsn: u32) -> Data<'static> {
    Data {
        tsn: Tsn(tsn),
        stream: StreamId(0),
        ssn: Ssn(0),
        ppid: Ppid(0),
        flags: DataFlags::WHOLE,
        payload: b"late",
    }
}

fn act<R>(endpoint: &mut Endpoint, act: impl FnOnce(&mut Association) -> R) -> R {
    let id = endpoint.associations().map(Association::id).next().expect("one");
    act(&mut endpoint.association_mut(id).expect("it lives"))
}

fn shut_down(endpoint: &mut Endpoint) {
    act(endpoint, Association::shutdown);
    assert!(kinds(&poll_packets(endpoint, START)).contains(&kind::SHUTDOWN));
}

fn close_reason(endpoint: &mut Endpoint) -> Option<CloseReason> {
    events(endpoint).into_iter().find_map(|event| match event {
        Event::Closed(reason) => Some(reason),
        _ => None,
    })
}

/// The packets sent until no timer is running, with the time since [`START`].
fn packets_without_replies(endpoint: &mut Endpoint) -> Vec<(Duration, Vec<u8>)> {
    let mut sent = Vec::new();
    while let Some(now) = endpoint.poll_timeout() {
        endpoint.handle_timeout(now);
        let packets = poll_packets(endpoint, now);
        sent.extend(
            packets
                .iter()
                .map(|packet| (now - START, kinds(core::slice::from_ref(packet)))),
        );
    }
    sent
}

//= rfc9260 9.2-1, 9.2-3, 9.2-4, 9.2-5, 9.2-6, 9.2-16, 9.2-17, 9.2-18, 9.2-19, 9.2-20
#[test]
fn shutdown_and_shutdown_ack_back_off_and_give_up() {
    for acknowledges in [false, true] {
        let mut endpoint = endpoint_with(AssociationConfig {
            max_retransmits: 3,
            ..config()
        });
        let tag = accept_peer(&mut endpoint, 5, &[]);
        if acknowledges {
            let cumulative = Tsn(tag.0.wrapping_sub(1));
            deliver(&mut endpoint, START, peer(2), tag, &Shutdown { cumulative });
        } else {
            shut_down(&mut endpoint);
        }
        let again = if acknowledges {
            kind::SHUTDOWN_ACK
        } else {
            kind::SHUTDOWN
        };
        let sent = packets_without_replies(&mut endpoint);
        let expected = [(1, again), (3, again), (7, again), (15, kind::ABORT)];
        let expected = expected.map(|(seconds, kind)| (Duration::from_secs(seconds), vec![kind]));
        assert_eq!(sent, expected);
        assert_eq!(close_reason(&mut endpoint), Some(CloseReason::PeerUnreachable));
    }
}

//= rfc9260 9.2-2
#[test]
fn repeated_shutdown_has_the_latest_cumulative_tsn() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    shut_down(&mut endpoint);
    deliver(&mut endpoint, START, peer(2), tag, &data(1));
    let now = endpoint.poll_timeout().expect("T2 runs");
    endpoint.handle_timeout(now);
    let again = poll_packets(&mut endpoint, now);
    let packet = Packet::parse(&again[0]).expect("a packet in order");
    let mut chunks = packet.chunks().flatten().flat_map(RawChunk::decode);
    assert!(chunks.any(|chunk| chunk == Chunk::Shutdown(Shutdown { cumulative: Tsn(1) })));
}

//= rfc9260 9.2-12, 9.2-13
#[test]
fn data_in_shutdown_sent_gets_shutdown_and_sack_at_once() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    shut_down(&mut endpoint);
    let later = START + Duration::from_millis(900);
    // In order, with a gap, and a duplicate.
    for tsn in [1, 3, 3] {
        let answer = kinds(&deliver(&mut endpoint, later, peer(2), tag, &data(tsn)));
        assert!(
            answer.contains(&kind::SHUTDOWN) && answer.contains(&kind::SACK),
            "{answer:?}"
        );
    }
    let t2 = act(&mut endpoint, |association| association.poll_timeout());
    assert_eq!(t2, Some(later + Duration::from_secs(1)), "T2 began again");
}

//= rfc9260 9.2-14, 9.2-15
#[test]
fn peer_that_never_finishes_is_aborted_after_five_times_rto_max() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    shut_down(&mut endpoint);
    let mut last = Vec::new();
    for tenth in 1..=3_000 {
        let now = START + tenth * Duration::from_millis(100);
        assert!(endpoint.associations().all(Association::is_connected), "{now}");
        endpoint.handle_timeout(now);
        last = poll_packets(&mut endpoint, now);
        deliver(&mut endpoint, now, peer(2), tag, &Heartbeat { info: b"busy" });
    }
    assert_eq!(kinds(&last), [kind::ABORT]);
    assert_eq!(close_reason(&mut endpoint), Some(CloseReason::ShutdownTimeout));
}

/// With the default of ten retransmissions, these take longer than the five times RTO.Max of T5-shutdown-guard.
#[test]
fn unanswered_shutdown_is_retransmitted_up_to_the_limit() {
    for acknowledges in [false, true] {
        let mut endpoint = endpoint();
        let tag = accept_peer(&mut endpoint, 5, &[]);
        let again = if acknowledges {
            let cumulative = Tsn(tag.0.wrapping_sub(1));
            deliver(&mut endpoint, START, peer(2), tag, &Shutdown { cumulative });
            kind::SHUTDOWN_ACK
        } else {
            shut_down(&mut endpoint);
            kind::SHUTDOWN
        };
        let sent = packets_without_replies(&mut endpoint);
        let repeated = sent.iter().filter(|(_, kinds)| *kinds == [again]);
        assert_eq!(repeated.count(), 10);
        assert_eq!(close_reason(&mut endpoint), Some(CloseReason::PeerUnreachable));
    }
}

//= rfc9260 9.2-14
/// T5-shutdown-guard runs at the sender of a SHUTDOWN, also when the peer's SHUTDOWN crosses it.
#[test]
fn t5_runs_only_at_an_endpoint_that_sent_shutdown() {
    for sent_one in [true, false] {
        let mut endpoint = endpoint();
        let tag = accept_peer(&mut endpoint, 5, &[]);
        if sent_one {
            shut_down(&mut endpoint);
        }
        let cumulative = Tsn(tag.0.wrapping_sub(1));
        let answer = deliver(&mut endpoint, START, peer(2), tag, &Shutdown { cumulative });
        assert_eq!(kinds(&answer), [kind::SHUTDOWN_ACK]);
        let after_guard = START + Duration::from_secs(300);
        act(&mut endpoint, |association| {
            association.handle_timeout(after_guard);
        });
        let is_closed = endpoint.associations().all(Association::is_closed);
        assert_eq!(is_closed, sent_one, "no T2 expired before");
    }
}

//= rfc9260 9.2-8, 9.2-9, 9.2-10, 9.2-11
/// The peer sends SHUTDOWN while our data is outstanding.
#[test]
fn data_is_retransmitted_in_shutdown_received() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    act(&mut endpoint, |association| {
        association
            .send(Message::new(StreamId(0), "outstanding"))
            .expect("room");
    });
    assert!(kinds(&poll_packets(&mut endpoint, START)).contains(&kind::DATA));
    let shutdown = |cumulative: u32| Shutdown {
        cumulative: Tsn(tag.0.wrapping_add(cumulative).wrapping_sub(1)),
    };
    assert!(deliver(&mut endpoint, START, peer(2), tag, &shutdown(0)).is_empty());
    let refused = act(&mut endpoint, |association| {
        association.shutdown();
        assert_eq!(association.statistics().state, "SHUTDOWN-RECEIVED");
        association.send(Message::new(StreamId(0), "more"))
    });
    assert_eq!(refused, Err(SendError::Closing));
    let now = endpoint.poll_timeout().expect("T3 runs");
    endpoint.handle_timeout(now);
    let again = kinds(&poll_packets(&mut endpoint, now));
    assert!(again.contains(&kind::DATA), "{again:?}");
    assert!(
        !again.contains(&kind::SHUTDOWN),
        "our wish to finish sends nothing"
    );
    let answer = deliver(&mut endpoint, now, peer(2), tag, &shutdown(1));
    assert_eq!(kinds(&answer), [kind::SHUTDOWN_ACK]);
}

//= rfc9260 9.2-29
#[test]
fn crossing_shutdown_gets_shutdown_ack_and_restarts_t2() {
    let mut endpoint = endpoint();
    let tag = accept_peer(&mut endpoint, 5, &[]);
    shut_down(&mut endpoint);
    let later = START + Duration::from_millis(900);
    let cumulative = Tsn(tag.0.wrapping_sub(1));
    let answer = deliver(&mut endpoint, later, peer(2), tag, &Shutdown { cumulative });
    assert_eq!(kinds(&answer), [kind::SHUTDOWN_ACK]);
    let t2 = act(&mut endpoint, |association| association.poll_timeout());
    assert_eq!(t2, Some(later + Duration::from_secs(1)));
}

//= rfc9260 9.2-24, 9.2-25
#[test]
fn messages_are_refused_in_all_states_of_a_shutdown() {
    let refused = |endpoint: &mut Endpoint, state: &str| {
        act(endpoint, |association| {
            assert_eq!(association.statistics().state, state);
            let sent = association.send(Message::new(StreamId(0), "more"));
            assert_eq!(sent, Err(SendError::Closing), "{state}");
        });
    };
    for peer_begins in [false, true] {
        let mut endpoint = endpoint();
        let tag = accept_peer(&mut endpoint, 5, &[]);
        act(&mut endpoint, |association| {
            association
                .send(Message::new(StreamId(0), "outstanding"))
                .expect("room");
        });
        poll_packets(&mut endpoint, START);
        let shutdown = |cumulative| Shutdown { cumulative };
        if peer_begins {
            let nothing = shutdown(Tsn(tag.0.wrapping_sub(1)));
            deliver(&mut endpoint, START, peer(2), tag, &nothing);
            refused(&mut endpoint, "SHUTDOWN-RECEIVED");
            deliver(&mut endpoint, START, peer(2), tag, &shutdown(Tsn(tag.0)));
            refused(&mut endpoint, "SHUTDOWN-ACK-SENT");
        } else {
            act(&mut endpoint, Association::shutdown);
            assert!(
                poll_packets(&mut endpoint, START).is_empty(),
                "data is outstanding"
            );
            refused(&mut endpoint, "SHUTDOWN-PENDING");
            let sack = anabranch_wire::OutboundSack {
                cumulative: Tsn(tag.0),
                a_rwnd: 10_000,
                packet_count: None,
                blocks: &[],
                duplicates: &[],
            };
            let answer = deliver(&mut endpoint, START, peer(2), tag, &sack);
            assert_eq!(kinds(&answer), [kind::SHUTDOWN]);
            refused(&mut endpoint, "SHUTDOWN-SENT");
        }
    }
}

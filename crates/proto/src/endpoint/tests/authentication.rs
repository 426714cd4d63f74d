//! Tests of authentication of any chunk type (RFC 4895): which packets carry AUTH, and which chunks are discarded without it.

use anabranch_wire::{Auth, FragmentPlace, IData};

use super::ends::Ends;
use super::*;
use crate::{CloseReason, KeyError, SendError};

/// All chunk types of RFC 9260 that may be required to be authenticated, and some others.
const ALL: [u8; 18] = [
    kind::DATA,
    kind::INIT,
    kind::INIT_ACK,
    kind::SACK,
    kind::HEARTBEAT,
    kind::HEARTBEAT_ACK,
    kind::ABORT,
    kind::SHUTDOWN,
    kind::SHUTDOWN_ACK,
    kind::ERROR,
    kind::COOKIE_ECHO,
    kind::COOKIE_ACK,
    kind::SHUTDOWN_COMPLETE,
    kind::AUTH,
    kind::NR_SACK,
    kind::I_DATA,
    kind::PAD,
    kind::PART,
];

/// A configuration that requires chunks of these types to be authenticated, with the shared key `secret`.
fn requiring(chunks: &[u8], secret: &[u8]) -> AssociationConfig {
    AssociationConfig {
        authenticated_chunks: chunks.to_vec(),
        authentication_key: secret.to_vec(),
        ..config()
    }
}

impl Ends {
    fn keys<R>(&mut self, index: usize, act: impl FnOnce(&mut crate::AuthenticationKeys<'_>) -> R) -> R {
        let mut association = self.association(index);
        act(&mut association.authentication_keys().expect("it is offered"))
    }
}

//= rfc4895 3.2-6, 3.2-7, 5.1-7, 6.2-1, 6.2-3, 6.3-9, 6.3-10
#[test]
fn all_packets_of_the_peer_are_authenticated_if_required() {
    for (ours, theirs) in [
        (&ALL[..], &[][..]),
        (&[], &ALL),
        (&ALL, &ALL),
        (&[kind::DATA], &[kind::SACK]),
    ] {
        let mut ends = Ends::connecting(&requiring(ours, b"secret"), requiring(theirs, b"secret"));
        for length in [1, 10_000] {
            ends.send(0, length);
            ends.send(1, length);
        }
        for index in [0, 1] {
            assert!(ends.association(index).is_authenticated());
            let lengths: Vec<usize> = core::iter::from_fn(|| ends.association(index).receive())
                .map(|message| message.payload.len())
                .collect();
            assert_eq!(lengths, [1, 10_000]);
        }
        ends.association(0).shutdown();
        ends.exchange();
        for (index, required) in [(0, theirs), (1, ours)] {
            assert_eq!(ends.closed(index), Some(CloseReason::Finished));
            let mut sealed = 0;
            for packet in &ends.packets[index] {
                let kinds = kinds(core::slice::from_ref(packet));
                let is_sealed = kinds[0] == kind::AUTH;
                let count = kinds.iter().filter(|kind| **kind == kind::AUTH).count();
                assert_eq!(count, usize::from(is_sealed), "{kinds:?}");
                assert!(packet.len() + 28 <= 1_500, "{}", packet.len());
                let is_required = kinds.iter().any(|kind| {
                    let never = [kind::INIT, kind::INIT_ACK, kind::SHUTDOWN_COMPLETE, kind::AUTH];
                    required.contains(kind) && !never.contains(kind)
                });
                assert!(is_sealed || !is_required, "{kinds:?}");
                sealed += usize::from(is_sealed);
            }
            assert_eq!(sealed > 0, !required.is_empty());
        }
    }
}

//= rfc4895 6.3-1
#[test]
fn chunk_without_required_auth_is_skipped() {
    let mut ends = Ends::connecting(&requiring(&[], b""), requiring(&[kind::DATA], b""));
    let tag = ends.association(1).local.tag;
    let cumulative = ends.association(1).transfer.receiver.cumulative();
    let data = Data {
        tsn: Tsn(cumulative.0.wrapping_add(1)),
        ..DATA
    };
    let forged = packet(tag, |packet| {
        packet.push(&data).expect("room");
        packet.push(&Heartbeat { info: b"here" }).expect("room");
    });
    let path = PathAddr {
        local: peer(2),
        remote: here(),
    };
    ends.ends[1].handle_datagram(START, path, Ecn::NotCapable, &forged);
    let answers = poll_packets(&mut ends.ends[1], START);
    assert_eq!(kinds(&answers), [kind::HEARTBEAT_ACK]);
    assert_eq!(ends.association(1).receive(), None);
    ends.send(0, 4);
    assert!(ends.association(1).receive().is_some(), "the TSN was not used up");
}

//= rfc4895 6.2-1
#[test]
fn forged_abort_and_shutdown_are_discarded_if_auth_is_required() {
    let mut ends = Ends::connecting(&requiring(&[], b""), requiring(&ALL, b""));
    let tag = ends.association(1).local.tag;
    let path = PathAddr {
        local: peer(2),
        remote: here(),
    };
    let abort = OutboundAbort {
        tag_reflected: false,
        causes: Vec::new(),
    };
    let cumulative = ends.association(1).local.initial_tsn;
    for forged in [
        packet(tag, |packet| packet.push(&abort).expect("room")),
        packet(tag, |packet| {
            packet.push(&Shutdown { cumulative }).expect("room");
        }),
    ] {
        ends.ends[1].handle_datagram(START, path, Ecn::NotCapable, &forged);
        assert!(poll_packets(&mut ends.ends[1], START).is_empty());
        assert!(ends.association(1).is_connected());
    }
    ends.association(0).abort(b"enough");
    ends.exchange();
    assert!(matches!(ends.closed(1), Some(CloseReason::AbortedByPeer { .. })));
}

//= rfc4895 6.3-9
#[test]
fn cookie_echo_needs_the_shared_key_if_auth_is_required() {
    for (secret, is_accepted) in [(&b"secret"[..], true), (b"other", false), (b"", false)] {
        let mut ends = Ends::connecting(
            &requiring(&[], secret),
            requiring(&[kind::COOKIE_ECHO], b"secret"),
        );
        assert_eq!(ends.ends[1].associations().len(), usize::from(is_accepted));
        assert_eq!(ends.association(0).is_connected(), is_accepted);
        assert_eq!(ends.ends[1].counters().dropped > 0, !is_accepted);
    }
}

#[test]
fn peer_without_authentication_is_refused_if_chunks_require_it() {
    let without = || {
        let mut config = config();
        config
            .policies
            .set("add-ip", "off")
            .expect("a choice of the catalog");
        config
    };
    let mut ends = Ends::connecting(&without(), requiring(&[kind::DATA], b""));
    assert!(matches!(ends.closed(0), Some(CloseReason::AbortedByPeer { .. })));
    let mut ends = Ends::connecting(&requiring(&[kind::DATA], b""), without());
    assert!(matches!(ends.closed(0), Some(CloseReason::PeerViolation(_))));
}

//= rfc4895 6.2-2, 6.3-6, 6.3-7
#[test]
fn keys_are_changed_while_data_flows() {
    let mut ends = Ends::connecting(&requiring(&ALL, b"first"), requiring(&ALL, b"first"));
    ends.send(0, 100);
    for id in [1, u16::MAX] {
        let before = ends.keys(0, |keys| keys.in_use());
        let secret = id.to_be_bytes();
        ends.keys(0, |keys| keys.add(id, &secret)).expect("room");
        ends.keys(1, |keys| keys.add(id, &secret)).expect("room");
        ends.keys(0, |keys| keys.select(id)).expect("a known key");
        ends.send(0, 100);
        assert!(events(&mut ends.ends[1]).contains(&Event::PeerAuthenticationKey(id)));
        ends.keys(1, |keys| keys.select(id)).expect("a known key");
        ends.send(1, 100);
        assert!(events(&mut ends.ends[0]).contains(&Event::PeerAuthenticationKey(id)));
        for index in [0, 1] {
            assert_eq!(ends.keys(index, |keys| keys.delete(id)), Err(KeyError::InUse));
            ends.keys(index, |keys| keys.delete(before)).expect("not in use");
            assert_eq!(
                ends.keys(index, |keys| keys.select(before)),
                Err(KeyError::Unknown)
            );
        }
        ends.send(0, 100);
        ends.send(1, 100);
    }
    for (index, count) in [(0, 4), (1, 5)] {
        let received = core::iter::from_fn(|| ends.association(index).receive());
        assert_eq!(received.count(), count);
    }
    let last = ends.packets[0].last().expect("a packet");
    assert_eq!(
        last[CommonHeader::LEN + 4..][..2],
        [0xff, 0xff],
        "the key id of AUTH"
    );
    assert!(last.len() >= CommonHeader::LEN + Auth::HEADER_LEN + 32);
}

#[test]
fn keys_need_authentication() {
    let mut endpoint = endpoint();
    let mut config = config();
    config
        .policies
        .set("add-ip", "off")
        .expect("a choice of the catalog");
    let id = endpoint.connect(START, &[peer(2)], &config).expect("a path");
    let mut association = endpoint.association_mut(id).expect("an association");
    assert!(association.authentication_keys().is_none());
    assert!(!association.is_authenticated());
}

//= rfc4895 6.3-11
#[test]
fn restart_needs_the_key_of_the_association_if_cookie_echo_requires_auth() {
    let config = requiring(&[kind::COOKIE_ECHO], b"secret");
    let mut ends = Ends::connecting(&config, config.clone());
    let _ = events(&mut ends.ends[1]);
    let restarted = EndpointConfig {
        local: vec![here()],
        ..EndpointConfig::default()
    };
    ends.ends[0] = Endpoint::new(restarted, Seed(9));
    ends.id = ends.ends[0].connect(START, &[peer(2)], &config).expect("a path");
    ends.exchange();
    assert!(!ends.association(0).is_connected());
    assert!(ends.association(1).is_connected());
    assert!(events(&mut ends.ends[1]).is_empty());
    assert_eq!(ends.ends[1].counters().dropped, 1);
}

/// The key id of the AUTH chunk of a packet, and the payload protocol identifiers of its data.
fn keyed(packet: &[u8]) -> Option<(u16, Vec<u32>)> {
    let packet = Packet::parse_unverified(packet).expect("a packet");
    let chunks = packet.chunks().flatten();
    let mut chunks = chunks.filter_map(|raw| raw.decode().ok());
    let Some(Chunk::Auth(auth)) = chunks.next() else {
        return None;
    };
    let named = chunks.filter_map(|chunk| match chunk {
        Chunk::Data(data) => Some(data.ppid.0),
        Chunk::IData(IData {
            place: FragmentPlace::First(ppid),
            ..
        }) => Some(ppid.0),
        _ => None,
    });
    Some((auth.key, named.collect()))
}

/// Two ends that require all chunks to be authenticated, with the keys 0 to 2; key 0 is selected.
fn with_three_keys(interleaving: bool) -> Ends {
    let mut config = AssociationConfig {
        partial_reliability: true,
        ..requiring(&ALL, b"zero")
    };
    let choice = if interleaving { "on" } else { "off" };
    config
        .policies
        .set("interleaving", choice)
        .expect("a choice of the catalog");
    let mut ends = Ends::connecting(&config, config.clone());
    for (index, id) in [(0, 1), (0, 2), (1, 1), (1, 2)] {
        let secret = [b'k', id as u8];
        ends.keys(index, |keys| keys.add(id, &secret)).expect("room");
    }
    ends
}

/// RFC 6458 §5.3.8.
#[test]
fn messages_of_different_keys_are_not_bundled() {
    for interleaving in [false, true] {
        let mut ends = with_three_keys(interleaving);
        let before = ends.packets[0].len();
        // The identifier is the key that the message names; those with 0 name none.
        for key in [1, 1, 2, 2, 0, 0, 1, 2] {
            let message = Message {
                authentication_key: Some(key).filter(|key| *key > 0),
                ..Message::new(StreamId(0), vec![7; 50]).with_ppid(Ppid(key.into()))
            };
            ends.association(0).send(message).expect("room");
        }
        ends.exchange();
        let keyed: Vec<_> = ends.packets[0][before..]
            .iter()
            .filter_map(|packet| keyed(packet))
            .collect();
        let with_data: Vec<_> = keyed.iter().filter(|(_, named)| !named.is_empty()).collect();
        let expected = [
            &(1, vec![1, 1]),
            &(2, vec![2, 2]),
            &(0, vec![0, 0]),
            &(1, vec![1]),
            &(2, vec![2]),
        ];
        assert_eq!(with_data, expected);
        let received = core::iter::from_fn(|| ends.association(1).receive());
        assert_eq!(received.count(), 8);
    }
}

#[test]
fn retransmission_has_the_key_of_its_message() {
    let mut ends = with_three_keys(false);
    for key in [1, 2] {
        let message = Message::new(StreamId(0), "lost").with_ppid(Ppid(key.into()));
        let message = message.with_authentication_key(key);
        ends.association(0).send(message).expect("room");
    }
    let lost = poll_packets(&mut ends.ends[0], START);
    let mut lost: Vec<_> = lost.iter().filter_map(|packet| keyed(packet)).collect();
    lost.retain(|(_, named)| !named.is_empty());
    assert_eq!(lost, [(1, vec![1]), (2, vec![2])]);
    ends.keys(0, |keys| keys.add(3, b"three")).expect("room");
    ends.keys(0, |keys| keys.select(3)).expect("a known key");
    let mut again = Vec::new();
    while again.len() < 2 {
        let now = ends.ends[0].poll_timeout().expect("a timer");
        ends.ends[0].handle_timeout(now);
        let sent = poll_packets(&mut ends.ends[0], now);
        let sent = sent.iter().filter_map(|packet| keyed(packet));
        again.extend(sent.filter(|(_, named)| !named.is_empty()));
    }
    assert!(
        again.iter().all(|(key, named)| named == &[u32::from(*key)]),
        "{again:?}"
    );
}

/// RFC 6458 §8.3.4, §6.1.8.
#[test]
fn deactivated_key_is_free_when_its_messages_are_acknowledged() {
    let mut ends = with_three_keys(false);
    let free = |ends: &mut Ends| -> Vec<_> {
        let mut events = events(&mut ends.ends[0]);
        events.retain(|event| matches!(event, Event::AuthenticationKeyFree(_)));
        events
    };
    let message = Message::new(StreamId(1), "first").with_authentication_key(1);
    ends.association(0).send(message.clone()).expect("room");
    assert_eq!(ends.keys(0, |keys| keys.deactivate(0)), Err(KeyError::InUse));
    for id in [1, 2] {
        ends.keys(0, |keys| keys.deactivate(id)).expect("not selected");
        assert_eq!(
            ends.keys(0, |keys| keys.deactivate(id)),
            Err(KeyError::Deactivated)
        );
        assert_eq!(ends.keys(0, |keys| keys.select(id)), Err(KeyError::Deactivated));
    }
    assert_eq!(free(&mut ends), [Event::AuthenticationKeyFree(2)]);
    assert_eq!(
        ends.association(0).send(message.clone()),
        Err(SendError::InvalidKey)
    );
    assert_eq!(ends.keys(0, |keys| keys.delete(1)), Err(KeyError::InUse));
    ends.exchange();
    assert_eq!(free(&mut ends), [Event::AuthenticationKeyFree(1)]);
    assert!(ends.association(1).receive().is_some());
    // The peer may still use it.
    ends.association(1).send(message.clone()).expect("room");
    ends.exchange();
    assert!(ends.association(0).receive().is_some());
    ends.keys(0, |keys| keys.delete(1)).expect("not in use");
    assert_eq!(ends.association(0).send(message), Err(SendError::InvalidKey));
    assert_eq!(free(&mut ends), []);
}

#[test]
fn key_of_an_abandoned_message_is_free() {
    let mut ends = with_three_keys(false);
    let message = Message::new(StreamId(1), "late")
        .with_authentication_key(1)
        .with_reliability(crate::Reliability::Lifetime(core::time::Duration::ZERO));
    ends.association(0).send(message).expect("room");
    ends.keys(0, |keys| keys.deactivate(1)).expect("not selected");
    ends.exchange();
    assert!(events(&mut ends.ends[0]).contains(&Event::AuthenticationKeyFree(1)));
    assert_eq!(ends.association(1).receive(), None);
}

#[test]
fn message_with_a_key_needs_authentication() {
    let mut ends = Ends::connecting(&config(), config());
    let message = Message::new(StreamId(0), "x").with_authentication_key(0);
    assert_eq!(ends.association(0).send(message), Err(SendError::InvalidKey));
}

/// RFC 6458 §6.1.8, `SCTP_AUTH_NO_AUTH`.
#[test]
fn peer_without_authentication_is_reported_to_the_end_that_offers_it() {
    let mut without = config();
    without
        .policies
        .set("add-ip", "off")
        .expect("a choice of the catalog");
    for (ours, theirs) in [(&without, config()), (&config(), without.clone())] {
        let mut ends = Ends::connecting(ours, theirs);
        for index in [0, 1] {
            let offers = ends.association(index).authentication.is_some();
            let events = events(&mut ends.ends[index]);
            assert_eq!(events.contains(&Event::PeerWithoutAuthentication), offers);
        }
    }
    let mut ends = Ends::connecting(&config(), config());
    assert!(!events(&mut ends.ends[0]).contains(&Event::PeerWithoutAuthentication));
}

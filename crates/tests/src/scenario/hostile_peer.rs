//! Hostile peers: handmade packets and the replies to them.

use anabranch_proto::{AssociationConfig, CloseReason, Event, Message};
use anabranch_types::{Ppid, Ssn, StreamId, Tsn, VerificationTag};
use anabranch_wire::chunk::kind;
use anabranch_wire::{
    Abort, Cause, CauseWriter, Chunk, CookieAck, CookieEcho, Data, DataFlags, GapBlock, Heartbeat,
    OutboundAbort, OutboundError, OutboundInit, OutboundSack, Parameter, ParameterWriter, RawChunk, Shutdown,
    ShutdownAck, ShutdownComplete, WriteChunk,
};

use crate::fixture::{Forger, Reply, first_tsn};

fn data(tsn: Tsn, payload: &[u8]) -> Data<'_> {
    Data {
        tsn,
        stream: StreamId(0),
        ssn: Ssn(0),
        ppid: Ppid(0),
        flags: DataFlags {
            beginning: true,
            ending: true,
            ..DataFlags::default()
        },
        payload,
    }
}

fn raw(kind: u8, value: &[u8]) -> RawChunk<'_> {
    RawChunk {
        kind,
        flags: 0,
        value,
        bytes: &[],
        at: 0,
    }
}

/// Asserts that the only reply is an ABORT with the T bit and the tag of the packet that caused it.
#[track_caller]
fn is_reflected_abort(replies: &[Reply], tag: VerificationTag) {
    let [reply] = replies else { panic!("{replies:?}") };
    assert_eq!(reply.tag(), tag);
    assert!(matches!(
        reply.chunks()[..],
        [Chunk::Abort(Abort {
            tag_reflected: true,
            ..
        })]
    ));
}

mod out_of_the_blue {
    //! Out-of-the-blue packets, by the rules of RFC 9260 §8.4.

    use super::*;

    const TAG: VerificationTag = VerificationTag(0x1234_5678);

    fn says(chunk: &impl WriteChunk) -> Vec<Reply> {
        Forger::unknown().send(TAG, &[chunk])
    }

    //= rfc9260 3.3.7-3, 3.3.7-4, 8.4-2
    #[test]
    fn ootb_abort_is_discarded() {
        let abort = OutboundAbort {
            tag_reflected: false,
            causes: Vec::new(),
        };
        assert_eq!(says(&abort), []);
        let mut forger = Forger::unknown();
        assert_eq!(
            forger.send(TAG, &[&data(Tsn(1), b"x"), &abort]),
            [],
            "nor behind another chunk"
        );
    }

    //= rfc9260 3.1-5, 3.3.13-2, 8.4-6, 8.4-7, 8.5.1-10, 8.5.1-11
    #[test]
    fn ootb_shutdown_ack_gets_shutdown_complete_with_t_bit() {
        let replies = says(&ShutdownAck);
        let [reply] = &replies[..] else {
            panic!("{replies:?}")
        };
        assert_eq!(reply.tag(), TAG);
        let complete = ShutdownComplete { tag_reflected: true };
        assert_eq!(reply.chunks(), [Chunk::ShutdownComplete(complete)]);
    }

    #[test]
    fn bundled_ootb_shutdown_ack_is_answered_unless_with_abort() {
        let mut forger = Forger::unknown();
        let replies = forger.send(TAG, &[&sack(), &ShutdownAck]);
        assert_eq!(replies[0].kinds(), [kind::SHUTDOWN_COMPLETE]);
        let abort = OutboundAbort {
            tag_reflected: false,
            causes: Vec::new(),
        };
        assert_eq!(forger.send(TAG, &[&ShutdownAck, &abort]), []);
    }

    #[test]
    fn discarded_ootb_chunks_are_discarded_when_bundled() {
        let mut forger = Forger::unknown();
        let complete = ShutdownComplete { tag_reflected: false };
        let causes = CauseWriter::one(Cause::StaleCookie { staleness: 1 });
        let stale = OutboundError { causes };
        let silent: [&dyn WriteChunk; 3] = [&complete, &CookieAck, &stale];
        for chunk in silent {
            assert_eq!(forger.send(TAG, &[&sack(), chunk]), []);
        }
    }

    //= rfc9260 8.5.1-2, 8.5.1-3
    /// RFC 9260 §8.5.1 A: a packet with tag zero that is not an INIT is discarded silently.
    #[test]
    fn tag_zero_is_discarded_except_init() {
        let mut forger = Forger::unknown();
        let data = data(Tsn(1), b"hello");
        assert_eq!(forger.send(VerificationTag::ZERO, &[&data]), []);
        assert_eq!(forger.send(VerificationTag::ZERO, &[&ShutdownAck]), []);
    }

    const fn sack() -> OutboundSack<'static> {
        OutboundSack {
            cumulative: Tsn(1),
            a_rwnd: 10_000,
            packet_count: None,
            blocks: &[],
            duplicates: &[],
        }
    }

    //= rfc9260 8.4-8, 8.4-9
    #[test]
    fn ootb_shutdown_complete_cookie_ack_and_error_are_discarded() {
        assert_eq!(says(&ShutdownComplete { tag_reflected: false }), []);
        assert_eq!(says(&CookieAck), []);
        let causes = CauseWriter::one(Cause::StaleCookie { staleness: 1 });
        assert_eq!(says(&OutboundError { causes }), []);
    }

    //= rfc9260 4-1
    #[test]
    fn forged_cookie_is_discarded() {
        assert_eq!(says(&CookieEcho { cookie: &[7; 80] }), []);
    }

    //= rfc9260 3.3.7-5, 6-3, 6-6, 8.4-10, 8.4-11, 8.4-12, 8.4-13, 8.5.1-5
    #[test]
    fn other_ootb_packets_get_abort_with_t_bit() {
        is_reflected_abort(&says(&data(Tsn(1), b"hello")), TAG);
        is_reflected_abort(
            &says(&Heartbeat {
                info: b"are you there?",
            }),
            TAG,
        );
        is_reflected_abort(&says(&Shutdown { cumulative: Tsn(1) }), TAG);
        is_reflected_abort(&says(&raw(0x3f, b"")), TAG);
    }

    #[test]
    fn init_for_closed_port_gets_abort() {
        let mut forger = Forger::unknown();
        forger.set_destination_port(7);
        let replies = forger.send(VerificationTag::ZERO, &[&Forger::init()]);
        let [reply] = &replies[..] else {
            panic!("{replies:?}")
        };
        assert_eq!(reply.tag(), Forger::init().initiate_tag);
        assert!(matches!(reply.chunks()[..], [Chunk::Abort(_)]));
    }

    //= rfc9260 6.8-4
    #[test]
    fn malformed_packets_are_counted_and_discarded() {
        let mut forger = Forger::unknown();
        assert_eq!(forger.send_bytes(b""), []);
        assert_eq!(forger.send_bytes(b"short"), []);
        assert_eq!(forger.send_bytes(&[0; 64]), []);
        let mut damaged = forger.packet(TAG, &[&ShutdownAck]);
        *damaged.last_mut().unwrap() ^= 1;
        assert_eq!(forger.send_bytes(&damaged), []);
        assert_eq!(forger.victim().counters().malformed, 4);
    }
}

mod handshake {
    //! Unverified peers.

    use super::*;

    //= rfc9260 5.1-6
    #[test]
    fn init_flood_keeps_no_state() {
        let mut forger = Forger::unknown();
        for number in 0..10_000_u32 {
            let init = OutboundInit {
                initiate_tag: VerificationTag(number + 1),
                ..Forger::init()
            };
            forger.set_source_port((number % 60_000) as u16 + 1);
            assert_eq!(forger.send(VerificationTag::ZERO, &[&init]).len(), 1);
        }
        assert_eq!(forger.victim().associations().len(), 0);
        assert_eq!(forger.victim().poll_timeout(), None);
    }

    #[test]
    fn unverified_address_gets_at_most_three_times_its_bytes() {
        let mut forger = Forger::unknown();
        let unknown = |length: usize| {
            let mut parameters = ParameterWriter::new();
            parameters.push_raw(0xc0de, &vec![9; length]);
            parameters.finish()
        };
        for length in [0, 1, 10, 100, 1_000] {
            let init = OutboundInit {
                parameters: unknown(length),
                ..Forger::init()
            };
            is_answered_modestly(&mut forger, &init);
        }
    }

    //= rfc9260 3.3.2-4, 8.4-3, 12.4-6
    /// An INIT needs no parameters (RFC 9260 §3.3.2).
    #[test]
    fn minimal_init_is_answered() {
        let mut config = AssociationConfig::default();
        for (name, value) in [("nr-sack", "on"), ("interleaving", "on")] {
            config.policies.set(name, value).expect("an option that exists");
        }
        let mut forger = Forger::against(config, Vec::new());
        is_answered_modestly(&mut forger, &Forger::init());
        forger.associate();
        let anew = OutboundInit {
            initiate_tag: VerificationTag(0x0bad_cafe),
            ..Forger::init()
        };
        is_answered_modestly(&mut forger, &anew);
    }

    /// From both IP versions.
    fn is_answered_modestly(forger: &mut Forger, init: &OutboundInit) {
        let call = forger.packet(VerificationTag::ZERO, &[init]);
        for source in ["192.0.2.2:4000", "[2001:db8::2]:4000"] {
            let replies = forger.send_bytes_from(source.parse().unwrap(), &call);
            let [reply] = &replies[..] else {
                panic!("{replies:?} to {source}")
            };
            assert_eq!(reply.kinds(), [kind::INIT_ACK]);
            let (received, sent) = (reply.bytes.len(), call.len());
            assert!(received <= 3 * sent, "{received} bytes for {sent}");
        }
    }

    //= rfc9260 3-1, 3.3.2-7, 5.1-10, 5.1-11, 6.10-8, 8.5.1-2, 8.5.1-3, 12.3-3
    #[test]
    fn bundled_init_or_nonzero_tag_is_discarded() {
        let mut forger = Forger::unknown();
        assert_eq!(
            forger.send(VerificationTag::ZERO, &[&Forger::init(), &ShutdownAck]),
            []
        );
        assert_eq!(forger.send(VerificationTag(5), &[&Forger::init()]), []);
        let nameless = OutboundInit {
            initiate_tag: VerificationTag::ZERO,
            ..Forger::init()
        };
        assert_eq!(forger.send(VerificationTag::ZERO, &[&nameless]), []);
    }

    #[test]
    fn init_with_zero_streams_gets_abort() {
        let mut forger = Forger::unknown();
        for (outbound_streams, inbound_streams) in [(0, 1), (1, 0)] {
            let init = OutboundInit {
                outbound_streams,
                inbound_streams,
                ..Forger::init()
            };
            let replies = forger.send(VerificationTag::ZERO, &[&init]);
            assert!(
                matches!(replies[0].chunks()[..], [Chunk::Abort(_)]),
                "{replies:?}"
            );
        }
    }

    //= rfc9260 3.2.2-1, 3.3.3.1.2-1
    #[test]
    fn unknown_parameters_follow_their_upper_two_bits() {
        // RFC 9260 §3.2.1: 00 stop, 01 stop and report, 10 skip, 11 skip and report.
        for (unknown, reported, next_is_seen) in [
            (0x0abc, false, false),
            (0x4abc, true, false),
            (0x8abc, false, true),
            (0xcabc, true, true),
        ] {
            let mut parameters = ParameterWriter::new();
            parameters.push_raw(unknown, b"what?");
            parameters.push_raw(0xc0de, b"next");
            let init = OutboundInit {
                parameters: parameters.finish(),
                ..Forger::init()
            };
            let replies = Forger::unknown().send(VerificationTag::ZERO, &[&init]);
            let [Chunk::InitAck(ack)] = replies[0].chunks()[..] else {
                panic!("{replies:?}")
            };
            let mut kinds = Vec::new();
            for parameter in ack.parameters.iter().flatten() {
                if let Ok(Parameter::Unrecognized(bytes)) = parameter.decode() {
                    kinds.push(u16::from_be_bytes([bytes[0], bytes[1]]));
                }
            }
            let expected = [(unknown, reported), (0xc0de, next_is_seen)];
            let expected: Vec<u16> = expected
                .iter()
                .filter(|(_, seen)| *seen)
                .map(|(kind, _)| *kind)
                .collect();
            assert_eq!(kinds, expected);
        }
    }

    //= rfc9260 5.1.5-3
    #[test]
    fn cookie_is_valid_only_for_its_ports_and_tag() {
        let mut forger = Forger::unknown();
        let (cookie, tag) = forger.request_cookie();
        let echo = CookieEcho { cookie: &cookie };
        assert_eq!(forger.send(VerificationTag(tag.0 ^ 1), &[&echo]), []);
        let mut changed = cookie.clone();
        changed[20] ^= 1;
        assert_eq!(forger.send(tag, &[&CookieEcho { cookie: &changed }]), []);
        forger.set_source_port(3_333);
        assert_eq!(forger.send(tag, &[&echo]), []);
        assert_eq!(forger.victim().associations().len(), 0);
    }

    //= rfc9260 1.3-1, 5.2.4-13, 8.4-5
    #[test]
    fn repeated_cookie_echo_creates_one_association() {
        let mut forger = Forger::unknown();
        let (cookie, tag) = forger.request_cookie();
        let echo = CookieEcho { cookie: &cookie };
        for _ in 0..2 {
            let replies = forger.send(tag, &[&echo]);
            assert!(
                replies
                    .iter()
                    .any(|reply| reply.chunks().contains(&Chunk::CookieAck))
            );
        }
        assert_eq!(forger.victim().associations().len(), 1);
    }

    #[test]
    fn cookie_of_ended_association_is_invalid() {
        let mut forger = Forger::unknown();
        let (cookie, tag) = forger.request_cookie();
        let echo = CookieEcho { cookie: &cookie };
        forger.send(tag, &[&echo]);
        let abort = OutboundAbort {
            tag_reflected: false,
            causes: Vec::new(),
        };
        forger.send(tag, &[&abort]);
        let replies = forger.send(tag, &[&echo]);
        assert!(
            matches!(replies[0].chunks()[..], [Chunk::Abort(_)]),
            "{replies:?}"
        );
        assert_eq!(
            forger
                .victim()
                .associations()
                .filter(|one| !one.is_closed())
                .count(),
            0
        );
    }
}

mod association {
    //! Attacks by an established peer, and on it.

    use super::*;

    fn ends_it(forger: &mut Forger, replies: &[Reply]) {
        assert!(
            matches!(replies[0].chunks()[..], [Chunk::Abort(_)]),
            "{replies:?}"
        );
        assert!(matches!(
            forger.close_reason(),
            Some(CloseReason::PeerViolation(_))
        ));
    }

    //= rfc9260 5.3.1-2, 8.5-2, 8.5-3, 8.5-4
    #[test]
    fn wrong_verification_tag_is_discarded() {
        let mut forger = Forger::associated();
        let wrong = VerificationTag(forger.tag().0 ^ 0x8000_0000);
        let abort = OutboundAbort {
            tag_reflected: false,
            causes: Vec::new(),
        };
        assert_eq!(forger.send(wrong, &[&abort]), []);
        assert_eq!(forger.send(wrong, &[&data(first_tsn(), b"forged")]), []);
        assert_eq!(forger.events(), []);
        assert_eq!(forger.statistics().packets_dropped, 2);
    }

    //= rfc9260 8.5.1-6, 8.5.1-7, 9.1-6
    #[test]
    fn abort_is_valid_with_own_tag_or_peer_tag_and_t_bit() {
        for (reflected, ends) in [(false, true), (true, false)] {
            let mut forger = Forger::associated();
            let abort = OutboundAbort {
                tag_reflected: reflected,
                causes: Vec::new(),
            };
            assert_eq!(forger.send(forger.tag(), &[&abort]), []);
            assert_eq!(
                forger.close_reason().is_some(),
                ends,
                "our tag, T bit {reflected}"
            );
            let mut forger = Forger::associated();
            assert_eq!(forger.send(Forger::init().initiate_tag, &[&abort]), []);
            assert_eq!(
                forger.close_reason().is_some(),
                !ends,
                "the peer's tag, T bit {reflected}"
            );
        }
    }

    #[test]
    fn abort_in_shutdown_ack_sent_is_a_graceful_end() {
        let mut forger = Forger::associated();
        let cumulative = Tsn(forger.victim_tsn().0.wrapping_sub(1));
        let replies = forger.send(forger.tag(), &[&Shutdown { cumulative }]);
        assert!(replies.iter().any(|reply| reply.kinds() == [kind::SHUTDOWN_ACK]));
        let abort = OutboundAbort {
            tag_reflected: true,
            causes: Vec::new(),
        };
        forger.send(Forger::init().initiate_tag, &[&abort]);
        assert_eq!(forger.close_reason(), Some(&CloseReason::Finished));
    }

    //= rfc9260 6-5
    /// Some stacks write a TSN of their own into the cumulative TSN of a SHUTDOWN.
    #[test]
    fn shutdown_with_unsent_tsn_acknowledges_nothing() {
        let mut forger = Forger::associated();
        let sent = forger.victim_send(Message::new(StreamId(0), "not acknowledged yet"));
        let tsn = sent[0].tsns()[0];
        let shutdown = Shutdown {
            cumulative: Tsn(tsn.0.wrapping_add(5)),
        };
        assert_eq!(forger.send(forger.tag(), &[&shutdown]), []);
        let sack = OutboundSack {
            cumulative: tsn,
            a_rwnd: 10_000,
            packet_count: None,
            blocks: &[],
            duplicates: &[],
        };
        let replies = forger.send(forger.tag(), &[&sack]);
        assert_eq!(replies[0].kinds(), [kind::SHUTDOWN_ACK]);
    }

    //= rfc9260 12.4-5
    #[test]
    fn sack_of_unsent_tsn_ends_the_association() {
        let mut forger = Forger::associated();
        let cumulative = Tsn(forger.victim_tsn().0.wrapping_add(5));
        let sack = OutboundSack {
            cumulative,
            a_rwnd: 10_000,
            packet_count: None,
            blocks: &[],
            duplicates: &[],
        };
        let replies = forger.send(forger.tag(), &[&sack]);
        ends_it(&mut forger, &replies);
    }

    #[test]
    fn gap_block_of_unsent_tsn_ends_the_association() {
        let mut forger = Forger::associated();
        let sack = OutboundSack {
            cumulative: Tsn(forger.victim_tsn().0.wrapping_sub(1)),
            a_rwnd: 10_000,
            packet_count: None,
            blocks: &[GapBlock {
                start: 2,
                end: 60_000,
            }],
            duplicates: &[],
        };
        let replies = forger.send(forger.tag(), &[&sack]);
        ends_it(&mut forger, &replies);
    }

    //= rfc9260 6.2-33
    #[test]
    fn data_chunk_without_user_data_ends_the_association() {
        let mut forger = Forger::associated();
        let replies = forger.send(forger.tag(), &[&data(first_tsn(), b"")]);
        ends_it(&mut forger, &replies);
    }

    //= rfc9260 6.5-2
    #[test]
    fn data_on_invalid_stream_is_acknowledged_and_reported() {
        let mut forger = Forger::associated();
        let stray = Data {
            stream: StreamId(60_000),
            ..data(first_tsn(), b"where am I?")
        };
        let replies = forger.send(forger.tag(), &[&stray]);
        let chunks: Vec<_> = replies.iter().flat_map(Reply::kinds).collect();
        assert!(chunks.contains(&kind::ERROR), "{chunks:?}");
        assert_eq!(forger.close_reason(), None);
        assert_eq!(forger.read(), None);
    }

    //= rfc9260 6.10-6
    #[test]
    fn unknown_chunks_follow_their_upper_two_bits() {
        // RFC 9260 §3.2: 00 stop, 01 stop and report, 10 skip, 11 skip and report.
        for (unknown, reported, next_is_seen) in [
            (0x3a, false, false),
            (0x7a, true, false),
            (0xba, false, true),
            (0xfa, true, true),
        ] {
            let mut forger = Forger::associated();
            let next = data(first_tsn(), b"next");
            let replies = forger.send(forger.tag(), &[&raw(unknown, b"what?"), &next]);
            let chunks: Vec<_> = replies.iter().flat_map(Reply::kinds).collect();
            assert_eq!(chunks.contains(&kind::ERROR), reported, "{unknown:#x}");
            assert_eq!(forger.read().is_some(), next_is_seen, "{unknown:#x}");
        }
    }

    //= rfc9260 6.10-7
    #[test]
    fn truncated_packets_are_harmless() {
        let mut forger = Forger::associated();
        let whole = forger.packet(forger.tag(), &[&data(first_tsn(), &[1; 400])]);
        for length in 12..whole.len() {
            let mut cut = whole[..length].to_vec();
            anabranch_wire::checksum::seal(&mut cut);
            forger.send_bytes(&cut);
        }
        assert_eq!(forger.read(), None);
        assert_eq!(forger.close_reason(), None);
        forger.send_bytes(&whole);
        assert_eq!(forger.read().map(|message| message.payload.len()), Some(400));
    }

    #[test]
    fn contradictory_fragments_end_the_association() {
        let mut forger = Forger::associated();
        let first = first_tsn();
        let middle = |tsn, stream| Data {
            stream: StreamId(stream),
            flags: DataFlags::default(),
            ..data(tsn, b"part")
        };
        let beginning = Data {
            flags: DataFlags {
                beginning: true,
                ..DataFlags::default()
            },
            ..data(first, b"part")
        };
        forger.send(forger.tag(), &[&beginning]);
        let replies = forger.send(forger.tag(), &[&middle(Tsn(first.0.wrapping_add(1)), 1)]);
        ends_it(&mut forger, &replies);
    }

    #[test]
    fn data_far_beyond_the_window_is_discarded() {
        let mut forger = Forger::associated();
        let far = Tsn(first_tsn().0.wrapping_add(1 << 30));
        forger.send(forger.tag(), &[&data(far, b"from the future")]);
        assert_eq!(forger.statistics().receive_buffer_used, 0);
        assert_eq!(forger.close_reason(), None);
    }

    #[test]
    fn hundred_bundled_heartbeats_get_few_replies() {
        let mut forger = Forger::associated();
        let heartbeat = Heartbeat { info: b"1234" };
        let packet = forger.packet(forger.tag(), &[&heartbeat as &dyn WriteChunk; 100]);
        let replies = forger.send_bytes(&packet);
        let bytes: usize = replies.iter().map(|reply| reply.bytes.len()).sum();
        assert!(bytes <= packet.len(), "{bytes} bytes for {}", packet.len());
    }

    //= rfc9260 3.3.6-1, 3.3.6-2, 8.3-10
    /// RFC 9260 §8.3: the HEARTBEAT ACK returns the heartbeat information unchanged.
    #[test]
    fn heartbeat_information_is_returned_unchanged() {
        let mut forger = Forger::associated();
        let value = [
            0, 1, 0, 9, 1, 2, 3, 4, 5, 0xaa, 0xbb, 0xcc, 0xc0, 0xde, 0, 6, 6, 7,
        ];
        let replies = forger.send(forger.tag(), &[&raw(kind::HEARTBEAT, &value)]);
        let [reply] = &replies[..] else {
            panic!("{replies:?}")
        };
        assert_eq!(reply.kinds(), [kind::HEARTBEAT_ACK]);
        assert_eq!(reply.bytes[16..16 + value.len()], value);
        assert_eq!(reply.bytes[14..16], [0, 4 + value.len() as u8]);
    }

    /// Error texts for the application are for people, and take memory until they are read.
    #[test]
    fn long_error_causes_are_truncated() {
        let causes = || CauseWriter::one(Cause::ProtocolViolation(&[7; 50_000]));
        let mut forger = Forger::associated();
        let error = OutboundError { causes: causes() };
        forger.send(forger.tag(), &[&error]);
        let [Event::PeerError(error)] = forger.events() else {
            panic!("{:?}", forger.events().len())
        };
        assert!(error.text.starts_with("protocol violation") && error.text.len() == 256);
        assert_eq!((error.code, &error.value[..]), (13, &[7; 256][..]));
        let abort = OutboundAbort {
            tag_reflected: false,
            causes: causes(),
        };
        forger.send(forger.tag(), &[&abort]);
        let Some(CloseReason::AbortedByPeer { causes: error, .. }) = forger.close_reason() else {
            panic!("{:?}", forger.events().len())
        };
        assert!(error.starts_with("protocol violation") && error.len() == 256);
    }

    //= rfc9260 5.2.2-9, 5.2.2-10
    #[test]
    fn spoofed_init_does_not_affect_an_association() {
        let mut forger = Forger::associated();
        let init = OutboundInit {
            initiate_tag: VerificationTag(0x0bad_cafe),
            ..Forger::init()
        };
        let replies = forger.send(VerificationTag::ZERO, &[&init]);
        assert!(
            matches!(replies[0].chunks()[..], [Chunk::InitAck(_)]),
            "only its cookie could"
        );
        forger.send(forger.tag(), &[&data(first_tsn(), b"still here")]);
        assert!(forger.read().is_some());
    }

    #[test]
    fn restart_init_with_new_addresses_is_refused() {
        let mut forger = Forger::associated();
        let mut parameters = ParameterWriter::new();
        parameters.push_address("192.0.2.66".parse().unwrap());
        let init = OutboundInit {
            initiate_tag: VerificationTag(0x0bad_cafe),
            parameters: parameters.finish(),
            ..Forger::init()
        };
        let replies = forger.send(VerificationTag::ZERO, &[&init]);
        assert!(
            matches!(replies[0].chunks()[..], [Chunk::Abort(_)]),
            "{replies:?}"
        );
        assert!(
            !forger
                .events()
                .iter()
                .any(|event| matches!(event, Event::Closed(_)))
        );
    }
}

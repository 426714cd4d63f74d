//! Attacks and defences: those of RFC 5062 in its order, then related ones.
//!
//! `docs/security.md` lists the defence against each attack and its test, here or in other files.

use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use anabranch_policy::Reachability;
use anabranch_proto::{AssociationConfig, CloseReason, Extent, Message};
use anabranch_types::{Ppid, Ssn, StreamId, Tsn, VerificationTag};
use anabranch_wire::chunk::kind;
use anabranch_wire::parameter::kind::COOKIE_PRESERVATIVE;
use anabranch_wire::{
    Cause, CauseWriter, Chunk, CookieAck, CookieEcho, Data, DataFlags, GapBlock, HeartbeatAck, OutboundAbort,
    OutboundError, OutboundInit, OutboundSack, ParameterWriter, RawChunk, WriteChunk,
};

use crate::fixture::{Forger, Reply, first_tsn, secs};

/// Address of a host that the forger attacks.
fn bystander(number: u8) -> SocketAddr {
    SocketAddr::from(([198, 51, 100, number], 4_000))
}

/// Parameters with the forger's own address and those of `count` bystanders.
fn listing_bystanders(count: u8) -> ParameterWriter {
    let mut parameters = ParameterWriter::new();
    parameters.push_address(Forger::address().ip());
    for number in 1..=count {
        parameters.push_address(bystander(number).ip());
    }
    parameters
}

/// A forger whose INIT lists addresses of bystanders.
fn claims_addresses(count: u8) -> Forger {
    Forger::against(AssociationConfig::default(), listing_bystanders(count).finish())
}

fn to_bystanders(replies: &[Reply]) -> impl Iterator<Item = &Reply> {
    replies.iter().filter(|reply| reply.to != Forger::address())
}

/// Information of the heartbeat that was sent to `whom`, which only that host knows.
fn heartbeat_to(replies: &[Reply], whom: SocketAddr) -> Option<Vec<u8>> {
    let sent = replies.iter().filter(|reply| reply.to == whom);
    sent.flat_map(Reply::chunks).find_map(|chunk| match chunk {
        Chunk::Heartbeat(heartbeat) => Some(heartbeat.info.to_vec()),
        _ => None,
    })
}

fn unconfirmed(forger: &Forger) -> usize {
    let paths = forger.statistics().paths;
    paths
        .iter()
        .filter(|path| path.reachability == Reachability::Unconfirmed)
        .count()
}

fn says_data(tsn: u32, stream: u16, flags: (bool, bool), payload: &[u8]) -> Data<'_> {
    Data {
        tsn: Tsn(first_tsn().0.wrapping_add(tsn)),
        stream: StreamId(stream),
        ssn: Ssn(0),
        ppid: Ppid(0),
        flags: DataFlags {
            beginning: flags.0,
            ending: flags.1,
            ..DataFlags::default()
        },
        payload,
    }
}

const fn sack(cumulative: Tsn, a_rwnd: u32, blocks: &[GapBlock]) -> OutboundSack<'_> {
    OutboundSack {
        cumulative,
        a_rwnd,
        packet_count: None,
        blocks,
        duplicates: &[],
    }
}

/// RFC 5062 §2, address camping: an attacker lists the address of another host so that it cannot connect.
mod address_camping {
    use super::*;

    /// The owner of the address answers the heartbeat as an out-of-the-blue packet, with an ABORT.
    #[test]
    fn abort_of_address_owner_ends_the_forged_association() {
        let mut forger = claims_addresses(1);
        let (cookie, tag) = forger.request_cookie();
        let replies = forger.send(tag, &[&CookieEcho { cookie: &cookie }]);
        let probe = to_bystanders(&replies)
            .next()
            .expect("the address is probed at once");
        let abort = OutboundAbort {
            tag_reflected: true,
            causes: Vec::new(),
        };
        let abort = forger.packet(probe.tag(), &[&abort]);
        forger.send_bytes_from(bystander(1), &abort);
        assert!(matches!(
            forger.close_reason(),
            Some(CloseReason::AbortedByPeer { .. })
        ));
        let call = forger.packet(VerificationTag::ZERO, &[&Forger::init()]);
        let answer = forger.send_bytes_from(bystander(1), &call);
        assert_eq!(answer[0].kinds(), [kind::INIT_ACK]);
    }

    /// Hosts behind different NATs may list the same private address.
    #[test]
    fn listed_address_does_not_block_another_hosts_init() {
        let mut forger = claims_addresses(2);
        let (cookie, tag) = forger.request_cookie();
        forger.send(tag, &[&CookieEcho { cookie: &cookie }]);
        let elsewhere = bystander(9);
        let call = OutboundInit {
            parameters: listing_bystanders(2).finish(),
            ..Forger::init()
        };
        let call = forger.packet(VerificationTag::ZERO, &[&call]);
        let answer = forger.send_bytes_from(elsewhere, &call);
        assert_eq!(answer[0].kinds(), [kind::INIT_ACK]);
        assert_eq!(answer[0].to, elsewhere);
    }

    #[test]
    fn heartbeat_ack_with_wrong_nonce_does_not_confirm() {
        let mut forger = claims_addresses(1);
        let (cookie, tag) = forger.request_cookie();
        let replies = forger.send(tag, &[&CookieEcho { cookie: &cookie }]);
        let mut info = heartbeat_to(&replies, bystander(1)).expect("a heartbeat with a nonce");
        assert!(info.len() > 8, "64 bits of nonce");
        *info.last_mut().expect("it is not empty") ^= 1;
        let guess = forger.packet(tag, &[&HeartbeatAck { info: &info }]);
        forger.send_bytes_from(bystander(1), &guess);
        assert_eq!(unconfirmed(&forger), 1);
    }
}

/// RFC 5062 §3, hijacking: the new owner of a peer's old address requests a cookie to learn the association's tags.
mod hijacking {
    use super::*;

    //= rfc9260 5.1.3-6
    #[test]
    fn cookie_for_unverified_peer_does_not_leak_tags() {
        let mut forger = Forger::associated();
        let call = OutboundInit {
            initiate_tag: VerificationTag(0x0bad_cafe),
            ..Forger::init()
        };
        let replies = forger.send(VerificationTag::ZERO, &[&call]);
        assert_eq!(replies[0].kinds(), [kind::INIT_ACK]);
        for secret in [forger.tag(), Forger::init().initiate_tag] {
            let secret = secret.0.to_be_bytes();
            let told = replies[0].bytes.windows(4).any(|bytes| bytes == secret);
            assert!(!told, "{:?}", replies[0]);
        }
    }
}

/// RFC 5062 §5 and §6, bombing: an attacker lists others' addresses so that data or heartbeats go there.
mod bombing {
    use super::*;

    #[test]
    fn unconfirmed_addresses_get_no_data() {
        let mut forger = claims_addresses(1);
        forger.associate();
        let mut sent = Vec::new();
        for _ in 0..100 {
            sent.append(&mut forger.victim_send(Message::new(StreamId(0), vec![7; 10_000])));
        }
        // The forger acknowledges nothing, so every timeout selects another address.
        sent.append(&mut forger.run_for(secs(600)));
        assert!(to_bystanders(&sent).count() > 1, "it was probed");
        assert!(to_bystanders(&sent).all(|reply| reply.kinds() == [kind::HEARTBEAT]));
        let packets = to_bystanders(&sent).count();
        assert!(
            packets <= 6,
            "{packets} heartbeats before the address is given up"
        );
    }

    /// HB.Max.Burst is 4 (RFC 9260 §5.4).
    #[test]
    fn one_cookie_triggers_few_heartbeats_to_listed_addresses() {
        let mut forger = claims_addresses(14);
        let (cookie, tag) = forger.request_cookie();
        let echo = forger.packet(tag, &[&CookieEcho { cookie: &cookie }]);
        let replies = forger.send_bytes(&echo);
        let bytes: usize = to_bystanders(&replies).map(|reply| reply.bytes.len()).sum();
        assert_eq!(to_bystanders(&replies).count(), 4);
        assert!(bytes <= echo.len(), "{bytes} bytes for {}", echo.len());
        let later = forger.run_for(Duration::from_millis(900));
        assert_eq!(to_bystanders(&later).count(), 0, "none within the first timeout");
    }

    //= rfc9260 5.1.2-5, 5.4-3
    /// RFC 9260 §5.4: confirmed is only the address that the INIT ACK was sent to, wherever the cookie comes from.
    #[test]
    fn cookie_echo_from_other_address_confirms_only_init_address() {
        for listed in [0, 1] {
            let mut forger = claims_addresses(listed);
            let (cookie, tag) = forger.request_cookie();
            let echo = forger.packet(tag, &[&CookieEcho { cookie: &cookie }]);
            let mut sent = forger.send_bytes_from(bystander(1), &echo);
            sent.append(&mut forger.victim_send(Message::new(StreamId(0), vec![7; 100_000])));
            sent.append(&mut forger.run_for(secs(600)));
            let only = [kind::COOKIE_ACK, kind::HEARTBEAT];
            let is_harmless = |reply: &Reply| reply.kinds().iter().all(|kind| only.contains(kind));
            assert!(to_bystanders(&sent).all(is_harmless), "{sent:?}");
            let bytes: usize = to_bystanders(&sent).map(|reply| reply.bytes.len()).sum();
            let call = forger.packet(VerificationTag::ZERO, &[&Forger::init()]);
            let cost = call.len() + echo.len();
            assert!(bytes <= 3 * cost, "{bytes} bytes for {cost}");
            assert!(sent.iter().any(|reply| reply.kinds().contains(&kind::COOKIE_ACK)));
            assert!(sent.iter().any(|reply| !reply.tsns().is_empty()));
        }
    }

    /// RFC 9260 §5.4: the initiator has confirmed only the addresses that its application named.
    #[test]
    fn cookie_ack_from_other_address_does_not_confirm_it() {
        let mut forger = Forger::initiated_to();
        let answer = Forger::init_ack(&listing_bystanders(1), 40);
        forger.send(forger.tag(), &[&answer]);
        let ack = forger.packet(forger.tag(), &[&CookieAck]);
        let sent = forger.send_bytes_from(bystander(1), &ack);
        only_heartbeats_go_to_bystanders(&mut forger, sent);
    }

    #[test]
    fn init_ack_from_other_address_does_not_confirm_it() {
        let mut forger = Forger::initiated_to();
        let answer = Forger::init_ack(&listing_bystanders(1), 40);
        forger.send(forger.tag(), &[&answer]);
        let causes = CauseWriter::one(Cause::StaleCookie { staleness: 1 });
        let call = forger.send(forger.tag(), &[&OutboundError { causes }]);
        forger.receive_init(&call[0]);
        let answer = forger.packet(forger.tag(), &[&answer]);
        let mut sent = forger.send_bytes_from(bystander(1), &answer);
        assert_eq!(sent[0].kinds(), [kind::COOKIE_ECHO]);
        sent.append(&mut forger.send(forger.tag(), &[&CookieAck]));
        only_heartbeats_go_to_bystanders(&mut forger, sent);
    }

    /// The victim has a megabyte to send.
    fn only_heartbeats_go_to_bystanders(forger: &mut Forger, mut sent: Vec<Reply>) {
        for _ in 0..100 {
            sent.append(&mut forger.victim_send(Message::new(StreamId(0), vec![7; 10_000])));
        }
        assert_eq!(unconfirmed(forger), 1);
        sent.append(&mut forger.run_for(secs(600)));
        assert!(to_bystanders(&sent).count() > 1, "it was probed");
        assert!(to_bystanders(&sent).all(|reply| reply.kinds() == [kind::HEARTBEAT]));
        assert!(sent.iter().any(|reply| !reply.tsns().is_empty()));
    }

    #[test]
    fn replayed_cookie_triggers_no_packets() {
        let mut forger = claims_addresses(4);
        let (cookie, tag) = forger.request_cookie();
        let echo = CookieEcho { cookie: &cookie };
        forger.send(tag, &[&echo]);
        let abort = OutboundAbort {
            tag_reflected: false,
            causes: Vec::new(),
        };
        forger.send(tag, &[&abort]);
        let again = forger.send(tag, &[&echo]);
        assert_eq!(to_bystanders(&again).count(), 0);
    }

    #[test]
    fn cookie_preservative_does_not_extend_cookie_lifetime() {
        let mut parameters = ParameterWriter::new();
        parameters.push_raw(COOKIE_PRESERVATIVE, &u32::MAX.to_be_bytes());
        let mut forger = Forger::against(AssociationConfig::default(), parameters.finish());
        let (cookie, tag) = forger.request_cookie();
        forger.run_for(secs(61));
        let replies = forger.send(tag, &[&CookieEcho { cookie: &cookie }]);
        assert_eq!(replies[0].kinds(), [kind::ERROR]);
        assert_eq!(forger.victim().associations().len(), 0);
    }
}

/// RFC 5062 §8 and §10: one packet that asks for many replies.
mod amplification {
    use super::*;

    fn answers(forger: &mut Forger, chunks: &[&dyn WriteChunk]) {
        let packet = forger.packet(forger.tag(), chunks);
        let replies = forger.send_bytes(&packet);
        let bytes: usize = replies.iter().map(|reply| reply.bytes.len()).sum();
        assert!(replies.len() <= 1, "{replies:?}");
        assert!(bytes <= packet.len(), "{bytes} bytes for {}", packet.len());
    }

    #[test]
    fn hundred_unknown_chunks_get_one_reply() {
        let unknown = RawChunk {
            kind: 0xff,
            flags: 0,
            value: b"what?",
            bytes: &[],
            at: 0,
        };
        answers(&mut Forger::associated(), &[&unknown as &dyn WriteChunk; 100]);
    }

    #[test]
    fn data_on_hundred_invalid_streams_gets_one_reply() {
        let chunks: Vec<Data<'_>> = (0..100)
            .map(|number| says_data(number, 60_000 + number as u16, (true, true), b"where am I?"))
            .collect();
        let chunks: Vec<&dyn WriteChunk> = chunks.iter().map(|chunk| chunk as &dyn WriteChunk).collect();
        let mut forger = Forger::associated();
        answers(&mut forger, &chunks);
        assert_eq!(forger.statistics().receive_buffer_used, 0);
        assert_eq!(forger.read(), None);
    }
}

/// Hostile acknowledgements of an established peer.
mod lying_receiver {
    use super::*;

    const WINDOW: u32 = 100_000;

    /// A victim with `count` packets in flight, none of them acknowledged.
    fn with_packets_in_flight(count: usize) -> (Forger, Vec<Tsn>) {
        let mut forger = Forger::associated();
        let mut tsns = Vec::new();
        let mut acknowledged = Tsn(forger.victim_tsn().0.wrapping_sub(1));
        while tsns.len() < count {
            // Grow cwnd by acknowledging everything.
            let replies = forger.send(forger.tag(), &[&sack(acknowledged, WINDOW, &[])]);
            tsns = replies.iter().flat_map(Reply::tsns).collect();
            while let Ok(replies) = forger.victim_try_send(Message::new(StreamId(0), vec![7; 1_400])) {
                tsns.extend(replies.iter().flat_map(Reply::tsns));
                if forger.statistics().send_buffer_used > 1_000_000 {
                    break;
                }
            }
            if tsns.len() < count {
                acknowledged = *tsns.last().expect("something leaves");
            }
        }
        (forger, tsns)
    }

    #[test]
    fn reneging_peer_gets_one_packet_per_sack() {
        let (mut forger, tsns) = with_packets_in_flight(20);
        let cumulative = Tsn(tsns[0].0.wrapping_sub(1));
        let all_but_the_first = [GapBlock {
            start: 2,
            end: tsns.len() as u16,
        }];
        let mut sent = 0;
        for _ in 0..1_000 {
            sent += forger
                .send(forger.tag(), &[&sack(cumulative, WINDOW, &all_but_the_first)])
                .len();
            sent += forger.send(forger.tag(), &[&sack(cumulative, WINDOW, &[])]).len();
        }
        let statistics = forger.statistics();
        assert_eq!(forger.close_reason(), None);
        assert!(statistics.chunks_reneged > 1_000, "{statistics:?}");
        assert!(sent <= 2_000, "{sent} packets for 2,000 SACKs");
        assert!(statistics.send_buffer_used <= 4 << 20);
        // All data is still delivered.
        let last = *tsns.last().expect("there are some");
        let replies = forger.send(forger.tag(), &[&sack(last, WINDOW, &[])]);
        assert!(
            replies
                .iter()
                .flat_map(Reply::tsns)
                .all(|tsn| tsn.0.wrapping_sub(last.0) < 1 << 31)
        );
    }

    #[test]
    fn thousands_of_invalid_gap_blocks_cost_little() {
        let (mut forger, tsns) = with_packets_in_flight(20);
        let cumulative = Tsn(tsns[0].0.wrapping_sub(1));
        let within = tsns.len() as u16;
        let blocks: Vec<GapBlock> = (0..10_000_u16)
            .map(|number| GapBlock {
                start: 2 + number.wrapping_mul(7) % (within - 2),
                end: 2 + number.wrapping_mul(3) % (within - 2),
            })
            .collect();
        for _ in 0..20 {
            let replies = forger.send(forger.tag(), &[&sack(cumulative, WINDOW, &blocks)]);
            assert!(replies.len() <= tsns.len(), "{}", replies.len());
        }
        assert!(forger.statistics().sack_elements_visited < 10_000_000);
    }

    #[test]
    fn thousands_of_duplicate_tsns_are_ignored() {
        let (mut forger, tsns) = with_packets_in_flight(5);
        let duplicates = vec![tsns[0]; 10_000];
        let claim = OutboundSack {
            duplicates: &duplicates,
            ..sack(Tsn(tsns[0].0.wrapping_sub(1)), WINDOW, &[])
        };
        let replies = forger.send(forger.tag(), &[&claim]);
        assert!(replies.len() <= 1, "{replies:?}");
        assert_eq!(forger.close_reason(), None);
    }

    /// The peer answers every probe and heartbeat. The cost is the send buffer and a packet now and then; the application
    /// can abort at any time.
    #[test]
    fn permanent_zero_window_costs_few_probes() {
        let mut forger = Forger::associated();
        let cumulative = Tsn(forger.victim_tsn().0.wrapping_sub(1));
        let shut = sack(cumulative, 0, &[]);
        forger.send(forger.tag(), &[&shut]);
        while forger
            .victim_try_send(Message::new(StreamId(0), vec![7; 60_000]))
            .is_ok()
        {}
        let mut packets = 0;
        for _ in 0..60 * 60 {
            let sent = forger.run_for(secs(1));
            packets += sent.len();
            for chunk in sent.iter().flat_map(Reply::chunks) {
                match chunk {
                    Chunk::Data(_) => drop(forger.send(forger.tag(), &[&shut])),
                    Chunk::Heartbeat(heartbeat) => {
                        drop(forger.send(forger.tag(), &[&HeartbeatAck { info: heartbeat.info }]));
                    }
                    _ => {}
                }
            }
        }
        assert!((100..1_800).contains(&packets), "{packets} packets in an hour");
        assert_eq!(forger.close_reason(), None);
        assert!(forger.statistics().send_buffer_used <= 4 << 20);
    }
}

/// Hostile data of an established peer.
mod lying_sender {
    use super::*;

    /// Each chunk is charged its overhead, not only its byte, so the window closes before the message is complete. It opens
    /// as the application takes parts of the message.
    #[test]
    fn message_of_one_byte_fragments_arrives_in_parts_when_buffer_is_full() {
        const COUNT: u32 = 300_000;
        let mut forger = Forger::associated();
        let (mut held, mut parts, mut bytes) = (0, 0, 0);
        for first in (0..COUNT).step_by(1_000) {
            sends_bytes_of_one_message(&mut forger, first..first + 1_000, COUNT);
            held = held.max(forger.statistics().receive_buffer_used);
            while let Some(part) = forger.read() {
                bytes += part.payload.len();
                parts += 1;
                assert_eq!(part.extent.completes(), bytes == COUNT as usize);
            }
        }
        assert_eq!((bytes, forger.close_reason()), (COUNT as usize, None));
        // 4 × 4 MiB of memory, with 192 bytes for each chunk, and the chunks of one packet.
        assert!((80_000..89_000).contains(&held), "{held} bytes");
        assert!(parts > 1);
    }

    /// All messages are complete but wait for the first one of their stream, for which the window has no room.
    #[test]
    fn messages_after_missing_first_end_it_when_buffer_is_full() {
        let mut forger = Forger::associated();
        let payload = vec![7; 40_000];
        for number in 0..200 {
            let data = Data {
                ssn: Ssn(1 + number as u16),
                ..says_data(number, 0, (true, true), &payload)
            };
            forger.send(forger.tag(), &[&data]);
        }
        assert_ended_by_a_full_buffer(&forger);
    }

    fn assert_ended_by_a_full_buffer(forger: &Forger) {
        let reason = forger.close_reason();
        let Some(CloseReason::PeerViolation(what)) = &reason else {
            panic!("{reason:?}");
        };
        assert_eq!(what, "messages begun exceed the receive buffer");
    }

    #[test]
    fn message_of_fifty_thousand_one_byte_fragments_is_delivered() {
        const COUNT: u32 = 50_000;
        let mut forger = Forger::associated();
        sends_bytes_of_one_message(&mut forger, 0..COUNT / 2, COUNT);
        sends_bytes_of_one_message(&mut forger, COUNT / 2..COUNT, COUNT);
        let message = forger.read().expect("it is whole");
        assert_eq!(message.payload.len(), COUNT as usize);
        assert_eq!(forger.statistics().receive_buffer_used, 0);
    }

    /// Sends these bytes of a message of `count` bytes as one-byte chunks, up to 2,000 per packet.
    fn sends_bytes_of_one_message(forger: &mut Forger, numbers: Range<u32>, count: u32) {
        let chunk = |number: u32| says_data(number, 0, (number == 0, number + 1 == count), b"x");
        let chunks: Vec<Data<'_>> = numbers.map(chunk).collect();
        for chunks in chunks.chunks(2_000) {
            let chunks: Vec<&dyn WriteChunk> = chunks.iter().map(|chunk| chunk as &dyn WriteChunk).collect();
            let packet = forger.packet(forger.tag(), &chunks);
            forger.send_bytes(&packet);
        }
    }

    /// It is delivered in parts, and what is not taken fills the buffer at most.
    #[test]
    fn message_without_last_fragment_fills_the_buffer_at_most() {
        let mut forger = Forger::associated();
        let piece = vec![7; 40_000];
        for number in 0..300 {
            let flags = (number == 0, false);
            forger.send(forger.tag(), &[&says_data(number, 0, flags, &piece)]);
        }
        let held = forger.statistics().receive_buffer_used;
        assert!(held < (4 << 20) + 40_000, "{held} bytes");
        assert_eq!(forger.close_reason(), None);
        assert_eq!(forger.read().map(|part| part.extent), Some(Extent::Beginning));
    }

    #[test]
    fn repeated_duplicate_data_is_acknowledged_but_not_stored() {
        let mut forger = Forger::associated();
        let data = says_data(0, 0, (true, true), b"again");
        for _ in 0..10_000 {
            let replies = forger.send(forger.tag(), &[&data]);
            assert!(replies.len() <= 1);
            assert!(replies.iter().all(|reply| reply.bytes.len() < 400), "{replies:?}");
        }
        assert_eq!(forger.statistics().receive_buffer_used, 5);
        assert!(forger.read().is_some());
        assert_eq!(forger.read(), None);
    }
}

/// Checks the test names in `docs/security.md`.
#[test]
fn every_test_named_in_security_md_exists() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(here.join("../../docs/security.md")).expect("the page");
    let mut sources = String::new();
    for folder in [
        "src/scenario",
        "../proto/src",
        "../anabranch/src",
        "../anabranch/tests",
        "../dtls/src",
        "../secure/src",
        "../capi/src",
        "../capi/tests",
        "../cli/src",
        "../cli/tests",
        "../dashboard/src",
        "../dashboard/tests",
        "../datachannel/src",
        "../tunnel/src",
        "../tunnel/tests",
    ] {
        read_all(&here.join(folder), &mut sources);
    }
    let is_test = |word: &&str| word.matches('_').count() > 3;
    let named: Vec<&str> = page
        .split('`')
        .filter(is_test)
        .filter(|word| !word.contains(' '))
        .collect();
    assert!(named.len() > 30, "{}", named.len());
    for test in named {
        assert!(sources.contains(&format!("fn {test}()")), "{test}");
    }
}

fn read_all(folder: &Path, into: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            read_all(&path, into);
        } else {
            into.push_str(&std::fs::read_to_string(&path).expect("a source"));
        }
    }
}

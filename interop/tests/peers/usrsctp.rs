//! Interoperability with usrsctp, FreeBSD's stack in user space.

use std::io;

use anabranch::BufferSize;
use anabranch_interop::{Stack, Workload};
use anabranch_wire::chunk::kind;

use crate::conversation::{Conversation, End};

const SMALL: Workload = Workload::ordered(5_000, &[1_000, 40, 4], 10);
const LARGE: Workload = Workload::ordered(40, &[262_144, 30_000, 700_001], 3);
const ONE_STREAM: Workload = Workload::ordered(5_000, &[1_000, 40], 1);
const MANY_STREAMS: Workload = Workload::ordered(6_000, &[300], 2_000);

fn with_usrsctp(workload: Workload) -> Conversation {
    Conversation::with(Stack::Usrsctp, workload)
}

/// usrsctp accepts a message only if its send buffer has room for the whole message.
fn with_large_messages(workload: Workload) -> Conversation {
    with_usrsctp(workload).option(&["--send-buffer", "2000000", "--receive-buffer", "2000000"])
}

fn run(conversation: Conversation) -> io::Result<()> {
    conversation.run().map(|_| ())
}

#[test]
fn we_connect_and_shut_down() -> io::Result<()> {
    run(with_usrsctp(SMALL))
}

#[test]
fn peer_connects_and_shuts_down() -> io::Result<()> {
    run(with_usrsctp(SMALL).peer_connects().ends(End::PeerShutsDown))
}

#[test]
fn data_with_the_cookie_echo_is_delivered() -> io::Result<()> {
    const SHORT_FIRST: Workload = Workload::ordered(500, &[40, 1_000, 4], 1);
    run(with_usrsctp(SHORT_FIRST).early())
}

#[test]
fn ordered_and_unordered_messages_are_delivered() -> io::Result<()> {
    run(with_usrsctp(SMALL.half_unordered()).ends(End::PeerShutsDown))
}

#[test]
fn messages_of_hundreds_of_fragments_are_delivered() -> io::Result<()> {
    run(with_large_messages(LARGE))
}

/// Each message is ten times as long as any of the four buffers. With `SCTP_EXPLICIT_EOR` usrsctp sends in parts, too.
#[test]
fn messages_longer_than_all_buffers_are_delivered_in_parts() -> io::Result<()> {
    const LONG: Workload = Workload::ordered(6, &[1_000_000], 2);
    for workload in [LONG, LONG.half_unordered()] {
        let conversation = with_usrsctp(workload).in_parts(30_000);
        let conversation = conversation.option(&["--send-buffer", "100000", "--receive-buffer", "100000"]);
        run(conversation.we(|config| {
            config.send_buffer = BufferSize::Fixed(100_000);
            config.receive_buffer = BufferSize::Fixed(100_000);
        }))?;
    }
    Ok(())
}

#[test]
fn large_unordered_messages_are_delivered() -> io::Result<()> {
    run(with_large_messages(LARGE.half_unordered()).peer_connects())
}

#[test]
fn messages_on_two_thousand_streams_are_delivered() -> io::Result<()> {
    run(with_usrsctp(MANY_STREAMS).we(|config| config.outbound_streams = 2_000))
}

#[test]
fn messages_on_one_stream_are_delivered() -> io::Result<()> {
    run(with_usrsctp(ONE_STREAM).we(|config| config.outbound_streams = 1))
}

#[test]
fn unordered_messages_over_two_paths_are_delivered() -> io::Result<()> {
    let conversation = with_usrsctp(SMALL.half_unordered()).over_links(2);
    run(conversation.option(&["--set", "cmt_on_off=1"]))
}

/// Both send FORWARD TSN (RFC 3758).
#[test]
fn lost_messages_are_abandoned_by_both() -> io::Result<()> {
    let workload = SMALL.half_unordered().half_unreliable(0);
    let conversation = with_usrsctp(workload).loses_each(20);
    let conversation = conversation.we(|config| config.partial_reliability = true);
    run(conversation.peer_sends_chunk(kind::FORWARD_TSN))
}

/// RFC 4895: DATA, SACK, COOKIE ECHO and others are authenticated by a shared key, as either end or both require.
#[test]
fn all_chunks_are_authenticated() -> io::Result<()> {
    const CHUNKS: [u8; 9] = [0, 3, 4, 5, 7, 8, 10, 11, 192];
    let list = CHUNKS.map(|kind| kind.to_string()).join(",");
    for (we, peer) in [(true, true), (true, false), (false, true)] {
        for peer_connects in [false, true] {
            let mut conversation = with_usrsctp(SMALL).option(&["--key", "a secret"]);
            if peer {
                conversation = conversation.option(&["--auth", &list]);
            }
            if we {
                conversation = conversation.peer_sends_chunk(kind::AUTH);
            }
            if peer_connects {
                conversation = conversation.peer_connects().ends(End::PeerShutsDown);
            }
            run(conversation.we(|config| {
                config.authentication_key = b"a secret".to_vec();
                if we {
                    config.authenticated_chunks = CHUNKS.to_vec();
                }
            }))?;
        }
    }
    Ok(())
}

/// RFC 6458 §5.3.8: messages of both name three shared keys in turn, and packets are lost.
#[test]
fn messages_name_their_shared_keys() -> io::Result<()> {
    let workload = Workload::ordered(300, &[1_000, 40, 4], 10).half_unordered();
    let conversation = with_usrsctp(workload).loses_each(20).names_keys(3);
    let conversation = conversation.option(&["--key", "a secret", "--auth", "0,3"]);
    let conversation = conversation.peer_sends_chunk(kind::AUTH).we(|config| {
        config.authentication_key = b"a secret".to_vec();
        config.authenticated_chunks = vec![kind::DATA, kind::SACK];
    });
    run(conversation)
}

/// RFC 4960 Appendix A: usrsctp answers our ECNE by CWR. Its UDP sockets do not tell it of marks.
#[test]
fn marks_of_received_packets_are_answered_by_cwr() -> io::Result<()> {
    let conversation = with_usrsctp(SMALL).marks_every(20).peer_sends_chunk(kind::CWR);
    run(conversation.we(|config| {
        let set = config.policies.set("ecn", "on");
        set.expect("an option that exists");
    }))
}

/// Directly over IP, usrsctp reads the marks of our packets, too.
#[test]
fn marks_of_sent_packets_are_echoed_by_ecne() -> io::Result<()> {
    let conversation = with_usrsctp(SMALL).over_links(1).directly_over_ip();
    let conversation = conversation.marks_every(20).peer_sends_chunk(kind::ECNE);
    run(conversation.we(|config| {
        let set = config.policies.set("ecn", "on");
        set.expect("an option that exists");
    }))
}

/// Both reset their outgoing streams (RFC 6525), and messages go on in order.
#[test]
fn streams_are_reset_by_both() -> io::Result<()> {
    let conversation = with_usrsctp(SMALL.half_unordered()).option(&["--reset"]).resets();
    let conversation = conversation.we(|config| config.reconfiguration = true);
    run(conversation.peer_sends_chunk(kind::RE_CONFIG))
}

#[test]
fn we_abort() -> io::Result<()> {
    run(with_usrsctp(SMALL).ends(End::WeAbort))
}

#[test]
fn peer_aborts() -> io::Result<()> {
    run(with_usrsctp(SMALL).peer_sends(0).ends(End::PeerAborts))
}

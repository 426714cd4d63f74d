//! Do usrsctp and we understand each other, as client and as server? Over UDP on the loopback interface.

use std::io;
use std::time::Duration;

use anabranch_interop::{Host, Tools, Tsctp, Verdict, free_udp_port};
use anabranch_proto::{AssociationConfig, CloseReason, Message, SendError};
use anabranch_types::StreamId;
use bytes::Bytes;

const SCTP_PORT: u16 = 5_001;

/// Far more than a healthy run takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn judge(host: Host, tools: &Tools) -> io::Result<()> {
    let own_port = host.address()?.port();
    let verdict = host.judge(|recording| Verdict::of(&tools.tshark, recording, own_port))?;
    assert!(verdict.good_checksums > 1_000, "{verdict:?}");
    assert!(verdict.is_clean(), "{verdict:#?}");
    Ok(())
}

/// usrsctp sends, we receive.
fn we_receive(count: usize, length: usize) -> io::Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let mut host = Host::new(SCTP_PORT, &AssociationConfig::default())?;
    let address = host.address()?;
    let mut peer = Tsctp::send(&tools.tsctp, free_udp_port(), address, SCTP_PORT, (count, length))?;
    let mut lengths = Vec::new();
    host.talk(PATIENCE, |host| {
        if let Some(mut association) = host.association.and_then(|id| host.endpoint.association_mut(id)) {
            lengths.extend(std::iter::from_fn(|| association.receive()).map(|message| message.payload.len()));
        }
        host.closed.is_some()
    })?;
    assert_eq!(host.closed, Some(CloseReason::Finished));
    assert_eq!(lengths, vec![length; count]);
    let mut status = None;
    host.talk(PATIENCE, |_| {
        status = peer.ended().ok().flatten();
        status.is_some()
    })?;
    assert!(status.is_some_and(|status| status.success()), "tsctp: {status:?}");
    judge(host, &tools)
}

fn is_refusal(why: &CloseReason) -> bool {
    matches!(why, CloseReason::AbortedByPeer(_))
}

/// We send, usrsctp receives.
fn we_send(count: usize, length: usize) -> io::Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let config = AssociationConfig {
        peer_sctp_port: SCTP_PORT,
        ..AssociationConfig::default()
    };
    let mut host = Host::new(SCTP_PORT + 1, &config)?;
    let peer_port = free_udp_port();
    let peer = Tsctp::serve(&tools.tsctp, peer_port, host.address()?.port(), SCTP_PORT)?;
    let remote = ([127, 0, 0, 1], peer_port).into();
    let now = host.now();
    host.association = host.endpoint.connect(now, &[remote], &config).ok();
    let payload = Bytes::from(vec![7; length]);
    let mut sent = 0;
    host.talk(PATIENCE, |host| {
        // INIT is repeated until the server is there; one that has its UDP socket, but does not listen yet, refuses.
        if sent == 0 && host.closed.take_if(|why| is_refusal(why)).is_some() {
            let now = host.now();
            host.association = host.endpoint.connect(now, &[remote], &config).ok();
        }
        if let Some(mut association) = host.association.and_then(|id| host.endpoint.association_mut(id)) {
            while association.is_connected() && sent < count {
                let stream = StreamId((sent % 4) as u16);
                match association.send(Message::new(stream, payload.clone())) {
                    Ok(_) => sent += 1,
                    Err(SendError::BufferFull) => break,
                    Err(error) => panic!("{error}"),
                }
            }
            if sent == count {
                association.shutdown();
            }
        }
        host.closed.is_some()
    })?;
    assert_eq!(host.closed, Some(CloseReason::Finished), "after {sent} messages");
    let mut messages = None;
    host.talk(PATIENCE, |_| {
        messages = peer.messages().ok().flatten();
        messages.is_some()
    })?;
    assert_eq!(messages, Some(count));
    judge(host, &tools)
}

#[test]
fn ten_thousand_messages_arrive_from_usrsctp() -> io::Result<()> {
    we_receive(10_000, 1_000)
}

#[test]
fn ten_thousand_messages_arrive_at_usrsctp() -> io::Result<()> {
    we_send(10_000, 1_000)
}

#[test]
fn messages_of_many_fragments_arrive_from_usrsctp() -> io::Result<()> {
    we_receive(500, 30_000)
}

#[test]
fn messages_of_many_fragments_arrive_at_usrsctp() -> io::Result<()> {
    we_send(500, 30_000)
}

#[test]
fn bundles_of_small_messages_arrive_from_usrsctp() -> io::Result<()> {
    we_receive(50_000, 40)
}

#[test]
fn bundles_of_small_messages_arrive_at_usrsctp() -> io::Result<()> {
    we_send(50_000, 40)
}

//! Messages that are sent in parts while they are written. What becomes of an unfinished one?

use core::time::Duration;

use anabranch_policy::PolicyRecipe;
use anabranch_proto::{
    AssociationConfig, BufferSize, CloseReason, Event, Extent, Message, MessagePart, Reconfiguration,
    Reliability, SendError,
};
use anabranch_sim::app::{Draft, InParts, LONGEST_MESSAGE, Reading, Workload};
use anabranch_types::{MessageId, StreamId};

use crate::fixture::{Pair, PairBuilder, Peer, mbit, ms, secs};

const STREAM: StreamId = StreamId(0);

/// One message in parts of 10,000 bytes.
fn in_parts(stream: u16, bytes: usize, pause: Duration) -> Workload {
    let draft = Draft::new(stream, bytes);
    Workload::InParts(InParts::new(draft, Reliability::Reliable, 10_000, pause))
}

/// Two paths, and buffers of 40,000 bytes.
fn small_buffers(interleaving: bool) -> PairBuilder {
    let mut policies = PolicyRecipe::recommended();
    let choice = if interleaving { "on" } else { "off" };
    policies
        .set("interleaving", choice)
        .expect("an option that exists");
    Pair::two_paths(mbit(10), ms(20))
        .policies(policies)
        .with(|config| {
            config.send_buffer = BufferSize::Fixed(40_000);
            config.receive_buffer = BufferSize::Fixed(40_000);
        })
}

fn part(peer: Peer<'_>, part: MessagePart) -> Result<MessageId, SendError> {
    peer.act(|_, association, _| association.send(part))
}

fn begin(peer: Peer<'_>, bytes: usize, reliability: Reliability) -> MessageId {
    let first = Message::new(STREAM, vec![7; bytes]).with_reliability(reliability);
    part(peer, MessagePart::Beginning(first)).expect("room")
}

fn go_on(peer: Peer<'_>, id: MessageId) -> Result<MessageId, SendError> {
    part(peer, MessagePart::Middle(id, vec![7; 1_000].into()))
}

fn finish(peer: Peer<'_>, id: MessageId) -> Result<MessageId, SendError> {
    part(peer, MessagePart::End(id, vec![7; 1_000].into()))
}

fn received(peer: Peer<'_>) -> Vec<Extent> {
    peer.act(|_, association, _| {
        let received = core::iter::from_fn(|| association.receive());
        received.map(|part| part.extent).collect()
    })
}

/// Bob delivers messages in parts from 2,000 bytes on, and his application does not read by itself.
fn reading_parts(config: impl FnOnce(&mut AssociationConfig)) -> Pair {
    let mut pair = Pair::one_path(mbit(10), ms(20))
        .with(|all| {
            all.partial_delivery_point = 2_000;
            config(all);
        })
        .build();
    pair.alice().connect();
    pair.run_until(Pair::is_connected, secs(1));
    pair.bob().set_reading(Reading::Paused);
    pair
}

fn both_finished(pair: &mut Pair) {
    pair.run_until(
        |pair| pair.alice().is_closed() && pair.bob().is_closed(),
        secs(60),
    );
    for reason in [pair.alice().close_reason(), pair.bob().close_reason()] {
        assert_eq!(reason, Some(CloseReason::Finished));
    }
    pair.assert_all_delivered();
}

//= rfc9260 6.9-16
/// Both buffers hold a small part of the message. The writer is slower than the paths, or faster.
#[test]
fn message_longer_than_both_buffers_arrives() {
    for interleaving in [false, true] {
        for pause in [ms(30), ms(0)] {
            let mut pair = small_buffers(interleaving).connected();
            pair.set_loss(0, 0.02);
            pair.alice().start_workload(in_parts(0, LONGEST_MESSAGE, pause));
            pair.bob().start_workload(in_parts(1, 300_000, pause));
            pair.deliver_all(secs(30));
        }
    }
}

/// Without interleaving, all other messages wait for the end, and must not fill the buffer that the next part needs.
#[test]
fn unfinished_message_is_finished_behind_a_full_buffer() {
    let mut pair = small_buffers(false).connected();
    pair.alice().start_workload(in_parts(0, 100_000, ms(200)));
    pair.run_for(ms(100));
    for stream in [1, 2, 3] {
        pair.alice().send(Draft::new(stream, 13_000));
    }
    pair.deliver_all(secs(10));
}

#[test]
fn other_streams_are_served_between_parts_with_interleaving() {
    let mut pair = small_buffers(true).connected();
    pair.alice().start_workload(in_parts(0, 100_000, secs(1)));
    pair.run_for(ms(100));
    pair.alice().send(Draft::new(1, 5_000));
    pair.run_for(ms(200));
    assert!(pair.bob().inbox().has(1));
    pair.deliver_all(secs(20));
}

//= rfc9260 9.2-24, 9.2-25
/// The message was passed to the core before the shutdown, so its end is still accepted; new messages are not.
#[test]
fn shutdown_waits_for_the_end_of_the_message() {
    let mut pair = small_buffers(false).connected();
    pair.alice().start_workload(in_parts(0, 100_000, ms(200)));
    pair.run_for(ms(500));
    pair.alice().shutdown();
    let refused = part(pair.alice(), Message::new(StreamId(1), "new").into());
    assert_eq!(refused, Err(SendError::Closing));
    pair.run_for(secs(1));
    assert!(!pair.alice().has_flushed());
    both_finished(&mut pair);
}

/// The peer has nothing more to send, but accepts the rest of the message.
#[test]
fn message_is_finished_after_the_shutdown_of_the_peer() {
    let mut pair = small_buffers(false).connected();
    pair.alice().start_workload(in_parts(0, 100_000, ms(200)));
    pair.run_for(ms(500));
    pair.bob().shutdown();
    pair.run_until(
        |pair| pair.alice().has_event(|event| *event == Event::PeerShutdown),
        secs(1),
    );
    let refused = part(pair.alice(), Message::new(StreamId(1), "new").into());
    assert_eq!(refused, Err(SendError::Closing));
    both_finished(&mut pair);
}

#[test]
fn abort_ends_the_message_at_the_peer() {
    let mut pair = reading_parts(|_| {});
    let id = begin(pair.alice(), 3_000, Reliability::Reliable);
    pair.run_for(ms(200));
    assert!(received(pair.bob()).contains(&Extent::Beginning));
    pair.alice().abort();
    pair.run_for(ms(200));
    assert_eq!(go_on(pair.alice(), id), Err(SendError::NotConnected));
    assert_eq!(received(pair.bob()), [Extent::Aborted]);
}

/// The stream restarts after the message, not in the middle of it.
#[test]
fn reset_of_the_stream_waits_for_the_end_of_the_message() {
    let mut pair = reading_parts(|config| config.reconfiguration = true);
    let id = begin(pair.alice(), 1_000, Reliability::Reliable);
    let reset = Reconfiguration::ResetOutbound(vec![STREAM]);
    pair.alice()
        .act(|_, association, _| association.reconfigure(reset.clone()))
        .expect("the peer supports it");
    pair.run_for(secs(2));
    let is_reset = |event: &Event| matches!(event, Event::Reconfigured { .. });
    assert!(!pair.alice().has_event(is_reset));
    go_on(pair.alice(), id).expect("it is unfinished");
    finish(pair.alice(), id).expect("it is unfinished");
    pair.run_for(ms(200));
    // Bob resets the stream when his application has read all of it.
    let first = received(pair.bob());
    assert_eq!(first.first(), Some(&Extent::Beginning));
    assert_eq!(first.last(), Some(&Extent::End));
    pair.run_until(|pair| pair.alice().has_event(is_reset), secs(2));
    part(pair.alice(), Message::new(STREAM, "next").into()).expect("room");
    pair.run_for(ms(200));
    assert_eq!(received(pair.bob()), [Extent::Whole]);
}

//= rfc9260 5.2.4-4
/// Alice loses all state. The rest of Bob's message is refused, and so is not taken for that of another message; the rest of hers does not
/// arrive.
#[test]
fn restart_of_the_peer_ends_the_message_of_both() {
    let mut pair = Pair::one_path(mbit(10), ms(20))
        .with(|all| all.partial_delivery_point = 2_000)
        .build();
    let port = |config: &mut AssociationConfig| config.local_sctp_port = Some(40_000);
    pair.alice().connect_with(port);
    pair.run_until(Pair::is_connected, secs(1));
    pair.bob().set_reading(Reading::Paused);
    begin(pair.alice(), 3_000, Reliability::Reliable);
    let lost = begin(pair.bob(), 3_000, Reliability::Reliable);
    pair.run_for(ms(200));
    assert!(received(pair.bob()).contains(&Extent::Beginning));
    pair.alice().lose_all_state();
    pair.alice().connect_with(port);
    pair.run_until(
        |pair| {
            pair.bob()
                .has_event(|event| matches!(event, Event::Restarted { undelivered: 1 }))
        },
        secs(2),
    );
    let next = begin(pair.bob(), 1_000, Reliability::Reliable);
    assert_eq!(go_on(pair.bob(), lost), Err(SendError::NoSuchMessage));
    finish(pair.bob(), next).expect("it is unfinished");
    pair.run_for(ms(200));
    assert!(pair.bob().has_flushed());
    let to_alice = pair.alice().statistics();
    assert_eq!(to_alice.receive_buffer_used, 0);
}

//= rfc3758 3.5-1
/// The lifetime ends between two parts. The peer is told, also if it has delivered the first part, and the stream is free again.
#[test]
fn unfinished_message_is_abandoned() {
    for (bytes, delivered) in [(500, false), (3_000, true)] {
        let mut pair = reading_parts(|config| config.partial_reliability = true);
        let id = begin(pair.alice(), bytes, Reliability::Lifetime(ms(300)));
        pair.run_for(ms(200));
        assert_eq!(received(pair.bob()).contains(&Extent::Beginning), delivered);
        go_on(pair.alice(), id).expect("it is alive");
        pair.run_for(secs(2));
        let abandoned = pair.alice().statistics().abandoned;
        assert_eq!((abandoned.sent, abandoned.unsent), (1, 0));
        assert_eq!(go_on(pair.alice(), id), Err(SendError::NoSuchMessage));
        part(pair.alice(), Message::new(STREAM, "next").into()).expect("the stream is free");
        pair.run_for(ms(500));
        let after = received(pair.bob());
        assert_eq!(after.contains(&Extent::Aborted), delivered, "{after:?}");
        assert_eq!(after.last(), Some(&Extent::Whole));
        assert!(pair.alice().has_flushed());
    }
}

//= rfc9260 6.1-4
/// Bob's partial delivery point is his buffer, in which the last full-sized packet does not fit. So he advertises a window that Alice does
/// not use (RFC 9260 §6.1), until she probes it.
#[test]
fn window_probe_begins_the_partial_delivery_of_a_full_buffer() {
    for interleaving in [false, true] {
        let mut pair = small_buffers(interleaving)
            .with(|config| {
                config.receive_buffer = BufferSize::Fixed(10_000);
                config.partial_delivery_point = 10_000;
            })
            .connected();
        pair.alice().start_workload(in_parts(0, 200_000, ms(0)));
        // One probe, after an RTO of a second; then each fragment is delivered as it arrives.
        pair.deliver_all(secs(4));
    }
}

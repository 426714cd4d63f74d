//! Streams and ordering (RFC 9260 §6.5, §6.6). Which messages wait for which?

use anabranch_proto::{Event, Reconfiguration};
use anabranch_sim::app::{Bulk, Draft, Streams};
use anabranch_types::{Seed, StreamId};
use anabranch_wire::chunk::kind;

use crate::fixture::{Pair, mbit, ms, secs};

#[test]
fn lost_message_blocks_only_its_own_stream() {
    let mut pair = Pair::one_path(mbit(10), ms(20)).connected();
    pair.drop_next(1, kind::DATA);
    pair.alice().send(Draft::new(0, 1_000));
    pair.run_for(ms(1));
    for stream in [1, 0, 2] {
        pair.alice().send(Draft::new(stream, 1_000));
    }
    pair.run_for(ms(40));
    let inbox = pair.bob().inbox().clone();
    assert!(inbox.has(1) && inbox.has(3), "streams 1 and 2 lost nothing");
    assert!(
        !inbox.has(0) && !inbox.has(2),
        "stream 0 waits for its first message"
    );
    pair.deliver_all(secs(2));
}

//= rfc9260 3.3.1-3
#[test]
fn unordered_message_is_delivered_at_once() {
    let mut pair = Pair::one_path(mbit(10), ms(20)).connected();
    pair.drop_next(1, kind::DATA);
    pair.alice().send(Draft::new(0, 1_400));
    pair.run_for(ms(1));
    pair.alice().send(Draft::new(0, 1_400).unordered());
    pair.run_for(ms(40));
    assert!(pair.bob().inbox().has(1));
    pair.deliver_all(secs(2));
}

//= rfc9260 6.6-1
#[test]
fn many_streams_keep_order_under_loss() {
    let mut pair = Pair::two_paths(mbit(20), ms(15)).connected();
    pair.set_loss(0, 0.02);
    pair.set_loss(1, 0.05);
    pair.alice()
        .send_messages(3_000, 700, Streams::random(1_000, Seed(3)));
    pair.deliver_all(secs(60));
}

//= rfc5061 3-4
//= rfc9260 6.5-5
#[test]
fn stream_sequence_numbers_wrap() {
    let mut pair = Pair::one_path(mbit(100), ms(1)).connected();
    pair.alice().send_messages(70_000, 10, Streams::one(0));
    pair.deliver_all(secs(30));
}

#[test]
fn large_unordered_messages_survive_loss() {
    let mut pair = Pair::two_paths(mbit(20), ms(15)).connected();
    pair.set_loss(0, 0.03);
    pair.set_loss(1, 0.03);
    pair.alice()
        .start_bulk(Bulk::new(10_000, Streams::in_turn(3)).messages(100).unordered());
    pair.deliver_all(secs(60));
}

#[test]
fn fragmented_message_survives_loss() {
    let mut pair = Pair::two_paths(mbit(20), ms(15)).connected();
    pair.set_loss(0, 0.05);
    pair.set_loss(1, 0.01);
    pair.alice().send(Draft::new(0, 1 << 20));
    pair.bob().send(Draft::new(5, 900_001));
    pair.deliver_all(secs(60));
}

#[test]
fn messages_of_lengths_around_the_mtu_are_delivered() {
    let mut pair = Pair::two_paths(mbit(100), ms(1)).connected();
    for bytes in (1..20).chain(1_400..1_480).chain(2_850..2_920) {
        pair.alice().send(Draft::new(0, bytes));
    }
    pair.deliver_all(secs(2));
}

//= rfc9260 6-12
#[test]
fn small_messages_are_bundled() {
    let mut pair = Pair::one_path(mbit(10), ms(20)).connected();
    let before = pair.alice().tally().packets_sent;
    pair.alice().send_messages(100, 100, Streams::in_turn(10));
    pair.deliver_all(secs(1));
    // A hundred chunks of 116 bytes fill nine packets; the first may be sent before the others are queued.
    assert!(pair.alice().tally().packets_sent - before <= 12);
}

//= rfc6525 5.2.2-1, 5.2.3-1, 5.2.3-3, 5.2.7-1
/// Each end has a request in flight while it answers that of the other.
#[test]
fn both_ends_ask_for_resets_at_once_and_both_succeed() {
    let mut pair = Pair::one_path(mbit(10), ms(20))
        .with(|config| config.reconfiguration = true)
        .connected();
    pair.alice().send(Draft::new(0, 1_000));
    pair.bob().send(Draft::new(0, 1_000));
    pair.deliver_all(secs(2));
    let streams = vec![StreamId(0)];
    let change = Reconfiguration::ResetInbound(streams.clone());
    for end in [Pair::alice, Pair::bob] {
        let asked = end(&mut pair).act(|_, association, _| association.reconfigure(change.clone()));
        assert_eq!(asked, Ok(()));
    }
    pair.run_for(secs(2));
    let accepted = Event::Reconfigured {
        change,
        accepted: true,
    };
    let reset = Event::InboundReset { streams };
    for end in [Pair::alice, Pair::bob] {
        assert!(end(&mut pair).has_event(|event| *event == accepted));
        assert!(end(&mut pair).has_event(|event| *event == reset));
    }
    pair.alice().send(Draft::new(0, 1_000));
    pair.bob().send(Draft::new(0, 1_000));
    pair.deliver_all(secs(2));
}

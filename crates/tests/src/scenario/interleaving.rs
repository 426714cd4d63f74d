//! Message interleaving (RFC 8260). Does a short message have to wait for the end of a long one?

use std::time::Duration;

use anabranch_policy::PolicyRecipe;
use anabranch_proto::BufferSize;
use anabranch_sim::app::{Bulk, Draft, Streams};
use anabranch_sim::{Scenario, Side};
use anabranch_types::StreamId;
use anabranch_wire::chunk::kind;

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

fn interleaving(on: &str) -> PolicyRecipe {
    let mut policies = PolicyRecipe::recommended();
    policies.set("interleaving", on).unwrap();
    policies.set("stream-scheduler", "priority").unwrap();
    policies
}

fn on_one_path(on: &str) -> PairBuilder {
    Pair::one_path(mbit(10), ms(20)).policies(interleaving(on))
}

/// Mean delay of short messages on the high-priority stream 1 while a message of one megabyte is sent on stream 0.
fn delay_of_urgent_messages(on: &str) -> Duration {
    let mut pair = on_one_path(on).connected();
    pair.alice()
        .act(|_, association, _| association.set_stream_priority(StreamId(0), 1))
        .expect("a stream that exists");
    let since = pair.simulation.now();
    pair.alice().send(Draft::new(0, 1 << 20));
    for _ in 0..5 {
        pair.run_for(ms(100));
        pair.alice().send(Draft::new(1, 100));
    }
    pair.deliver_all(secs(10));
    pair.mean_stream_delay(1, since)
}

#[test]
fn urgent_message_overtakes_large_message_in_transfer() {
    let (with, without) = (delay_of_urgent_messages("on"), delay_of_urgent_messages("off"));
    println!("{with:?} with interleaving, {without:?} without");
    // Packets already in the network go first in any case.
    assert!(with < ms(150), "{with:?}");
    assert!(without > ms(450), "{without:?}");
}

#[test]
fn ordered_and_unordered_messages_survive_loss() {
    for scheduler in ["rr", "fcfs", "rr-packet", "wfq"] {
        let mut policies = interleaving("on");
        policies.set("stream-scheduler", scheduler).unwrap();
        let mut pair = Pair::two_paths(mbit(20), ms(15)).policies(policies).connected();
        pair.set_loss(0, 0.05);
        pair.set_loss(1, 0.02);
        pair.alice()
            .start_bulk(Bulk::new(20_000, Streams::in_turn(5)).messages(100));
        pair.alice()
            .start_bulk(Bulk::new(7_000, Streams::in_turn(5)).messages(100).unordered());
        pair.bob().send_messages(100, 9_000, Streams::in_turn(3));
        pair.deliver_all(secs(60));
    }
}

//= rfc8260 2.2.2-4, 2.2.2-6
/// Eight messages, each half as long as the receive buffer, on eight streams: if all were started at once, none could
/// complete.
#[test]
fn messages_that_fill_the_receive_buffer_are_sent_in_turn() {
    let mut policies = interleaving("on");
    policies.set("stream-scheduler", "rr").unwrap();
    let mut pair = Pair::two_paths(mbit(20), ms(15))
        .policies(policies)
        .with(|config| {
            config.receive_buffer = BufferSize::Fixed(100_000);
            config.max_message = 50_000;
        })
        .connected();
    pair.alice().send_messages(40, 50_000, Streams::in_turn(8));
    pair.deliver_all(secs(10));
}

//= rfc8260 2-1, 2.2.1-3, 2.2.1-4
#[test]
fn peer_without_interleaving_gets_data_chunks() {
    for side in Side::BOTH {
        let only_one = move |scenario: Scenario| {
            let config = anabranch_proto::AssociationConfig {
                policies: interleaving("off"),
                ..Default::default()
            };
            scenario.config_of(side, config)
        };
        let mut pair = on_one_path("on").scenario(only_one).connected();
        let seen = pair.record_chunks_of_bob(0);
        pair.alice().send_messages(10, 10_000, Streams::in_turn(2));
        pair.bob().send_messages(10, 10_000, Streams::in_turn(2));
        pair.deliver_all(secs(5));
        assert!(
            seen.kinds().contains(&kind::DATA) && !seen.kinds().contains(&kind::I_DATA),
            "{side:?}"
        );
    }
}

//= rfc8260 2.2.1-1, 2.2.1-2
#[test]
fn negotiated_interleaving_uses_only_i_data() {
    let mut pair = on_one_path("on").connected();
    let seen = pair.record_chunks_of_bob(0);
    pair.bob().send_messages(10, 10_000, Streams::in_turn(2));
    pair.deliver_all(secs(5));
    assert!(seen.kinds().contains(&kind::I_DATA) && !seen.kinds().contains(&kind::DATA));
}

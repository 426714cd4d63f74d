//! Restart of a peer from the same addresses (RFC 9260 §5.2.4, action A).

use anabranch_proto::{AssociationConfig, CloseReason, Event};
use anabranch_sim::app::{Draft, Streams};
use anabranch_types::StreamId;

use crate::fixture::{Pair, mbit, ms, secs};

const PORT: u16 = 40_000;

fn from_the_same_port(config: &mut AssociationConfig) {
    config.local_sctp_port = Some(PORT);
}

fn connected_from_a_fixed_port() -> Pair {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).build();
    pair.alice().connect_with(from_the_same_port);
    pair.run_until(|pair| pair.is_connected(), secs(1));
    pair
}

//= rfc9260 5.2.4-4
#[test]
fn restart_is_reported_to_the_peer() {
    let mut pair = connected_from_a_fixed_port();
    pair.alice().send_messages(20, 1_000, Streams::one(0));
    pair.run_for(secs(1));
    pair.alice().lose_all_state();
    pair.alice().connect_with(from_the_same_port);
    pair.run_until(
        |pair| {
            pair.bob()
                .has_event(|event| matches!(event, Event::Restarted { undelivered: 0 }))
        },
        secs(2),
    );
    pair.alice().send_messages(20, 1_000, Streams::one(0));
    pair.deliver_all(secs(2));
    assert_eq!(pair.bob().associations(), 1);
}

#[test]
fn restart_reports_amount_of_lost_data() {
    let mut pair = connected_from_a_fixed_port();
    pair.cut_path(0);
    pair.cut_path(1);
    pair.bob().send(Draft::new(0, 1_000));
    pair.bob().send(Draft::new(1, 1_000));
    pair.run_for(ms(50));
    pair.alice().lose_all_state();
    pair.heal_path(0);
    pair.heal_path(1);
    pair.alice().connect_with(from_the_same_port);
    pair.run_until(
        |pair| {
            pair.bob()
                .has_event(|event| matches!(event, Event::Restarted { undelivered: 2 }))
        },
        secs(2),
    );
    pair.bob().send(Draft::new(0, 300));
    pair.run_for(ms(200));
    assert_eq!(pair.alice().inbox().messages(), 1);
}

#[test]
fn restart_in_mid_transfer_does_not_mix_old_and_new_data() {
    let mut pair = connected_from_a_fixed_port();
    pair.alice().send_forever();
    pair.bob().send_forever();
    pair.run_for(secs(2));
    pair.alice().lose_all_state();
    pair.alice().connect_with(from_the_same_port);
    pair.alice().send_messages(500, 1_400, Streams::in_turn(4));
    pair.bob().stop_sending();
    pair.run_until(
        |pair| {
            pair.bob()
                .has_event(|event| matches!(event, Event::Restarted { .. }))
        },
        secs(2),
    );
    pair.run_for(secs(3));
    assert_eq!(pair.bob().inbox().messages(), 500);
    assert_eq!(pair.bob().inbox().delivery_error(), None);
}

/// RFC 9260 §8.5.1 E, §9.2: Bob, in SHUTDOWN-ACK-SENT of the old association, learns that it has ended.
#[test]
fn restart_in_shutdown_ack_sent_ends_the_old_association() {
    let mut pair = connected_from_a_fixed_port();
    pair.alice().shutdown();
    pair.alice().lose_all_state();
    pair.alice().connect_with(from_the_same_port);
    pair.alice().send(Draft::new(0, 1_000));
    pair.run_until(|pair| pair.alice().is_connected(), secs(5));
    pair.deliver_all(secs(5));
}

/// Bob still has data for Alice, who has requested a shutdown; then she restarts.
#[test]
fn pending_shutdown_survives_a_restart() {
    let mut pair = connected_from_a_fixed_port();
    pair.cut_path(0);
    pair.cut_path(1);
    pair.bob().send(Draft::new(0, 1_000));
    pair.run_for(ms(1));
    pair.heal_path(0);
    pair.heal_path(1);
    pair.alice().shutdown();
    pair.run_until(
        |pair| pair.bob().has_event(|event| *event == Event::PeerShutdown),
        ms(100),
    );
    pair.bob().shutdown();
    pair.alice().lose_all_state();
    pair.alice().connect_with(from_the_same_port);
    pair.run_until(|pair| pair.bob().is_closed(), secs(30));
    assert_eq!(pair.bob().close_reason(), Some(CloseReason::Finished));
}

/// Stream settings belong to Bob's application, which did not restart.
#[test]
fn stream_priorities_survive_a_restart() {
    let by_priority = |config: &mut AssociationConfig| {
        config
            .policies
            .set("stream-scheduler", "priority")
            .expect("a known name");
    };
    let mut pair = Pair::two_paths(mbit(10), ms(20)).with(by_priority).build();
    pair.alice().connect_with(from_the_same_port);
    pair.run_until(|pair| pair.is_connected(), secs(1));
    pair.bob()
        .act(|_, association, _| association.set_stream_priority(StreamId(1), 5))
        .expect("a stream that exists");
    pair.alice().lose_all_state();
    pair.alice().connect_with(from_the_same_port);
    pair.run_until(
        |pair| {
            pair.bob()
                .has_event(|event| matches!(event, Event::Restarted { .. }))
        },
        secs(2),
    );
    pair.bob().act(|conversation, association, now| {
        for stream in [1, 0].into_iter().cycle().take(400) {
            let sent = conversation.send(Draft::new(stream, 1_000), association, now);
            sent.expect("room for a message");
        }
    });
    pair.run_until(|pair| pair.alice().inbox().messages() == 200, secs(1));
    let urgent = pair.alice().inbox().on_stream(StreamId(0)).count();
    assert!(urgent > 190, "{urgent}");
}

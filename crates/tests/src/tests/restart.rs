//! What if one side forgets everything and begins anew from the same addresses (RFC 9260 §5.2.4 A)?

use anabranch_proto::{AssociationConfig, CloseReason, Event};
use anabranch_sim::app::{Draft, Streams};
use anabranch_types::StreamId;

use crate::story::{World, mbit, ms, secs};

const PORT: u16 = 40_000;

fn from_the_same_port(config: &mut AssociationConfig) {
    config.local_sctp_port = Some(PORT);
}

fn connected_from_a_fixed_port() -> World {
    let mut world = World::two_paths(mbit(10), ms(20)).begins();
    world.alice().connects_with(from_the_same_port);
    world.runs_until(|world| world.is_connected(), secs(1));
    world
}

#[test]
fn alice_begins_anew_and_bob_is_told() {
    let mut world = connected_from_a_fixed_port();
    world.alice().sends_messages(20, 1_000, Streams::one(0));
    world.runs_for(secs(1));
    world.alice().forgets_everything();
    world.alice().connects_with(from_the_same_port);
    world.runs_until(
        |world| {
            world
                .bob()
                .saw(|event| matches!(event, Event::Restarted { undelivered: 0 }))
        },
        secs(2),
    );
    world.alice().sends_messages(20, 1_000, Streams::one(0));
    world.delivers_everything(secs(2));
    assert_eq!(world.bob().associations(), 1);
}

#[test]
fn bob_learns_how_much_of_his_was_lost_by_the_restart() {
    let mut world = connected_from_a_fixed_port();
    world.path_is_cut(0);
    world.path_is_cut(1);
    world.bob().sends(Draft::new(0, 1_000));
    world.bob().sends(Draft::new(1, 1_000));
    world.runs_for(ms(50));
    world.alice().forgets_everything();
    world.path_heals(0);
    world.path_heals(1);
    world.alice().connects_with(from_the_same_port);
    world.runs_until(
        |world| {
            world
                .bob()
                .saw(|event| matches!(event, Event::Restarted { undelivered: 2 }))
        },
        secs(2),
    );
    world.bob().sends(Draft::new(0, 300));
    world.runs_for(ms(200));
    assert_eq!(world.alice().inbox().messages(), 1);
}

#[test]
fn a_restart_while_data_flows_both_ways_does_not_mix_old_and_new() {
    let mut world = connected_from_a_fixed_port();
    world.alice().sends_forever();
    world.bob().sends_forever();
    world.runs_for(secs(2));
    world.alice().forgets_everything();
    world.alice().connects_with(from_the_same_port);
    world.alice().sends_messages(500, 1_400, Streams::in_turn(4));
    world.bob().falls_silent();
    world.runs_until(
        |world| world.bob().saw(|event| matches!(event, Event::Restarted { .. })),
        secs(2),
    );
    world.runs_for(secs(3));
    assert_eq!(world.bob().inbox().messages(), 500);
    assert_eq!(world.bob().inbox().complaint(), None);
}

/// RFC 9260 §8.5.1 E, §9.2: Bob, who waits for the end of the last association, is told that it is over.
#[test]
fn alice_begins_anew_while_bob_still_waits_for_the_end_of_the_last_association() {
    let mut world = connected_from_a_fixed_port();
    world.alice().shuts_down();
    world.alice().forgets_everything();
    world.alice().connects_with(from_the_same_port);
    world.alice().sends(Draft::new(0, 1_000));
    world.runs_until(|world| world.alice().is_connected(), secs(5));
    world.delivers_everything(secs(5));
}

/// He still has something for her, who wants to finish as well; then she begins anew.
#[test]
fn bobs_wish_to_finish_outlives_a_restart_in_the_middle_of_the_end() {
    let mut world = connected_from_a_fixed_port();
    world.path_is_cut(0);
    world.path_is_cut(1);
    world.bob().sends(Draft::new(0, 1_000));
    world.runs_for(ms(1));
    world.path_heals(0);
    world.path_heals(1);
    world.alice().shuts_down();
    world.runs_until(
        |world| world.bob().saw(|event| *event == Event::PeerShutdown),
        ms(100),
    );
    world.bob().shuts_down();
    world.alice().forgets_everything();
    world.alice().connects_with(from_the_same_port);
    world.runs_until(|world| world.bob().is_closed(), secs(30));
    assert_eq!(world.bob().closed_because(), Some(CloseReason::Finished));
}

/// Settings are the application's, which did not restart.
#[test]
fn bobs_streams_are_as_urgent_as_before() {
    let by_priority = |config: &mut AssociationConfig| {
        config
            .policies
            .set("stream-scheduler", "priority")
            .expect("a known name");
    };
    let mut world = World::two_paths(mbit(10), ms(20)).with(by_priority).begins();
    world.alice().connects_with(from_the_same_port);
    world.runs_until(|world| world.is_connected(), secs(1));
    world
        .bob()
        .talks(|_, association, _| association.set_stream_priority(StreamId(1), 5))
        .expect("a stream that exists");
    world.alice().forgets_everything();
    world.alice().connects_with(from_the_same_port);
    world.runs_until(
        |world| world.bob().saw(|event| matches!(event, Event::Restarted { .. })),
        secs(2),
    );
    world.bob().talks(|conversation, association, now| {
        for stream in [1, 0].into_iter().cycle().take(400) {
            let sent = conversation.send(Draft::new(stream, 1_000), association, now);
            sent.expect("room for a message");
        }
    });
    world.runs_until(|world| world.alice().inbox().messages() == 200, secs(1));
    let urgent = world.alice().inbox().on_stream(StreamId(0)).count();
    assert!(urgent > 190, "{urgent}");
}

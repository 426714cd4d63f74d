//! What if buffers change their size while an association runs?

use anabranch_proto::BufferError;
use anabranch_sim::app::{Reading, Streams};

use crate::story::{Setting, World, mbit, ms, secs};

const SMALL: u64 = 50_000;
const LARGE: u64 = 400_000;
const LONGEST: u64 = 20_000;

fn world(send_buffer: u64, receive_buffer: u64) -> World {
    let setting: Setting = World::two_paths(mbit(20), ms(20));
    setting
        .with(move |config| {
            config.send_buffer = send_buffer;
            config.receive_buffer = receive_buffer;
            config.max_message = LONGEST as usize;
        })
        .connected()
}

fn resize_sending(world: &mut World, bytes: u64) {
    let resized = world
        .alice()
        .talks(|_, association, _| association.set_send_buffer(bytes));
    resized.expect("a sensible size");
}

fn resize_receiving(world: &mut World, bytes: u64) {
    let resized = world
        .bob()
        .talks(|_, association, _| association.set_receive_buffer(bytes));
    resized.expect("a sensible size");
}

#[test]
fn who_waits_for_room_is_told_when_the_send_buffer_grows() {
    let mut world = world(SMALL, 4 << 20);
    world.alice().sends_forever();
    world.runs_for(secs(5));
    let before = world.bob().goodput_of_last(secs(2));
    assert!(
        before < mbit(12),
        "the buffer limits it to one in a round trip: {before}"
    );
    let held = world.alice().statistics().send_buffer_used;
    resize_sending(&mut world, LARGE);
    let taken = world.alice().statistics().send_buffer_used;
    assert!(held <= SMALL && taken > LARGE - 2_000, "{held}, then {taken}");
    world.runs_for(secs(5));
    let after = world.bob().goodput_of_last(secs(2));
    assert!(after > mbit(30), "{after}");
}

#[test]
fn what_a_send_buffer_holds_survives_its_shrinking() {
    let mut world = world(LARGE, 4 << 20);
    world.alice().sends_messages(2_000, 1_400, Streams::in_turn(3));
    world.runs_for(ms(100));
    resize_sending(&mut world, SMALL);
    assert!(
        world.alice().statistics().send_buffer_used > SMALL,
        "nothing is thrown away"
    );
    world.runs_for(ms(300));
    assert!(
        world.alice().statistics().send_buffer_used <= SMALL,
        "and little is taken"
    );
    world.delivers_everything(secs(30));
    assert_eq!(world.alice().sent(), 2_000);
}

#[test]
fn a_receive_buffer_that_grows_is_told_at_once() {
    let mut world = world(4 << 20, SMALL);
    world.bob().reads(Reading::Paused);
    world.alice().sends_forever();
    world.runs_for(secs(5));
    assert!(world.bob().statistics().receive_buffer_used <= SMALL + 1_400);
    resize_receiving(&mut world, LARGE);
    world.runs_for(ms(500));
    let held = world.bob().statistics().receive_buffer_used;
    assert!(held > LARGE - 3_000, "{held} bytes, without waiting for a probe");
    world.bob().reads(Reading::Eager);
    world.alice().falls_silent();
    world.delivers_everything(secs(5));
}

#[test]
fn what_was_promised_is_taken_although_the_receive_buffer_shrinks() {
    let mut world = world(4 << 20, LARGE);
    world.bob().reads(Reading::Paused);
    world.alice().sends_forever();
    world.runs_for(ms(150));
    let held = world.bob().statistics().receive_buffer_used;
    assert!(held < LARGE / 2, "{held} bytes: there is more to come");
    resize_receiving(&mut world, SMALL);
    world.runs_for(ms(500));
    let held = world.bob().statistics().receive_buffer_used;
    assert!(held > LARGE - 3_000, "{held} bytes: as much as was promised");
    assert_eq!(world.bob().statistics().dropped_for_room, 0);
    // Read once, and no more than the new size is promised again.
    world.bob().reads(Reading::Eager);
    world.bob().reads(Reading::Paused);
    world.runs_for(secs(2));
    let held = world.bob().statistics().receive_buffer_used;
    assert!(
        (SMALL - 3_000..=SMALL + 1_400).contains(&held),
        "{held} bytes: the new size"
    );
    world.bob().reads(Reading::Eager);
    world.alice().falls_silent();
    world.delivers_everything(secs(5));
}

#[test]
fn a_buffer_that_could_not_hold_what_may_come_is_refused() {
    let mut world = world(LARGE, LARGE);
    let mut receiving = |bytes| {
        let bob = world.bob();
        bob.talks(|_, association, _| association.set_receive_buffer(bytes))
    };
    let too_small = Err(BufferError::TooSmall { min: LONGEST });
    assert_eq!(receiving(LONGEST - 1), too_small);
    assert_eq!(receiving(LONGEST), Ok(()));
    assert_eq!(receiving(LARGE), Ok(()));
    let mut sending = |bytes| {
        let alice = world.alice();
        alice.talks(|_, association, _| association.set_send_buffer(bytes))
    };
    assert_eq!(sending(1_499), Err(BufferError::TooSmall { min: 1_500 }));
    assert_eq!(sending(1_500), Ok(()));
}

#[test]
fn a_receive_buffer_changes_when_the_peer_can_be_told() {
    let mut world = World::two_paths(mbit(20), ms(20)).begins();
    world.alice().connects();
    let early = world
        .alice()
        .talks(|_, association, _| association.set_receive_buffer(LARGE));
    assert_eq!(early, Err(BufferError::NotConnected));
    world.runs_for(secs(1));
    world.alice().aborts();
    let late = world
        .alice()
        .talks(|_, association, _| association.set_receive_buffer(LARGE));
    assert_eq!(late, Err(BufferError::NotConnected));
}

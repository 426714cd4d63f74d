//! Resizing of send and receive buffers at run time.

use anabranch_proto::{BufferError, BufferSize};
use anabranch_sim::app::{Reading, Streams};

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

const SMALL: u64 = 50_000;
const LARGE: u64 = 400_000;
const LONGEST: u64 = 20_000;

fn pair(send_buffer: u64, receive_buffer: u64) -> Pair {
    let builder: PairBuilder = Pair::two_paths(mbit(20), ms(20));
    builder
        .with(move |config| {
            config.send_buffer = BufferSize::Fixed(send_buffer);
            config.receive_buffer = BufferSize::Fixed(receive_buffer);
            config.max_message = LONGEST as usize;
        })
        .connected()
}

fn resize_sending(pair: &mut Pair, bytes: u64) {
    let resized = pair
        .alice()
        .act(|_, association, _| association.set_send_buffer(bytes));
    resized.expect("a sensible size");
}

fn resize_receiving(pair: &mut Pair, bytes: u64) {
    let resized = pair
        .bob()
        .act(|_, association, _| association.set_receive_buffer(bytes));
    resized.expect("a sensible size");
}

#[test]
fn growing_send_buffer_signals_writable() {
    let mut pair = pair(SMALL, 4 << 20);
    pair.alice().send_forever();
    pair.run_for(secs(5));
    let before = pair.bob().goodput_in_last(secs(2));
    assert!(
        before < mbit(12),
        "the buffer limits it to one in a round trip: {before}"
    );
    let held = pair.alice().statistics().send_buffer_used;
    resize_sending(&mut pair, LARGE);
    let taken = pair.alice().statistics().send_buffer_used;
    assert!(held <= SMALL && taken > LARGE - 2_000, "{held}, then {taken}");
    pair.run_for(secs(5));
    let after = pair.bob().goodput_in_last(secs(2));
    assert!(after > mbit(30), "{after}");
}

#[test]
fn shrinking_send_buffer_keeps_queued_data() {
    let mut pair = pair(LARGE, 4 << 20);
    pair.alice().send_messages(2_000, 1_400, Streams::in_turn(3));
    pair.run_for(ms(100));
    resize_sending(&mut pair, SMALL);
    assert!(
        pair.alice().statistics().send_buffer_used > SMALL,
        "nothing is thrown away"
    );
    pair.run_for(ms(300));
    assert!(
        pair.alice().statistics().send_buffer_used <= SMALL,
        "and little is taken"
    );
    pair.deliver_all(secs(30));
    assert_eq!(pair.alice().sent(), 2_000);
}

//= rfc9260 6.2-24
#[test]
fn growing_receive_buffer_sends_a_window_update() {
    let mut pair = pair(4 << 20, SMALL);
    pair.bob().set_reading(Reading::Paused);
    pair.alice().send_forever();
    pair.run_for(secs(5));
    assert!(pair.bob().statistics().receive_buffer_used <= SMALL + 1_400);
    resize_receiving(&mut pair, LARGE);
    pair.run_for(ms(500));
    let held = pair.bob().statistics().receive_buffer_used;
    assert!(held > LARGE - 3_000, "{held} bytes, without waiting for a probe");
    pair.bob().set_reading(Reading::Eager);
    pair.alice().stop_sending();
    pair.deliver_all(secs(5));
}

//= rfc9260 3.3.2-12, 3.3.3-13
#[test]
fn shrinking_receive_buffer_honours_advertised_window() {
    let mut pair = pair(4 << 20, LARGE);
    pair.bob().set_reading(Reading::Paused);
    pair.alice().send_forever();
    pair.run_for(ms(150));
    let held = pair.bob().statistics().receive_buffer_used;
    assert!(held < LARGE / 2, "{held} bytes: there is more to come");
    resize_receiving(&mut pair, SMALL);
    pair.run_for(ms(500));
    let held = pair.bob().statistics().receive_buffer_used;
    assert!(held > LARGE - 3_000, "{held} bytes: as much as was promised");
    assert_eq!(pair.bob().statistics().dropped_for_room, 0);
    // Once it is read, no more than the new size is advertised.
    pair.bob().set_reading(Reading::Eager);
    pair.bob().set_reading(Reading::Paused);
    pair.run_for(secs(2));
    let held = pair.bob().statistics().receive_buffer_used;
    assert!(
        (SMALL - 3_000..=SMALL + 1_400).contains(&held),
        "{held} bytes: the new size"
    );
    pair.bob().set_reading(Reading::Eager);
    pair.alice().stop_sending();
    pair.deliver_all(secs(5));
}

#[test]
fn too_small_buffer_is_refused() {
    let mut pair = pair(LARGE, LARGE);
    let mut receiving = |bytes| {
        let bob = pair.bob();
        bob.act(|_, association, _| association.set_receive_buffer(bytes))
    };
    let too_small = Err(BufferError::TooSmall { min: LONGEST });
    assert_eq!(receiving(LONGEST - 1), too_small);
    assert_eq!(receiving(LONGEST), Ok(()));
    assert_eq!(receiving(LARGE), Ok(()));
    let mut sending = |bytes| {
        let alice = pair.alice();
        alice.act(|_, association, _| association.set_send_buffer(bytes))
    };
    assert_eq!(sending(1_499), Err(BufferError::TooSmall { min: 1_500 }));
    assert_eq!(sending(1_500), Ok(()));
}

#[test]
fn receive_buffer_changes_only_while_peer_can_be_told() {
    let mut pair = Pair::two_paths(mbit(20), ms(20)).build();
    pair.alice().connect();
    let early = pair
        .alice()
        .act(|_, association, _| association.set_receive_buffer(LARGE));
    assert_eq!(early, Err(BufferError::NotConnected));
    pair.run_for(secs(1));
    pair.alice().abort();
    let late = pair
        .alice()
        .act(|_, association, _| association.set_receive_buffer(LARGE));
    assert_eq!(late, Err(BufferError::NotConnected));
}

//! Buffers that size themselves. Is there room for what the paths need, and no more for an application that does not read?

use anabranch_netsim::LinkConfig;
use anabranch_netsim::Probability;
use anabranch_netsim::link::{Loss, QueueConfig};
use anabranch_proto::{AssociationStatistics, BufferSize, SizeRange};
use anabranch_sim::app::{Reading, Streams};
use anabranch_types::Rate;

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

/// A path with a queue of its product of rate and round-trip time, at least 100 packets.
fn path(rate: u64, delay: u64) -> LinkConfig {
    let product = rate * 1_000 / 8 * 2 * delay / 1_500;
    let queue = u32::try_from(product.max(100)).unwrap();
    LinkConfig::new(mbit(rate), ms(delay)).queue(QueueConfig::Packets(queue))
}

fn sized(paths: &[LinkConfig], size: BufferSize) -> PairBuilder {
    Pair::paths(paths.iter().cloned()).with(move |config| {
        config.send_buffer = size;
        config.receive_buffer = size;
    })
}

/// Goodput over `paths` in 10 s, after 10 s.
fn goodput(paths: &[LinkConfig], size: BufferSize) -> Rate {
    let mut pair = sized(paths, size).connected();
    pair.alice().send_forever();
    pair.run_for(secs(20));
    assert_eq!(pair.bob().inbox().delivery_error(), None);
    pair.bob().goodput_in_last(secs(10))
}

fn share(one: Rate, of: Rate) -> f64 {
    one.as_bits_per_second() as f64 / of.as_bits_per_second() as f64
}

/// 10 MB fit on the path and its queue.
#[test]
fn long_fat_path_is_filled_as_with_ample_buffers() {
    let paths = [path(200, 100)];
    let small = goodput(&paths, BufferSize::Fixed(64 << 10));
    let ample = goodput(&paths, BufferSize::Fixed(32 << 20));
    let sized = goodput(&paths, BufferSize::AUTO);
    assert!(small < mbit(5), "{small}: one buffer in a round trip");
    assert!(ample > mbit(170), "{ample}");
    assert!(share(sized, ample) > 0.97, "{sized}, and {ample} with 32 MiB");
}

#[track_caller]
fn carries_the_sum(paths: &[LinkConfig]) {
    let alone = paths
        .iter()
        .map(|path| goodput(core::slice::from_ref(path), BufferSize::AUTO));
    let sum: u64 = alone.map(Rate::as_bits_per_second).sum();
    let sum = Rate::bits_per_second(sum);
    let all = goodput(paths, BufferSize::AUTO);
    assert!(share(all, sum) >= 0.95, "{all} over all, {sum} over each alone");
}

/// The policies carry three quarters of the sum over them.
#[test]
fn paths_of_unlike_delay_carry_what_they_do_with_ample_buffers() {
    let paths = [path(50, 10), path(20, 150)];
    let ample = goodput(&paths, BufferSize::Fixed(32 << 20));
    let sized = goodput(&paths, BufferSize::AUTO);
    assert!(share(sized, ample) > 0.97, "{sized}, and {ample} with 32 MiB");
}

#[test]
fn paths_of_unlike_rate_and_delay_carry_the_sum() {
    carries_the_sum(&[path(10, 5), path(100, 80), path(30, 40)]);
}

#[test]
fn lossy_paths_carry_the_sum() {
    let lossy = |rate, delay| path(rate, delay).loss(Loss::Bernoulli(Probability::of(0.005)));
    carries_the_sum(&[lossy(40, 20), lossy(20, 60)]);
}

/// Reading 1 Mbit/s of 100: the window stays at its initial size, which is that of the longest message delivered whole.
#[test]
fn window_of_a_slow_reader_does_not_grow() {
    let mut pair = sized(&[path(100, 50)], BufferSize::AUTO).connected();
    pair.bob().set_reading(Reading::AtRate(mbit(1)));
    pair.alice().send_forever();
    for _ in 0..30 {
        pair.run_for(secs(1));
        let reader = pair.bob().statistics();
        assert_eq!(reader.receive_buffer_size, 1 << 20);
        assert!(reader.receive_buffer_used <= (1 << 20) + 2_000);
    }
    assert!(pair.bob().goodput_in_last(secs(20)) < mbit(2));
}

/// A reader that stops after the window has grown gets one window more.
#[test]
fn memory_of_a_reader_that_stops_is_the_window_that_it_needed() {
    let mut pair = sized(&[path(100, 50)], BufferSize::AUTO).connected();
    pair.alice().send_forever();
    pair.run_for(secs(10));
    let size = pair.bob().statistics().receive_buffer_size;
    assert!((1 << 20..16 << 20).contains(&size), "{size}");
    pair.bob().set_reading(Reading::Paused);
    pair.run_for(secs(60));
    let reader = pair.bob().statistics();
    assert_eq!(reader.receive_buffer_size, size);
    assert!(reader.receive_buffer_used <= size + 2_000);
    pair.bob().set_reading(Reading::Eager);
    pair.run_for(secs(10));
    assert!(pair.bob().goodput_in_last(secs(5)) > mbit(80), "and it goes on");
}

/// Reading 2 MB at once every 2 s, over a path that carries 12 MB/s: more than a round trip carries is not asked for, however
/// often it is read.
#[test]
fn bursts_of_a_reader_count_as_what_the_path_carries() {
    let mut pair = sized(&[path(100, 20)], BufferSize::AUTO).connected();
    pair.alice().send_forever();
    pair.run_for(secs(5));
    let before = pair.bob().statistics().receive_buffer_size;
    for _ in 0..30 {
        pair.bob().set_reading(Reading::Paused);
        pair.run_for(secs(2));
        pair.bob().set_reading(Reading::Eager);
        pair.run_for(ms(20));
    }
    let size = pair.bob().statistics().receive_buffer_size;
    assert!(size < 2 * before, "{size} bytes after {before}");
}

#[test]
fn small_messages_fill_the_path_as_well() {
    let mut pair = sized(&[path(20, 100)], BufferSize::AUTO).connected();
    pair.alice().send_messages(400_000, 100, Streams::one(0));
    pair.run_for(secs(15));
    assert_eq!(pair.bob().inbox().delivery_error(), None);
    let rate = pair.bob().goodput_in_last(secs(5));
    assert!(rate > mbit(14), "{rate}: chunks have headers of 16 to 100 bytes");
}

/// Four messages of 1 MiB are on their way, although the smallest buffers hold a quarter of one.
#[test]
fn long_messages_pass_buffers_that_begin_smaller() {
    let small = SizeRange {
        initial: 256 << 10,
        ..SizeRange::DEFAULT
    };
    let mut pair = sized(&[path(100, 80)], BufferSize::SelfSized(small))
        .with(|config| config.max_message = 1 << 20)
        .connected();
    pair.alice().send_messages(100, 1 << 20, Streams::in_turn(4));
    pair.run_for(secs(10));
    let rate = pair.bob().goodput_in_last(secs(5));
    assert!(rate > mbit(80), "{rate}");
    assert_eq!(pair.bob().inbox().delivery_error(), None);
}

/// What waits in the send buffer beyond what is in flight is the smallest buffer, not the largest one.
#[test]
fn little_waits_in_the_send_buffer_of_a_slow_path() {
    let mut pair = sized(&[path(1, 20)], BufferSize::AUTO).connected();
    pair.alice().send_forever();
    pair.run_for(secs(20));
    let AssociationStatistics {
        send_buffer_used,
        send_buffer_sent,
        send_buffer_size,
        ..
    } = pair.alice().statistics();
    assert!(send_buffer_used <= send_buffer_size);
    let smallest = SizeRange::DEFAULT.initial;
    let unsent = send_buffer_used - send_buffer_sent;
    assert!(unsent <= smallest, "{unsent}");
}

/// The right edge of the window is the cumulative TSN, what was received above it, and a_rwnd: all messages fill one chunk of 1,000
/// bytes.
#[test]
fn right_edge_of_the_window_never_recedes_while_it_grows() {
    let lossy = |rate, delay| path(rate, delay).loss(Loss::Bernoulli(Probability::of(0.02)));
    let mut pair = sized(&[lossy(50, 10), lossy(20, 60)], BufferSize::AUTO).connected();
    let sacks = pair.record_sacks_of_bob();
    pair.alice().send_messages(60_000, 1_000, Streams::one(0));
    pair.deliver_all(secs(60));
    let grown = pair.bob().statistics().receive_buffer_size;
    assert!(grown > 1 << 20, "{grown}");
    let edges = sacks.right_edges(1_000);
    assert!(edges.len() > 10_000);
    let receded = edges.windows(2).find(|pair| pair[1] < pair[0]);
    assert_eq!(receded, None);
}

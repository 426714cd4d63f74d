//! Sets of paths that share a buffer. Are all paths together at least as fast as the best of them alone?
//!
//! Each test is a set with which `blest` gives a slow or lossy path more than it brings.

use anabranch_netsim::link::{Loss, QueueConfig};
use anabranch_netsim::{LinkConfig, Probability};
use anabranch_policy::PolicyRecipe;
use anabranch_proto::BufferSize;
use anabranch_types::Rate;

use crate::fixture::{Pair, mbit, ms, secs};

fn path(rate: u64, delay: u64) -> LinkConfig {
    LinkConfig::new(mbit(rate), ms(delay))
}

fn lossy(rate: u64, delay: u64, loss: f64) -> LinkConfig {
    path(rate, delay).loss(Loss::Bernoulli(Probability::of(loss)))
}

/// Goodput over `paths`, after the start.
fn goodput(paths: &[LinkConfig], buffer: u64) -> Rate {
    goodput_with(PolicyRecipe::recommended(), paths, buffer)
}

fn goodput_with(policies: PolicyRecipe, paths: &[LinkConfig], buffer: u64) -> Rate {
    let mut pair = Pair::paths(paths.iter().cloned())
        .policies(policies)
        .with(|config| {
            config.send_buffer = BufferSize::Fixed(buffer);
            config.receive_buffer = BufferSize::Fixed(buffer);
        })
        .connected();
    pair.alice().send_forever();
    pair.run_for(secs(12));
    assert_eq!(pair.bob().inbox().delivery_error(), None);
    pair.bob().goodput_in_last(secs(8))
}

/// Checks that all of `paths` carry at least 99 % of what the best of them carries alone.
#[track_caller]
fn never_slower(paths: &[LinkConfig], buffer: u64) {
    let alone = paths
        .iter()
        .map(|path| goodput(std::slice::from_ref(path), buffer));
    let best = alone.max().unwrap();
    let all = goodput(paths, buffer);
    println!("{all} over all, {best} over the best");
    assert!(
        all.as_bits_per_second() * 100 >= best.as_bits_per_second() * 99,
        "{all} over all, {best} over the best"
    );
}

#[test]
fn four_paths_with_a_buffer_below_their_needs() {
    let paths = [path(10, 10), path(30, 60), path(5, 20), path(150, 20)];
    never_slower(&paths, 700 << 10);
}

#[test]
fn four_paths_of_which_the_slowest_loses_packets() {
    let paths = [path(10, 10), path(30, 60), lossy(5, 20, 0.08), path(150, 20)];
    never_slower(&paths, 700 << 10);
}

#[test]
fn a_long_fat_path_beside_a_short_thin_one() {
    never_slower(&[path(10, 70), path(130, 270)], 4 << 20);
}

/// A fast path with random losses is often full when one is found. On a slow path, which has room, its lost chunk would take ten times as long.
#[test]
fn lost_chunks_of_a_full_path_do_not_go_to_a_slow_one() {
    let paths = [path(8, 247), lossy(35, 17, 0.026), lossy(17, 277, 0.07)];
    let mut elsewhere = PolicyRecipe::recommended();
    elsewhere.set("rtx-policy", "cwnd").unwrap();
    let [waiting, elsewhere] =
        [PolicyRecipe::recommended(), elsewhere].map(|policies| goodput_with(policies, &paths, 280 << 10));
    println!("{waiting}; on any path with room {elsewhere}");
    assert!(waiting.as_bits_per_second() * 2 > elsewhere.as_bits_per_second() * 3);
}

/// The TSNs of the fast path arrive between those of the slow one, which are on their way for 0.3 s: a thousand gaps. If a SACK has the
/// lowest of them only, no chunk of the fast path is reported before those of the slow one have arrived, and it times out.
#[test]
fn fast_path_is_acknowledged_although_a_slow_one_leaves_more_gaps_than_fit_a_sack() {
    let queue = QueueConfig::Packets;
    let paths = [path(50, 2).queue(queue(10)), path(100, 300).queue(queue(2_400))];
    let mut lowest = PolicyRecipe::recommended();
    lowest.set("gap-limit", "mtu").unwrap();
    let [recent, lowest] =
        [PolicyRecipe::recommended(), lowest].map(|policies| goodput_with(policies, &paths, 6 << 20));
    println!("{recent}; with the lowest gap ack blocks {lowest}");
    assert!(recent.as_bits_per_second() * 2 > lowest.as_bits_per_second() * 3);
    never_slower(&paths, 6 << 20);
}

/// On the thin path a chunk takes 28 ms, and the packets of the handshake 17 ms. That would fit into the 23 ms of a window.
#[test]
fn a_thin_path_on_which_chunks_take_longer_than_the_handshake() {
    let fast = path(47, 11).queue(QueueConfig::Packets(12));
    never_slower(&[fast, path(1, 8)], 88 << 10);
}

/// While a thin path stops the window, nothing new is sent, so all rounds of the fast path count as limited by the application. BBR must leave
/// Startup nevertheless, whose bursts overrun a queue of 1 ms.
#[test]
fn startup_ends_although_a_buffer_limits_each_round() {
    let paths = [
        path(1, 2).queue(QueueConfig::Packets(11)),
        path(170, 6).queue(QueueConfig::Packets(17)),
    ];
    let mut pair = Pair::paths(paths)
        .policies(PolicyRecipe::recommended())
        .with(|config| {
            config.send_buffer = BufferSize::Fixed(480 << 10);
            config.receive_buffer = BufferSize::Fixed(480 << 10);
        })
        .connected();
    pair.alice().send_forever();
    pair.run_for(secs(12));
    let fast = pair.alice().statistics().paths[1].counters;
    let share = fast.payload_retransmitted as f64 / fast.payload_sent as f64;
    println!("{:.1} % retransmitted", share * 100.0);
    assert!(share < 0.1, "{share}");
}

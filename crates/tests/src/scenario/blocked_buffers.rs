//! Buffer blocking: by a slow path, and by a chunk that is lost twice. Do buffer split and chunk rescheduling help?

use anabranch_netsim::LinkConfig;
use anabranch_policy::{PolicyRecipe, Reachability};
use anabranch_proto::BufferSize;
use anabranch_types::Rate;

use crate::fixture::{Pair, mbit, ms, secs};

const BUFFER: u64 = 250_000;

/// Goodput with these choices on top of CMT, and the number of rescheduled chunks.
fn carried(choices: &[(&str, &str)]) -> (Rate, u64) {
    let mut policies = PolicyRecipe::cmt();
    for (name, value) in choices {
        policies.set(name, value).unwrap();
    }
    let paths = [
        LinkConfig::new(mbit(20), ms(5)),
        LinkConfig::new(mbit(2), ms(100)),
    ];
    let mut pair = Pair::paths(paths)
        .policies(policies)
        .with(|config| {
            config.send_buffer = BufferSize::Fixed(BUFFER);
            config.receive_buffer = BufferSize::Fixed(BUFFER);
            config.max_message = 10_000;
        })
        .connected();
    pair.alice().send_forever();
    pair.run_for(secs(30));
    assert_eq!(pair.bob().inbox().delivery_error(), None);
    let goodput = pair.bob().goodput_in_last(secs(20));
    let moved = pair.alice().statistics().paths.into_iter();
    let moved = moved.map(|path| path.counters.rescheduled).sum();
    println!("{choices:?}: {goodput}, {moved} chunks moved");
    (goodput, moved)
}

#[track_caller]
fn carries_more(choices: &[(&str, &str)]) {
    let (without, _) = carried(&[]);
    let (with, _) = carried(choices);
    assert!(with > without, "{with} with {choices:?}, {without} without");
}

#[test]
fn buffer_split_raises_goodput_with_a_slow_path() {
    for split in ["sender", "receiver", "both"] {
        carries_more(&[("buffer-split", split)]);
    }
}

#[test]
fn chunk_rescheduling_raises_goodput_with_a_slow_path() {
    for rescheduling in ["sender", "receiver", "both", "sar-modified"] {
        let (with, moved) = carried(&[("chunk-rescheduling", rescheduling)]);
        let (without, none) = carried(&[]);
        assert_eq!(none, 0);
        assert!(moved > 0, "{rescheduling}");
        assert!(with > without, "{with} with {rescheduling}, {without} without");
    }
}

/// A pair that sends with the default profile but BLEST, equal paths of 20 ms and buffers of 32 KiB, which a path fills in a
/// round trip. Chunk 300 is lost this often; with BLEST, others of its window follow it and show its first loss.
fn losing(paths: usize, times: u32, choices: &[(&str, &str)]) -> Pair {
    let links = vec![LinkConfig::new(mbit(20), ms(10)); paths];
    let mut policies = PolicyRecipe::recommended();
    policies.set("path-scheduler", "blest").unwrap();
    for (name, value) in choices {
        policies.set(name, value).unwrap();
    }
    let mut pair = Pair::paths(links)
        .policies(policies)
        .with(|config| {
            config.send_buffer = BufferSize::Fixed(32 << 10);
            config.receive_buffer = BufferSize::Fixed(32 << 10);
        })
        .connected();
    pair.drop_chunks(&[(300, times)]);
    pair.alice().send_forever();
    pair
}

fn timeouts(pair: &mut Pair) -> u64 {
    let paths = pair.alice().statistics().paths.into_iter();
    paths.map(|path| path.counters.timeouts).sum()
}

/// The buffers let nothing be sent after the retransmission, so no acknowledgement shows that it was lost.
#[test]
fn a_chunk_lost_twice_does_not_wait_for_its_timeout() {
    for paths in [1, 2] {
        let mut pair = losing(paths, 2, &[("chunk-rescheduling.overdue", "on")]);
        pair.run_for(secs(2));
        assert_eq!(timeouts(&mut pair), 0, "{paths} paths");
        let mut pair = losing(paths, 2, &[("chunk-rescheduling.overdue", "off")]);
        pair.run_for(secs(2));
        assert!(timeouts(&mut pair) > 0, "{paths} paths: otherwise it does");
    }
}

/// Without rescheduling, T3 expires after 400 ms and backs off to 800 ms. But the path works.
#[test]
fn a_path_is_asked_at_once_when_its_timer_expires() {
    let mut pair = losing(2, 2, &[("chunk-rescheduling", "none")]);
    pair.run_until(|pair| timeouts(pair) > 0, secs(3));
    let failed = |pair: &mut Pair| (0..2).any(|path| pair.alice().reachability(path) != Reachability::Active);
    assert!(failed(&mut pair));
    pair.run_for(ms(25));
    assert!(!failed(&mut pair), "a round trip later");
}

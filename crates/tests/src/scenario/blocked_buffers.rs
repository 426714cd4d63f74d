//! Buffer blocking with a fast path and one of ten times its delay. Do buffer split and chunk rescheduling help?

use anabranch_netsim::LinkConfig;
use anabranch_policy::PolicyRecipe;
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
            config.send_buffer = BUFFER;
            config.receive_buffer = BUFFER;
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

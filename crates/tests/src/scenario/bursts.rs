//! Burst limits. What happens to cwnd when a path was idle for a moment?

use anabranch_policy::{BufferSize, PathFacts, PolicyRecipe};
use anabranch_sim::app::{Paced, Streams, Workload};
use anabranch_types::Instant;

use crate::fixture::{Pair, mbit, ms, secs};

fn path(pair: &mut Pair) -> PathFacts {
    let alice = pair.alice();
    let association = alice.association().expect("she is connected");
    association.path_facts()[0].clone()
}

/// Facts of the path when everything is acknowledged, and right after more data was sent.
fn goes_on_after_a_moment(burst: &str) -> ([PathFacts; 2], Pair) {
    let mut policies = PolicyRecipe::cmt();
    policies.set("burst", burst).unwrap();
    let builder = Pair::one_path(mbit(50), ms(20)).policies(policies);
    let mut pair = builder.connected();
    pair.alice().send_messages(400, 1_000, Streams::one(0));
    pair.run_until(|pair| pair.alice().has_flushed(), secs(10));
    let before = path(&mut pair);
    pair.alice().send_messages(5_000, 1_000, Streams::one(0));
    pair.run_for(ms(1));
    let at_once = path(&mut pair);
    ([before, at_once], pair)
}

/// Four packets, and up to one packet beyond the window (RFC 9260 §6.1 B).
fn five_packets(path: &PathFacts) -> u64 {
    5 * u64::from(path.max_data_chunk)
}

//= rfc9260 6.1-15, 6.1-16
#[test]
fn max_burst_limits_packets_and_keeps_cwnd() {
    let ([before, at_once], _) = goes_on_after_a_moment("max-burst");
    assert_eq!((at_once.cwnd, before.in_flight), (before.cwnd, 0));
    assert!(
        (1..=five_packets(&at_once)).contains(&at_once.in_flight),
        "{at_once:?}"
    );
}

/// As in FreeBSD: cwnd shrinks to four packets, and ssthresh keeps its previous value.
#[test]
fn window_limiting_shrinks_cwnd_and_regrows_in_slow_start() {
    let ([before, at_once], mut pair) = goes_on_after_a_moment("window-limiting");
    let four = 4 * u64::from(at_once.max_data_chunk);
    assert!(before.cwnd > 2 * four, "{before:?}");
    assert_eq!(
        (at_once.cwnd, at_once.in_flight <= five_packets(&at_once)),
        (four, true)
    );
    assert!(at_once.ssthresh >= before.cwnd, "{at_once:?}");
    pair.run_until(|pair| path(pair).cwnd >= before.cwnd, secs(1));
}

/// Pacing delays data that would not fill the window anyway. An application-limited sender must not grow a window that
/// it has never used (RFC 9260 §7.2.1).
#[test]
fn application_limited_cwnd_does_not_grow_with_pacing() {
    let mut pair = Pair::one_path(mbit(100), ms(100)).connected();
    pair.alice().act(|conversation, association, now| {
        let paced = Paced::new(89_600, ms(100), Streams::one(0));
        conversation.also(now, Workload::Paced(paced), association);
    });
    // The backlog of slow start has drained by then: 179 kB are in flight, with an RTT of 200 ms.
    pair.run_for(secs(5));
    let before = pair.alice().path(0).cwnd;
    pair.run_for(secs(20));
    let after = pair.alice().path(0).cwnd;
    println!("{before} bytes, then {after}");
    assert!(before > 300_000 && after <= before);
}

/// Only data is paced (RFC 9002 §7.7). A receiver of much data sends many SACKs, and the window of its own few messages is small.
#[test]
fn small_messages_do_not_wait_behind_sacks_for_their_pacing() {
    let builder = Pair::one_path(mbit(200), ms(150)).policies(PolicyRecipe::recommended());
    let buffer = BufferSize::Fixed(16 << 20);
    let builder = builder.with(|config| (config.send_buffer, config.receive_buffer) = (buffer, buffer));
    let mut pair = builder.connected();
    pair.bob().send_forever();
    let small = Paced::new(5, ms(170), Streams::one(0));
    pair.alice().start_workload(Workload::Paced(small));
    pair.run_for(secs(10));
    let delay = pair.max_stream_delay(0, Instant::ZERO);
    println!("at most {delay:?}");
    assert!(delay < ms(160));
}

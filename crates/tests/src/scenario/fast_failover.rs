//! Fast path failure detection. How soon does data leave a dead path, and does a slow one stay in use?

use std::time::Duration;

use anabranch_netsim::link::QueueConfig;
use anabranch_netsim::{LinkChange, LinkConfig};
use anabranch_policy::{PolicyRecipe, Reachability};
use anabranch_sim::Step;

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

fn failover(name: &str) -> PolicyRecipe {
    let mut policies = PolicyRecipe::recommended();
    policies.set("failover", name).unwrap();
    policies
}

/// How long path 1 stays active after it is cut in mid-transfer, and the goodput of path 0 in the three seconds after
/// that, in Mbit/s.
fn cut(builder: PairBuilder) -> (Duration, f64) {
    let mut pair = builder.connected();
    pair.alice().send_forever();
    pair.run_for(secs(10));
    pair.cut_path(1);
    let cut_at = pair.simulation.now();
    pair.run_until(
        |pair| pair.alice().reachability(1) != Reachability::Active,
        secs(120),
    );
    let took = pair.simulation.now() - cut_at;
    pair.run_for(secs(3));
    let goodput = pair.bob().goodput_in_last(secs(3)).as_bits_per_second() as f64 / 1e6;
    pair.heal_path(1);
    pair.alice().stop_sending();
    pair.deliver_all(secs(60));
    (took, goodput)
}

#[test]
fn dead_path_is_abandoned_within_a_second() {
    for delay in [5, 20, 60] {
        let builder = || Pair::two_paths(mbit(10), ms(delay));
        let (took, goodput) = cut(builder().policies(failover("fast-failover")));
        println!("{delay} ms each way: out of use after {took:?}, then {goodput:.1} Mbit/s");
        assert!(took < ms(700), "{took:?}");
        assert!(goodput > 9.0, "{goodput} Mbit/s");
        let (by_timer, _) = cut(builder().policies(failover("potentially-failed")));
        let (by_the_standard, _) = cut(builder().policies(failover("rfc9260")));
        println!("potentially-failed {by_timer:?}, rfc9260 {by_the_standard:?}");
        assert!(took <= by_timer && by_timer < by_the_standard);
        assert!(by_the_standard > secs(10));
    }
}

#[test]
fn slow_path_with_jitter_and_deep_queue_stays_active() {
    // One second of queueing delay, and half a second of RTT.
    let slow = LinkConfig::new(mbit(5), ms(250))
        .jitter(ms(50))
        .queue(QueueConfig::Packets(420));
    let fast = LinkConfig::new(mbit(10), ms(10));
    let mut pair = Pair::paths([fast, slow])
        .policies(failover("fast-failover"))
        .connected();
    pair.alice().send_forever();
    pair.run_for(secs(60));
    let path = pair.alice().path(1);
    assert!(path.counters.payload_sent > 10_000_000, "it is in use");
    assert_eq!(path.counters.suspicions, 0);
    assert_eq!(pair.alice().path(0).counters.suspicions, 0);
    // A retransmission dropped by the full queue costs a timeout. Silence alone never marks the path as failed.
    assert!(path.counters.timeouts <= 1, "{path:?}");
}

#[test]
fn spurious_failure_costs_one_rtt_and_keeps_ssthresh() {
    // Short queues, so that the measured RTT has no queueing delay.
    let link = LinkConfig::new(mbit(10), ms(20)).queue(QueueConfig::Packets(15));
    let mut pair = Pair::paths([link.clone(), link])
        .policies(failover("fast-failover"))
        .connected();
    pair.alice().send_forever();
    pair.run_for(secs(10));
    let before = pair.alice().path(1);
    pair.simulation
        .happens(Step::Change(1, LinkChange::Delay(ms(300))));
    pair.run_until(
        |pair| pair.alice().reachability(1) == Reachability::PotentiallyFailed,
        secs(1),
    );
    pair.run_until(
        |pair| pair.alice().reachability(1) == Reachability::Active,
        secs(3),
    );
    let after = pair.alice().path(1);
    assert_eq!(after.counters.timeouts, before.counters.timeouts);
    // If the path was idle for longer than its RTO, cwnd is lower for a while (RFC 9260 §7.2.1), but ssthresh is not.
    assert!(
        after.ssthresh >= before.ssthresh,
        "{} then {}",
        before.ssthresh,
        after.ssthresh
    );
    pair.alice().stop_sending();
    pair.deliver_all(secs(20));
}

#[test]
fn only_path_stays_active_until_t3_expires() {
    let mut pair = Pair::one_path(mbit(10), ms(20))
        .policies(failover("fast-failover"))
        .connected();
    pair.alice().send_forever();
    pair.run_for(secs(3));
    pair.cut_path(0);
    pair.run_for(secs(2));
    assert_eq!(pair.alice().path(0).counters.suspicions, 0);
    pair.heal_path(0);
    pair.alice().stop_sending();
    pair.deliver_all(secs(60));
}

//! Retransmission path policies. Which path carries retransmissions? Of three paths the first loses 2 % of packets, the
//! second is slow, the third is neither.

use std::time::Duration;

use anabranch_netsim::link::Loss;
use anabranch_netsim::{LinkConfig, Probability};
use anabranch_policy::PolicyRecipe;
use anabranch_sim::app::{Paced, Streams, Workload};

use crate::fixture::{Pair, mbit, ms, secs};

/// Retransmitted bytes on each of the three paths, all with free cwnd.
fn carried_again(policy: &str, cc: &str) -> [u64; 3] {
    let mut policies = PolicyRecipe::cmt();
    policies.set("rtx-policy", policy).unwrap();
    policies.set("cc", cc).unwrap();
    // SACKs on other paths would make all RTTs look alike.
    policies.set("rtt-samples", "own-path").unwrap();
    let link = |delay: Duration| LinkConfig::new(mbit(50), delay);
    let lossy = link(ms(20)).loss(Loss::Bernoulli(Probability::of(0.02)));
    let mut pair = Pair::paths([lossy, link(ms(60)), link(ms(20))])
        .policies(policies)
        .connected();
    let pace = Paced::new(1_400, Duration::from_micros(1_500), Streams::one(0));
    pair.alice().act(|conversation, association, now| {
        conversation.also(now, Workload::Paced(pace), association);
    });
    pair.run_for(secs(60));
    let carried = [0, 1, 2].map(|path| pair.alice().path(path).counters.payload_retransmitted);
    println!("{policy}: {carried:?}");
    assert!(carried.iter().sum::<u64>() > 100_000, "little was lost");
    carried
}

/// Asserts that `path` carried at least 90 % of it.
#[track_caller]
fn mostly_on(path: usize, carried: [u64; 3]) {
    let all: u64 = carried.iter().sum();
    assert!(carried[path] * 10 >= all * 9, "{carried:?}");
}

#[test]
fn same_retransmits_on_the_path_of_the_loss() {
    mostly_on(0, carried_again("same", "fixed"));
}

//= rfc9260 6.4-4, 6.4-5
#[test]
fn alternate_changes_path_only_after_a_timeout() {
    let [own, others @ ..] = carried_again("alternate", "fixed");
    let others: u64 = others.iter().sum();
    assert!(
        own > 3 * others && others > 10_000,
        "{own} on its own, {others} on others"
    );
}

#[test]
fn other_retransmits_on_the_fastest_other_path() {
    mostly_on(2, carried_again("other", "fixed"));
}

#[test]
fn asap_picks_randomly_among_paths_with_free_cwnd() {
    let carried = carried_again("asap", "fixed");
    let third = carried.iter().sum::<u64>() / 3;
    for bytes in carried {
        assert!(bytes.abs_diff(third) < third / 2, "{carried:?}");
    }
}

#[test]
fn lossrate_avoids_the_lossy_path() {
    let carried = carried_again("lossrate", "fixed");
    assert!(carried[0] * 10 < carried[1], "{carried:?}");
    assert!(carried[0] * 10 < carried[2], "{carried:?}");
}

#[test]
fn cwnd_and_ssthresh_avoid_the_path_with_reduced_window() {
    for policy in ["cwnd", "ssthresh"] {
        let carried = carried_again(policy, "cmt");
        assert!(carried[0] * 10 < carried[1] + carried[2], "{policy}: {carried:?}");
    }
}

#[test]
fn hybrid_picks_the_path_without_loss_or_delay() {
    mostly_on(2, carried_again("hybrid-metric", "fixed"));
}

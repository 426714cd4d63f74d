//! RTT sampling. What RTT does Alice measure if SACKs are delayed, or return on another path?

use std::time::Duration;

use anabranch_netsim::{LinkChange, LinkConfig};
use anabranch_policy::PolicyRecipe;
use anabranch_sim::Step;
use anabranch_sim::app::{Paced, Streams, Workload};

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

/// Two paths with 5 ms forward delay and different reverse delays.
fn asymmetric(sampling: &str, reverse: [Duration; 2]) -> PairBuilder {
    let mut policies = PolicyRecipe::cmt();
    policies.set("rtt-samples", sampling).unwrap();
    // Small windows keep the queues empty, so that only link delays count.
    policies.set("cc", "fixed").unwrap();
    policies.set("cc.cwnd", "15000").unwrap();
    Pair::paths([])
        .scenario(move |scenario| {
            let [first, second] = reverse;
            let link = |rate, delay| LinkConfig::new(mbit(rate), delay);
            let scenario = scenario.asymmetric_path(link(20, ms(5)), link(20, first));
            scenario.asymmetric_path(link(13, ms(5)), link(13, second))
        })
        .policies(policies)
}

/// SRTT of both paths during a bulk transfer.
fn believed_when_busy(sampling: &str) -> [Duration; 2] {
    let mut pair = asymmetric(sampling, [ms(5), ms(100)]).connected();
    pair.alice().send_forever();
    pair.run_for(secs(10));
    believed(&mut pair, sampling)
}

/// SRTT of both paths with sparse data, so that every SACK is delayed.
fn believed_when_idle(sampling: &str) -> [Duration; 2] {
    let mut pair = asymmetric(sampling, [ms(15), ms(45)]).connected();
    let pace = Paced::new(1_000, ms(250), Streams::one(0));
    pair.alice().act(|conversation, association, now| {
        conversation.also(now, Workload::Paced(pace), association);
    });
    pair.run_for(secs(60));
    believed(&mut pair, sampling)
}

fn believed(pair: &mut Pair, sampling: &str) -> [Duration; 2] {
    let believed = [0, 1].map(|path| pair.alice().path(path).srtt.expect("a round-trip time"));
    println!("{sampling}: {believed:?}");
    believed
}

#[track_caller]
fn is_about(believed: Duration, real: Duration) {
    let wrong_by = believed.abs_diff(real);
    assert!(wrong_by < real / 10, "{believed:?} instead of {real:?}");
}

#[test]
fn any_sack_sampling_measures_another_reverse_path() {
    let [_, slow] = believed_when_busy("any-path");
    assert!(slow < ms(70), "{slow:?}, and it takes 105 ms");
}

#[test]
fn slow_path_rtt_samples_the_later_sack() {
    let [_, slow] = believed_when_busy("slow-path-rtt");
    is_about(slow, ms(106));
}

#[test]
fn is_rtt_samples_requested_sacks_of_the_same_path() {
    let [_, slow] = believed_when_busy("is-rtt");
    is_about(slow, ms(106));
}

#[test]
fn delayed_sack_inflates_rtt_except_with_is_rtt() {
    let [first, second] = believed_when_idle("own-path");
    assert!(first > ms(200), "{first:?}, and it takes 20 ms");
    assert!(second > ms(230), "{second:?}, and it takes 50 ms");
    let [first, second] = believed_when_idle("is-rtt");
    is_about(first, ms(20));
    is_about(second, ms(50));
}

/// All SACKs return on the first path. Data and SACK take 10 ms together until the second path becomes slower by 50 ms
/// in the direction of the data.
#[test]
fn path_without_own_sacks_is_measured_by_others() {
    let believed = |sampling| {
        let mut policies = PolicyRecipe::cmt();
        for (point, answer) in [
            ("rtt-samples", sampling),
            ("sack-path", "primary"),
            ("cc", "fixed"),
            ("cc.cwnd", "15000"),
        ] {
            policies.set(point, answer).unwrap();
        }
        let mut pair = Pair::two_paths(mbit(20), ms(5)).policies(policies).connected();
        pair.alice().send_forever();
        pair.run_for(secs(5));
        let slower = LinkChange::Delay(ms(55));
        pair.apply(Step::Change(1, slower));
        pair.run_for(secs(10));
        pair.alice().path(1).srtt.expect("a round-trip time")
    };
    let own = believed("own-path");
    assert!(own > ms(55), "{own:?}");
    let stale = believed("slow-path-rtt");
    assert!(stale < ms(20), "{stale:?}");
}

/// The I bit is set once per RTT, not in every chunk.
#[test]
fn is_rtt_needs_few_additional_sacks() {
    let sacks = |sampling| {
        let mut pair = asymmetric(sampling, [ms(5), ms(100)]).connected();
        pair.alice().send_forever();
        pair.run_for(secs(10));
        assert_eq!(pair.bob().inbox().delivery_error(), None);
        pair.bob().statistics().sacks_sent as f64
    };
    let (without, with) = (sacks("slow-path-rtt"), sacks("is-rtt"));
    assert!(with < without * 1.1, "{with} against {without}");
}

//! Tests of the burst limits.

use alloc::vec::Vec;
use core::num::NonZeroU64;
use core::time::Duration;

use anabranch_types::Instant;

use super::{MaxBurst, MaxBurstParameters, Paced, WindowLimiting};
use crate::parameters::NoParameters;
use crate::testing::{CHUNK, at, healthy, ms};
use crate::{BurstPolicy, PathFacts, SendAllowance};

#[test]
fn max_burst_sends_four_packets_per_transmission_opportunity() {
    let mut policy = MaxBurst::new(MaxBurstParameters::DEFAULT);
    let mut path = healthy(0);
    path.in_flight = 3 * CHUNK;
    policy.add_path(path.id);
    assert_eq!(policy.allowance(&path, at(0)).bytes, 4 * CHUNK);
    path.in_flight += 4 * CHUNK;
    assert_eq!(policy.allowance(&path, at(0)).bytes, 0);
    assert_eq!(policy.allowance(&path, at(1)).bytes, 0);
    policy.on_transmission_opportunity();
    assert_eq!(policy.allowance(&path, at(1)).bytes, 4 * CHUNK);
}

#[test]
fn window_limiting_caps_cwnd_at_flight_plus_four_packets() {
    let mut policy = WindowLimiting::new(MaxBurstParameters::DEFAULT);
    let mut path = healthy(0);
    path.in_flight = 3 * CHUNK;
    policy.add_path(path.id);
    assert_eq!(policy.window_limit(&path), Some(7 * CHUNK));
    assert_eq!(policy.allowance(&path, at(0)), SendAllowance::UNLIMITED);
}

/// A path with a cwnd of `packets` and an RTT of 100 ms.
fn long_path(packets: u64) -> PathFacts {
    let mut path = healthy(0);
    path.set_srtt(Some(ms(100)));
    path.cwnd = packets * 1_500;
    path
}

/// Sends whenever allowed for `time`; returns how many packets were sent, and the largest number at one moment.
fn send_for(policy: &mut Paced, path: &PathFacts, from: Instant, time: Duration) -> (u64, u64) {
    let (mut now, mut sent, mut burst, mut longest) = (from, 0, 0, 0);
    while now < from + time {
        match policy.allowance(path, now) {
            SendAllowance { bytes: 0, again_at } => {
                now = again_at.expect("pacing waits for time, not for SACKs");
                burst = 0;
            }
            _ => {
                policy.on_sent(path.id, 1_500, now);
                sent += 1;
                burst += 1;
                longest = longest.max(burst);
            }
        }
    }
    (sent, longest)
}

#[test]
fn pacing_spreads_cwnd_over_ten_elevenths_of_an_rtt() {
    let mut policy = Paced::new(NoParameters);
    let mut path = long_path(200);
    path.ssthresh = 100 * 1_500;
    policy.add_path(path.id);
    let (_, first_burst) = send_for(&mut policy, &path, at(0), ms(100));
    assert_eq!(first_burst, 10);
    let (sent, burst) = send_for(&mut policy, &path, at(100), ms(100));
    assert!((215..=225).contains(&sent), "{sent}");
    assert!(burst <= 4, "{burst}");
}

#[test]
fn pacing_in_slow_start_is_twice_as_fast() {
    let mut policy = Paced::new(NoParameters);
    let path = long_path(200);
    policy.add_path(path.id);
    send_for(&mut policy, &path, at(0), ms(100));
    let (sent, _) = send_for(&mut policy, &path, at(100), ms(100));
    assert!((390..=410).contains(&sent), "{sent}");
}

/// A path that is paced at 110 packets in a millisecond.
fn fast_path() -> PathFacts {
    let mut path = long_path(10_000);
    path.ssthresh = 0;
    path
}

#[test]
fn pacing_allows_two_milliseconds_of_a_fast_path_if_a_timer_is_late() {
    let mut policy = Paced::new(NoParameters);
    let path = fast_path();
    policy.add_path(path.id);
    let first = policy.allowance(&path, at(0)).bytes;
    policy.on_sent(path.id, first, at(0));
    assert_eq!(policy.allowance(&path, at(0)).bytes, 0);
    let packets = policy.allowance(&path, at(5)).bytes / 1_500;
    assert_eq!(packets, 220, "1.1 · 10,000 · 2 / 100");
}

#[test]
fn pacing_allows_ten_packets_at_once_if_the_window_was_the_limit() {
    let mut policy = Paced::new(NoParameters);
    let path = fast_path();
    policy.add_path(path.id);
    for time in [0, 1, 5, 100] {
        assert_eq!(policy.allowance(&path, at(time)).bytes, 10 * 1_500, "{time}");
    }
    let mut short = fast_path();
    short.set_srtt(Some(ms(2)));
    assert_eq!(policy.allowance(&short, at(105)).bytes / 1_500, 11_000);
}

#[test]
fn pacing_starts_with_the_first_rtt_sample() {
    let mut policy = Paced::new(NoParameters);
    let mut path = healthy(0);
    path.set_srtt(None);
    policy.add_path(path.id);
    assert_eq!(policy.allowance(&path, at(0)), SendAllowance::UNLIMITED);
}

/// A path with an RTT of 640 ms that the congestion control paces at 6.4 MB/s, 4,267 packets a second.
fn paced_path() -> PathFacts {
    let mut path = healthy(0);
    path.set_srtt(Some(ms(640)));
    path.pacing_rate = NonZeroU64::new(6_400_000);
    path
}

/// The packets that may be sent, asked each millisecond, as often as acknowledgements of another path come.
fn bursts_of(policy: &mut Paced, path: &PathFacts) -> Vec<u64> {
    let bursts = (1..=640).map(|time| {
        let mut packets = 0;
        while policy.allowance(path, at(time)).bytes > 0 {
            policy.on_sent(path.id, 1_500, at(time));
            packets += 1;
        }
        packets
    });
    bursts.filter(|packets| *packets > 0).collect()
}

#[test]
fn pacing_beside_another_path_sends_128_runs_in_a_round_trip() {
    let mut policy = Paced::new(NoParameters);
    let path = paced_path();
    policy.add_path(path.id);
    policy.add_path(healthy(1).id);
    let bursts = bursts_of(&mut policy, &path);
    assert!((100..=130).contains(&bursts.len()), "{bursts:?}");
    let sent: u64 = bursts.iter().sum();
    assert!((2_700..=2_780).contains(&sent), "6.4 MB/s for 640 ms: {sent}");
}

#[test]
fn pacing_of_the_only_path_sends_packets_as_tokens_come() {
    let mut policy = Paced::new(NoParameters);
    let path = paced_path();
    policy.add_path(path.id);
    let bursts = bursts_of(&mut policy, &path);
    assert!(bursts.len() > 600, "{bursts:?}");
}

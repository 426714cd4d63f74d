//! Properties of loss detection: nothing is lost above what was acknowledged, and timeouts and removals reset the state.

use alloc::vec::Vec;

use anabranch_types::{Instant, PathId};

use super::{STEPS, for_all};
use crate::catalog::LossChoice;
use crate::testing::{any_ack, healthy, ms, sack};
use crate::{LossThreshold, PathFacts};

#[test]
fn threshold_never_exceeds_what_was_acked_nor_decreases() {
    for_all::<LossChoice>(|policy, twin, rng| {
        let mut paths: Vec<PathFacts> = (0..3).map(healthy).collect();
        for path in &paths {
            policy.add_path(path.id);
            twin.add_path(path.id);
        }
        let (mut highest, mut latest) = (None, None);
        for step in 0..STEPS {
            let now = Instant::ZERO + ms(step);
            paths
                .iter_mut()
                .for_each(|path| path.in_recovery = rng.chance(1, 3));
            let acked: Vec<_> = paths.iter().filter(|_| rng.chance(1, 2)).collect();
            let acks: Vec<_> = acked
                .iter()
                .map(|path| any_ack(rng, path, 1_000 + step, now))
                .collect();
            let mut sample = sack(&acks);
            sample.packet_count = [None, Some(1), Some(2), Some(255)][rng.below(4) as usize];
            highest = highest.max(acks.iter().filter_map(|ack| ack.highest_newly_acked).max());
            latest = latest.max(acks.iter().filter_map(|ack| ack.latest_send_number).max());
            let before: Vec<LossThreshold> = paths
                .iter()
                .map(|path| policy.loss_threshold(path.id, now))
                .collect();
            policy.on_ack(&sample, &paths, now);
            twin.on_ack(&sample, &paths, now);
            for (path, before) in paths.iter().zip(before) {
                let threshold = policy.loss_threshold(path.id, now);
                assert_eq!(threshold, policy.loss_threshold(path.id, now), "asked twice");
                assert_eq!(
                    threshold,
                    twin.loss_threshold(path.id, now),
                    "same inputs, other answer"
                );
                assert!(threshold.below >= before.below && threshold.resent_before >= before.resent_before);
                assert!(threshold.below <= highest);
                assert!(
                    threshold
                        .late
                        .is_none_or(|late| Some(late.before) <= latest && late.until <= now)
                );
                assert!(threshold.again_at.is_none_or(|moment| moment > now));
            }
        }
    });
}

#[test]
fn two_sacks_in_order_reveal_no_loss_except_by_time() {
    for_all::<LossChoice>(|policy, _, rng| {
        let path = healthy(0);
        policy.add_path(path.id);
        for _ in 0..2 {
            let ack = any_ack(rng, &path, 1_000, Instant::ZERO);
            policy.on_ack(&sack(&[ack]), core::slice::from_ref(&path), Instant::ZERO);
        }
        let threshold = policy.loss_threshold(path.id, Instant::ZERO);
        assert_eq!((threshold.below, threshold.resent_before), (None, None));
    });
}

/// After the moment that a threshold names, there is no further one: a path without SACKs sets no more timers.
#[test]
fn after_again_at_no_further_timer_is_needed() {
    for_all::<LossChoice>(|policy, _, rng| {
        let path = healthy(0);
        policy.add_path(path.id);
        for step in 0..STEPS / 10 {
            let now = Instant::ZERO + ms(1_000 + step);
            let ack = any_ack(rng, &path, 1_000 + step, now);
            policy.on_ack(&sack(&[ack]), core::slice::from_ref(&path), now);
            if let Some(moment) = policy.loss_threshold(path.id, now).again_at {
                assert_eq!(policy.loss_threshold(path.id, moment).again_at, None);
            }
        }
    });
}

#[test]
fn unknown_and_removed_paths_lose_nothing() {
    for_all::<LossChoice>(|policy, _, rng| {
        let path = healthy(2);
        policy.add_path(path.id);
        for step in 0..10 {
            let ack = any_ack(rng, &path, 1_000 + step, Instant::ZERO);
            policy.on_ack(&sack(&[ack]), core::slice::from_ref(&path), Instant::ZERO);
        }
        policy.remove_path(path.id);
        assert_eq!(policy.loss_threshold(path.id, Instant::ZERO), LossThreshold::NONE);
        assert_eq!(
            policy.loss_threshold(PathId(200), Instant::ZERO),
            LossThreshold::NONE
        );
        policy.on_timeout(path.id);
    });
}

//! Properties of chunk rescheduling: a chunk moves onto an active path that is not full, and once only.

use core::time::Duration;

use anabranch_types::{Instant, PathId, Rng};

use super::{STEPS, for_all, for_one};
use crate::catalog::{PolicyChoice, ReschedulingChoice};
use crate::rescheduling::ThresholdParameters;
use crate::testing::{any_paths, ms, tsn};
use crate::{BufferFacts, Rescheduled, StuckChunk, may_carry_data};

#[test]
fn a_chunk_moves_once_onto_a_path_that_can_take_it() {
    for_all::<ReschedulingChoice>(check);
}

#[test]
fn a_chunk_that_is_overdue_is_sent_again_once() {
    let parameters = ThresholdParameters {
        overdue: true,
        ..ThresholdParameters::DEFAULT
    };
    let choice = ReschedulingChoice::Both(parameters);
    for_one(&choice, "both, overdue", check);
}

type DynPolicy = <ReschedulingChoice as PolicyChoice>::Policy;

fn check(policy: &mut DynPolicy, twin: &mut DynPolicy, rng: &mut Rng) {
    for _ in 0..STEPS {
        let paths = any_paths(rng);
        let Some(onto) = paths.get(rng.below(paths.len() as u64) as usize) else {
            continue;
        };
        let now = Instant::ZERO + Duration::from_secs(60);
        let stuck = StuckChunk {
            tsn: tsn(5),
            bytes: 1_000,
            path: PathId(rng.below(5) as u8),
            sent_at: now - ms(rng.below(10_000)),
            rescheduled: match rng.below(3) {
                0 => Rescheduled::Never,
                1 => Rescheduled::OnItsPath,
                _ => Rescheduled::Moved,
            },
        };
        let buffer = BufferFacts {
            send_capacity: rng.below(2_000_000),
            send_used: rng.below(2_000_000),
            peer_window: rng.below(2_000_000),
            in_flight: onto.in_flight,
            queued: onto.queued + rng.below(1_000_000),
            usable_paths: rng.below(5) as u32,
            send_split: rng.chance(1, 2),
            receive_split: rng.chance(1, 2),
        };
        let reschedule = policy.reschedule(onto, &stuck, &buffer, &paths, now);
        assert_eq!(
            reschedule,
            policy.reschedule(onto, &stuck, &buffer, &paths, now),
            "asked twice"
        );
        assert_eq!(
            reschedule,
            twin.reschedule(onto, &stuck, &buffer, &paths, now),
            "same inputs, other answer"
        );
        if reschedule.is_some() {
            assert!(
                may_carry_data(onto, &paths)
                    && onto.in_flight < onto.cwnd
                    && stuck.rescheduled != Rescheduled::Moved
            );
            let is_overdue = policy
                .overdue_at(&stuck, &buffer, &paths)
                .is_some_and(|due| due <= now);
            assert!(
                !onto.in_recovery
                    || is_overdue && onto.id == stuck.path && stuck.rescheduled == Rescheduled::Never
            );
        }
    }
}

//! Properties of path schedulers: they pick a path that can take data, and wait only if an acknowledgement will come.

use anabranch_types::{Instant, PathId, Rng};

use super::{STEPS, for_all};
use crate::catalog::{Choice, PathSchedulerChoice, PolicyChoice};
use crate::testing::{any_ack, any_paths, healthy, ms, sack, tsn};
use crate::{
    Backlog, ChunkInFlight, LossCause, LossEvent, PathAck, PathFacts, PathScheduler, Pick, may_carry_data,
    path_facts,
};

fn any_backlog(rng: &mut Rng) -> Backlog {
    Backlog {
        unsent_bytes: 1 + rng.below(1_000_000),
        peer_window: rng.below(1_000_000),
        send_window: rng.below(2_000_000),
        bound: rng.chance(1, 3).then(|| rng.below(100_000)),
    }
}

/// Reports a random event to both schedulers.
fn something_happens(both: [&mut dyn PathScheduler; 2], paths: &[PathFacts], now: Instant, rng: &mut Rng) {
    let Some(path) = paths.get(rng.below(paths.len() as u64 + 1) as usize) else {
        both.into_iter().for_each(PathScheduler::on_round);
        return;
    };
    let acks: [PathAck; 1] = [any_ack(rng, path, 1 << 32, now)];
    let cause = if rng.chance(1, 2) {
        LossCause::Timeout
    } else {
        LossCause::FastRetransmit
    };
    let loss = LossEvent {
        path: path.id,
        cause,
        bytes: path.in_flight,
    };
    let what = rng.below(3);
    for policy in both {
        match what {
            0 => policy.on_ack(&sack(&acks), paths, now),
            1 => policy.on_loss(&loss, paths, now),
            _ => policy.on_blocked(),
        }
    }
}

#[test]
fn picks_are_usable_and_repeatable() {
    for_all::<PathSchedulerChoice>(|policy, twin, rng| {
        let mut now = Instant::ZERO;
        for id in 0..5 {
            policy.add_path(healthy(id).id);
            twin.add_path(healthy(id).id);
        }
        for _ in 0..STEPS {
            now += ms(rng.below(300));
            let paths = any_paths(rng);
            let backlog = any_backlog(rng);
            something_happens([policy, twin], &paths, now, rng);
            let pick = policy.pick(&paths, &backlog, now);
            assert_eq!(pick, policy.pick(&paths, &backlog, now), "asked twice");
            assert_eq!(
                pick,
                twin.pick(&paths, &backlog, now),
                "same inputs, other answer"
            );
            if let Pick::On(id) | Pick::Ahead { path: id, .. } = pick {
                assert!(matches!(pick, Pick::On(_)) || backlog.bound.is_none());
                let path = path_facts(&paths, id).expect("one of the paths");
                assert!(path.sendable > 0 && may_carry_data(path, &paths), "{path:?}");
                policy.on_sent(id, 1_000, now);
                twin.on_sent(id, 1_000, now);
            }
        }
    });
}

#[test]
fn no_scheduler_waits_with_nothing_in_flight() {
    for_all::<PathSchedulerChoice>(|policy, _, rng| {
        // The only one that leaves other paths unused by design.
        if policy.name() == "primary" {
            return;
        }
        let now = Instant::ZERO;
        for _ in 0..STEPS {
            let mut paths = any_paths(rng);
            something_happens([policy, &mut Deaf], &paths, now, rng);
            policy.pick(&paths, &any_backlog(rng), now);
            for path in &mut paths {
                path.in_flight = 0;
            }
            let open = paths
                .iter()
                .any(|path| path.sendable > 0 && may_carry_data(path, &paths));
            let pick = policy.pick(&paths, &any_backlog(rng), now);
            assert_eq!(matches!(pick, Pick::Wait { .. }), !open, "{paths:?}");
        }
    });
}

#[test]
fn duplicates_never_exceed_the_cwnd() {
    for_all::<PathSchedulerChoice>(|policy, twin, rng| {
        for _ in 0..STEPS {
            let paths = any_paths(rng);
            let Some(onto) = paths.first() else {
                continue;
            };
            let now = Instant::from_nanos(rng.below(1 << 40));
            let chunk = any_chunk(now, rng);
            let answer = policy.wants_duplicate(&chunk, onto, now);
            assert_eq!(
                answer,
                twin.wants_duplicate(&chunk, onto, now),
                "same inputs, other answer"
            );
            let is_full = onto.duplicated_bytes >= onto.cwnd;
            assert!(!(answer && is_full), "{onto:?}");
        }
    });
}

#[test]
fn only_chunks_of_redundant_streams_are_duplicated_unless_all_are() {
    for_all::<PathSchedulerChoice>(|policy, _, rng| {
        for _ in 0..STEPS {
            let mut paths = any_paths(rng);
            let Some(onto) = paths.first_mut() else {
                continue;
            };
            let now = Instant::from_nanos(rng.below(1 << 40));
            let mut chunk = any_chunk(now, rng);
            let sends_any = policy.sends_duplicates();
            chunk.redundant = false;
            assert!(
                sends_any || !policy.wants_duplicate(&chunk, onto, now),
                "{onto:?}"
            );
            // A path with room takes what is to be on all paths.
            chunk.redundant = true;
            onto.duplicated_bytes = 0;
            onto.cwnd = 2 * chunk.bytes;
            assert!(policy.wants_duplicate(&chunk, onto, now), "{onto:?}");
        }
    });
}

/// A chunk in flight on a path that is none of the others.
fn any_chunk(now: Instant, rng: &mut Rng) -> ChunkInFlight {
    ChunkInFlight {
        tsn: tsn(1 << 32),
        bytes: 20 + 4 * rng.below(2_000),
        path: PathId(7),
        sent_at: now - ms(rng.below(500)),
        redundant: rng.chance(1, 2),
    }
}

#[test]
fn a_single_healthy_path_is_always_used() {
    for algorithm in PathSchedulerChoice::POINT.algorithms {
        let mut policy = PathSchedulerChoice::named(algorithm.name).unwrap().build();
        let path: [PathFacts; 1] = [healthy(4)];
        policy.add_path(path[0].id);
        for _ in 0..5 {
            policy.on_round();
            let pick = policy.pick(&path, &Backlog::default(), Instant::ZERO);
            assert_eq!(pick, Pick::On(path[0].id), "{}", algorithm.name);
        }
    }
}

/// A path that does not exist, for events about it.
#[derive(Debug)]
struct Deaf;

impl crate::Policy for Deaf {
    fn name(&self) -> &'static str {
        "deaf"
    }
}

impl PathScheduler for Deaf {
    fn pick(&mut self, _paths: &[PathFacts], _backlog: &Backlog, _now: Instant) -> Pick {
        Pick::Wait { until: None }
    }
}

//! New data goes on a path that may carry it and has room, whenever there is one.

use anabranch_types::Instant;

use super::{STEPS, for_all};
use crate::catalog::{Choice, PathSchedulerChoice, PolicyChoice};
use crate::testing::{any_paths, healthy};
use crate::{Backlog, PathFacts, Pick, may_carry_data, path_facts};

#[test]
fn never_picks_a_path_that_is_down_or_full_and_answers_alike_when_asked_twice() {
    for_all::<PathSchedulerChoice>(|policy, twin, rng| {
        for _ in 0..STEPS {
            let paths = any_paths(rng);
            let backlog = Backlog {
                unsent_bytes: rng.below(100_000),
                peer_window: rng.below(100_000),
            };
            if rng.chance(1, 3) {
                policy.on_round();
                twin.on_round();
            }
            let pick = policy.pick(&paths, &backlog, Instant::ZERO);
            assert_eq!(pick, policy.pick(&paths, &backlog, Instant::ZERO), "asked twice");
            assert_eq!(
                pick,
                twin.pick(&paths, &backlog, Instant::ZERO),
                "same inputs, other answer"
            );
            if let Pick::On(id) = pick {
                let path = path_facts(&paths, id).expect("one of the paths");
                assert!(path.room > 0 && may_carry_data(path, &paths), "{path:?}");
                policy.on_sent(id, 1_000, Instant::ZERO);
                twin.on_sent(id, 1_000, Instant::ZERO);
            }
        }
    });
}

#[test]
fn a_single_healthy_path_is_always_used() {
    for algorithm in PathSchedulerChoice::POINT.algorithms {
        let mut policy = PathSchedulerChoice::named(algorithm.name).unwrap().build();
        let path: [PathFacts; 1] = [healthy(4)];
        for _ in 0..5 {
            policy.on_round();
            let pick = policy.pick(&path, &Backlog::default(), Instant::ZERO);
            assert_eq!(pick, Pick::On(path[0].id), "{}", algorithm.name);
        }
    }
}

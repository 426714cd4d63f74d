//! Properties of failover policies: errors never improve a path, and a path that works is active.

use super::{STEPS, for_all};
use crate::Reachability;
use crate::catalog::FailoverChoice;
use crate::testing::any_path;

const fn badness(reachability: Reachability) -> u8 {
    match reachability {
        Reachability::Active => 0,
        Reachability::PotentiallyFailed => 1,
        Reachability::Inactive | Reachability::Unconfirmed => 2,
    }
}

#[test]
fn errors_never_improve_a_path_and_success_makes_it_active() {
    for_all::<FailoverChoice>(|policy, twin, rng| {
        for _ in 0..STEPS {
            let mut path = any_path(rng, 0);
            path.errors += 1;
            let after = policy.on_error(&path);
            assert_eq!(after, twin.on_error(&path), "same inputs, other answer");
            assert!(
                badness(after) >= badness(path.reachability),
                "{path:?} → {after:?}"
            );
            let unconfirmed = |reachability| reachability == Reachability::Unconfirmed;
            assert_eq!(
                unconfirmed(after),
                unconfirmed(path.reachability),
                "an error confirms nothing"
            );
            assert_eq!(policy.on_reachable(&path), Reachability::Active);
        }
    });
}

#[test]
fn with_one_path_each_error_counts_against_the_peer() {
    for_all::<FailoverChoice>(|policy, twin, rng| {
        for _ in 0..STEPS {
            let mut paths = [any_path(rng, 0)];
            paths[0].reachability = Reachability::Active;
            paths[0].errors += 1;
            assert!(policy.counts_against_peer(&paths[0], &paths));
            assert!(twin.counts_against_peer(&paths[0], &paths));
        }
    });
}

#[test]
fn errors_count_against_the_peer_if_all_paths_fail() {
    for_all::<FailoverChoice>(|policy, _, rng| {
        let mut paths = [0, 1, 2].map(|id| any_path(rng, id));
        for path in &mut paths {
            path.reachability = Reachability::Active;
            path.errors = 0;
        }
        let blamed = (0..300).filter(|_| {
            let at = rng.below(3) as usize;
            paths[at].errors += 1;
            policy.counts_against_peer(&paths[at], &paths)
        });
        assert!(blamed.count() > 50);
    });
}

#[test]
fn no_path_is_potentially_failed_within_a_round_trip() {
    for_all::<FailoverChoice>(|policy, twin, rng| {
        for _ in 0..STEPS {
            let path = any_path(rng, 0);
            let patience = policy.suspect_after(&path);
            assert_eq!(patience, twin.suspect_after(&path), "same inputs, other answer");
            if let Some(patience) = patience {
                let round_trip = path.srtt().expect("patience with a path that was never measured");
                assert!(patience >= round_trip, "{path:?} after {patience:?}");
            }
        }
    });
}

#[test]
fn a_path_that_only_fails_becomes_inactive() {
    for_all::<FailoverChoice>(|policy, _, rng| {
        let mut path = any_path(rng, 0);
        path.reachability = Reachability::Active;
        for errors in 1..100 {
            path.errors = errors;
            path.reachability = policy.on_error(&path);
        }
        assert_eq!(path.reachability, Reachability::Inactive);
        assert!(
            policy.heartbeat_interval(&path).is_some(),
            "it could never come back"
        );
    });
}

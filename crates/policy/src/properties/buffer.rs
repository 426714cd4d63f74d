//! Properties of buffer policies: a path that holds nothing may send, and holding more never allows more.

use super::{STEPS, for_all};
use crate::BufferFacts;
use crate::catalog::BufferChoice;
use crate::testing::any_path;

#[test]
fn larger_backlog_never_allows_more_data() {
    for_all::<BufferChoice>(|policy, twin, rng| {
        for _ in 0..STEPS {
            let mut path = any_path(rng, 0);
            let buffer = BufferFacts {
                send_capacity: rng.below(2_000_000),
                send_used: rng.below(2_000_000),
                peer_window: rng.below(2_000_000),
                in_flight: path.in_flight + rng.below(100_000),
                queued: path.queued + rng.below(1_000_000),
                usable_paths: rng.below(5) as u32,
                send_split: rng.chance(1, 2),
                receive_split: rng.chance(1, 2),
            };
            let allowance = policy.allowance(&path, &[], &buffer);
            assert_eq!(
                allowance,
                twin.allowance(&path, &[], &buffer),
                "same inputs, other answer"
            );
            assert!(!policy.is_unlimited() || allowance == u64::MAX);
            path.in_flight += 1;
            path.queued += 1;
            assert!(policy.allowance(&path, &[], &buffer) <= allowance);
            path.in_flight = 0;
            path.queued = 0;
            assert!(policy.allowance(&path, &[], &buffer) >= u64::from(path.max_data_chunk));
        }
    });
}

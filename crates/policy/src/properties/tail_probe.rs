//! Properties of tail loss probes: never before a round trip.

use super::{STEPS, for_all};
use crate::catalog::TailProbeChoice;
use crate::testing::any_path;

#[test]
fn no_probe_is_sent_within_a_round_trip() {
    for_all::<TailProbeChoice>(|policy, twin, rng| {
        for _ in 0..STEPS {
            let path = any_path(rng, 0);
            let after = policy.probe_after(&path);
            assert_eq!(after, policy.probe_after(&path), "asked twice");
            assert_eq!(after, twin.probe_after(&path), "same inputs, other answer");
            assert!(after.is_none_or(|after| path.srtt().is_some_and(|srtt| after > srtt)));
        }
    });
}

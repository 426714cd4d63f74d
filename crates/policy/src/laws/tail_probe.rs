//! A probe comes after a round trip at least, or never.

use super::{STEPS, for_all};
use crate::catalog::TailProbeChoice;
use crate::testing::any_path;

#[test]
fn no_probe_comes_before_an_answer_could() {
    for_all::<TailProbeChoice>(|policy, twin, rng| {
        for _ in 0..STEPS {
            let path = any_path(rng, 0);
            let after = policy.probe_after(&path);
            assert_eq!(after, policy.probe_after(&path), "asked twice");
            assert_eq!(after, twin.probe_after(&path), "same inputs, other answer");
            assert!(after.is_none_or(|after| path.srtt.is_some_and(|srtt| after > srtt)));
        }
    });
}

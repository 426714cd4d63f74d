//! Properties of SACK paths: a usable path, or the one that the data arrived over.

use anabranch_types::PathId;

use super::{STEPS, for_all};
use crate::catalog::SackPathChoice;
use crate::testing::any_paths;
use crate::{PathFacts, path_facts};

#[test]
fn sack_path_is_usable_or_delivered_the_data() {
    for_all::<SackPathChoice>(|policy, twin, rng| {
        for _ in 0..STEPS {
            let paths = any_paths(rng);
            let arrived_on = PathId(rng.below(5) as u8);
            let path = policy.path(arrived_on, &paths);
            assert_eq!(path, policy.path(arrived_on, &paths), "asked twice");
            assert_eq!(path, twin.path(arrived_on, &paths), "same inputs, other answer");
            assert!(path == arrived_on || path_facts(&paths, path).is_some_and(PathFacts::is_usable));
        }
    });
}

//! Custom policies outside the catalog. Does the core use them?

use anabranch_policy::{Backlog, PathFacts, PathScheduler, Pick, Policy};
use anabranch_proto::OwnPolicies;
use anabranch_types::{Instant, PathId};

use crate::fixture::{Pair, mbit, ms, secs};

/// A scheduler that puts everything on path 1.
#[derive(Debug)]
struct SecondPath;

impl Policy for SecondPath {
    fn name(&self) -> &'static str {
        "second-path"
    }
}

impl PathScheduler for SecondPath {
    fn pick(&mut self, paths: &[PathFacts], _backlog: &Backlog, _now: Instant) -> Pick {
        let second = paths
            .iter()
            .find(|path| path.id == PathId(1) && path.can_take_data());
        second.map_or(Pick::Wait { until: None }, |path| Pick::On(path.id))
    }
}

#[test]
fn custom_path_scheduler_replaces_the_catalogs() {
    let builder = Pair::two_paths(mbit(10), ms(20)).with(|config| {
        config.own_policies = Some(OwnPolicies::new(|policies| {
            policies.path_scheduler = Box::new(SecondPath);
        }));
    });
    let mut pair = builder.connected();
    pair.alice().send_paced(mbit(1));
    pair.run_for(secs(5));
    let carried = pair.alice().payload_sent_by_path();
    assert!(carried[0] == 0 && carried[1] > 0, "{carried:?}");
}

//! What distinguishes the retransmission policies.

use anabranch_types::PathId;

use super::{Alternate, Cwnd, Same};
use crate::parameters::NoParameters;
use crate::testing::{CHUNK, healthy, tsn};
use crate::{LossCause, LostChunk, PathFacts, Reachability, RetransmissionPolicy};

fn lost_on_0(cause: LossCause) -> LostChunk {
    LostChunk {
        tsn: tsn(7),
        bytes: CHUNK,
        lost_on: PathId(0),
        cause,
        transmissions: 1,
    }
}

fn path_for(policy: &mut dyn RetransmissionPolicy, cause: LossCause, paths: &[PathFacts]) -> Option<u8> {
    policy.path_for(&lost_on_0(cause), paths).map(|path| path.0)
}

#[test]
fn same_leaves_its_path_only_when_that_is_down() {
    let mut policy = Same::new(NoParameters);
    let mut paths = [healthy(0), healthy(1)];
    paths[0].room = 0;
    assert_eq!(path_for(&mut policy, LossCause::FastRetransmit, &paths), Some(0));
    assert_eq!(path_for(&mut policy, LossCause::Timeout, &paths), Some(0));
    paths[0].reachability = Reachability::PotentiallyFailed;
    assert_eq!(path_for(&mut policy, LossCause::Timeout, &paths), Some(1));
}

#[test]
fn alternate_leaves_it_after_a_timeout() {
    let mut policy = Alternate::new(NoParameters);
    let paths = [healthy(0), healthy(1)];
    assert_eq!(path_for(&mut policy, LossCause::FastRetransmit, &paths), Some(0));
    assert_eq!(path_for(&mut policy, LossCause::Timeout, &paths), Some(1));
    assert_eq!(path_for(&mut policy, LossCause::Timeout, &paths[..1]), Some(0));
}

#[test]
fn cwnd_takes_the_largest_window_with_room() {
    let mut policy = Cwnd::new(NoParameters);
    let mut paths = [healthy(0), healthy(1), healthy(2)];
    assert_eq!(
        path_for(&mut policy, LossCause::Timeout, &paths),
        Some(0),
        "its own if all are alike"
    );
    paths[1].window = 30 * CHUNK;
    paths[2].window = 20 * CHUNK;
    assert_eq!(path_for(&mut policy, LossCause::Timeout, &paths), Some(1));
    paths[1].room = 0;
    assert_eq!(path_for(&mut policy, LossCause::Timeout, &paths), Some(2));
}

#[test]
fn a_single_path_is_used_even_when_it_is_down() {
    let mut path = healthy(0);
    path.reachability = Reachability::Inactive;
    for policy in [
        &mut Same::new(NoParameters) as &mut dyn RetransmissionPolicy,
        &mut Alternate::new(NoParameters),
        &mut Cwnd::new(NoParameters),
    ] {
        assert_eq!(
            path_for(policy, LossCause::Timeout, core::slice::from_ref(&path)),
            Some(0)
        );
    }
}

//! What distinguishes the paths of SACKs.

use anabranch_types::PathId;

use super::{DataSource, Primary, RoundRobin, SmallestSrtt};
use crate::parameters::NoParameters;
use crate::testing::{healthy, ms};
use crate::{PathFacts, Reachability, SackPath};

#[test]
fn data_source_answers_where_it_was_asked() {
    let paths = [healthy(0), healthy(1)];
    assert_eq!(DataSource::new(NoParameters).path(PathId(1), &paths), PathId(1));
}

#[test]
fn primary_answers_on_the_primary_path_while_that_works() {
    let mut paths = [healthy(0), healthy(1)];
    let mut policy = Primary::new(NoParameters);
    assert_eq!(policy.path(PathId(1), &paths), PathId(0));
    paths[0].reachability = Reachability::Inactive;
    assert_eq!(policy.path(PathId(1), &paths), PathId(1));
}

/// Three paths, of which 0 and 2 bring data; 0 had the last SACK.
fn two_sources() -> [PathFacts; 3] {
    let mut paths = [healthy(0), healthy(1), healthy(2)];
    for (path, last_sack) in [(0, 8), (2, 7)] {
        paths[path].data_since_sack = true;
        paths[path].last_sack = last_sack;
    }
    paths
}

#[test]
fn round_robin_serves_the_path_that_waited_longest_among_those_that_bring_data() {
    let mut paths = two_sources();
    let mut policy = RoundRobin::new(NoParameters);
    assert_eq!(policy.path(PathId(0), &paths), PathId(2));
    paths[2].last_sack = 9;
    paths[2].data_since_sack = false;
    assert_eq!(policy.path(PathId(0), &paths), PathId(0));
    paths[2].data_since_sack = true;
    assert_eq!(policy.path(PathId(2), &paths), PathId(0), "whatever came last");
    paths[0].reachability = Reachability::PotentiallyFailed;
    assert_eq!(policy.path(PathId(0), &paths), PathId(2));
}

#[test]
fn smallest_srtt_takes_the_fastest_of_them() {
    let mut paths = two_sources();
    paths[0].srtt = Some(ms(40));
    paths[1].srtt = Some(ms(1));
    let mut policy = SmallestSrtt::new(NoParameters);
    assert_eq!(policy.path(PathId(0), &paths), PathId(2), "path 1 brings no data");
    paths[2].srtt = None;
    assert_eq!(policy.path(PathId(2), &paths), PathId(0));
}

#[test]
fn with_nothing_new_from_anywhere_a_window_update_goes_where_the_last_data_came_from() {
    let paths = [healthy(0), healthy(1)];
    assert_eq!(RoundRobin::new(NoParameters).path(PathId(1), &paths), PathId(1));
    assert_eq!(SmallestSrtt::new(NoParameters).path(PathId(1), &paths), PathId(1));
}

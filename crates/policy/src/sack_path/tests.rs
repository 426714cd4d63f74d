//! Tests of the SACK path policies.

use anabranch_types::PathId;

use super::{DataSource, Primary, RoundRobin, SmallestSrtt};
use crate::parameters::NoParameters;
use crate::testing::{healthy, ms};
use crate::{PathFacts, Reachability, SackPath};

#[test]
fn data_source_uses_the_path_of_the_last_data() {
    let paths = [healthy(0), healthy(1)];
    assert_eq!(DataSource::new(NoParameters).path(PathId(1), &paths), PathId(1));
}

#[test]
fn primary_is_used_while_it_is_usable() {
    let mut paths = [healthy(0), healthy(1)];
    let mut policy = Primary::new(NoParameters);
    assert_eq!(policy.path(PathId(1), &paths), PathId(0));
    paths[0].reachability = Reachability::Inactive;
    assert_eq!(policy.path(PathId(1), &paths), PathId(1));
}

/// Three paths, of which 0 and 2 deliver data; 0 had the last SACK.
fn two_sources() -> [PathFacts; 3] {
    let mut paths = [healthy(0), healthy(1), healthy(2)];
    for (path, last_sack) in [(0, 8), (2, 7)] {
        paths[path].data_since_sack = true;
        paths[path].last_sack = last_sack;
    }
    paths
}

#[test]
fn round_robin_takes_the_delivering_path_with_the_oldest_sack() {
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
fn smallest_srtt_takes_the_fastest_delivering_path() {
    let mut paths = two_sources();
    paths[0].set_srtt(Some(ms(40)));
    paths[1].set_srtt(Some(ms(1)));
    let mut policy = SmallestSrtt::new(NoParameters);
    assert_eq!(policy.path(PathId(0), &paths), PathId(2), "path 1 brings no data");
    paths[2].set_srtt(None);
    assert_eq!(policy.path(PathId(2), &paths), PathId(0));
}

#[test]
fn without_new_data_the_path_of_the_last_data_is_used() {
    let paths = [healthy(0), healthy(1)];
    assert_eq!(RoundRobin::new(NoParameters).path(PathId(1), &paths), PathId(1));
    assert_eq!(SmallestSrtt::new(NoParameters).path(PathId(1), &paths), PathId(1));
}

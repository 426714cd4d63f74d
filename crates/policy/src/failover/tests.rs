//! Tests of the failover policies.

use core::time::Duration;

use super::{
    ErrorLimits, FastFailoverParameters, PeerErrors, PotentiallyFailedParameters, fast_failover,
    potentially_failed, rfc9260,
};
use crate::testing::healthy;
use crate::{FailoverPolicy, PathFacts, Reachability};

/// The state of the path after each number of consecutive errors.
fn fails(policy: &mut dyn FailoverPolicy, errors: u16) -> Reachability {
    let mut path = healthy(0);
    for count in 1..=errors {
        path.errors = count;
        path.reachability = policy.on_error(&path);
    }
    path.reachability
}

//= rfc9260 8.2-2
#[test]
fn rfc9260_path_is_inactive_after_six_errors() {
    let mut policy = rfc9260(ErrorLimits::DEFAULT);
    assert_eq!(fails(&mut policy, 5), Reachability::Active);
    assert_eq!(fails(&mut policy, 6), Reachability::Inactive);
}

//= rfc7829 3.2-1, 3.2-2, 6-1
#[test]
fn sctp_pf_path_is_pf_after_one_error_inactive_after_six() {
    let mut policy = potentially_failed(PotentiallyFailedParameters::DEFAULT);
    assert_eq!(fails(&mut policy, 1), Reachability::PotentiallyFailed);
    assert_eq!(fails(&mut policy, 5), Reachability::PotentiallyFailed);
    assert_eq!(fails(&mut policy, 6), Reachability::Inactive);
}

//= rfc7829 3.2-13
#[test]
fn pf_and_unconfirmed_paths_are_probed_every_rto() {
    let policy = potentially_failed(PotentiallyFailedParameters::DEFAULT);
    let interval = |reachability, errors| {
        let path = PathFacts {
            reachability,
            errors,
            ..healthy(0)
        };
        policy.heartbeat_interval(&path)
    };
    let (at_once, slowly) = (Some(Duration::ZERO), Some(Duration::from_secs(30)));
    assert_eq!(interval(Reachability::Active, 0), slowly);
    assert_eq!(interval(Reachability::PotentiallyFailed, 1), at_once);
    assert_eq!(interval(Reachability::Inactive, 6), slowly);
    assert_eq!(interval(Reachability::Unconfirmed, 0), at_once);
    assert_eq!(interval(Reachability::Unconfirmed, 6), slowly);
}

/// RFC 9260 §8.1 counts errors over all paths together.
#[test]
fn peer_errors_count_all_or_those_of_the_best_path() {
    let best = rfc9260(ErrorLimits {
        peer_errors: PeerErrors::Best,
        ..ErrorLimits::DEFAULT
    });
    let all = rfc9260(ErrorLimits::DEFAULT);
    let paths = |errors: [u16; 3]| {
        let mut paths = [healthy(0), healthy(1), healthy(2)];
        for (path, errors) in paths.iter_mut().zip(errors) {
            path.errors = errors;
        }
        paths[2].reachability = Reachability::Unconfirmed;
        paths
    };
    for (errors, counts) in [
        ([1, 0, 0], false),
        ([1, 1, 0], true),
        ([2, 1, 0], false),
        ([2, 7, 0], true),
    ] {
        let paths = paths(errors);
        assert_eq!(best.counts_against_peer(&paths[0], &paths), counts, "{errors:?}");
        assert!(all.counts_against_peer(&paths[0], &paths));
    }
}

#[test]
fn suspect_after_is_srtt_plus_four_rttvar_or_slack() {
    let policy = fast_failover(FastFailoverParameters::DEFAULT);
    let patience = |srtt, rttvar| {
        let millis = Duration::from_millis;
        let mut path = healthy(0);
        path.set_srtt(Some(millis(srtt)));
        path.set_rttvar(millis(rttvar));
        policy.suspect_after(&path).map(|patience| patience.as_millis())
    };
    assert_eq!(patience(40, 5), Some(140));
    assert_eq!(patience(500, 150), Some(1_100));
    let mut unmeasured = healthy(0);
    unmeasured.set_srtt(None);
    assert_eq!(policy.suspect_after(&unmeasured), None);
    let others = potentially_failed(PotentiallyFailedParameters::DEFAULT);
    assert_eq!(others.suspect_after(&healthy(0)), None, "timers only");
}

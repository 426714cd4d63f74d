//! Tests of the RTT sampling policies.

use anabranch_types::{PathId, UnwrappedTsn};

use super::{AnyPath, IsRtt, OwnPath, OwnPathParameters, SlowPathRtt};
use crate::parameters::NoParameters;
use crate::testing::{at, healthy, ms, tsn};
use crate::{PathAck, RttSampling, SentOnce};

const OWN: PathId = PathId(0);
const OTHER: PathId = PathId(1);

/// Chunk `number`, sent on path 0 at that millisecond, was acknowledged.
fn acked(number: u64) -> PathAck {
    let mut ack = PathAck::new(OWN, 10_000);
    ack.rtt_sample = Some(SentOnce {
        sent_at: at(number),
        tsn: tsn(number),
    });
    ack
}

fn probe_acked(number: u64) -> PathAck {
    let ack = acked(number);
    PathAck {
        rtt_probe: ack.rtt_sample,
        ..ack
    }
}

/// A SACK that reports everything up to `number`.
fn through(number: u64) -> impl Fn(UnwrappedTsn) -> bool {
    move |wanted| wanted <= tsn(number)
}

#[test]
fn any_path_accepts_every_sample() {
    let mut policy = AnyPath::new(NoParameters);
    assert_eq!(policy.on_ack(&acked(5), &healthy(0), OTHER, at(20)), Some(at(5)));
}

#[test]
fn own_path_rejects_other_paths_once_it_has_a_sample() {
    let mut policy = OwnPath::new(OwnPathParameters::DEFAULT);
    let mut path = healthy(0);
    assert_eq!(policy.on_ack(&acked(5), &path, OWN, at(20)), Some(at(5)));
    assert_eq!(policy.on_ack(&acked(5), &path, OTHER, at(20)), None);
    path.set_srtt(None);
    assert_eq!(policy.on_ack(&acked(5), &path, OTHER, at(20)), Some(at(5)));
}

#[test]
fn own_path_accepts_others_after_an_rto_without_its_own() {
    let mut policy = OwnPath::new(OwnPathParameters::DEFAULT);
    // With a timeout of a second.
    let path = healthy(0);
    let mut over = |by, sent, now| policy.on_ack(&acked(sent), &path, by, at(now)).is_some();
    assert!(over(OWN, 5, 20));
    assert!(!over(OTHER, 5_000, 5_020), "after a pause it has a chance first");
    assert!(!over(OTHER, 6_000, 6_020));
    assert!(over(OTHER, 6_001, 6_021));
    assert!(over(OTHER, 6_500, 6_520), "until there is something better");
    assert!(over(OWN, 6_600, 6_620));
    assert!(!over(OTHER, 6_700, 6_720));
    let mut strict = OwnPath::new(OwnPathParameters::STRICT);
    assert_eq!(strict.on_ack(&acked(5), &path, OTHER, at(20)), None);
    assert_eq!(strict.on_ack(&acked(9_000), &path, OTHER, at(9_020)), None);
}

#[test]
fn slow_path_rtt_waits_for_the_sack_of_its_own_path() {
    let mut policy = SlowPathRtt::new(NoParameters);
    let path = healthy(0);
    assert_eq!(policy.on_ack(&acked(5), &path, OTHER, at(20)), None);
    assert_eq!(
        policy.on_ack(&acked(9), &path, OTHER, at(24)),
        None,
        "one is remembered"
    );
    assert_eq!(policy.on_sack(&path, &through(4), at(50)), None);
    assert_eq!(policy.on_sack(&path, &through(6), at(55)), Some(at(5)));
    assert_eq!(policy.on_sack(&path, &through(9), at(60)), None, "once");
}

#[test]
fn a_remembered_chunk_expires_after_an_rto() {
    let mut policy = SlowPathRtt::new(NoParameters);
    let mut path = healthy(0);
    policy.on_ack(&acked(5), &path, OTHER, at(20));
    assert_eq!(policy.on_sack(&path, &through(9), at(2_000)), None);
    path.set_srtt(None);
    policy.on_ack(&acked(5), &path, OTHER, at(20));
    assert_eq!(
        policy.on_sack(&path, &through(9), at(2_000)),
        Some(at(5)),
        "a timeout that never saw a round trip proves nothing"
    );
}

#[test]
fn is_rtt_accepts_only_acks_of_its_probes() {
    let mut policy = IsRtt::new(NoParameters);
    let path = healthy(0);
    assert_eq!(policy.on_ack(&acked(3), &path, OWN, at(20)), None);
    assert!(policy.wants_probe(&path, at(20)));
    policy.on_probe_sent(&path, at(20));
    assert!(!policy.wants_probe(&path, at(21)));
    assert!(policy.wants_probe(&healthy(1), at(21)), "each path has its own");
    assert_eq!(policy.on_ack(&probe_acked(20), &path, OWN, at(45)), Some(at(20)));
    assert!(policy.wants_probe(&path, at(45)));
}

#[test]
fn is_rtt_measures_a_probe_by_the_sack_of_its_own_path() {
    let mut policy = IsRtt::new(NoParameters);
    let path = healthy(0);
    policy.on_probe_sent(&path, at(20));
    assert_eq!(policy.on_ack(&probe_acked(20), &path, OTHER, at(30)), None);
    assert!(!policy.wants_probe(&path, at(30)));
    assert_eq!(policy.on_sack(&path, &through(20), at(90)), Some(at(20)));
    assert!(policy.wants_probe(&path, at(90)));
}

#[test]
fn is_rtt_sends_another_probe_after_an_rto() {
    let mut policy = IsRtt::new(NoParameters);
    let mut path = healthy(0);
    path.set_rto(ms(400));
    policy.on_probe_sent(&path, at(20));
    assert!(!policy.wants_probe(&path, at(420)));
    assert!(policy.wants_probe(&path, at(421)));
}

//! Tests of the retransmission policies.

use anabranch_types::{PathId, StreamId};

use super::{
    Alternate, Asap, Cwnd, Fastest, HybridMetric, LossRate, Other, Same, SeedParameters, Ssthresh,
    TieParameters, Ties,
};
use crate::parameters::NoParameters;
use crate::testing::{CHUNK, healthy, ms, tsn};
use crate::{LossCause, LostChunk, PathFacts, Reachability, RetransmissionPolicy};

fn lost_on_0(cause: LossCause) -> LostChunk {
    LostChunk {
        tsn: tsn(7),
        stream: StreamId(0),
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
fn same_uses_another_path_only_if_its_own_failed() {
    let mut policy = Same::new(NoParameters);
    let mut paths = [healthy(0), healthy(1)];
    paths[0].sendable = 0;
    assert_eq!(path_for(&mut policy, LossCause::FastRetransmit, &paths), Some(0));
    assert_eq!(path_for(&mut policy, LossCause::Timeout, &paths), Some(0));
    paths[0].reachability = Reachability::PotentiallyFailed;
    assert_eq!(path_for(&mut policy, LossCause::Timeout, &paths), Some(1));
}

//= rfc9260 6.4-4, 6.4-5
#[test]
fn alternate_leaves_it_after_a_timeout() {
    let mut policy = Alternate::new(NoParameters);
    let paths = [healthy(0), healthy(1)];
    assert_eq!(path_for(&mut policy, LossCause::FastRetransmit, &paths), Some(0));
    assert_eq!(path_for(&mut policy, LossCause::Timeout, &paths), Some(1));
    assert_eq!(path_for(&mut policy, LossCause::Timeout, &paths[..1]), Some(0));
}

#[test]
fn cwnd_takes_the_largest_sendable_cwnd() {
    let mut policy = Cwnd::new(TieParameters::DEFAULT);
    let mut paths = [healthy(0), healthy(1), healthy(2)];
    paths[1].cwnd = 30 * CHUNK;
    paths[2].cwnd = 20 * CHUNK;
    assert_eq!(path_for(&mut policy, LossCause::Timeout, &paths), Some(1));
    paths[1].sendable = 0;
    assert_eq!(path_for(&mut policy, LossCause::Timeout, &paths), Some(2));
}

#[test]
fn ssthresh_takes_the_largest_sendable_ssthresh() {
    let mut policy = Ssthresh::new(TieParameters::DEFAULT);
    let mut paths = [healthy(0), healthy(1), healthy(2)];
    for (path, chunks) in paths.iter_mut().zip([10, 30, 20]) {
        path.ssthresh = chunks * CHUNK;
    }
    paths[0].cwnd = 99 * CHUNK;
    assert_eq!(path_for(&mut policy, LossCause::Timeout, &paths), Some(1));
    paths[1].sendable = 0;
    assert_eq!(path_for(&mut policy, LossCause::Timeout, &paths), Some(2));
}

#[test]
fn lossrate_takes_the_path_that_loses_least() {
    let mut policy = LossRate::new(TieParameters::DEFAULT);
    let mut paths = [healthy(0), healthy(1), healthy(2)];
    for (path, loss) in paths.iter_mut().zip([20_000, 1_000, 5_000]) {
        path.loss_per_million = loss;
    }
    assert_eq!(path_for(&mut policy, LossCause::FastRetransmit, &paths), Some(1));
    paths[1].reachability = Reachability::PotentiallyFailed;
    assert_eq!(path_for(&mut policy, LossCause::FastRetransmit, &paths), Some(2));
}

#[test]
fn fastest_takes_the_shortest_delay_losses_included() {
    let mut policy = Fastest::new(NoParameters);
    let mut paths = [healthy(0), healthy(1)];
    paths[0].cwnd = 100 * CHUNK;
    paths[1].set_srtt(Some(ms(15)));
    assert_eq!(path_for(&mut policy, LossCause::FastRetransmit, &paths), Some(1));
    paths[1].loss_per_million = 300_000;
    assert_eq!(
        path_for(&mut policy, LossCause::FastRetransmit, &paths),
        Some(0),
        "15 ms / 0.7 are more than 20 ms"
    );
    // A full path counts twice.
    paths[0].sendable = 0;
    assert_eq!(path_for(&mut policy, LossCause::FastRetransmit, &paths), Some(1));
    paths[1].set_srtt(Some(ms(30)));
    assert_eq!(
        path_for(&mut policy, LossCause::FastRetransmit, &paths),
        Some(0),
        "30 ms / 0.7 are more than 40 ms"
    );
}

#[test]
fn hybrid_metric_trades_cwnd_against_losses_and_delay() {
    let mut policy = HybridMetric::new(NoParameters);
    let mut paths = [healthy(0), healthy(1)];
    paths[1].cwnd = 15 * CHUNK;
    assert_eq!(path_for(&mut policy, LossCause::FastRetransmit, &paths), Some(1));
    paths[1].set_srtt(Some(ms(31)));
    assert_eq!(
        path_for(&mut policy, LossCause::FastRetransmit, &paths),
        Some(0),
        "10 in 20 ms are more than 15 in 31 ms"
    );
    paths[0].loss_per_million = 50_000;
    assert_eq!(
        path_for(&mut policy, LossCause::FastRetransmit, &paths),
        Some(1),
        "but not if one in twenty is lost"
    );
}

#[test]
fn hybrid_metric_breaks_ties_by_the_larger_cwnd() {
    let mut policy = HybridMetric::new(NoParameters);
    let mut paths = [healthy(0), healthy(1)];
    paths[1].cwnd = 20 * CHUNK;
    paths[1].set_srtt(Some(ms(40)));
    assert_eq!(path_for(&mut policy, LossCause::FastRetransmit, &paths), Some(1));
}

#[test]
fn other_prefers_another_path_even_if_that_is_full() {
    let mut policy = Other::new(NoParameters);
    let mut paths = [healthy(0), healthy(1), healthy(2)];
    paths[1].sendable = 0;
    paths[2].set_srtt(Some(ms(90)));
    assert_eq!(path_for(&mut policy, LossCause::FastRetransmit, &paths), Some(2));
    paths[2].sendable = 0;
    assert_eq!(path_for(&mut policy, LossCause::FastRetransmit, &paths), Some(1));
    assert_eq!(
        path_for(&mut policy, LossCause::FastRetransmit, &paths[..1]),
        Some(0)
    );
}

/// How often each of three equal paths is chosen, for a thousand chunks; the last of them cannot take data.
fn shares(policy: &mut dyn RetransmissionPolicy) -> [u32; 3] {
    let mut paths = [healthy(0), healthy(1), healthy(2)];
    paths[2].sendable = 0;
    let mut shares = [0; 3];
    for number in 0..1_000 {
        let chunk = LostChunk {
            tsn: tsn(number),
            stream: StreamId(0),
            ..lost_on_0(LossCause::FastRetransmit)
        };
        let path = policy.path_for(&chunk, &paths).unwrap();
        assert_eq!(policy.path_for(&chunk, &paths), Some(path), "asked twice");
        shares[path.index()] += 1;
    }
    shares
}

#[test]
fn asap_chooses_at_random_among_equal_paths() {
    for policy in [
        &mut Asap::new(SeedParameters::DEFAULT) as &mut dyn RetransmissionPolicy,
        &mut LossRate::new(TieParameters::DEFAULT),
        &mut Cwnd::new(TieParameters::DEFAULT),
        &mut Ssthresh::new(TieParameters::DEFAULT),
    ] {
        let [first, second, full] = shares(policy);
        assert!(
            first > 400 && second > 400 && full == 0,
            "{policy:?}: {first}, {second}, {full}"
        );
    }
}

#[test]
fn ties_own_keeps_the_path_of_the_loss() {
    let mut policy = Cwnd::new(TieParameters {
        ties: Ties::Own,
        ..TieParameters::DEFAULT
    });
    assert_eq!(shares(&mut policy), [1_000, 0, 0]);
}

#[test]
fn seed_and_attempt_change_the_random_choice() {
    let paths = [healthy(0), healthy(1)];
    let draws = |seed, transmissions| -> alloc::vec::Vec<_> {
        let chunk = |number| LostChunk {
            tsn: tsn(number),
            stream: StreamId(0),
            transmissions,
            ..lost_on_0(LossCause::FastRetransmit)
        };
        let mut policy = Asap::new(SeedParameters { seed });
        (0..64)
            .map(|number| policy.path_for(&chunk(number), &paths))
            .collect()
    };
    assert_eq!(draws(1, 1), draws(1, 1));
    assert_ne!(draws(1, 1), draws(2, 1));
    assert_ne!(draws(1, 1), draws(1, 2));
}

#[test]
fn a_single_path_is_used_even_if_it_failed() {
    let mut path = healthy(0);
    path.reachability = Reachability::Inactive;
    for policy in [
        &mut Same::new(NoParameters) as &mut dyn RetransmissionPolicy,
        &mut Alternate::new(NoParameters),
        &mut Other::new(NoParameters),
        &mut Asap::new(SeedParameters::DEFAULT),
        &mut LossRate::new(TieParameters::DEFAULT),
        &mut Cwnd::new(TieParameters::DEFAULT),
        &mut Ssthresh::new(TieParameters::DEFAULT),
        &mut HybridMetric::new(NoParameters),
    ] {
        assert_eq!(
            path_for(policy, LossCause::Timeout, core::slice::from_ref(&path)),
            Some(0)
        );
    }
}

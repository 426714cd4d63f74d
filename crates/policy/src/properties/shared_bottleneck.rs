//! Properties of detection of shared bottlenecks: groups are led by their lowest id, changes are reported, and removed paths leave nothing.

use alloc::vec::Vec;

use anabranch_types::{Instant, PathId, Rng};

use super::{STEPS, for_all};
use crate::catalog::SharedBottleneckChoice;
use crate::testing::{any_ack, any_paths, healthy, ms, sack};
use crate::{LossCause, LossEvent, PathAck, PathFacts, SentOnce, SharedBottleneck};

fn groups(policy: &dyn SharedBottleneck, paths: &[PathFacts]) -> Vec<Option<PathId>> {
    paths.iter().map(|path| policy.group(path.id)).collect()
}

/// A SACK or a loss; returns whether the groups are said to have changed.
fn happen(
    policies: [&mut dyn SharedBottleneck; 2],
    paths: &[PathFacts],
    acks: &[PathAck],
    loss: Option<LossEvent>,
    now: Instant,
) -> bool {
    let mut sample = sack(acks);
    if let Some(ack) = acks.first() {
        sample.arrived_on = ack.path;
    }
    let [policy, twin] = policies;
    if let Some(loss) = loss {
        policy.on_loss(&loss, paths, now);
        twin.on_loss(&loss, paths, now);
        return false;
    }
    let has_changed = policy.on_ack(&sample, paths, now);
    assert_eq!(
        twin.on_ack(&sample, paths, now),
        has_changed,
        "same inputs, other answer"
    );
    has_changed
}

fn any_loss(rng: &mut Rng, path: PathId) -> LossEvent {
    LossEvent {
        path,
        cause: [LossCause::FastRetransmit, LossCause::Mark, LossCause::Timeout][rng.below(3) as usize],
        bytes: rng.below(100_000),
    }
}

#[test]
fn groups_are_led_by_their_lowest_id_and_change_only_as_reported() {
    for_all::<SharedBottleneckChoice>(|policy, twin, rng| {
        let mut paths = any_paths(rng);
        let mut now = Instant::ZERO;
        for path in &mut paths {
            path.sent_chunks = 1;
        }
        let own: Vec<_> = paths
            .iter()
            .map(|path| policy.detects().then_some(path.id))
            .collect();
        assert_eq!(groups(policy, &paths), own, "each its own, if there is detection");
        for _ in 0..STEPS {
            now += ms(rng.below(300));
            let before = groups(policy, &paths);
            let lossy = rng.below(paths.len() as u64 + 1) as usize;
            let loss = paths
                .get(lossy)
                .filter(|_| rng.chance(1, 5))
                .map(|path| any_loss(rng, path.id));
            let acked: Vec<_> = paths.iter().filter(|_| rng.chance(1, 2)).collect();
            let acks: Vec<_> = acked
                .iter()
                .map(|path| any_ack(rng, path, 1 << 32, now))
                .collect();
            let has_changed = happen([&mut *policy, &mut *twin], &paths, &acks, loss, now);
            let after = groups(policy, &paths);
            assert_eq!(has_changed, before != after, "{before:?} → {after:?}");
            for path in &paths {
                let group = policy.group(path.id);
                assert_eq!(group.is_some(), policy.detects());
                assert!(group.is_none_or(|leader| leader <= path.id), "{after:?}");
                assert!(
                    group.is_none_or(|leader| policy.group(leader) == group),
                    "{after:?}"
                );
            }
        }
    });
}

/// SACKs of paths whose round-trip times rise and fall together, so that they are grouped where anything is.
fn together(policy: &mut dyn SharedBottleneck, paths: &[PathFacts], since: Instant) {
    for step in 0..400_u64 {
        let now = since + ms(20 * (step + 100));
        let queue = ms(step % 20);
        for path in paths {
            let mut ack = PathAck::new(path.id, 1);
            let sent_at = now - ms(20) - queue;
            ack.rtt_sample = Some(SentOnce {
                sent_at,
                tsn: anabranch_types::UnwrappedTsn(step),
            });
            let mut sample = sack(core::slice::from_ref(&ack));
            sample.arrived_on = path.id;
            policy.on_ack(&sample, paths, now);
            if step % 20 == 0 {
                let loss = LossEvent {
                    path: path.id,
                    cause: LossCause::FastRetransmit,
                    bytes: 1,
                };
                policy.on_loss(&loss, paths, now);
            }
        }
    }
}

#[test]
fn a_removed_path_leaves_its_group_and_its_id_begins_anew() {
    for_all::<SharedBottleneckChoice>(|policy, twin, _| {
        let mut paths: Vec<PathFacts> = (0..3).map(healthy).collect();
        for path in &mut paths {
            (path.sent_chunks, path.in_flight) = (1, 1);
        }
        together(policy, &paths, Instant::ZERO);
        let detects = policy.detects();
        policy.remove_path(PathId(0));
        // Those that remain stay together, led by the lower one.
        assert_eq!(policy.group(PathId(2)), detects.then_some(PathId(1)));
        // Another path with the id of the removed one has a bottleneck of its own.
        assert_eq!(policy.group(PathId(0)), detects.then_some(PathId(0)));
        policy.remove_path(PathId(1));
        policy.remove_path(PathId(2));
        let later = Instant::ZERO + ms(100_000);
        together(policy, &paths, later);
        together(twin, &paths, later);
        assert_eq!(groups(policy, &paths), groups(twin, &paths));
    });
}

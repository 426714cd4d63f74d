//! Properties of congestion controls: bounds of the cwnd, losses that never raise it, removed paths, and for coupled ones
//! the sum of all increases.

use alloc::vec::Vec;

use anabranch_types::{Instant, PathId, Rng, Seed};

use super::{STEPS, WORLDS, for_all};
use crate::catalog::{Choice, CongestionChoice, PolicyChoice};
use crate::testing::{CHUNK, any_ack, any_path, any_paths, healthy, in_order, ms, sack};
use crate::{CongestionControl, LossCause, LossEvent, PathAck, PathFacts};

/// One random event, applied to both controllers.
#[derive(Debug)]
enum Event {
    Acked(Vec<PathAck>),
    Lost(LossEvent),
    Idle(usize, u64),
    Bottlenecks,
}

fn any_event(rng: &mut Rng, paths: &[PathFacts], now: Instant) -> Event {
    let index = rng.below(paths.len() as u64) as usize;
    match rng.below(10) {
        0 => Event::Lost(LossEvent {
            path: paths[index].id,
            cause: [
                LossCause::Timeout,
                LossCause::FastRetransmit,
                LossCause::Mark,
                LossCause::Reschedule,
            ][rng.below(4) as usize],
            bytes: rng.below(100_000),
        }),
        1 => Event::Idle(index, rng.below(200_000)),
        2 if rng.chance(1, 5) => Event::Bottlenecks,
        _ => {
            let acked = paths.iter().filter(|_| rng.chance(2, 3)).collect::<Vec<_>>();
            Event::Acked(
                acked
                    .iter()
                    .map(|path| any_ack(rng, path, 1 << 32, now))
                    .collect(),
            )
        }
    }
}

fn tell(policy: &mut dyn CongestionControl, event: &Event, paths: &[PathFacts], now: Instant) {
    match event {
        Event::Acked(acks) => policy.on_ack(&sack(acks), paths, now),
        Event::Lost(loss) => policy.on_loss(loss, paths, now),
        Event::Idle(index, idle) => policy.on_idle(&paths[*index], ms(*idle)),
        Event::Bottlenecks => policy.on_bottlenecks(paths),
    }
}

/// Paths share bottlenecks at random; each group is known by its lowest id.
fn group(paths: &mut [PathFacts], rng: &mut Rng) {
    let labels: Vec<u64> = paths.iter().map(|_| rng.below(3)).collect();
    let is_known = rng.chance(3, 4);
    for index in 0..paths.len() {
        let first = labels.iter().position(|label| *label == labels[index]);
        let leader = first.map(|first| paths[first].id);
        paths[index].bottleneck = leader.filter(|_| is_known);
    }
}

/// Updates the facts from the controller, as the core does.
fn refresh(paths: &mut [PathFacts], policy: &dyn CongestionControl, rng: &mut Rng) {
    for path in paths {
        path.cwnd = policy.cwnd(path.id);
        path.ssthresh = policy.ssthresh(path.id);
        path.in_flight = rng
            .below(path.cwnd + 1)
            .max(path.cwnd.saturating_sub(rng.below(5_000)));
        path.in_recovery = rng.chance(1, 5);
    }
}

#[test]
fn cwnd_stays_within_bounds_and_losses_never_raise_it() {
    for_all::<CongestionChoice>(|policy, twin, rng| {
        let mut paths = any_paths(rng);
        paths.push(any_path(rng, 7));
        let mut now = Instant::ZERO;
        for path in &paths {
            policy.add_path(path, now);
            twin.add_path(path, now);
        }
        for _ in 0..STEPS {
            now += ms(rng.below(300));
            refresh(&mut paths, policy, rng);
            let event = any_event(rng, &paths, now);
            if matches!(event, Event::Bottlenecks) {
                group(&mut paths, rng);
            }
            tell(policy, &event, &paths, now);
            tell(twin, &event, &paths, now);
            assert!(
                policy.may_measure_rates() || !policy.measures_rates(),
                "{event:?}: data would not be paced"
            );
            for path in &paths {
                let window = policy.cwnd(path.id);
                assert_eq!(window, twin.cwnd(path.id), "{event:?}: same inputs, other answer");
                assert!(window >= u64::from(path.max_data_chunk), "{event:?}: {window}");
                assert!(window <= 1 << 40, "{event:?}: {window}");
                let shrinks_only = !matches!(event, Event::Acked(_));
                assert!(
                    !shrinks_only || window <= path.cwnd,
                    "{event:?}: {} → {window}",
                    path.cwnd
                );
            }
        }
    });
}

//= rfc9260 7.2.1-5, 7.2.1-6
#[test]
fn a_path_in_recovery_does_not_grow() {
    for_all::<CongestionChoice>(|policy, _, rng| {
        let mut path = any_path(rng, 0);
        path.in_recovery = true;
        policy.add_path(&path, Instant::ZERO);
        // The cwnd of BBR follows its model in recovery, too.
        if policy.measures_rates() {
            return;
        }
        for step in 0..100 {
            path.cwnd = policy.cwnd(path.id);
            path.in_flight = path.cwnd;
            let now = Instant::ZERO + ms(10 * step);
            let ack = any_ack(rng, &path, 1 << 32, now);
            policy.on_ack(&sack(&[ack]), core::slice::from_ref(&path), now);
            assert_eq!(policy.cwnd(path.id), path.cwnd);
        }
    });
}

//= rfc9260 7.2.5-1
#[test]
fn state_of_a_removed_path_is_reset() {
    for_all::<CongestionChoice>(|policy, twin, rng| {
        let path = any_path(rng, 3);
        let loss = LossEvent {
            path: path.id,
            cause: LossCause::Timeout,
            bytes: 1,
        };
        policy.add_path(&path, Instant::ZERO);
        policy.on_loss(&loss, core::slice::from_ref(&path), Instant::ZERO);
        policy.remove_path(path.id);
        assert_eq!(policy.cwnd(path.id), 0);
        policy.on_loss(&loss, core::slice::from_ref(&path), Instant::ZERO);
        policy.on_idle(&path, ms(5_000));
        assert_eq!(policy.cwnd(path.id), 0);
        policy.add_path(&path, Instant::ZERO);
        twin.add_path(&path, Instant::ZERO);
        assert_eq!(policy.cwnd(path.id), twin.cwnd(path.id));
        assert_eq!(policy.ssthresh(path.id), twin.ssthresh(path.id));
    });
}

/// Calls `property` for each algorithm with groups, with a random generator.
fn for_all_coupled(property: impl Fn(CongestionChoice, &mut Rng)) {
    let has_groups = |name: &&str| {
        CongestionChoice::named(name)
            .unwrap()
            .set_parameter("groups", "0")
            == Ok(())
    };
    let names = CongestionChoice::POINT
        .algorithms
        .iter()
        .map(|algorithm| algorithm.name);
    for name in names.filter(has_groups) {
        for world in 0..WORLDS {
            let mut rng = Seed(world).split("coupled").split(name).rng();
            property(CongestionChoice::named(name).unwrap(), &mut rng);
        }
    }
}

#[test]
fn uncoupled_paths_behave_exactly_as_cmt() {
    for_all_coupled(|mut choice, rng| {
        choice.set_parameter("groups", "7,6,5,4,3,2,1,0").unwrap();
        let mut coupled = choice.build();
        let mut standard = CongestionChoice::named("cmt").unwrap().build();
        let mut paths = any_paths(rng);
        paths.push(any_path(rng, 7));
        let mut now = Instant::ZERO;
        for path in &paths {
            coupled.add_path(path, now);
            standard.add_path(path, now);
        }
        for _ in 0..STEPS {
            now += ms(rng.below(300));
            refresh(&mut paths, &*standard, rng);
            let event = any_event(rng, &paths, now);
            tell(&mut *coupled, &event, &paths, now);
            tell(&mut *standard, &event, &paths, now);
            for path in &paths {
                let (ours, base) = (coupled.cwnd(path.id), standard.cwnd(path.id));
                assert_eq!(ours, base, "{choice:?} after {event:?}");
                let threshold = coupled.ssthresh(path.id);
                assert_eq!(threshold, standard.ssthresh(path.id), "{choice:?}");
            }
        }
    });
}

/// Two to five paths of equal RTT in congestion avoidance, with random cwnds.
fn settled(policy: &mut dyn CongestionControl, rng: &mut Rng) -> Vec<PathFacts> {
    let paths: Vec<PathFacts> = (0..2 + rng.below(4) as u8).map(healthy).collect();
    for path in &paths {
        policy.add_path(path, Instant::ZERO);
        let target = CHUNK * (10 + rng.below(200));
        while policy.cwnd(path.id) < target {
            let ack = in_order(path.id.0, policy.cwnd(path.id), CHUNK);
            policy.on_ack(&sack(&[ack]), &paths, Instant::ZERO);
        }
        let loss = LossEvent {
            path: path.id,
            cause: LossCause::FastRetransmit,
            bytes: CHUNK,
        };
        policy.on_loss(&loss, &paths, Instant::ZERO);
        let ack = in_order(path.id.0, policy.cwnd(path.id), CHUNK);
        policy.on_ack(&sack(&[ack]), &paths, Instant::ZERO);
    }
    paths
}

/// The increase of the `acked` ones of `paths` after one SACK that acknowledges a full cwnd of each.
fn gains(policy: &mut dyn CongestionControl, paths: &[PathFacts], acked: &[PathFacts]) -> Vec<i64> {
    let windows: Vec<u64> = acked.iter().map(|path| policy.cwnd(path.id)).collect();
    let acks = acked.iter().zip(&windows);
    let acks: Vec<_> = acks
        .map(|(path, window)| in_order(path.id.0, window + CHUNK, *window))
        .collect();
    policy.on_ack(&sack(&acks), paths, Instant::ZERO);
    let after = acked.iter().map(|path| policy.cwnd(path.id));
    after
        .zip(windows)
        .map(|(after, before)| after as i64 - before as i64)
        .collect()
}

#[test]
fn a_group_gains_no_more_than_one_path_would() {
    for_all_coupled(|choice, rng| {
        let mut policy = choice.build();
        let paths = settled(&mut *policy, rng);
        let gained: i64 = gains(&mut *policy, &paths, &paths).iter().sum();
        let count = paths.len() as i64;
        // Each gain is rounded up to a byte. In the paper of `balia` every path gains a tenth of an increase whatever its
        // rate, so several slow paths together may gain more: Σ (4s² + 5sm + m²) / 10 ≤ (9 + n) / 10.
        let most = match choice.name() {
            "balia" => CHUNK as i64 * (9 + count) / 10,
            _ => CHUNK as i64,
        };
        assert!(gained <= most + count, "{choice:?}: {gained} on {count} paths");
    });
}

#[test]
fn order_of_paths_in_a_sack_does_not_matter() {
    for_all_coupled(|choice, rng| {
        let (mut policy, mut twin) = (choice.build(), choice.build());
        let paths = settled(&mut *policy, &mut rng.clone());
        settled(&mut *twin, rng);
        let together = gains(&mut *policy, &paths, &paths);
        // The last path alone: no other cwnd has changed before it.
        let alone = gains(&mut *twin, &paths, &paths[paths.len() - 1..]);
        assert_eq!(together.last(), alone.last(), "{choice:?}");
    });
}

#[test]
fn a_sack_sees_the_cwnd_after_a_loss_on_another_path() {
    for_all_coupled(|choice, rng| {
        let (mut policy, mut twin) = (choice.build(), choice.build());
        let paths = settled(&mut *policy, &mut rng.clone());
        settled(&mut *twin, rng);
        let loss = LossEvent {
            path: paths[1].id,
            cause: LossCause::Timeout,
            bytes: CHUNK,
        };
        policy.on_loss(&loss, &paths, Instant::ZERO);
        let (path, other) = (&paths[0..1], paths[1].id);
        let cut =
            |of: fn(&dyn CongestionControl, PathId) -> u64| 2 * of(&*policy, other) <= of(&*twin, other);
        let much_changed = cut(|policy, id| policy.cwnd(id)) && cut(|policy, id| policy.ssthresh(id));
        let (after, before) = (gains(&mut *policy, &paths, path), gains(&mut *twin, &paths, path));
        assert!(!much_changed || after != before, "{choice:?}: {after:?}");
    });
}

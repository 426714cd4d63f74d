//! Windows are finite and hold one chunk at least, losses do not raise them, removed paths are forgotten.

use alloc::vec::Vec;

use anabranch_types::{Instant, Rng};

use super::{STEPS, for_all};
use crate::catalog::CongestionChoice;
use crate::testing::{any_ack, any_path, any_paths, ms, sack};
use crate::{CongestionControl, LossCause, LossDigest, PathAck, PathFacts};

/// One thing that happens; the same for both controllers.
#[derive(Debug)]
enum Event {
    Acked(Vec<PathAck>),
    Lost(LossDigest),
    Idle(usize, u64),
}

fn any_event(rng: &mut Rng, paths: &[PathFacts], now: Instant) -> Event {
    let index = rng.below(paths.len() as u64) as usize;
    match rng.below(10) {
        0 => Event::Lost(LossDigest {
            path: paths[index].id,
            cause: if rng.chance(1, 3) {
                LossCause::Timeout
            } else {
                LossCause::FastRetransmit
            },
            bytes: rng.below(100_000),
        }),
        1 => Event::Idle(index, rng.below(200_000)),
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
    }
}

/// Lets the facts follow the controller, as the core does.
fn refresh(paths: &mut [PathFacts], policy: &dyn CongestionControl, rng: &mut Rng) {
    for path in paths {
        path.window = policy.window(path.id);
        path.slow_start_threshold = policy.slow_start_threshold(path.id);
        path.in_flight = rng
            .below(path.window + 1)
            .max(path.window.saturating_sub(rng.below(5_000)));
        path.in_recovery = rng.chance(1, 5);
    }
}

#[test]
fn windows_stay_within_bounds_and_losses_never_raise_them() {
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
            tell(policy, &event, &paths, now);
            tell(twin, &event, &paths, now);
            for path in &paths {
                let window = policy.window(path.id);
                assert_eq!(
                    window,
                    twin.window(path.id),
                    "{event:?}: same inputs, other answer"
                );
                assert!(window >= u64::from(path.max_data_chunk), "{event:?}: {window}");
                assert!(window <= 1 << 40, "{event:?}: {window}");
                let shrinks_only = !matches!(event, Event::Acked(_));
                assert!(
                    !shrinks_only || window <= path.window,
                    "{event:?}: {} → {window}",
                    path.window
                );
            }
        }
    });
}

#[test]
fn a_path_in_recovery_does_not_grow() {
    for_all::<CongestionChoice>(|policy, _, rng| {
        let mut path = any_path(rng, 0);
        path.in_recovery = true;
        policy.add_path(&path, Instant::ZERO);
        for step in 0..100 {
            path.window = policy.window(path.id);
            path.in_flight = path.window;
            let now = Instant::ZERO + ms(10 * step);
            let ack = any_ack(rng, &path, 1 << 32, now);
            policy.on_ack(&sack(&[ack]), core::slice::from_ref(&path), now);
            assert_eq!(policy.window(path.id), path.window);
        }
    });
}

#[test]
fn a_removed_path_is_forgotten_and_its_slot_starts_anew() {
    for_all::<CongestionChoice>(|policy, twin, rng| {
        let path = any_path(rng, 3);
        let loss = LossDigest {
            path: path.id,
            cause: LossCause::Timeout,
            bytes: 1,
        };
        policy.add_path(&path, Instant::ZERO);
        policy.on_loss(&loss, core::slice::from_ref(&path), Instant::ZERO);
        policy.remove_path(path.id);
        assert_eq!(policy.window(path.id), 0);
        policy.on_loss(&loss, core::slice::from_ref(&path), Instant::ZERO);
        policy.on_idle(&path, ms(5_000));
        assert_eq!(policy.window(path.id), 0);
        policy.add_path(&path, Instant::ZERO);
        twin.add_path(&path, Instant::ZERO);
        assert_eq!(policy.window(path.id), twin.window(path.id));
        assert_eq!(
            policy.slow_start_threshold(path.id),
            twin.slow_start_threshold(path.id)
        );
    });
}

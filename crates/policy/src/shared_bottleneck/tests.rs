//! Tests of bottlenecks found by one queue.

use alloc::vec::Vec;
use core::time::Duration;

use anabranch_types::{Instant, PathId, Rng, Seed};

use super::SameQueue;
use crate::parameters::NoParameters;
use crate::testing::{healthy, ms, sack, tsn};
use crate::{LossCause, LossEvent, PathAck, PathFacts, SentOnce, SharedBottleneck};

/// A round trip of 40 ms, ten acknowledgements in each.
const STEP: Duration = Duration::from_millis(4);

/// Paths in use, with the policy and a clock.
struct Setting {
    policy: SameQueue,
    paths: Vec<PathFacts>,
    now: Instant,
    rng: Rng,
}

impl Setting {
    fn new(paths: u8) -> Self {
        let mut facts: Vec<PathFacts> = (0..paths).map(healthy).collect();
        for path in &mut facts {
            (path.sent_chunks, path.in_flight) = (1, 20_000);
            path.set_srtt(Some(ms(40)));
        }
        Self {
            policy: SameQueue::new(NoParameters),
            paths: facts,
            now: Instant::ZERO + ms(1_000),
            rng: Seed(1).rng(),
        }
    }

    /// For `seconds`, round-trip times of 40 ms and a queue that each path sees by the time in milliseconds, and up to 2 ms of noise.
    fn run(&mut self, seconds: u64, queue: impl Fn(PathId, u64) -> Option<u64>) {
        let ends = self.now + ms(1_000 * seconds);
        while self.now < ends {
            self.now += STEP;
            let millis = (self.now - Instant::ZERO).as_millis() as u64;
            for index in 0..self.paths.len() {
                let id = self.paths[index].id;
                let noise = Duration::from_micros(self.rng.below(2_000));
                let Some(queue) = queue(id, millis) else { continue };
                let mut ack = PathAck::new(id, 20_000);
                ack.rtt_sample = Some(SentOnce {
                    sent_at: self.now - ms(40 + queue) - noise,
                    tsn: tsn(millis),
                });
                let mut sample = sack(core::slice::from_ref(&ack));
                sample.arrived_on = id;
                self.policy.on_ack(&sample, &self.paths, self.now);
            }
        }
    }

    /// Loss events of all paths in turn, one each half second, while the queue is seen for `seconds`.
    fn run_with_losses(&mut self, seconds: u64, queue: impl Fn(PathId, u64) -> Option<u64>) {
        for second in 0..seconds {
            self.run(1, &queue);
            for offset in 0..2 {
                let index = (2 * second + offset) as usize % self.paths.len();
                let loss = LossEvent {
                    path: self.paths[index].id,
                    cause: LossCause::FastRetransmit,
                    bytes: 1_400,
                };
                self.policy.on_loss(&loss, &self.paths, self.now);
            }
        }
    }

    fn groups(&self) -> Vec<u8> {
        let groups = self.paths.iter().map(|path| self.policy.group(path.id));
        groups.map(|group| group.expect("always known").0).collect()
    }
}

/// A queue that grows by 40 ms for `period`, and then is empty.
fn sawtooth(millis: u64, period: u64) -> Option<u64> {
    Some(millis % period * 40 / period)
}

#[test]
fn paths_that_see_one_queue_are_grouped() {
    let mut setting = Setting::new(3);
    setting.run_with_losses(8, |path, millis| match path.0 {
        1 => sawtooth(millis, 1_700),
        // Beyond a longer wire.
        2 => sawtooth(millis, 900).map(|queue| queue + 30),
        _ => sawtooth(millis, 900),
    });
    assert_eq!(setting.groups(), [0, 1, 0]);
}

#[test]
fn two_queues_of_equal_length_are_not_one() {
    let mut setting = Setting::new(2);
    setting.run_with_losses(30, |path, millis| sawtooth(millis + 450 * u64::from(path.0), 900));
    assert_eq!(setting.groups(), [0, 1]);
    // Nor two that fill together, one twice as long.
    let mut setting = Setting::new(2);
    setting.run_with_losses(30, |path, millis| {
        sawtooth(millis, 900).map(|queue| queue * (1 + 2 * u64::from(path.0)))
    });
    assert_eq!(setting.groups(), [0, 1]);
}

#[test]
fn losses_without_a_queue_do_not_group() {
    let mut setting = Setting::new(2);
    setting.run_with_losses(60, |_, _| Some(0));
    assert_eq!(setting.groups(), [0, 1]);
}

#[test]
fn one_queue_without_losses_does_not_group() {
    let mut setting = Setting::new(2);
    setting.run(60, |_, millis| sawtooth(millis, 900));
    assert_eq!(setting.groups(), [0, 1]);
}

#[test]
fn a_path_that_moves_to_another_queue_is_released() {
    let mut setting = Setting::new(2);
    let together = |_: PathId, millis| sawtooth(millis, 900);
    setting.run_with_losses(8, together);
    assert_eq!(setting.groups(), [0, 0]);
    let apart = |path: PathId, millis| sawtooth(millis, if path.0 == 0 { 900 } else { 1_300 });
    setting.run_with_losses(4, apart);
    assert_eq!(setting.groups(), [0, 1]);
    // Back on one queue it needs more losses than at first.
    setting.run_with_losses(3, together);
    assert_eq!(setting.groups(), [0, 1]);
    setting.run_with_losses(8, together);
    assert_eq!(setting.groups(), [0, 0]);
}

#[test]
fn a_path_that_carries_nothing_is_released() {
    let mut setting = Setting::new(2);
    setting.run_with_losses(8, |_, millis| sawtooth(millis, 900));
    assert_eq!(setting.groups(), [0, 0]);
    setting.run(2, |path, millis| sawtooth(millis, 900).filter(|_| path.0 == 0));
    assert_eq!(setting.groups(), [0, 1]);
}

#[test]
fn a_flat_queue_does_not_release() {
    let mut setting = Setting::new(2);
    setting.run_with_losses(8, |_, millis| sawtooth(millis, 900));
    assert_eq!(setting.groups(), [0, 0]);
    setting.run_with_losses(30, |_, _| Some(20));
    assert_eq!(setting.groups(), [0, 0]);
}

#[test]
fn one_path_keeps_no_state() {
    let mut setting = Setting::new(1);
    setting.run_with_losses(8, |_, millis| sawtooth(millis, 900));
    assert!(setting.policy.known.is_none());
    assert_eq!(setting.groups(), [0]);
}

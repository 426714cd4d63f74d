//! Tests of the stream schedulers.

use alloc::vec::Vec;
use core::time::Duration;

use anabranch_types::{Instant, MessageId, PathId, StreamId};

use super::{DynamicMap, FirstCome, RoundRobin};
use crate::parameters::NoParameters;
use crate::testing::unmeasured;
use crate::{PathFacts, PathUse, Reachability, StreamFacts, StreamScheduler};

fn ready(scheduler: &mut dyn StreamScheduler, stream: u16, message: u64) {
    scheduler.on_ready(&StreamFacts {
        id: StreamId(stream),
        head: MessageId(message),
        head_bytes: 100,
        queued_bytes: 100,
        priority: 0,
        weight: 1,
        path_use: PathUse::All,
    });
}

fn next(scheduler: &dyn StreamScheduler) -> Option<u16> {
    scheduler.next(PathId(0)).map(|stream| stream.0)
}

/// Serves `queues` (messages of each stream) to the end and returns the order in which streams were served.
fn serve(scheduler: &mut dyn StreamScheduler, mut queues: [Vec<u64>; 3]) -> Vec<u16> {
    for (stream, queue) in (0..).zip(&queues) {
        ready(scheduler, stream, queue[0]);
    }
    let mut served = Vec::new();
    while let Some(stream) = next(scheduler) {
        let queue = &mut queues[usize::from(stream)];
        scheduler.on_taken(StreamId(stream), 100, true);
        queue.remove(0);
        match queue.first() {
            Some(message) => ready(scheduler, stream, *message),
            None => scheduler.on_idle(StreamId(stream)),
        }
        served.push(stream);
    }
    served
}

#[test]
fn fcfs_serves_messages_in_submission_order() {
    let queues = [[1, 2, 9].to_vec(), [3, 7].to_vec(), [4, 5].to_vec()];
    assert_eq!(
        serve(&mut FirstCome::new(NoParameters), queues),
        [0, 0, 1, 2, 2, 1, 0]
    );
}

#[test]
fn round_robin_serves_one_message_of_each_stream_in_turn() {
    let queues = [[1, 2, 9].to_vec(), [3, 7].to_vec(), [4, 5].to_vec()];
    assert_eq!(
        serve(&mut RoundRobin::new(NoParameters), queues),
        [0, 1, 2, 0, 1, 2, 0]
    );
}

#[test]
fn a_stream_reported_ready_again_keeps_its_turn() {
    let mut scheduler = RoundRobin::new(NoParameters);
    ready(&mut scheduler, 5, 1);
    ready(&mut scheduler, 6, 2);
    ready(&mut scheduler, 5, 1);
    assert_eq!(next(&scheduler), Some(5));
    scheduler.on_idle(StreamId(5));
    assert_eq!(next(&scheduler), Some(6));
}

#[test]
fn an_abandoned_head_message_gives_way_to_the_next_one() {
    let mut scheduler = FirstCome::new(NoParameters);
    ready(&mut scheduler, 5, 1);
    ready(&mut scheduler, 6, 2);
    ready(&mut scheduler, 5, 3);
    assert_eq!(next(&scheduler), Some(6));
}

/// A usable path with a cwnd of `window` bytes and, if `limited`, an ssthresh set by a loss.
fn path(id: u8, window: u64, limited: bool, srtt: u64) -> PathFacts {
    let mut path = PathFacts {
        reachability: Reachability::Active,
        cwnd: window,
        ssthresh: if limited { window } else { u64::MAX },
        ..PathFacts::new(PathId(id), 1_480, 1_468, unmeasured())
    };
    path.set_srtt(Some(Duration::from_millis(srtt)));
    path
}

#[test]
fn dynamic_map_tries_an_unused_path_despite_its_small_cwnd() {
    let mut scheduler = DynamicMap::new(NoParameters);
    let begin = Instant::ZERO + Duration::from_secs(1);
    let fast = path(0, 100_000, true, 22);
    scheduler.observe(core::slice::from_ref(&fast), begin);
    ready(&mut scheduler, 0, 1);
    ready(&mut scheduler, 1, 2);
    // The other path is confirmed later; an initial cwnd per 150 ms is a very low rate.
    let late = begin + Duration::from_secs(1);
    scheduler.observe(&[fast, path(1, 4_380, false, 150)], late);
    let named = [0, 1].map(|path| scheduler.next(PathId(path)));
    assert!(
        named.iter().all(Option::is_some) && named[0] != named[1],
        "{named:?}"
    );
}

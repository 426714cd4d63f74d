//! What distinguishes the stream schedulers.

use alloc::vec::Vec;
use core::time::Duration;

use anabranch_types::{Instant, MessageId, PathId, StreamId};

use super::{DynamicMap, FirstCome, RoundRobin};
use crate::parameters::NoParameters;
use crate::{PathFacts, Reachability, StreamFacts, StreamScheduler};

fn ready(scheduler: &mut dyn StreamScheduler, stream: u16, message: u64) {
    scheduler.on_ready(&StreamFacts {
        id: StreamId(stream),
        head: MessageId(message),
        head_bytes: 100,
        queued_bytes: 100,
        priority: 0,
        weight: 1,
    });
}

fn next(scheduler: &dyn StreamScheduler) -> Option<u16> {
    scheduler.next(PathId(0)).map(|stream| stream.0)
}

/// Serves `queues` (messages of each stream) to the end and tells in which order streams were served.
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
fn first_come_serves_messages_in_the_order_of_handing_over() {
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
fn a_stream_announced_again_keeps_its_turn() {
    let mut scheduler = RoundRobin::new(NoParameters);
    ready(&mut scheduler, 5, 1);
    ready(&mut scheduler, 6, 2);
    ready(&mut scheduler, 5, 1);
    assert_eq!(next(&scheduler), Some(5));
    scheduler.on_idle(StreamId(5));
    assert_eq!(next(&scheduler), Some(6));
}

#[test]
fn a_stream_whose_head_message_was_abandoned_is_judged_by_the_next_one() {
    let mut scheduler = FirstCome::new(NoParameters);
    ready(&mut scheduler, 5, 1);
    ready(&mut scheduler, 6, 2);
    ready(&mut scheduler, 5, 3);
    assert_eq!(next(&scheduler), Some(6));
}

/// A path in use with a window of `window` bytes, found by a loss if `limited`.
fn path(id: u8, window: u64, limited: bool, srtt: u64) -> PathFacts {
    PathFacts {
        reachability: Reachability::Active,
        cwnd: window,
        ssthresh: if limited { window } else { u64::MAX },
        srtt: Some(Duration::from_millis(srtt)),
        ..PathFacts::new(PathId(id), 1_480, 1_468, Duration::from_secs(1))
    }
}

#[test]
fn a_path_that_was_never_used_is_tried_however_small_its_window_still_is() {
    let mut scheduler = DynamicMap::new(NoParameters);
    let begin = Instant::ZERO + Duration::from_secs(1);
    let fast = path(0, 100_000, true, 22);
    scheduler.observe(core::slice::from_ref(&fast), begin);
    ready(&mut scheduler, 0, 1);
    ready(&mut scheduler, 1, 2);
    // The other path is confirmed later, and an initial window in 150 ms is next to nothing.
    let late = begin + Duration::from_secs(1);
    scheduler.observe(&[fast, path(1, 4_380, false, 150)], late);
    let named = [0, 1].map(|path| scheduler.next(PathId(path)));
    assert!(
        named.iter().all(Option::is_some) && named[0] != named[1],
        "{named:?}"
    );
}

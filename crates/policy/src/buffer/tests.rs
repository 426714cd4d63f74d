//! Tests of the buffer policies.

use super::{Counting, Shared, Split, SplitBoth, SplitParameters, SplitReceiver, SplitSender};
use crate::parameters::NoParameters;
use crate::testing::{CHUNK, healthy};
use crate::{BufferFacts, BufferPolicy, PathFacts};

const BUFFER: BufferFacts = BufferFacts {
    send_capacity: 100_000,
    send_used: 60_000,
    peer_window: 30_000,
    in_flight: 20_000,
    queued: 50_000,
    usable_paths: 2,
    send_split: true,
    receive_split: true,
};

/// 10,000 bytes in flight, 45,000 held.
fn backlogged() -> PathFacts {
    let mut path = healthy(0);
    path.in_flight = 10_000;
    path.queued = 45_000;
    path
}

fn allowance(policy: &dyn BufferPolicy) -> u64 {
    policy.allowance(&backlogged(), &[], &BUFFER)
}

#[test]
fn without_a_split_there_is_no_limit() {
    assert_eq!(allowance(&Shared::new(NoParameters)), u64::MAX);
}

#[test]
fn each_of_two_paths_may_hold_half() {
    let parameters = SplitParameters {
        counting: Counting::Queued,
    };
    assert_eq!(
        allowance(&Split::<SplitSender>::new(parameters)),
        5_000,
        "50,000 − 45,000"
    );
    assert_eq!(
        allowance(&Split::<SplitReceiver>::new(parameters)),
        0,
        "more than 40,000"
    );
    assert_eq!(allowance(&Split::<SplitBoth>::new(parameters)), 0);
}

#[test]
fn outstanding_counting_ignores_gap_acked_chunks() {
    let parameters = SplitParameters {
        counting: Counting::Outstanding,
    };
    assert_eq!(allowance(&Split::<SplitSender>::new(parameters)), 40_000);
    assert_eq!(
        allowance(&Split::<SplitReceiver>::new(parameters)),
        15_000,
        "half of 30,000 + 20,000, less 10,000"
    );
}

#[test]
fn each_variant_reports_which_buffers_it_splits() {
    let parameters = SplitParameters::default();
    let splits = |policy: &dyn BufferPolicy| (policy.splits_send_buffer(), policy.splits_receive_buffer());
    assert_eq!(splits(&Shared::new(NoParameters)), (false, false));
    assert_eq!(splits(&Split::<SplitSender>::new(parameters)), (true, false));
    assert_eq!(splits(&Split::<SplitReceiver>::new(parameters)), (false, true));
    assert_eq!(splits(&Split::<SplitBoth>::new(parameters)), (true, true));
}

#[test]
fn gap_acked_backlog_blocks_only_queued_counting() {
    let mut path = healthy(0);
    path.in_flight = 10_000;
    for (queued, expected) in [(50_000 - CHUNK, CHUNK), (50_001 - CHUNK, 0), (99_000, 0)] {
        path.queued = queued;
        let counted =
            |counting| Split::<SplitSender>::new(SplitParameters { counting }).allowance(&path, &[], &BUFFER);
        assert_eq!(counted(Counting::Outstanding), 40_000);
        assert_eq!(counted(Counting::Queued), expected, "{queued} of 50,000");
    }
}

#[test]
fn receive_share_may_be_exceeded_by_one_chunk() {
    let mut path = backlogged();
    path.queued = 39_999;
    let policy = Split::<SplitReceiver>::new(SplitParameters::default());
    assert_eq!(policy.allowance(&path, &[], &BUFFER), CHUNK);
}

//! Tests of chunk rescheduling.

use anabranch_types::{Instant, PathId};

use super::{SarModified, SarModifiedParameters, Shares, Threshold, ThresholdParameters, Watched};
use crate::testing::{at, healthy, ms, tsn};
use crate::{
    BufferFacts, PathFacts, Reschedule, RescheduleExtent, ReschedulePenalty, Rescheduled, ReschedulingPolicy,
    StuckChunk,
};

const STUCK: StuckChunk = StuckChunk {
    tsn: tsn(7),
    bytes: 1_452,
    path: PathId(1),
    sent_at: Instant::ZERO,
    rescheduled: Rescheduled::Never,
};

/// Path 0 delivered 30,000 bytes that wait for the stuck chunk of path 1.
fn waiting() -> [PathFacts; 2] {
    let mut paths = [healthy(0), healthy(1)];
    paths[0].in_flight = 5_000;
    paths[0].queued = 35_000;
    paths
}

fn buffer(send_capacity: u64) -> BufferFacts {
    BufferFacts {
        send_capacity,
        send_used: send_capacity,
        peer_window: 1_000_000,
        in_flight: 10_000,
        queued: 45_000,
        usable_paths: 2,
        send_split: true,
        receive_split: true,
    }
}

fn reschedule(
    watched: Watched,
    send_capacity: u64,
    stuck: &StuckChunk,
    paths: &[PathFacts],
) -> Option<Reschedule> {
    let mut policy = Threshold::new(watched, ThresholdParameters::default());
    policy.reschedule(&paths[0], stuck, &buffer(send_capacity), paths, at(10))
}

#[test]
fn oldest_chunk_moves_when_half_a_share_is_blocked() {
    let cut = Some(Reschedule {
        extent: RescheduleExtent::Oldest,
        penalty: ReschedulePenalty::WindowCut,
    });
    assert_eq!(reschedule(Watched::Sender, 120_000, &STUCK, &waiting()), cut);
    assert_eq!(reschedule(Watched::Sender, 120_004, &STUCK, &waiting()), None);
    assert_eq!(
        reschedule(Watched::Receiver, 120_000, &STUCK, &waiting()),
        None,
        "the receive buffer is not blocked"
    );
    assert_eq!(reschedule(Watched::Both, 120_000, &STUCK, &waiting()), cut);
}

#[test]
fn split_decides_whether_the_limit_is_a_share() {
    let blocked_at = |split, capacity, is_split| {
        let parameters = ThresholdParameters {
            split,
            ..ThresholdParameters::default()
        };
        let mut policy = Threshold::new(Watched::Sender, parameters);
        let buffer = BufferFacts {
            send_split: is_split,
            receive_split: !is_split,
            ..buffer(capacity)
        };
        let paths = waiting();
        policy
            .reschedule(&paths[0], &STUCK, &buffer, &paths, at(10))
            .is_some()
    };
    let (share, whole) = (120_000, 60_000);
    for (split, is_split, limit) in [
        (Shares::AsHeld, true, share),
        (Shares::AsHeld, false, whole),
        (Shares::Always, false, share),
        (Shares::Never, true, whole),
    ] {
        assert!(blocked_at(split, limit, is_split), "{split:?}");
        assert!(!blocked_at(split, limit + 4, is_split), "{split:?}");
    }
}

#[test]
fn a_path_in_recovery_pauses_instead_of_a_cwnd_cut() {
    let mut paths = waiting();
    paths[1].in_recovery = true;
    let pause = Reschedule {
        extent: RescheduleExtent::Oldest,
        penalty: ReschedulePenalty::Blocked(ms(20)),
    };
    assert_eq!(reschedule(Watched::Sender, 100_000, &STUCK, &paths), Some(pause));
}

#[test]
fn a_chunk_of_the_same_path_must_be_old() {
    let own = StuckChunk {
        path: PathId(0),
        ..STUCK
    };
    assert_eq!(reschedule(Watched::Sender, 100_000, &own, &waiting()), None);
    let mut paths = waiting();
    paths[0].set_srtt(Some(ms(4)));
    assert!(reschedule(Watched::Sender, 100_000, &own, &paths).is_some());
    let moved = StuckChunk {
        rescheduled: Rescheduled::Moved,
        ..STUCK
    };
    assert_eq!(reschedule(Watched::Sender, 100_000, &moved, &waiting()), None);
}

#[test]
fn sar_modified_moves_all_below_the_gap_without_a_pause() {
    let mut policy = SarModified::new(SarModifiedParameters::default());
    let mut paths = waiting();
    let rescheduled = policy.reschedule(&paths[0], &STUCK, &buffer(100_000), &paths, at(10));
    let rescheduled = rescheduled.expect("half the send buffer is blocked");
    assert_eq!(
        (rescheduled.extent, rescheduled.penalty),
        (RescheduleExtent::BelowFirstGap, ReschedulePenalty::WindowCut)
    );
    paths[1].in_recovery = true;
    let rescheduled = policy.reschedule(&paths[0], &STUCK, &buffer(100_000), &paths, at(10));
    assert_eq!(
        rescheduled.map(|reschedule| reschedule.penalty),
        Some(ReschedulePenalty::Nothing)
    );
    let moved = StuckChunk {
        rescheduled: Rescheduled::Moved,
        ..STUCK
    };
    assert_eq!(
        policy.reschedule(&paths[0], &moved, &buffer(100_000), &paths, at(10)),
        None
    );
}

#[test]
fn an_overdue_chunk_is_sent_again_on_its_path_in_recovery() {
    let parameters = ThresholdParameters {
        overdue: true,
        ..ThresholdParameters::DEFAULT
    };
    let mut policy = Threshold::new(Watched::Both, parameters);
    let own = StuckChunk {
        path: PathId(0),
        ..STUCK
    };
    let mut paths = waiting();
    paths[0].in_recovery = true;
    paths[0].set_rttvar(ms(1));
    let buffer = buffer(140_000);
    let mut again = |stuck: &StuckChunk, time| policy.reschedule(&paths[0], stuck, &buffer, &paths, at(time));
    assert_eq!(
        again(&own, 43),
        None,
        "two round trips of 20 ms and four mean deviations"
    );
    let cut = Some(Reschedule {
        extent: RescheduleExtent::Oldest,
        penalty: ReschedulePenalty::WindowCut,
    });
    assert_eq!(again(&own, 44), cut);
    let rescheduled = StuckChunk {
        rescheduled: Rescheduled::OnItsPath,
        ..own
    };
    assert_eq!(again(&rescheduled, 44), None, "once for each chunk");
    assert_eq!(again(&STUCK, 44), None, "of another path, to one in recovery");
    assert_eq!(policy.overdue_at(&own, &buffer, &paths), Some(at(44)));
    let half_free = BufferFacts {
        queued: 44_999,
        ..buffer
    };
    assert_eq!(
        policy.overdue_at(&own, &half_free, &paths),
        None,
        "35,000 of 70,000 block"
    );
    let published = Threshold::new(Watched::Both, ThresholdParameters::DEFAULT);
    assert_eq!(published.overdue_at(&own, &buffer, &paths), None);
}

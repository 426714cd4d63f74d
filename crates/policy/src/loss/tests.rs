//! Tests of loss detection.

use alloc::vec::Vec;

use anabranch_types::{Instant, PathId, SendNumber};

use super::{
    FastRetransmitOnce, MissCount, MissCountAssociation, MissCountParameters, Rack, RackParameters,
    ReorderingAware, ReorderingParameters,
};
use crate::parameters::NoParameters;
use crate::testing::{at, healthy, ms, sack, tsn};
use crate::{AckSample, Eligible, Late, LossDetection, LossThreshold, PathAck, PathFacts, SentOnce};

struct Fixture<L> {
    loss: L,
    paths: Vec<PathFacts>,
    now: Instant,
}

impl<L: LossDetection> Fixture<L> {
    fn new(mut loss: L) -> Self {
        let paths: Vec<PathFacts> = (0..2).map(healthy).collect();
        paths.iter().for_each(|path| loss.add_path(path.id));
        Self {
            loss,
            paths,
            now: Instant::ZERO,
        }
    }

    /// A SACK that newly acknowledges from `lowest` to `highest` on each of the paths given.
    fn sack(&mut self, packet_count: Option<u8>, cumulative_advanced: bool, acked: &[(u8, u64, u64)]) {
        let acks: Vec<PathAck> = acked
            .iter()
            .map(|(path, lowest, highest)| {
                let mut ack = PathAck::new(PathId(*path), 10_000);
                ack.newly_acked = 1_000;
                ack.newly_acked_chunks = 1;
                ack.lowest_newly_acked = Some(tsn(*lowest));
                ack.highest_newly_acked = Some(tsn(*highest));
                ack.latest_send_number = Some(SendNumber(*highest));
                ack
            })
            .collect();
        let sample = AckSample {
            cumulative: tsn(0),
            cumulative_advanced,
            arrived_on: PathId(0),
            packet_count,
            paths: &acks,
        };
        self.loss.on_ack(&sample, &self.paths, self.now);
    }

    fn loss_threshold(&self, path: u8) -> LossThreshold {
        self.loss.loss_threshold(PathId(path), self.now)
    }

    fn is_lost(&self, path: u8, number: u64) -> bool {
        self.loss_threshold(path).below > Some(tsn(number))
    }
}

fn by_path() -> Fixture<MissCount> {
    Fixture::new(MissCount::new(MissCountParameters::default()))
}

//= rfc9260 6.7-4, 6.7-5, 7.2.4-2
#[test]
fn a_chunk_is_lost_at_its_third_miss_indication() {
    let mut fixture = by_path();
    fixture.sack(None, false, &[(0, 11, 11)]);
    fixture.sack(None, false, &[(0, 12, 12)]);
    assert!(!fixture.is_lost(0, 10));
    fixture.sack(None, false, &[(0, 13, 13)]);
    assert!(fixture.is_lost(0, 10));
    assert!(!fixture.is_lost(0, 12), "no three SACKs reported anything later");
}

#[test]
fn chunks_of_another_path_give_no_miss_indication() {
    let mut fixture = by_path();
    for number in 11..50 {
        fixture.sack(None, false, &[(1, number, number)]);
    }
    assert!(!fixture.is_lost(0, 10));
}

#[test]
fn without_sfr_chunks_of_another_path_count() {
    let mut fixture = Fixture::new(MissCountAssociation::new(NoParameters));
    for number in 11..14 {
        fixture.sack(None, false, &[(1, number, number)]);
    }
    assert!(fixture.is_lost(0, 10));
}

//= rfc9260 7.2.4-3
#[test]
fn a_late_sack_counts_below_its_newly_acked_tsns() {
    let mut fixture = by_path();
    fixture.sack(None, false, &[(0, 30, 30)]);
    fixture.sack(None, false, &[(0, 31, 31)]);
    fixture.sack(None, false, &[(0, 15, 15)]);
    assert!(fixture.is_lost(0, 14));
    assert!(
        !fixture.is_lost(0, 16),
        "two of the three were above (highest newly acknowledged TSN)"
    );
}

#[test]
fn a_sack_for_two_packets_counts_twice() {
    let mut fixture = by_path();
    fixture.sack(Some(2), false, &[(0, 11, 12)]);
    fixture.sack(Some(2), false, &[(0, 14, 15)]);
    assert!(fixture.is_lost(0, 10), "two and two");
    assert!(!fixture.is_lost(0, 13), "two only");
    fixture.sack(Some(2), false, &[(0, 16, 18)]);
    assert!(fixture.is_lost(0, 13));
    assert!(
        !fixture.is_lost(0, 17),
        "between the two packets of one SACK it counts once"
    );
}

#[test]
fn a_sack_for_packets_of_two_paths_counts_once_on_each() {
    let mut fixture = by_path();
    fixture.sack(Some(2), false, &[(0, 11, 12), (1, 21, 22)]);
    fixture.sack(Some(2), false, &[(0, 13, 14), (1, 23, 24)]);
    assert!(!fixture.is_lost(0, 10));
    assert!(!fixture.is_lost(1, 20));
}

//= rfc9260 7.2.4-3
#[test]
fn in_recovery_an_advance_counts_for_all_missing_tsns() {
    let mut fixture = by_path();
    fixture.sack(None, false, &[(0, 29, 29)]);
    fixture.sack(None, false, &[(0, 30, 30)]);
    fixture.paths[0].in_recovery = true;
    fixture.sack(None, true, &[(0, 10, 10)]);
    assert!(
        fixture.is_lost(0, 28),
        "the retransmission of 10 arrived, what else is missing counts again"
    );
}

#[test]
fn a_retransmission_is_lost_after_three_later_sends_acked() {
    let mut fixture = by_path();
    (101..104).for_each(|number| fixture.sack(None, false, &[(0, number, number)]));
    let threshold = fixture.loss_threshold(0);
    assert_eq!(threshold.resent_before, Some(SendNumber(101)));
}

#[test]
fn fr_once_always_exempts_only_rescheduled_chunks() {
    let parameters = MissCountParameters {
        fr_once: FastRetransmitOnce::Always,
    };
    let mut fixture = Fixture::new(MissCount::new(parameters));
    fixture.paths[0].set_srtt(None);
    (101..150).for_each(|number| fixture.sack(None, false, &[(0, number, number)]));
    assert_eq!(fixture.loss_threshold(0).resent_before, None);
    fixture.paths[0].set_srtt(Some(ms(20)));
    fixture.now = at(120);
    fixture.sack(None, false, &[(0, 150, 150)]);
    assert_eq!(fixture.loss_threshold(0).eligible, Eligible::MovedBefore(at(80)));
}

#[test]
fn fr_once_on_path_change_loses_only_unmoved_chunks_again() {
    let parameters = MissCountParameters {
        fr_once: FastRetransmitOnce::OnPathChange,
    };
    let mut fixture = Fixture::new(MissCount::new(parameters));
    (101..104).for_each(|number| fixture.sack(None, false, &[(0, number, number)]));
    let threshold = fixture.loss_threshold(0);
    assert_eq!(threshold.resent_before, Some(SendNumber(101)));
    assert_eq!(threshold.eligible, Eligible::OnOnePath);
}

#[test]
fn fr_once_per_rtt_needs_a_round_trip_between_losses() {
    let parameters = MissCountParameters {
        fr_once: FastRetransmitOnce::PerRtt,
    };
    let mut fixture = Fixture::new(MissCount::new(parameters));
    fixture.paths[0].set_srtt(None);
    (101..104).for_each(|number| fixture.sack(None, false, &[(0, number, number)]));
    assert_eq!(fixture.loss_threshold(0).resent_before, None, "no RTT sample yet");
    fixture.paths[0].set_srtt(Some(ms(20)));
    fixture.now = at(120);
    fixture.sack(None, false, &[(0, 104, 104)]);
    assert_eq!(fixture.loss_threshold(0).eligible, Eligible::SentBefore(at(100)));
    fixture.paths[0].set_srtt(Some(ms(90)));
    fixture.sack(None, false, &[(0, 105, 105)]);
    assert_eq!(
        fixture.loss_threshold(0).eligible,
        Eligible::SentBefore(at(100)),
        "a round trip that became longer takes nothing back"
    );
}

#[test]
fn a_timeout_resets_its_path_only() {
    let mut fixture = by_path();
    (11..15).for_each(|number| fixture.sack(None, false, &[(0, number, number), (1, number, number)]));
    fixture.loss.on_timeout(PathId(0));
    assert_eq!(fixture.loss_threshold(0), LossThreshold::NONE);
    assert!(fixture.is_lost(1, 10));
}

/// `rack` after a chunk sent at `sent_at` with that send number was acknowledged at `now`.
fn rack_after_ack(rack: &mut Rack, send_number: u64, sent_at: u64, once: bool, now: u64) {
    let mut ack = PathAck::new(PathId(0), 10_000);
    ack.newly_acked_chunks = 1;
    ack.latest_send_number = Some(SendNumber(send_number));
    ack.latest_sent_at = Some(at(sent_at));
    ack.rtt_sample = once.then_some(SentOnce {
        sent_at: at(sent_at),
        tsn: tsn(send_number),
    });
    let sample = AckSample {
        cumulative: tsn(0),
        cumulative_advanced: false,
        arrived_on: PathId(0),
        packet_count: None,
        paths: &[ack],
    };
    rack.on_ack(&sample, &[healthy(0)], at(now));
}

fn rack() -> Rack {
    let mut rack = Rack::new(RackParameters::default());
    rack.add_path(PathId(0));
    rack
}

#[test]
fn rack_loses_an_overtaken_chunk_after_the_reordering_window() {
    let mut rack = rack();
    rack_after_ack(&mut rack, 7, 1_000, true, 1_020);
    let threshold = rack.loss_threshold(PathId(0), at(1_020));
    let late = Late {
        before: SendNumber(7),
        until: at(995),
    };
    assert_eq!(threshold.late, Some(late), "20 ms and 5 more");
    assert_eq!(threshold.again_at, Some(at(1_025)));
    let threshold = rack.loss_threshold(PathId(0), at(1_025));
    assert_eq!(
        threshold.late.map(|late| late.until),
        Some(at(1_000)),
        "all that left before"
    );
    assert_eq!(threshold.again_at, None);
}

#[test]
fn rack_ignores_the_ack_of_an_original_after_retransmission() {
    let mut rack = rack();
    rack_after_ack(&mut rack, 7, 1_000, false, 1_010);
    assert_eq!(
        rack.loss_threshold(PathId(0), at(2_000)),
        LossThreshold::NONE,
        "10 ms for a round trip of 20?"
    );
    rack_after_ack(&mut rack, 8, 1_000, false, 1_020);
    assert!(rack.loss_threshold(PathId(0), at(2_000)).late.is_some());
}

/// Packets that take 10 and 30 ms in turn: those that take 10 overtake the others.
#[test]
fn rack_with_variation_waits_for_the_packets_that_were_overtaken() {
    let parameters = RackParameters {
        variation: 4,
        ..RackParameters::default()
    };
    let mut rack = Rack::new(parameters);
    rack.add_path(PathId(0));
    let mut path = healthy(0);
    path.in_flight = 20 * u64::from(path.max_data_chunk);
    // What one sample in a round trip makes of it: that of the packet which overtook the others.
    path.set_srtt(Some(ms(10)));
    path.set_rttvar(ms(0));
    let mut newest = 0;
    for number in 1..=500 {
        let took = if number % 2 == 0 { 10 } else { 30 };
        let mut ack = PathAck::new(PathId(0), 0);
        ack.latest_send_number = Some(SendNumber(number));
        ack.latest_sent_at = Some(at(number));
        ack.rtt_sample = Some(SentOnce {
            sent_at: at(number),
            tsn: tsn(number),
        });
        newest = number;
        rack.on_ack(&sack(&[ack]), core::slice::from_ref(&path), at(number + took));
    }
    let judged = rack.loss_threshold(PathId(0), at(newest)).again_at;
    let patience = judged.unwrap() - at(newest);
    // The mean is 20 ms, the mean deviation 10 ms.
    assert!(patience > ms(50) && patience < ms(70), "{patience:?}");
}

/// Each SACK reports two chunks: one that took 40 ms, and one that was sent 30 ms later and overtook it.
#[test]
fn rack_with_variation_counts_both_chunks_of_a_sack() {
    let parameters = RackParameters {
        variation: 4,
        ..RackParameters::default()
    };
    let mut rack = Rack::new(parameters);
    rack.add_path(PathId(0));
    let mut path = healthy(0);
    path.in_flight = 20 * u64::from(path.max_data_chunk);
    for number in 1..=500 {
        let mut ack = PathAck::new(PathId(0), 0);
        ack.newly_acked_chunks = 2;
        ack.sent_once_chunks = 2;
        ack.latest_send_number = Some(SendNumber(number));
        ack.latest_sent_at = Some(at(number));
        ack.rtt_sample = Some(SentOnce {
            sent_at: at(number),
            tsn: tsn(number),
        });
        ack.earliest_sent_once = Some(at(number) - ms(30));
        rack.on_ack(&sack(&[ack]), core::slice::from_ref(&path), at(number) + ms(10));
    }
    let judged = rack.loss_threshold(PathId(0), at(500)).again_at;
    let patience = judged.unwrap() - at(500);
    // The mean is 25 ms, the mean deviation 15 ms.
    assert!(patience > ms(80) && patience < ms(90), "{patience:?}");
}

/// A SACK that acknowledges chunks sent once, from the one sent at `earliest` to the one sent at `latest`, in milliseconds; their
/// numbers are the same.
fn reordering_after_ack(loss: &mut ReorderingAware, earliest: u64, latest: u64, now: u64) {
    let mut ack = PathAck::new(PathId(0), 10_000);
    ack.newly_acked_chunks = 1 + u32::from(latest > earliest);
    ack.highest_newly_acked = Some(tsn(latest));
    ack.lowest_newly_acked = Some(tsn(earliest));
    ack.latest_send_number = Some(SendNumber(latest));
    ack.latest_sent_at = Some(at(latest));
    ack.rtt_sample = Some(SentOnce {
        sent_at: at(latest),
        tsn: tsn(latest),
    });
    ack.sent_once_chunks = ack.newly_acked_chunks;
    ack.earliest_sent_once = Some(at(earliest));
    loss.on_ack(&sack(&[ack]), &[healthy(0)], at(now));
}

#[test]
fn in_order_three_miss_indications_tell_a_loss() {
    let mut loss = ReorderingAware::new(ReorderingParameters::DEFAULT);
    for number in [10, 12, 13, 14] {
        reordering_after_ack(&mut loss, number, number, number + 20);
    }
    let threshold = loss.loss_threshold(PathId(0), at(34));
    assert_eq!(threshold.below, Some(tsn(12)));
    assert_eq!((threshold.late, threshold.again_at), (None, None));
}

#[test]
fn after_a_late_chunk_only_time_tells_a_loss() {
    let mut loss = ReorderingAware::new(ReorderingParameters::DEFAULT);
    for number in [10, 12, 13] {
        reordering_after_ack(&mut loss, number, number, number + 20);
    }
    reordering_after_ack(&mut loss, 11, 11, 36);
    for number in 15..30 {
        reordering_after_ack(&mut loss, number, number, number + 22);
    }
    let threshold = loss.loss_threshold(PathId(0), at(51));
    assert_eq!(threshold.below, Some(tsn(10)), "14 may arrive yet");
    assert!(threshold.again_at.is_some());

    loss.on_timeout(PathId(0));
    assert_eq!(loss.loss_threshold(PathId(0), at(51)), LossThreshold::NONE);
}

/// Both chunks of a SACK are new: it tells nothing about the order in which they arrived.
#[test]
fn a_sack_for_two_chunks_is_not_reordering() {
    let mut loss = ReorderingAware::new(ReorderingParameters::DEFAULT);
    for number in [10, 13, 15, 17] {
        reordering_after_ack(&mut loss, number, number + 1, number + 21);
    }
    let threshold = loss.loss_threshold(PathId(0), at(38));
    assert_eq!(threshold.below, Some(tsn(14)));
}

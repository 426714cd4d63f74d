//! Randomized tests of the scoreboard: paths added and removed, loss, reordering, reneging, timeouts, rescheduled chunks,
//! wrapping TSNs. After every event the scoreboard must agree with a naive model that examines every chunk.

mod naive;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

use anabranch_policy::catalog::SackHandlingChoice;
use anabranch_policy::options::{OutstandingArrayParameters, SlidingWindowParameters};
use anabranch_policy::{Eligible, Late, LossThreshold, NoParameters, PathAck, Rescheduled};
use anabranch_types::{
    Instant, IntervalSet, MessageId, PathId, Ppid, Rng, Seed, SendNumber, Ssn, StreamId, Tsn, UnwrappedTsn,
};
use anabranch_wire::DataFlags;
use bytes::Bytes;

use self::naive::{ChunkState, Naive};
use super::scope::Scope;
use super::{SackWindow, Scoreboard};
use crate::config::SackWalks;
use crate::send::chunk::{Chunk, Place};

const PATHS: u64 = 3;

/// Small windows, so that some chunks are in none of them.
const WINDOWS: SlidingWindowParameters = SlidingWindowParameters { tsns: 5, windows: 3 };

/// The outstanding array is small, so that it overflows.
const HANDLINGS: [SackHandlingChoice; 3] = [
    SackHandlingChoice::Indexed(NoParameters),
    SackHandlingChoice::Scan(NoParameters),
    SackHandlingChoice::OutstandingArray(OutstandingArrayParameters { initial: 2, limit: 5 }),
];

fn chunk(payload: usize) -> Chunk {
    static PAYLOAD: [u8; 64] = [7; 64];
    Chunk {
        message: MessageId(0),
        stream: StreamId(0),
        place: Place::Data(Ssn(0)),
        ppid: Ppid(0),
        flags: DataFlags {
            beginning: true,
            ending: true,
            unordered: true,
            immediate: false,
        },
        payload: Bytes::from_static(&PAYLOAD[..payload]),
    }
}

/// The third-highest TSN among all miss indications, as the loss policy of a path keeps it.
#[derive(Default)]
struct Watermarks {
    tsns: [Option<UnwrappedTsn>; 3],
    send_numbers: [Option<SendNumber>; 3],
}

fn note_miss<N: Copy + Ord>(marks: &mut [Option<N>; 3], at: Option<N>) {
    let Some(place) = marks.iter().position(|mark| at > *mark) else {
        return;
    };
    marks[place..].rotate_right(1);
    marks[place] = at;
}

/// A scoreboard, its naive model, and the state of a receiver.
struct Fixture {
    rng: Rng,
    now: Instant,
    scoreboard: Scoreboard,
    naive: Naive,
    received: BTreeSet<UnwrappedTsn>,
    cumulative: UnwrappedTsn,
    watermarks: BTreeMap<PathId, Watermarks>,
    reneges: bool,
    /// The peer reports a selection of the received TSNs, and never reneges.
    selects: bool,
    /// The peer reports non-renegable TSNs, and may renege on them nonetheless.
    keeps: bool,
    /// Chunks are also declared lost by time.
    impatient: bool,
    /// The SACK window of the scoreboard.
    sack_window: SackWindow,
    eligible: fn(Instant) -> Eligible,
    acknowledged: u64,
    lost: u64,
}

impl Fixture {
    fn new(seed: u64, walks: SackWalks) -> Self {
        let mut rng = Seed(seed).rng();
        let handling = HANDLINGS[rng.below(3) as usize];
        let sack_window = if rng.chance(1, 3) {
            SackWindow::Sliding {
                size: WINDOWS,
                turn: 0,
            }
        } else {
            SackWindow::Everything
        };
        let initial = Tsn(u32::MAX - rng.below(200) as u32);
        let first = UnwrappedTsn::first(initial);
        let selects = rng.chance(1, 3);
        let scoreboard = Scoreboard::new(initial, (handling, walks), sack_window);
        Self {
            reneges: !selects && rng.chance(1, 2),
            selects,
            keeps: rng.chance(1, 2),
            impatient: rng.chance(1, 2),
            sack_window,
            eligible: match rng.below(5) {
                0 => |_| Eligible::OnOnePath,
                1 => |now| Eligible::SentBefore(Instant::from_nanos(now.as_nanos().saturating_sub(100))),
                2 => |now| Eligible::MovedBefore(Instant::from_nanos(now.as_nanos().saturating_sub(50))),
                _ => |_| Eligible::Any,
            },
            rng,
            now: Instant::ZERO,
            scoreboard,
            naive: Naive::new(first),
            received: BTreeSet::new(),
            cumulative: first.previous(),
            watermarks: BTreeMap::new(),
            acknowledged: 0,
            lost: 0,
        }
    }

    /// A path that is not removed.
    fn any_path(&mut self) -> PathId {
        let path = PathId(self.rng.below(PATHS) as u8);
        if self.naive.gone == Some(path) {
            PathId((path.0 + 1) % PATHS as u8)
        } else {
            path
        }
    }

    fn step(&mut self) {
        self.now = Instant::from_nanos(self.now.as_nanos() + self.rng.below(3));
        match self.rng.below(20) {
            0..5 => self.send_chunk(),
            5..9 => self.receive_chunk(),
            9..14 => self.apply_sack(),
            14..17 => self.retransmit(),
            17 => self.reschedule_oldest(),
            18 if self.rng.chance(1, 4) => self.time_out(),
            19 if self.rng.chance(1, 4) => self.add_or_remove_path(),
            _ if self.rng.chance(1, 8) => self.apply_shutdown(),
            _ => {}
        }
        self.assert_agreement();
    }

    fn send_chunk(&mut self) {
        let path = self.any_path();
        for _ in 0..self.rng.below(6) {
            let chunk = chunk(1 + self.rng.below(40) as usize);
            self.naive.send(chunk.bytes(), path, self.now);
            let tsn = self.scoreboard.send(chunk, path, self.now).tsn();
            assert_eq!(tsn, self.naive.next.previous().wrap());
        }
    }

    /// Any chunk ever sent may arrive now.
    fn receive_chunk(&mut self) {
        let sent = self.naive.next - self.cumulative;
        for _ in 0..self.rng.below(8) {
            let tsn = self.cumulative + self.rng.below(sent);
            if tsn > self.cumulative {
                self.received.insert(tsn);
            }
        }
        while self.received.remove(&self.cumulative.next()) {
            self.cumulative = self.cumulative.next();
        }
        if self.reneges && self.rng.chance(1, 6) {
            let rng = &mut self.rng;
            self.received.retain(|_| !rng.chance(1, 3));
        }
    }

    fn apply_sack(&mut self) {
        let packets = 1 + self.rng.below(2) as u8;
        let rng = &mut self.rng;
        let is_reported = |_: &&UnwrappedTsn| !self.selects || rng.chance(1, 2);
        let reported = self.received.iter().filter(is_reported);
        let blocks: IntervalSet = reported.map(|tsn| tsn.0..tsn.0 + 1).collect();
        let Scope(zones) = self
            .sack_window
            .next(self.cumulative.next().0..self.naive.next.0, &blocks);
        let selects = self.selects;
        let heard = |tsn: UnwrappedTsn| match selects {
            true => blocks.contains(tsn.0),
            false => zones.iter().any(|zone| zone.contains(&tsn.0)),
        };
        let (expected, reneged) = self
            .naive
            .sack(self.cumulative, Some(&self.received), heard, self.now);
        let said = if self.selects {
            self.scoreboard.apply_selected(self.cumulative, &blocks)
        } else {
            self.scoreboard.apply(self.cumulative, &blocks, self.now)
        };
        assert_eq!(said.reneged, reneged);
        if self.keeps {
            self.report_non_renegable();
        }
        self.forget();
        self.assert_path_acks(&expected);
        let eligible = (self.eligible)(self.now);
        self.naive.count_misses(&expected, packets, eligible);
        self.detect_losses(&expected, packets);
    }

    fn report_non_renegable(&mut self) {
        let rng = &mut self.rng;
        let kept: BTreeSet<_> = self
            .received
            .iter()
            .copied()
            .filter(|_| rng.chance(1, 2))
            .collect();
        self.naive.keep(&kept);
        self.scoreboard
            .keep(&kept.iter().map(|tsn| tsn.0..tsn.0 + 1).collect());
    }

    fn apply_shutdown(&mut self) {
        let (expected, _) = self.naive.sack(self.cumulative, None, |_| true, self.now);
        self.scoreboard.apply_cumulative(self.cumulative);
        self.forget();
        self.assert_path_acks(&expected);
    }

    fn forget(&mut self) {
        self.scoreboard.forget(self.cumulative, |_| ());
    }

    fn assert_path_acks(&mut self, expected: &[PathAck]) {
        assert_eq!(
            format!("{:?}", self.scoreboard.path_acks()),
            format!("{expected:?}")
        );
        self.acknowledged += expected
            .iter()
            .map(|ack| u64::from(ack.newly_acked_chunks))
            .sum::<u64>();
    }

    /// Loss by three miss indications, kept as watermarks; the naive model counts them for every chunk.
    fn detect_losses(&mut self, path_acks: &[PathAck], packets: u8) {
        let weight = if path_acks.len() == 1 { packets } else { 1 };
        for ack in path_acks {
            let marks = self.watermarks.entry(ack.path).or_default();
            note_miss(&mut marks.tsns, ack.highest_newly_acked);
            (1..weight).for_each(|_| note_miss(&mut marks.tsns, ack.lowest_newly_acked));
            note_miss(&mut marks.send_numbers, ack.latest_send_number);
        }
        let (now, impatient) = (self.now, self.impatient);
        let eligible = (self.eligible)(now);
        let threshold_of = |path| {
            let marks = self.watermarks.get(&path);
            marks.map_or(LossThreshold::NONE, |marks| LossThreshold {
                below: marks.tsns[2],
                resent_before: marks.send_numbers[2],
                eligible,
                late: impatient.then_some(Late {
                    before: marks.send_numbers[0].unwrap_or_default(),
                    until: Instant::from_nanos(now.as_nanos().saturating_sub(40)),
                }),
                again_at: None,
            })
        };
        for &path in self.watermarks.keys() {
            self.naive.lose_late(path, threshold_of(path).late);
        }
        self.scoreboard.look_for_losses(threshold_of);
        for &path in self.watermarks.keys() {
            let before = self.scoreboard.in_flight(path);
            let lost = self.scoreboard.lose(path, threshold_of(path));
            assert_eq!(before - lost.bytes, self.scoreboard.in_flight(path));
            self.lost += u64::from(lost.chunks);
        }
    }

    fn retransmit(&mut self) {
        let mut candidate = self.scoreboard.next_lost();
        while let Some(lost) = candidate {
            if self.rng.chance(3, 4) {
                let path = self.any_path();
                self.naive.send_again(lost.tsn, path, self.now, false);
                self.scoreboard.send_again(lost.tsn, path, self.now);
            }
            candidate = self
                .scoreboard
                .lost_after(lost.tsn)
                .filter(|_| self.rng.chance(4, 5));
        }
    }

    fn reschedule_oldest(&mut self) {
        let Some(stuck) = self.scoreboard.oldest_in_flight() else {
            return;
        };
        let path = self.any_path();
        self.naive.send_again(stuck.tsn, path, self.now, true);
        self.scoreboard.move_to(stuck.tsn, path, self.now);
    }

    fn time_out(&mut self) {
        let path = self.any_path();
        let expected: Vec<_> = self.naive.flying(path).map(|entry| entry.tsn).collect();
        self.naive.lose_all(path);
        let lost = self.scoreboard.lose_all(path);
        assert_eq!(lost.chunks as usize, expected.len());
        assert_eq!(lost.highest, expected.last().copied());
    }

    /// Removes a path. If one is removed already, its id is reused as soon as no chunk was last sent on it.
    fn add_or_remove_path(&mut self) {
        if let Some(path) = self.naive.gone {
            if self.scoreboard.queued(path) == 0 {
                self.scoreboard.open_path(path);
                self.naive.gone = None;
            }
            return;
        }
        let path = self.any_path();
        self.naive.lose_all(path);
        self.naive.gone = Some(path);
        self.scoreboard.close_path(path);
        self.naive.forget_measurement(path);
        self.watermarks.remove(&path);
    }

    fn assert_agreement(&self) {
        let (ours, naive) = (&self.scoreboard, &self.naive);
        ours.check_every_record();
        assert_eq!(
            (ours.cumulative(), ours.next_tsn()),
            (naive.cumulative(), naive.next)
        );
        for path in (0..PATHS).map(|path| PathId(path as u8)) {
            assert_eq!(ours.in_flight(path), naive.in_flight(path));
            assert_eq!(ours.queued(path), naive.queued(path));
            assert_eq!(ours.earliest_in_flight(path), naive.earliest(path));
            assert_eq!(
                ours.highest_in_flight(path),
                naive.flying(path).map(|entry| entry.tsn).max()
            );
        }
        let lost: BTreeSet<_> = ours.flights.all_lost().collect();
        assert_eq!(lost, naive.lost());
        let oldest = ours.oldest_in_flight().map(|stuck| {
            (
                stuck.tsn,
                stuck.path,
                stuck.sent_at,
                stuck.rescheduled == Rescheduled::Moved,
            )
        });
        assert_eq!(oldest, naive.oldest());
        for entry in naive
            .entries
            .iter()
            .filter(|entry| entry.state != ChunkState::Acked)
        {
            if let ChunkState::Lost(cause) = entry.state {
                let said = ours.lost_chunk(entry.tsn).unwrap();
                assert_eq!((said.cause, said.lost_on), (cause, entry.path));
                assert_eq!(said.transmissions, entry.transmissions);
            }
        }
    }
}

fn run(seed: u64, walks: SackWalks) -> Fixture {
    let mut fixture = Fixture::new(seed, walks);
    (0..300).for_each(|_| fixture.step());
    fixture
}

#[test]
fn random_runs_match_a_naive_scoreboard() {
    let (mut acknowledged, mut lost) = (0, 0);
    for seed in 0..700 {
        let [fixture, counted] = [SackWalks::Done, SackWalks::Counted].map(|walks| run(seed, walks));
        assert_eq!(
            fixture.scoreboard.elements_visited(),
            counted.scoreboard.elements_visited(),
            "seed {seed}: what is counted is what would be walked"
        );
        acknowledged += fixture.acknowledged;
        lost += fixture.lost;
    }
    assert!(
        acknowledged > 50_000,
        "the runs are alive: {acknowledged} acknowledged"
    );
    assert!(lost > 5_000, "the runs are lossy: {lost} lost");
}

const A: PathId = PathId(0);
const B: PathId = PathId(1);

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// TSN 1, the initial TSN, plus `count`.
fn tsn(count: u64) -> UnwrappedTsn {
    UnwrappedTsn::first(Tsn(1)) + count
}

fn sent(paths: &[PathId]) -> Scoreboard {
    let mut scoreboard = Scoreboard::new(Tsn(1), (HANDLINGS[0], SackWalks::Done), SackWindow::Everything);
    for (moment, &path) in (0..).zip(paths) {
        scoreboard.send(chunk(10), path, at(moment));
    }
    scoreboard
}

fn reports(scoreboard: &mut Scoreboard, tsns: &[u64]) -> u32 {
    let blocks: IntervalSet = tsns.iter().map(|&count| tsn(count).0..tsn(count).0 + 1).collect();
    scoreboard
        .apply(scoreboard.cumulative(), &blocks, at(100))
        .reneged
}

#[test]
fn path_acks_depend_only_on_the_chunks_of_each_path() {
    let mut scoreboard = sent(&[A, B, A, B]);
    reports(&mut scoreboard, &[1, 2]);
    let [on_a, on_b] = scoreboard.path_acks() else {
        panic!("both paths have news")
    };
    assert!(!on_a.pseudo_cumulative_advanced, "its first chunk is missing");
    assert!(on_b.pseudo_cumulative_advanced);
    assert_eq!(
        (on_a.highest_newly_acked, on_b.highest_newly_acked),
        (Some(tsn(2)), Some(tsn(1)))
    );
    assert_eq!(
        on_a.in_flight_before,
        2 * 28,
        "16 bytes of header, 10 of payload, 2 of padding"
    );
    assert_eq!(scoreboard.in_flight(A), 28);
    assert_eq!(scoreboard.queued(A), 56, "the reported chunk may be reneged on");
}

#[test]
fn reneged_chunk_is_outstanding_again() {
    let mut scoreboard = sent(&[A, A, A]);
    reports(&mut scoreboard, &[1, 2]);
    assert_eq!(reports(&mut scoreboard, &[2]), 1);
    assert_eq!(scoreboard.in_flight(A), 56);
    assert!(scoreboard.path_acks().is_empty());

    reports(&mut scoreboard, &[1, 2]);
    assert!(
        scoreboard.path_acks().is_empty(),
        "it was acknowledged once and is not news again"
    );
    assert_eq!(scoreboard.in_flight(A), 28);
}

#[test]
fn truncated_gap_list_reneges_on_nothing() {
    let mut scoreboard = sent(&[A; 8]);
    reports(&mut scoreboard, &[1, 3, 5]);
    assert_eq!(
        reports(&mut scoreboard, &[1, 3]),
        0,
        "perhaps there was no room for a third block"
    );
    assert_eq!(
        reports(&mut scoreboard, &[1, 7]),
        2,
        "3 and 5 are not there any more"
    );
    assert_eq!(reports(&mut scoreboard, &[]), 2, "nothing is there any more");
}

#[test]
fn nr_acked_chunks_are_freed_and_not_reneged() {
    let mut scoreboard = sent(&[A; 4]);
    reports(&mut scoreboard, &[1, 2]);
    assert_eq!(scoreboard.payload_held(), 40);
    let kept: IntervalSet = core::iter::once(tsn(2).0..tsn(3).0).collect();
    assert_eq!(scoreboard.keep(&kept), 10);
    assert_eq!(scoreboard.keep(&kept), 0);
    assert_eq!((scoreboard.payload_held(), scoreboard.queued(A)), (30, 84));
    assert_eq!(reports(&mut scoreboard, &[]), 1, "1 was renegable");
    scoreboard.check_every_record();
    scoreboard.apply(tsn(2), &IntervalSet::new(), at(100));
    let ack = &scoreboard.path_acks()[0];
    assert_eq!(ack.newly_acked_chunks, 1, "1 and 2 were news before, 0 is");
    scoreboard.forget(tsn(2), |_| ());
    scoreboard.check_every_record();
    assert_eq!((scoreboard.payload_held(), scoreboard.queued(A)), (10, 28));
}

#[test]
fn rescheduling_below_the_first_gap_stops_at_nr_acked_chunks() {
    let mut scoreboard = sent(&[A; 4]);
    reports(&mut scoreboard, &[1, 3]);
    let kept: IntervalSet = core::iter::once(tsn(1).0..tsn(2).0).collect();
    scoreboard.keep(&kept);
    assert_eq!(
        scoreboard.reschedule_below_first_gap(A),
        1,
        "0 alone; 2 is between"
    );
    assert_eq!(scoreboard.reschedule_below_first_gap(A), 0, "it waits already");
}

#[test]
fn closed_path_loses_its_chunks_and_frees_its_id_afterwards() {
    let mut scoreboard = sent(&[A, B, A]);
    reports(&mut scoreboard, &[2]);
    scoreboard.close_path(A);
    assert_eq!(scoreboard.in_flight(A), 0);
    assert_eq!(scoreboard.next_lost().map(|lost| lost.tsn), Some(tsn(0)));
    assert_eq!(reports(&mut scoreboard, &[]), 1);
    assert_eq!(scoreboard.in_flight(A), 0, "reneged on, but where should it fly?");
    assert_eq!(scoreboard.lost_chunk(tsn(2)).map(|lost| lost.bytes), Some(28));
    assert_eq!(scoreboard.queued(A), 56);
    for lost in [0, 2] {
        scoreboard.send_again(tsn(lost), B, at(50));
    }
    scoreboard.check_every_record();
    assert_eq!(scoreboard.queued(A), 0);
    scoreboard.open_path(A);
    scoreboard.send(chunk(10), A, at(60));
    reports(&mut scoreboard, &[3]);
    assert_eq!(scoreboard.path_acks().len(), 1);
    assert_eq!(scoreboard.path_acks()[0].path, A);
}

#[test]
fn late_ack_for_a_closed_path_makes_no_path_ack() {
    let mut scoreboard = sent(&[B, A]);
    scoreboard.close_path(A);
    reports(&mut scoreboard, &[1]);
    assert!(scoreboard.path_acks().is_empty());
    assert!(scoreboard.next_lost().is_none());
    scoreboard.check_every_record();
}

#[test]
fn reneged_chunk_is_lost_by_timeout() {
    let mut scoreboard = sent(&[A, A, A]);
    reports(&mut scoreboard, &[1]);
    reports(&mut scoreboard, &[]);
    let late = LossThreshold {
        late: Some(Late {
            before: SendNumber(9),
            until: at(99),
        }),
        ..LossThreshold::NONE
    };
    assert_eq!(
        scoreboard.lose(A, late).chunks,
        2,
        "reneged at this moment, so not late yet"
    );
    assert_eq!(scoreboard.lose_all(A).highest, Some(tsn(1)));
}

//= rfc9260 6.3.1-4
#[test]
fn retransmitted_chunks_give_no_rtt_sample() {
    let mut scoreboard = sent(&[A, A]);
    scoreboard.lose_all(A);
    scoreboard.send_again(tsn(0), A, at(50));
    scoreboard.apply(tsn(0), &IntervalSet::new(), at(60));
    let [ack] = scoreboard.path_acks() else {
        panic!("one path has news")
    };
    assert_eq!((ack.latest_sent_at, ack.rtt_sample), (Some(at(50)), None));
    assert_eq!(
        ack.highest_newly_acked, None,
        "timed out: its TSN does not tell the order of sending"
    );
    assert!(ack.retransmitted_pseudo_cumulative_advanced);

    reports(&mut scoreboard, &[1]);
    let [ack] = scoreboard.path_acks() else {
        panic!("one path has news")
    };
    assert_eq!(
        ack.rtt_sample.map(|sample| sample.sent_at),
        Some(at(1)),
        "thought lost, but never sent again"
    );
    assert!(scoreboard.next_lost().is_none());
}

#[test]
fn retransmitted_rtt_probe_gives_no_sample() {
    let mut scoreboard = sent(&[A]);
    scoreboard.last_was_probe();
    reports(&mut scoreboard, &[0]);
    let probe = scoreboard.path_acks()[0].rtt_probe;
    assert_eq!(probe.map(|probe| probe.tsn), Some(tsn(0)));

    let mut scoreboard = sent(&[A]);
    scoreboard.last_was_probe();
    scoreboard.lose_all(A);
    scoreboard.send_again(tsn(0), A, at(50));
    reports(&mut scoreboard, &[0]);
    assert_eq!(scoreboard.path_acks()[0].rtt_probe, None);
}

#[test]
fn moved_chunk_counts_on_its_new_path() {
    let mut scoreboard = sent(&[A, A]);
    scoreboard.move_to(tsn(0), B, at(9));
    assert_eq!((scoreboard.in_flight(A), scoreboard.in_flight(B)), (28, 28));
    assert_eq!((scoreboard.queued(A), scoreboard.queued(B)), (28, 28));
    assert!(
        scoreboard
            .oldest_in_flight()
            .is_some_and(|stuck| stuck.rescheduled == Rescheduled::Moved && stuck.path == B)
    );
    assert_eq!(scoreboard.earliest_in_flight(B), Some((tsn(0), at(9))));
    assert_eq!(
        (scoreboard.last_send_number(A), scoreboard.last_send_number(B)),
        (SendNumber(2), SendNumber(1))
    );
}

/// Fuzzing found that an overdue chunk was sent again for ever on its own path, where it was not remembered.
#[test]
fn chunk_rescheduled_on_its_own_path_is_remembered() {
    let mut scoreboard = sent(&[A, A]);
    let rescheduled = |scoreboard: &Scoreboard| scoreboard.oldest_in_flight().map(|stuck| stuck.rescheduled);
    scoreboard.move_to(tsn(0), A, at(9));
    assert_eq!(rescheduled(&scoreboard), Some(Rescheduled::OnItsPath));
    scoreboard.move_to(tsn(0), B, at(10));
    scoreboard.move_to(tsn(0), B, at(11));
    assert_eq!(rescheduled(&scoreboard), Some(Rescheduled::Moved));
}

#[test]
fn scoreboard_releases_memory_after_a_burst() {
    let mut scoreboard = sent(&[A; 10_000]);
    scoreboard.apply(tsn(9_999), &IntervalSet::new(), at(0));
    scoreboard.forget(tsn(9_999), |_| ());
    scoreboard.shrink(4);
    assert!(scoreboard.capacity_in_bytes() < 1_024);
}

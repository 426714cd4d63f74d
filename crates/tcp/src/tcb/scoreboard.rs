//! SACK scoreboard. Which sequence numbers were sent, and what has become of them?
//!
//! One record for each segment from its first transmission until it is acknowledged cumulatively, in the order of
//! numbers. Work per acknowledgement is proportional to what it changes: blocks are compared with what was reported
//! before (an [`IntervalSet`]), and what lies below a loss threshold is not looked at again.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use core::ops::Range;

use anabranch_types::{Instant, IntervalSet};

use super::sent_segment::{Payload, SegmentState, SentSegment};
use crate::sequence::Position;

/// Duplicate acknowledgements that mean a loss (RFC 5681 §3.2; DupThresh of RFC 6675 §2).
pub(super) const DUP_THRESH: u32 = 3;

/// All records of a connection.
#[derive(Debug)]
pub(crate) struct Scoreboard {
    /// SND.UNA
    first: Position,
    /// SND.NXT
    next: Position,
    records: VecDeque<SentSegment>,
    /// What SACKs have reported, beyond `first`.
    sacked: IntervalSet,
    /// Numbers on their way (pipe of RFC 6675 §4).
    in_flight: u64,
    /// Starts of records that are lost and were not sent again.
    lost: BTreeSet<Position>,
    /// Records that were sent again and are on their way, by their last transmission, with how many later
    /// transmissions have arrived.
    repeated: BTreeMap<u64, Repeated>,
    /// Up to here everything was judged that was sent only once.
    judged: Position,
    /// How many transmissions there were.
    transmissions: u64,
    /// Sacked bytes leave the send buffer (NR-SACK).
    frees_sacked: bool,
    /// Payload that is still held.
    held: u64,
}

#[derive(Clone, Copy, Debug)]
struct Repeated {
    start: Position,
    overtaken: u32,
}

/// What an acknowledgement changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// The acknowledgement number moved on.
    pub(crate) advanced: bool,
    /// Numbers acknowledged for the first time, cumulatively or by a block.
    pub(crate) newly_acked: u64,
    /// Of them, by a block.
    pub(crate) newly_sacked: u64,
    /// Segments of them.
    pub(crate) segments: u32,
    /// Numbers in flight before.
    pub(crate) in_flight_before: u64,
    /// Payload that leaves the send buffer.
    pub(crate) freed: u64,
    /// When the latest of them left that was sent only once.
    pub(crate) sample: Option<Instant>,
    /// When the latest transmission among them left.
    pub(crate) latest_sent_at: Option<Instant>,
    /// When that one left for the first time up to which everything has arrived now.
    pub(crate) in_order_since: Option<Instant>,
}

impl Scoreboard {
    /// Nothing sent yet; `first` is the first number to be sent.
    pub(crate) fn new(first: Position, frees_sacked: bool) -> Self {
        Self {
            first,
            next: first,
            records: VecDeque::new(),
            sacked: IntervalSet::new(),
            in_flight: 0,
            lost: BTreeSet::new(),
            repeated: BTreeMap::new(),
            judged: first,
            transmissions: 0,
            frees_sacked,
            held: 0,
        }
    }

    /// The lowest number not acknowledged cumulatively (SND.UNA).
    pub(crate) const fn first(&self) -> Position {
        self.first
    }

    /// The next number to be sent (SND.NXT).
    pub(crate) const fn next(&self) -> Position {
        self.next
    }

    pub(crate) const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Payload sent that is still held.
    pub(crate) const fn held(&self) -> u64 {
        self.held
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Bytes, the FIN or both are sent for the first time.
    pub(crate) fn push(&mut self, payload: Payload, now: Instant) -> &SentSegment {
        let Payload { bytes, fin, data } = payload;
        let start = self.next;
        self.next += bytes.len() as u64 + u64::from(fin);
        self.in_flight += self.next - start;
        self.held += bytes.len() as u64;
        self.transmissions += 1;
        self.records.push_back(SentSegment {
            start,
            end: self.next,
            bytes,
            fin,
            data,
            standing: SegmentState::InFlight,
            sent_at: now,
            first_sent_at: now,
            order: self.transmissions,
            transmissions: 1,
        });
        let last = self.records.len() - 1;
        &self.records[last]
    }

    /// The first record that is lost and was not sent again.
    pub(crate) fn next_lost(&self) -> Option<&SentSegment> {
        self.lost.first().map(|start| &self.records[self.index(*start)])
    }

    /// The first lost record is sent again.
    pub(crate) fn repeat_lost(&mut self, now: Instant) -> Option<&SentSegment> {
        let start = self.lost.pop_first()?;
        self.repeat(self.index(start), now)
    }

    /// The last record that is still in flight is sent once more (the rescue of RFC 6675 §4 NextSeg rule 4).
    pub(crate) fn repeat_last(&mut self, now: Instant) -> Option<&SentSegment> {
        let at = self
            .records
            .iter()
            .rposition(|record| record.standing == SegmentState::InFlight)?;
        let start = self.records[at].start;
        self.lose(start..start + 1);
        self.lost.remove(&start);
        self.repeat(at, now)
    }

    fn repeat(&mut self, at: usize, now: Instant) -> Option<&SentSegment> {
        self.transmissions += 1;
        let record = self.records.get_mut(at)?;
        record.standing = SegmentState::InFlight;
        record.sent_at = now;
        record.order = self.transmissions;
        record.transmissions = record.transmissions.saturating_add(1);
        self.in_flight += record.length();
        let repeated = Repeated {
            start: record.start,
            overtaken: 0,
        };
        self.repeated.insert(record.order, repeated);
        Some(&self.records[at])
    }

    /// An acknowledgement came: everything before `ack`, and `blocks`, all between `ack` and [`Scoreboard::next`].
    pub(crate) fn acknowledge(&mut self, ack: Position, blocks: &[Range<Position>]) -> Changes {
        let mut changes = Changes {
            in_flight_before: self.in_flight,
            ..Changes::default()
        };
        self.pass(ack, &mut changes);
        for block in blocks {
            let reported: IntervalSet = core::iter::once(block.clone()).collect();
            let new: alloc::vec::Vec<_> = reported.difference(&self.sacked).collect();
            for range in new {
                self.report(range, &mut changes);
            }
        }
        changes
    }

    /// Everything before `ack` is there.
    fn pass(&mut self, ack: Position, changes: &mut Changes) {
        if ack <= self.first {
            return;
        }
        changes.advanced = true;
        let mut passed_repeated = false;
        while let Some(record) = self.records.front_mut()
            && record.start < ack
        {
            if record.end > ack {
                let gone = ack - record.start;
                let was_lost = self.lost.remove(&record.start);
                if record.standing != SegmentState::Sacked {
                    changes.newly_acked += gone;
                }
                if record.standing == SegmentState::InFlight {
                    self.in_flight -= gone;
                }
                let held = record.bytes.len();
                record.cut_before(ack);
                let freed = (held - record.bytes.len()) as u64;
                if let Some(repeated) = self.repeated.get_mut(&record.order) {
                    repeated.start = ack;
                }
                if was_lost {
                    self.lost.insert(ack);
                }
                changes.freed += freed;
                self.held -= freed;
                break;
            }
            let Some(record) = self.records.pop_front() else {
                break;
            };
            changes.in_order_since = Some(record.first_sent_at);
            passed_repeated |= record.was_repeated();
            self.collect_events(&record, changes);
        }
        // What was sent once may have waited at the peer for what had to be sent again: its time says nothing.
        if passed_repeated {
            changes.sample = None;
        }
        self.first = ack;
        self.judged = self.judged.max(ack);
        self.sacked.remove_below(ack);
    }

    /// A whole record is acknowledged; it was not reported before unless its standing says so.
    fn collect_events(&mut self, record: &SentSegment, changes: &mut Changes) {
        let freed = record.bytes.len() as u64;
        changes.freed += freed;
        self.held -= freed;
        match record.standing {
            SegmentState::Sacked => return,
            SegmentState::InFlight => {
                self.in_flight -= record.length();
                self.repeated.remove(&record.order);
            }
            SegmentState::Lost => {
                self.lost.remove(&record.start);
            }
        }
        self.count(record, changes);
    }

    fn count(&mut self, record: &SentSegment, changes: &mut Changes) {
        changes.newly_acked += record.length();
        changes.segments += 1;
        changes.latest_sent_at = changes.latest_sent_at.max(Some(record.sent_at));
        if record.was_repeated() {
            // It may be the first transmission that arrived, so it says nothing about what left before the last one.
            return;
        }
        changes.sample = changes.sample.max(Some(record.sent_at));
        for (_, repeated) in self.repeated.range_mut(..record.order) {
            repeated.overtaken += 1;
        }
    }

    /// A block reports `range` for the first time. Parts of records do not count until the rest is reported too.
    fn report(&mut self, range: Range<Position>, changes: &mut Changes) {
        let mut at = self.records.partition_point(|record| record.start < range.start);
        while let Some(record) = self.records.get_mut(at)
            && record.end <= range.end
        {
            at += 1;
            if record.standing == SegmentState::Sacked {
                continue;
            }
            let before = core::mem::replace(&mut record.standing, SegmentState::Sacked);
            let seen = record.clone();
            if self.frees_sacked {
                let freed = core::mem::take(&mut record.bytes).len() as u64;
                changes.freed += freed;
                self.held -= freed;
            }
            match before {
                SegmentState::InFlight => {
                    self.in_flight -= seen.length();
                    self.repeated.remove(&seen.order);
                }
                SegmentState::Lost => {
                    self.lost.remove(&seen.start);
                }
                SegmentState::Sacked => {}
            }
            changes.newly_sacked += seen.length();
            self.count(&seen, changes);
            self.sacked.insert(seen.start..seen.end);
        }
    }

    /// Finds what is lost: below the line of RFC 6675 §4 (IsLost), and what was sent again and overtaken three times
    /// since. Returns how many numbers were found lost.
    pub(crate) fn find_lost(&mut self, segment: u64) -> u64 {
        let before = self.in_flight;
        if let Some(line) = self.loss_line(segment)
            && line > self.judged
        {
            self.lose_first_transmissions(self.judged..line);
            self.judged = line;
        }
        let overtaken = self
            .repeated
            .iter()
            .filter(|(_, repeated)| repeated.overtaken >= DUP_THRESH);
        let overtaken: alloc::vec::Vec<Position> = overtaken.map(|(_, repeated)| repeated.start).collect();
        for start in overtaken {
            self.lose(start..start + 1);
        }
        before - self.in_flight
    }

    /// Everything below that was not reported is lost: "either DupThresh discontiguous SACKed sequences have arrived above
    /// 'SeqNum' or more than (DupThresh - 1) * SMSS bytes with sequence numbers greater than 'SeqNum' have been SACKed"
    /// (RFC 6675 §4).
    fn loss_line(&self, segment: u64) -> Option<Position> {
        let mut bytes = 0;
        let mut blocks = 0;
        for block in self.sacked.iter().rev() {
            bytes += block.end - block.start;
            blocks += 1;
            if blocks >= DUP_THRESH || bytes > u64::from(DUP_THRESH - 1) * segment {
                return Some(block.start);
            }
        }
        None
    }

    fn lose_first_transmissions(&mut self, range: Range<Position>) {
        let from = self.records.partition_point(|record| record.start < range.start);
        for at in from..self.records.len() {
            if self.records[at].start >= range.end {
                break;
            }
            if !self.records[at].was_repeated() {
                self.lose_at(at);
            }
        }
    }

    /// Everything in flight that begins in `range` is lost.
    pub(crate) fn lose(&mut self, range: Range<Position>) {
        let from = self.records.partition_point(|record| record.start < range.start);
        for at in from..self.records.len() {
            if self.records[at].start >= range.end {
                break;
            }
            self.lose_at(at);
        }
    }

    fn lose_at(&mut self, at: usize) {
        let record = &mut self.records[at];
        if record.standing != SegmentState::InFlight {
            return;
        }
        record.standing = SegmentState::Lost;
        self.in_flight -= record.length();
        self.lost.insert(record.start);
        self.repeated.remove(&record.order);
    }

    /// The retransmission timer expired: everything in flight is lost.
    ///
    /// If the oldest record was reported before, the peer has discarded what it reported: an acknowledgement would have
    /// passed it. Then "the data sender […] SHOULD turn off all of the SACKed bits" (RFC 2018 §5).
    pub(crate) fn lose_all(&mut self) {
        let reneged = self
            .records
            .front()
            .is_some_and(|record| record.standing == SegmentState::Sacked && !self.frees_sacked);
        if reneged {
            self.sacked.clear();
            for record in &mut self.records {
                if record.standing == SegmentState::Sacked {
                    record.standing = SegmentState::InFlight;
                    self.in_flight += record.length();
                }
            }
        }
        self.lose(self.first..self.next);
        self.judged = self.next;
    }

    /// Where the data of a connection is that was sent on this connection and not acknowledged cumulatively.
    pub(crate) fn data(&self) -> impl Iterator<Item = Range<Position>> + '_ {
        let mapped = |record: &SentSegment| {
            let start = record.data?;
            Some(start..start + record.bytes.len() as u64)
        };
        self.records.iter().filter_map(mapped)
    }

    fn index(&self, start: Position) -> usize {
        self.records.partition_point(|record| record.start < start)
    }
}

#[cfg(test)]
mod tests;

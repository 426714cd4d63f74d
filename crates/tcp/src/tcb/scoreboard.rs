//! SACK scoreboard: the sent segments and the state of each.
//!
//! One record for each segment from its first transmission until its cumulative acknowledgement, in sequence order. Work per
//! acknowledgement is proportional to the changes: blocks are compared with those reported before (an [`IntervalSet`]), and
//! segments below a loss threshold are not examined again.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use core::ops::Range;

use anabranch_types::{Instant, IntervalSet};

use super::sent_segment::{Payload, SegmentState, SentSegment};
use crate::sequence::Position;

/// Duplicate acknowledgements that indicate a loss (RFC 5681 §3.2; DupThresh of RFC 6675 §2).
pub(super) const DUP_THRESH: u32 = 3;

/// All records of a connection.
#[derive(Debug)]
pub(crate) struct Scoreboard {
    /// SND.UNA
    first: Position,
    /// SND.NXT
    next: Position,
    records: VecDeque<SentSegment>,
    /// Ranges reported by SACKs, beyond `first`.
    sacked: IntervalSet,
    /// Sequence numbers in flight (pipe of RFC 6675 §4).
    in_flight: u64,
    /// Starts of lost records that were not retransmitted.
    lost: BTreeSet<Position>,
    /// Retransmitted records in flight, by their last transmission, with the number of later transmissions that have arrived.
    repeated: BTreeMap<u64, Repeated>,
    /// Loss detection is complete up to this position for segments sent only once.
    judged: Position,
    /// Number of transmissions so far.
    transmissions: u64,
    /// Number of the latest transmission found lost.
    latest_lost: u64,
    /// SACKed bytes leave the send buffer (NR-SACK).
    frees_sacked: bool,
    /// Payload still held for retransmission.
    held: u64,
}

#[derive(Clone, Copy, Debug)]
struct Repeated {
    start: Position,
    overtaken: u32,
}

/// Changes made by an acknowledgement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// The cumulative acknowledgement advanced.
    pub(crate) advanced: bool,
    /// Newly acknowledged sequence numbers, cumulatively or by a SACK block.
    pub(crate) newly_acked: u64,
    /// Part of these acknowledged by a SACK block.
    pub(crate) newly_sacked: u64,
    /// Newly acknowledged segments.
    pub(crate) segments: u32,
    /// Sequence numbers in flight before the acknowledgement.
    pub(crate) in_flight_before: u64,
    /// Payload to be released from the send buffer.
    pub(crate) freed: u64,
    /// Send time of the latest of them that was sent only once.
    pub(crate) sample: Option<Instant>,
    /// Send time of the latest transmission among them.
    pub(crate) latest_sent_at: Option<Instant>,
    /// Number of the latest transmission among them.
    pub(crate) latest_order: u64,
    /// First send time of the segment at the new cumulative acknowledgement.
    pub(crate) in_order_since: Option<Instant>,
}

impl Scoreboard {
    /// An empty scoreboard; `first` is the first number to be sent.
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
            latest_lost: 0,
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

    /// Number of the last transmission.
    pub(crate) const fn last_order(&self) -> u64 {
        self.transmissions
    }

    /// Number of the latest transmission found lost.
    pub(crate) const fn latest_lost(&self) -> u64 {
        self.latest_lost
    }

    /// Payload sent that is still held.
    pub(crate) const fn held(&self) -> u64 {
        self.held
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Records the first transmission of bytes, the FIN or both.
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

    /// The first lost record that was not retransmitted.
    pub(crate) fn next_lost(&self) -> Option<&SentSegment> {
        self.lost.first().map(|start| &self.records[self.index(*start)])
    }

    /// Retransmits the first lost record.
    pub(crate) fn repeat_lost(&mut self, now: Instant) -> Option<&SentSegment> {
        let start = self.lost.pop_first()?;
        self.repeat(self.index(start), now)
    }

    /// Retransmits the last record in flight (the rescue retransmission of RFC 6675 §4 NextSeg rule 4).
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

    /// Processes an acknowledgement of everything before `ack` and of `blocks`, all between `ack` and [`Scoreboard::next`].
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

    /// Processes the cumulative acknowledgement `ack`.
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
        // A segment sent once may have waited at the receiver for a retransmission: its delay is no valid RTT sample.
        if passed_repeated {
            changes.sample = None;
        }
        self.first = ack;
        self.judged = self.judged.max(ack);
        self.sacked.remove_below(ack);
    }

    /// Acknowledges a whole record; it is newly acknowledged unless it was SACKed before.
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
        changes.latest_order = changes.latest_order.max(record.order);
        if record.was_repeated() {
            // The first transmission may have arrived, so nothing can be concluded about segments sent before the last one.
            return;
        }
        changes.sample = changes.sample.max(Some(record.sent_at));
        for (_, repeated) in self.repeated.range_mut(..record.order) {
            repeated.overtaken += 1;
        }
    }

    /// A block reports `range` for the first time. A partly reported record does not count until the rest is reported too.
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

    /// Detects losses: segments below the threshold of RFC 6675 §4 (IsLost), and retransmissions overtaken three times since.
    /// Returns the number of sequence numbers found lost.
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

    /// Marks everything unreported below the threshold as lost: "either DupThresh discontiguous SACKed sequences have arrived
    /// above 'SeqNum' or more than (DupThresh - 1) * SMSS bytes with sequence numbers greater than 'SeqNum' have been SACKed"
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

    /// Marks everything in flight that starts in `range` as lost.
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
        self.latest_lost = self.latest_lost.max(record.order);
        self.in_flight -= record.length();
        self.lost.insert(record.start);
        self.repeated.remove(&record.order);
    }

    /// The retransmission timer expired: marks everything in flight as lost.
    ///
    /// If the oldest record was SACKed before, the receiver has discarded it (reneging); otherwise the cumulative acknowledgement
    /// would have advanced. Then "the data sender […] SHOULD turn off all of the SACKed bits" (RFC 2018 §5).
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

    /// Data positions of the data sent on this subflow and not acknowledged cumulatively.
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

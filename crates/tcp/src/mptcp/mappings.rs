//! Data sequence mappings of a subflow, from its sequence numbers to data sequence numbers.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use bytes::Bytes;

use crate::sequence::Position;
use crate::wire::DataChecksum;

/// This many mappings may always wait for their bytes.
const MAPPINGS: usize = 64;
/// Beyond that, each mapping must on average cover this many bytes, so that tiny mappings cannot use many times the window in
/// memory.
const BYTES_PER_MAPPING: u64 = 64;

/// The mappings of one subflow, and bytes that arrived in order without a mapping yet.
#[derive(Debug)]
pub(super) struct Mappings {
    /// By subflow position of their start; they neither overlap nor continue each other.
    runs: BTreeMap<Position, Run>,
    /// Bytes covered by the mappings.
    covered: u64,
    /// The first subflow position not yet passed on.
    next: Position,
    /// Bytes that arrived in order from that position on.
    waiting: VecDeque<Bytes>,
    waiting_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    end: Position,
    /// Data position of the first byte.
    data: Position,
    /// Checksum over the whole mapping.
    check: Option<MappingChecksum>,
}

/// A checksum to be compared when all bytes have arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct MappingChecksum {
    pub(super) begun: DataChecksum,
    pub(super) expected: u16,
}

/// A mapping error by the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ConflictingMapping;

/// Checksum failure: the bytes are not those that the peer sent. Their data starts at this position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ChecksumMismatch {
    pub(super) data: Position,
}

impl Mappings {
    /// Creates an empty set of mappings.
    pub(super) const fn new() -> Self {
        Self {
            runs: BTreeMap::new(),
            covered: 0,
            next: 1,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
        }
    }

    /// Whether another mapping that starts at `start` can be stored. The one needed next always can.
    pub(super) fn has_room(&self, start: Position) -> bool {
        let count = self.runs.len();
        start <= self.next || count < MAPPINGS || count as u64 * BYTES_PER_MAPPING < self.covered
    }

    /// Bytes of the subflow that wait for their mapping.
    pub(super) const fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// Maps `length` bytes of the subflow from `start` on to data from `data` on.
    ///
    /// "A sender MUST NOT change this mapping after it has been declared" (RFC 8684 §3.3.1): a mapping that differs for the same
    /// bytes is an error.
    pub(super) fn add(
        &mut self,
        start: Position,
        length: u64,
        data: Position,
        check: Option<MappingChecksum>,
    ) -> Result<(), ConflictingMapping> {
        let end = start + length;
        let from = start.max(self.next);
        if from >= end {
            return Ok(());
        }
        let data = data + (from - start);
        let new = Run { end, data, check };
        let touching: Vec<(Position, Run)> = self
            .runs
            .range(..=end)
            .rev()
            .take_while(|(_, other)| other.end >= from)
            .map(|(start, run)| (*start, *run))
            .collect();
        let overlaps = |(other, run): &(Position, Run)| *other < end && from < run.end;
        let agrees = |(other, run): &(Position, Run)| run.data + from == data + other;
        let covers = |(other, run): &(Position, Run)| *other <= from && end <= run.end;
        if touching.iter().any(|run| overlaps(run) && !agrees(run)) {
            return Err(ConflictingMapping);
        }
        if touching.iter().any(covers) {
            return Ok(());
        }
        if check.is_some() {
            // A checksum covers a whole mapping, so this mapping is not merged with others.
            if from > start || touching.iter().any(overlaps) {
                return Err(ConflictingMapping);
            }
            self.keep(from, new);
            return Ok(());
        }
        self.unite(from, new, touching.into_iter().filter(agrees));
        Ok(())
    }

    /// Merges a mapping with those that it continues or overlaps.
    fn unite(&mut self, from: Position, new: Run, others: impl Iterator<Item = (Position, Run)>) {
        let (mut from, mut new) = (from, new);
        for (other, run) in others.filter(|(_, run)| run.check.is_none()) {
            self.remove(other);
            if other < from {
                (from, new.data) = (other, run.data);
            }
            new.end = new.end.max(run.end);
        }
        self.keep(from, new);
    }

    fn keep(&mut self, start: Position, run: Run) {
        self.covered += run.end - start;
        self.runs.insert(start, run);
    }

    fn remove(&mut self, start: Position) {
        if let Some(run) = self.runs.remove(&start) {
            self.covered -= run.end - start;
        }
    }

    /// Adds the next bytes of the subflow that arrived in order.
    pub(super) fn arrive(&mut self, bytes: Bytes) {
        self.waiting_bytes += bytes.len() as u64;
        self.waiting.push_back(bytes);
    }

    /// Takes the bytes that have arrived and are mapped, with their data position. Keeps bytes without a mapping, incomplete
    /// mappings with a checksum, and everything behind them.
    pub(super) fn take(&mut self) -> Result<Vec<(Position, Bytes)>, ChecksumMismatch> {
        let mut mapped = Vec::new();
        while self.waiting_bytes > 0
            && let Some((start, run)) = self.first_run()
            && start <= self.next
            && (run.check.is_none() || run.end - self.next <= self.waiting_bytes)
        {
            let from = mapped.len();
            self.hand_on(start, run, &mut mapped);
            let is_whole = run.check.is_none_or(|check| {
                let mut sum = check.begun;
                mapped[from..].iter().for_each(|(_, bytes)| sum.add(bytes));
                sum.matches(check.expected)
            });
            if !is_whole {
                return Err(ChecksumMismatch { data: run.data });
            }
        }
        Ok(mapped)
    }

    /// Passes on the bytes of a mapping that have arrived.
    fn hand_on(&mut self, start: Position, run: Run, mapped: &mut Vec<(Position, Bytes)>) {
        while self.next < run.end
            && let Some(front) = self.waiting.front_mut()
        {
            let length = (run.end - self.next).min(front.len() as u64);
            let part = front.split_to(length as usize);
            if front.is_empty() {
                self.waiting.pop_front();
            }
            mapped.push((run.data + (self.next - start), part));
            self.next += length;
            self.waiting_bytes -= length;
        }
        if self.next >= run.end {
            self.remove(start);
        }
    }

    fn first_run(&self) -> Option<(Position, Run)> {
        self.runs.first_key_value().map(|(start, run)| (*start, *run))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use bytes::Bytes;

    use super::{ChecksumMismatch, ConflictingMapping, MappingChecksum, Mappings};
    use crate::wire::DataChecksum;

    fn taken(mappings: &mut Mappings) -> Vec<(u64, Vec<u8>)> {
        let parts = mappings.take().unwrap();
        parts
            .into_iter()
            .map(|(at, bytes)| (at, bytes.to_vec()))
            .collect()
    }

    #[test]
    fn bytes_wait_until_all_earlier_ones_are_mapped() {
        let mut mappings = Mappings::new();
        assert_eq!(mappings.add(4, 3, 104, None), Ok(()));
        mappings.arrive(Bytes::from_static(b"abcd"));
        assert_eq!(taken(&mut mappings), []);
        assert_eq!(mappings.waiting_bytes(), 4);
        assert_eq!(mappings.add(1, 3, 51, None), Ok(()));
        let parts = taken(&mut mappings);
        assert_eq!(parts, [(51, b"abc".to_vec()), (104, b"d".to_vec())]);
        mappings.arrive(Bytes::from_static(b"ef"));
        assert_eq!(taken(&mut mappings), [(105, b"ef".to_vec())]);
        assert!(mappings.runs.is_empty() && mappings.covered == 0);
    }

    #[test]
    fn conflicting_mapping_is_refused_and_repeated_one_ignored() {
        let mut mappings = Mappings::new();
        assert_eq!(mappings.add(1, 10, 101, None), Ok(()));
        assert_eq!(mappings.add(5, 10, 105, None), Ok(()), "the same and more of it");
        assert_eq!(mappings.runs.len(), 1);
        assert_eq!(mappings.add(14, 2, 50, None), Err(ConflictingMapping));
        assert_eq!(mappings.add(15, 2, 50, None), Ok(()));
        mappings.arrive(Bytes::from_static(b"abcd"));
        assert_eq!(mappings.take().unwrap().len(), 1);
        assert_eq!(
            mappings.add(1, 4, 900, None),
            Ok(()),
            "of what was handed on nothing is said"
        );
    }

    #[test]
    fn mapping_with_checksum_waits_for_all_its_bytes() {
        let begun = DataChecksum::new(7, 1, 4);
        let check = |text: &[u8]| {
            let mut sum = begun;
            sum.add(text);
            Some(MappingChecksum {
                begun,
                expected: sum.value(),
            })
        };
        let mut mappings = Mappings::new();
        mappings.add(1, 4, 7, check(b"abcd")).unwrap();
        mappings.arrive(Bytes::from_static(b"abc"));
        assert_eq!(taken(&mut mappings), []);
        assert_eq!(
            mappings.add(3, 2, 9, check(b"cd")),
            Ok(()),
            "part of what is known"
        );
        mappings.arrive(Bytes::from_static(b"defg"));
        assert_eq!(taken(&mut mappings), [(7, b"abc".to_vec()), (10, b"d".to_vec())]);
        mappings
            .add(5, 3, 20, Some(MappingChecksum { begun, expected: 5 }))
            .unwrap();
        assert_eq!(mappings.take(), Err(ChecksumMismatch { data: 20 }));
    }

    #[test]
    fn mappings_beyond_the_limit_are_refused() {
        let mut mappings = Mappings::new();
        let mut count = 0;
        while mappings.has_room(2 * count + 2) {
            mappings.add(2 * count + 2, 1, 1_000 * count + 1, None).unwrap();
            count += 1;
        }
        assert_eq!(count, 64);
        assert!(mappings.has_room(1), "what is needed next is always taken");
    }
}

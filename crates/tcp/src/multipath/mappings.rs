//! Which bytes of a flow are which bytes of the data? What the peer has said of what is still to come.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::sequence::Position;

/// So many mappings may always wait for their bytes.
const MAPPINGS: usize = 64;
/// Beyond them, each must on average cover so many bytes: tiny ones must not make memory of many times the window
/// necessary.
const BYTES_PER_MAPPING: u64 = 64;

/// The mappings of one flow, and bytes that arrived in order and have none yet.
#[derive(Debug)]
pub(super) struct Mappings {
    /// By where they begin on the flow; they neither overlap nor continue each other.
    runs: BTreeMap<Position, Run>,
    /// Bytes that they cover.
    covered: u64,
    /// The first byte of the flow that was not handed on.
    next: Position,
    /// What arrived in order from there on.
    waiting: Vec<Bytes>,
    waiting_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    end: Position,
    /// Where its first byte is among the data.
    data: Position,
}

/// What the peer said can not be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Contradiction;

impl Mappings {
    /// Nothing has arrived.
    pub(super) const fn new() -> Self {
        Self {
            runs: BTreeMap::new(),
            covered: 0,
            next: 1,
            waiting: Vec::new(),
            waiting_bytes: 0,
        }
    }

    /// Whether another one, that begins at `start`, can be remembered. What is needed next always can.
    pub(super) fn has_room(&self, start: Position) -> bool {
        let count = self.runs.len();
        start <= self.next || count < MAPPINGS || count as u64 * BYTES_PER_MAPPING < self.covered
    }

    /// Bytes of the flow that wait for their mapping.
    pub(super) const fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// `length` bytes of the flow from `start` on are those from `data` on.
    ///
    /// "A sender MUST NOT change this mapping after it has been declared" (RFC 8684 §3.3): one that says something else of
    /// the same bytes contradicts.
    pub(super) fn add(&mut self, start: Position, length: u64, data: Position) -> Result<(), Contradiction> {
        let end = start + length;
        let mut run_start = start.max(self.next);
        if run_start >= end {
            return Ok(());
        }
        let mut run = Run {
            end,
            data: data + (run_start - start),
        };
        let touching: Vec<(Position, Run)> = self
            .runs
            .range(..=end)
            .rev()
            .take_while(|(_, other)| other.end >= run_start)
            .map(|(start, run)| (*start, *run))
            .collect();
        for (other_start, other) in touching {
            let agrees = other.data + run_start == run.data + other_start;
            let overlaps = other_start < run.end && run_start < other.end;
            match (agrees, overlaps) {
                (true, _) => {
                    self.remove(other_start);
                    if other_start < run_start {
                        (run_start, run.data) = (other_start, other.data);
                    }
                    run.end = run.end.max(other.end);
                }
                (false, true) => return Err(Contradiction),
                (false, false) => {}
            }
        }
        self.covered += run.end - run_start;
        self.runs.insert(run_start, run);
        Ok(())
    }

    fn remove(&mut self, start: Position) {
        if let Some(run) = self.runs.remove(&start) {
            self.covered -= run.end - start;
        }
    }

    /// The next bytes of the flow arrived, in order.
    pub(super) fn arrive(&mut self, bytes: Bytes) {
        self.waiting_bytes += bytes.len() as u64;
        self.waiting.push(bytes);
    }

    /// What has arrived and is mapped: where it is among the data. Leaves what has no mapping yet, and what is behind it.
    pub(super) fn take(&mut self) -> Vec<(Position, Bytes)> {
        let mut mapped = Vec::new();
        let mut waiting = core::mem::take(&mut self.waiting).into_iter();
        for mut bytes in waiting.by_ref() {
            while !bytes.is_empty() {
                let Some((start, run)) = self.first_run().filter(|(start, _)| *start <= self.next) else {
                    self.waiting.push(bytes);
                    self.waiting.extend(waiting);
                    return mapped;
                };
                let length = (run.end - self.next).min(bytes.len() as u64);
                let part = bytes.split_to(length as usize);
                mapped.push((run.data + (self.next - start), part));
                self.pass(length);
            }
        }
        mapped
    }

    fn first_run(&self) -> Option<(Position, Run)> {
        self.runs.first_key_value().map(|(start, run)| (*start, *run))
    }

    /// The next `length` bytes are handed on; a mapping whose bytes have all been is forgotten.
    fn pass(&mut self, length: u64) {
        self.next += length;
        self.waiting_bytes -= length;
        while let Some((start, run)) = self.first_run()
            && run.end <= self.next
        {
            self.remove(start);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use bytes::Bytes;

    use super::{Contradiction, Mappings};

    fn taken(mappings: &mut Mappings) -> Vec<(u64, Vec<u8>)> {
        let parts = mappings.take();
        parts
            .into_iter()
            .map(|(at, bytes)| (at, bytes.to_vec()))
            .collect()
    }

    #[test]
    fn bytes_wait_for_their_mapping_and_those_behind_them_too() {
        let mut mappings = Mappings::new();
        assert_eq!(mappings.add(4, 3, 104), Ok(()));
        mappings.arrive(Bytes::from_static(b"abcd"));
        assert_eq!(taken(&mut mappings), []);
        assert_eq!(mappings.waiting_bytes(), 4);
        assert_eq!(mappings.add(1, 3, 51), Ok(()));
        let parts = taken(&mut mappings);
        assert_eq!(parts, [(51, b"abc".to_vec()), (104, b"d".to_vec())]);
        mappings.arrive(Bytes::from_static(b"ef"));
        assert_eq!(taken(&mut mappings), [(105, b"ef".to_vec())]);
        assert!(mappings.runs.is_empty() && mappings.covered == 0);
    }

    #[test]
    fn what_was_said_once_stays() {
        let mut mappings = Mappings::new();
        assert_eq!(mappings.add(1, 10, 101), Ok(()));
        assert_eq!(mappings.add(5, 10, 105), Ok(()), "the same and more of it");
        assert_eq!(mappings.runs.len(), 1);
        assert_eq!(mappings.add(14, 2, 50), Err(Contradiction));
        assert_eq!(mappings.add(15, 2, 50), Ok(()));
        mappings.arrive(Bytes::from_static(b"abcd"));
        assert_eq!(mappings.take().len(), 1);
        assert_eq!(
            mappings.add(1, 4, 900),
            Ok(()),
            "of what was handed on nothing is said"
        );
    }

    #[test]
    fn tiny_mappings_are_refused_when_there_are_too_many() {
        let mut mappings = Mappings::new();
        let mut count = 0;
        while mappings.has_room(2 * count + 2) {
            mappings.add(2 * count + 2, 1, 1_000 * count + 1).unwrap();
            count += 1;
        }
        assert_eq!(count, 64);
        assert!(mappings.has_room(1), "what is needed next is always taken");
    }
}

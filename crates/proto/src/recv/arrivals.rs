//! Readable TSNs above the cumulative TSN: those of messages that the application can receive. Kept only for NR-SACKs that list
//! no others as non-renegable.

use alloc::collections::BTreeSet;

use anabranch_types::{IntervalSet, StreamId, UnwrappedTsn};

use crate::user_data::UserData;

/// Maximum number of ranges. A SACK has room for a third of them; without a limit, a peer that leaves out every second message
/// could make each insertion slow. TSNs that are not kept are only not reported as non-renegable, which is harmless.
const MAX_RANGES: usize = 1_024;

/// Position of a message in its stream: the SSN of DATA, the MID of I-DATA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Turn {
    pub(super) stream: StreamId,
    pub(super) number: u32,
}

impl Turn {
    /// The position of a chunk; `None` if its message is unordered.
    pub(super) fn of(data: &UserData<'_>) -> Option<Self> {
        let number = match data {
            UserData::Data(data) => data.ssn.0.into(),
            UserData::IData(data) => data.mid.0,
        };
        let stream = data.stream();
        (!data.flags().unordered).then_some(Self { stream, number })
    }
}

/// Received TSNs above the cumulative TSN and whether they can be read. Fragments of unordered messages count only when all TSNs
/// below them have arrived.
#[derive(Debug)]
pub(super) struct Arrivals {
    readable: IntervalSet,
    /// Lower bound of the TSNs that are kept.
    first: UnwrappedTsn,
    /// TSNs of messages that wait, by the position that they wait for; removed when the message is delivered.
    waiting: BTreeSet<(StreamId, u32, UnwrappedTsn)>,
}

impl Arrivals {
    /// Creates an empty set above `cumulative`.
    pub(super) const fn above(cumulative: UnwrappedTsn) -> Self {
        Self {
            readable: IntervalSet::new(),
            first: UnwrappedTsn(cumulative.0 + 1),
            waiting: BTreeSet::new(),
        }
    }

    /// Adds a received chunk.
    pub(super) fn note(&mut self, tsn: UnwrappedTsn, data: &UserData<'_>) {
        let is_whole = data.flags().beginning && data.flags().ending;
        match Turn::of(data) {
            Some(turn) => {
                self.waiting.insert((turn.stream, turn.number, tsn));
            }
            None if is_whole => self.can_be_read(tsn),
            None => {}
        }
    }

    /// Notes that the message at this position was delivered.
    pub(super) fn pass(&mut self, turn: Turn) {
        let at = |tsn: u64| (turn.stream, turn.number, UnwrappedTsn(tsn));
        while let Some(found) = self.waiting.range(at(0)..=at(u64::MAX)).next().copied() {
            self.waiting.remove(&found);
            self.can_be_read(found.2);
        }
    }

    /// Removes TSNs up to `cumulative`, which SACKs no longer list.
    pub(super) fn forget_up_to(&mut self, cumulative: UnwrappedTsn) {
        self.first = cumulative.next();
        self.readable.remove_below(self.first.0);
    }

    /// The readable TSNs above the cumulative TSN.
    pub(super) const fn readable(&self) -> &IntervalSet {
        &self.readable
    }

    fn can_be_read(&mut self, tsn: UnwrappedTsn) {
        let has_room = self.readable.iter().len() < MAX_RANGES;
        if tsn >= self.first && (has_room || self.readable.contains(tsn.0 - 1)) {
            self.readable.insert(tsn.0..tsn.0 + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use anabranch_types::{Ppid, Ssn, StreamId, Tsn, UnwrappedTsn};
    use anabranch_wire::{Data, DataFlags};

    use super::{Arrivals, MAX_RANGES, Turn};
    use crate::user_data::UserData;

    fn message(tsn: u64, number: u16, unordered: bool) -> (UnwrappedTsn, UserData<'static>) {
        let flags = DataFlags {
            beginning: true,
            ending: true,
            unordered,
            ..DataFlags::default()
        };
        let data = Data {
            tsn: Tsn(tsn as u32),
            stream: StreamId(0),
            ssn: Ssn(number),
            ppid: Ppid(0),
            flags,
            payload: b"x",
        };
        (UnwrappedTsn(tsn), UserData::Data(data))
    }

    /// A peer chooses the order, and could make every message a range of its own.
    #[test]
    fn ranges_of_readable_tsns_are_bounded() {
        let mut arrivals = Arrivals::above(UnwrappedTsn(9));
        let mut waiting = Vec::new();
        for number in 0..20_000 {
            let (tsn, data) = message(10 + 2 * u64::from(number), 0, true);
            arrivals.note(tsn, &data);
            let (tsn, data) = message(11 + 2 * u64::from(number), number + 1, false);
            arrivals.note(tsn, &data);
            waiting.push(Turn::of(&data).unwrap());
        }
        assert_eq!(arrivals.readable().iter().len(), MAX_RANGES);
        waiting.iter().for_each(|turn| arrivals.pass(*turn));
        assert!(arrivals.waiting.is_empty());
        assert_eq!(arrivals.readable().iter().next(), Some(10..12 + 2 * 1_023));
    }

    #[test]
    fn tsns_up_to_the_cumulative_ack_are_not_kept() {
        let mut arrivals = Arrivals::above(UnwrappedTsn(9));
        arrivals.forget_up_to(UnwrappedTsn(20));
        for number in 0..20 {
            let (tsn, data) = message(10 + u64::from(number), number, true);
            arrivals.note(tsn, &data);
        }
        let readable = arrivals.readable();
        assert_eq!(
            (readable.len(), readable.min(), readable.max()),
            (9, Some(21), Some(29))
        );
    }
}

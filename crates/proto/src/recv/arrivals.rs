//! Readable TSNs. Which of the TSNs above the cumulative one can be read? Asked only where SACKs promise no more than
//! that.

use alloc::collections::BTreeSet;

use anabranch_types::{IntervalSet, StreamId, UnwrappedTsn};

use crate::user_data::UserData;

/// Ranges of readable TSNs that are kept. A SACK has room for a third of them; without a limit, a peer that leaves out every
/// second message could make each new one dear. What is not kept may be reneged on as far as the peer knows, which is no harm.
const MAX_RANGES: usize = 1_024;

/// A place in a stream: of DATA its Stream Sequence Number, of I-DATA its Message Identifier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Turn {
    pub(super) stream: StreamId,
    pub(super) number: u32,
}

impl Turn {
    /// Of the chunk; `None` if its message is unordered.
    pub(super) fn of(data: &UserData<'_>) -> Option<Self> {
        let number = match data {
            UserData::Data(data) => data.ssn.0.into(),
            UserData::IData(data) => data.mid.0,
        };
        let stream = data.stream();
        (!data.flags().unordered).then_some(Self { stream, number })
    }
}

/// What arrived above the cumulative TSN, as far as it is known when it can be read: pieces of unordered messages only when
/// everything below them is here, too.
#[derive(Debug)]
pub(super) struct Arrivals {
    readable: IntervalSet,
    /// No TSN below this one is kept there.
    first: UnwrappedTsn,
    /// By the turns that they wait for. A number stays no longer than its message waits.
    waiting: BTreeSet<(StreamId, u32, UnwrappedTsn)>,
}

impl Arrivals {
    /// Nothing has come above `cumulative`.
    pub(super) const fn above(cumulative: UnwrappedTsn) -> Self {
        Self {
            readable: IntervalSet::new(),
            first: UnwrappedTsn(cumulative.0 + 1),
            waiting: BTreeSet::new(),
        }
    }

    /// A chunk came.
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

    /// The message whose turn this is was handed on.
    pub(super) fn pass(&mut self, turn: Turn) {
        let at = |tsn: u64| (turn.stream, turn.number, UnwrappedTsn(tsn));
        while let Some(found) = self.waiting.range(at(0)..=at(u64::MAX)).next().copied() {
            self.waiting.remove(&found);
            self.can_be_read(found.2);
        }
    }

    /// All up to `cumulative` is here, and no SACK lists it any more.
    pub(super) fn forget_up_to(&mut self, cumulative: UnwrappedTsn) {
        self.first = cumulative.next();
        self.readable.remove_below(self.first.0);
    }

    /// What is above the cumulative TSN and can be read.
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

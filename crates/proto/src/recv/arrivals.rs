//! Which of the TSNs above the cumulative one can be read? Asked only where SACKs promise no more than that.

use alloc::collections::BTreeSet;

use anabranch_types::{IntervalSet, StreamId, UnwrappedTsn};

use crate::user_data::UserData;

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
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    readable: IntervalSet,
    /// By the turns that they wait for. A number stays no longer than its message waits.
    waiting: BTreeSet<(StreamId, u32, UnwrappedTsn)>,
}

impl Arrivals {
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

    /// What is above `cumulative` and can be read.
    pub(super) fn readable_above(&mut self, cumulative: UnwrappedTsn) -> &IntervalSet {
        self.readable.remove_below(cumulative.0 + 1);
        &self.readable
    }

    fn can_be_read(&mut self, tsn: UnwrappedTsn) {
        self.readable.insert(tsn.0..tsn.0 + 1);
    }
}

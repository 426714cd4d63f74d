//! Which messages do the TSNs above the cumulative one belong to? Asked only where SACKs promise no more than what can be read.

use alloc::collections::BTreeMap;

use anabranch_types::{StreamId, UnwrappedTsn};

use crate::user_data::UserData;

/// A place in a stream: of DATA its Stream Sequence Number, of I-DATA its Message Identifier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Turn {
    pub(super) stream: StreamId,
    pub(super) number: u32,
}

/// When a chunk can be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Readable {
    /// Since it came: an unordered message in one piece.
    AtOnce,
    /// When its message's turn has passed.
    After(Turn),
    /// Not before everything below it is here: a piece of an unordered message.
    Unknown,
}

/// The chunks above the cumulative TSN.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    above: BTreeMap<UnwrappedTsn, Readable>,
}

impl Arrivals {
    pub(super) fn note(&mut self, tsn: UnwrappedTsn, data: &UserData<'_>) {
        let flags = data.flags();
        let number = match data {
            UserData::Data(data) => data.ssn.0.into(),
            UserData::IData(data) => data.mid.0,
        };
        let stream = data.stream();
        let readable = match (flags.unordered, flags.beginning && flags.ending) {
            (false, _) => Readable::After(Turn { stream, number }),
            (true, true) => Readable::AtOnce,
            (true, false) => Readable::Unknown,
        };
        self.above.insert(tsn, readable);
    }

    pub(super) fn forget_up_to(&mut self, cumulative: UnwrappedTsn) {
        self.above = self.above.split_off(&cumulative.next());
    }

    /// Whether the chunk with this TSN can be read; `has_passed` tells which turns are over.
    pub(super) fn is_readable(&self, tsn: UnwrappedTsn, has_passed: impl Fn(Turn) -> bool) -> bool {
        match self.above.get(&tsn) {
            Some(Readable::AtOnce) => true,
            Some(Readable::After(turn)) => has_passed(*turn),
            Some(Readable::Unknown) | None => false,
        }
    }
}

//! TSN ring: the records of all outstanding TSNs, indexed by their distance from the cumulative TSN ack point.

use alloc::collections::VecDeque;
use core::ops::{Index, IndexMut};

use anabranch_types::{Tsn, UnwrappedTsn};

use super::record::Sent;

/// The records of all TSNs from the one after the cumulative TSN ack point to the last one sent.
#[derive(Debug)]
pub(super) struct Ring {
    records: VecDeque<Sent>,
    base: UnwrappedTsn,
}

impl Ring {
    pub(super) const fn new(initial: Tsn) -> Self {
        Self {
            records: VecDeque::new(),
            base: UnwrappedTsn::first(initial),
        }
    }

    /// Continues with TSN `next`, the next one with that number.
    pub(super) fn renumber(&mut self, next: Tsn) {
        debug_assert!(self.records.is_empty(), "outstanding TSNs keep their numbers");
        let ahead = next.0.wrapping_sub(self.base.wrap().0);
        self.base = self.base + u64::from(ahead);
    }

    /// The TSN of the first record, or of the next one if the ring is empty.
    pub(super) const fn base(&self) -> UnwrappedTsn {
        self.base
    }

    /// The TSN of the next record.
    pub(super) fn next_tsn(&self) -> UnwrappedTsn {
        self.base + self.records.len() as u64
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) fn get(&self, tsn: UnwrappedTsn) -> Option<&Sent> {
        self.records.get(self.index_of(tsn)?)
    }

    pub(super) fn first(&self) -> Option<&Sent> {
        self.records.front()
    }

    pub(super) fn push(&mut self, sent: Sent) -> UnwrappedTsn {
        let tsn = self.next_tsn();
        self.records.push_back(sent);
        tsn
    }

    /// The first record if its TSN is at most `cumulative`.
    pub(super) fn first_through(&self, cumulative: UnwrappedTsn) -> Option<&Sent> {
        self.first().filter(|_| self.base <= cumulative)
    }

    /// Removes the first record.
    pub(super) fn drop_first(&mut self) {
        if self.records.pop_front().is_some() {
            self.base = self.base.next();
        }
    }

    /// Removes all records; their TSNs will be used again.
    pub(super) fn take_all(&mut self) -> VecDeque<Sent> {
        core::mem::take(&mut self.records)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (UnwrappedTsn, &Sent)> {
        self.records
            .iter()
            .enumerate()
            .map(|(index, sent)| (self.base + index as u64, sent))
    }

    /// Releases unused memory beyond `keep` records.
    pub(super) fn shrink(&mut self, keep: usize) {
        if self.records.capacity() > keep {
            self.records.shrink_to(keep);
        }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.records.capacity()
    }

    fn index_of(&self, tsn: UnwrappedTsn) -> Option<usize> {
        tsn.0.checked_sub(self.base.0).map(|index| index as usize)
    }
}

impl Index<UnwrappedTsn> for Ring {
    type Output = Sent;

    fn index(&self, tsn: UnwrappedTsn) -> &Sent {
        &self.records[(tsn - self.base) as usize]
    }
}

impl IndexMut<UnwrappedTsn> for Ring {
    fn index_mut(&mut self, tsn: UnwrappedTsn) -> &mut Sent {
        &mut self.records[(tsn - self.base) as usize]
    }
}

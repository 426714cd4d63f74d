//! Redundant streams. Which chunks are to be sent on all paths, and on which are they missing?
//!
//! A chunk of such a stream is listed from its first transmission until it is acknowledged or each usable path has had it. Other chunks
//! cost one test of a pointer (ADR 0198).

use alloc::collections::{BTreeSet, VecDeque};

use anabranch_types::{StreamId, UnwrappedTsn};

use crate::on_demand::{Idle, OnDemand};
use crate::path::PathIds;

#[derive(Debug)]
pub(super) struct Redundancy {
    pub(super) streams: BTreeSet<StreamId>,
    /// In the order of TSNs, each with the paths that had a duplicate, or can have none.
    pub(super) chunks: VecDeque<(UnwrappedTsn, PathIds)>,
}

impl Redundancy {
    const NONE: Self = Self {
        streams: BTreeSet::new(),
        chunks: VecDeque::new(),
    };
}

impl Default for Redundancy {
    fn default() -> Self {
        Self::NONE
    }
}

impl Idle for Redundancy {
    const IDLE: &'static Self = &Self::NONE;

    fn is_idle(&self) -> bool {
        self.streams.is_empty() && self.chunks.is_empty()
    }
}

/// The redundant streams, and their chunks.
pub(super) type RedundantStreams = OnDemand<Redundancy>;

impl RedundantStreams {
    /// Notes that a chunk of `stream` is sent for the first time.
    #[inline]
    pub(super) fn sent(&mut self, stream: StreamId, tsn: UnwrappedTsn) {
        if let Some(redundancy) = self.active_mut()
            && redundancy.streams.contains(&stream)
        {
            // TSNs restart if early data is taken back.
            while redundancy.chunks.back().is_some_and(|(last, _)| *last >= tsn) {
                redundancy.chunks.pop_back();
            }
            redundancy.chunks.push_back((tsn, PathIds::default()));
        }
    }

    /// Whether a stream is redundant.
    pub(super) fn has(&self, stream: StreamId) -> bool {
        self.active()
            .is_some_and(|redundancy| redundancy.streams.contains(&stream))
    }

    /// Takes over the streams after a restart of the peer, whose chunks are lost.
    pub(super) fn keep_streams(&mut self, before: &Self) {
        if let Some(before) = before.active() {
            self.make_mut().streams.clone_from(&before.streams);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(redundant: &RedundantStreams) -> impl Iterator<Item = u64> + '_ {
        redundant.chunks.iter().map(|(tsn, _)| tsn.0)
    }

    #[test]
    fn only_chunks_of_redundant_streams_are_listed() {
        let mut redundant = RedundantStreams::default();
        redundant.sent(StreamId(1), UnwrappedTsn(7));
        assert!(!redundant.is_active(), "nobody has asked for it");
        redundant.make_mut().streams.insert(StreamId(1));
        for (stream, tsn) in [(0, 8), (1, 9), (1, 10), (2, 11)] {
            redundant.sent(StreamId(stream), UnwrappedTsn(tsn));
        }
        assert!(listed(&redundant).eq([9, 10]));
        // The data that was sent early is sent again with the same TSNs.
        redundant.sent(StreamId(1), UnwrappedTsn(9));
        assert!(listed(&redundant).eq([9]));
    }

    #[test]
    fn streams_stay_redundant_after_a_restart_and_chunks_do_not_stay() {
        let mut before = RedundantStreams::default();
        before.make_mut().streams.insert(StreamId(3));
        before.sent(StreamId(3), UnwrappedTsn(5));
        let mut after = RedundantStreams::default();
        after.keep_streams(&before);
        assert!(after.has(StreamId(3)) && !after.has(StreamId(2)));
        assert!(listed(&after).next().is_none());
    }
}

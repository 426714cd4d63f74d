//! Redundant streams. Which chunks are to be sent on all paths?
//!
//! A chunk of such a stream is listed from its first transmission until it is acknowledged cumulatively. Associations without redundant
//! streams test one pointer for each chunk (ADR 0198).

use alloc::collections::{BTreeSet, VecDeque};

use anabranch_types::{StreamId, UnwrappedTsn};

use crate::on_demand::{Idle, OnDemand};

#[derive(Debug)]
pub(super) struct Redundancy {
    pub(super) streams: BTreeSet<StreamId>,
    /// In order.
    chunks: VecDeque<UnwrappedTsn>,
    /// Whether the last data that was sent while chunks were lost was new data of redundant streams: then a lost chunk is next.
    pub(super) went_first: bool,
}

impl Redundancy {
    const NONE: Self = Self {
        streams: BTreeSet::new(),
        chunks: VecDeque::new(),
        went_first: false,
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
            while redundancy.chunks.back().is_some_and(|last| *last >= tsn) {
                redundancy.chunks.pop_back();
            }
            redundancy.chunks.push_back(tsn);
        }
    }

    /// Forgets the chunks up to `cumulative`.
    #[inline]
    pub(super) fn acknowledged(&mut self, cumulative: UnwrappedTsn) {
        if let Some(redundancy) = self.active_mut() {
            while redundancy
                .chunks
                .front()
                .is_some_and(|first| *first <= cumulative)
            {
                redundancy.chunks.pop_front();
            }
        }
    }

    /// The first chunk from `from` on.
    pub(super) fn first_from(&self, from: Option<UnwrappedTsn>) -> Option<UnwrappedTsn> {
        let chunks = &self.active()?.chunks;
        let place = chunks.partition_point(|tsn| Some(*tsn) < from);
        chunks.get(place).copied()
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
        redundant.chunks.iter().map(|tsn| tsn.0)
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
    fn acknowledged_chunks_are_forgotten() {
        let mut redundant = RedundantStreams::default();
        redundant.make_mut().streams.insert(StreamId(1));
        for tsn in [7, 9, 12] {
            redundant.sent(StreamId(1), UnwrappedTsn(tsn));
        }
        assert_eq!(redundant.first_from(None), Some(UnwrappedTsn(7)));
        assert_eq!(redundant.first_from(Some(UnwrappedTsn(8))), Some(UnwrappedTsn(9)));
        redundant.acknowledged(UnwrappedTsn(10));
        assert!(listed(&redundant).eq([12]));
        assert_eq!(redundant.first_from(Some(UnwrappedTsn(13))), None);
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

//! Data sent and not acknowledged (DATA_ACK), under the send window that all subflows share.
//!
//! Each subflow acknowledges its own sequence numbers; the data itself is acknowledged here (DATA_ACK). So data carried by a
//! failed subflow is still held and can be sent over another subflow.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Range;

use anabranch_types::{Instant, PathId};
use bytes::Bytes;

use super::initial_dsn::InitialDsn;
use crate::buffer::Piece;
use crate::sequence::Position;

/// Data that was sent and is not acknowledged.
#[derive(Debug)]
pub(super) struct DataSender {
    pub(super) idsn: InitialDsn,
    chunks: BTreeMap<Position, Chunk>,
    /// Everything before this position is acknowledged.
    first: Position,
    /// The first position beyond the peer's window.
    edge: Position,
    largest_window: u64,
    /// Start positions of the chunks to be reinjected as soon as another subflow has room.
    reinjected: BTreeSet<Position>,
    /// Outstanding bytes of each subflow, by the subflow that carried them last.
    held: Vec<u64>,
    pub(super) end: End,
    /// When to check for progress of DATA_ACK, and the number of checks in a row without progress.
    pub(super) check: Option<Instant>,
    pub(super) checks: u32,
}

/// A chunk: bytes that were sent together.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub(super) bytes: Bytes,
    /// The subflow it was last sent on.
    pub(super) path: PathId,
    /// All subflows it was sent on.
    pub(super) carriers: Carriers,
    /// When it was last sent.
    pub(super) sent_at: Instant,
}

/// A set of subflows by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Carriers(u32);

impl Carriers {
    pub(super) const fn contains(self, path: PathId) -> bool {
        self.0 & Self::bit(path) != 0
    }

    pub(super) const fn count(self) -> u32 {
        self.0.count_ones()
    }

    const fn add(&mut self, path: PathId) {
        self.0 |= Self::bit(path);
    }

    const fn bit(path: PathId) -> u32 {
        1 << (path.0 % 32)
    }
}

/// State of DATA_FIN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// More data may follow.
    Open,
    /// DATA_FIN is at this position and is sent on all subflows until it is acknowledged.
    Told {
        at: Position,
        again: Instant,
        times: u32,
    },
    /// DATA_FIN is acknowledged.
    Acknowledged,
}

/// Changes made by an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Acknowledged {
    /// Bytes that leave the send buffer.
    pub(super) freed: u64,
    /// DATA_FIN is acknowledged.
    pub(super) end: bool,
}

impl DataSender {
    pub(super) const fn new(idsn: InitialDsn) -> Self {
        Self {
            idsn,
            chunks: BTreeMap::new(),
            first: 1,
            edge: 1,
            largest_window: 0,
            reinjected: BTreeSet::new(),
            held: Vec::new(),
            end: End::Open,
            check: None,
            checks: 0,
        }
    }

    pub(super) const fn edge(&self) -> Position {
        self.edge
    }

    pub(super) const fn largest_window(&self) -> u64 {
        self.largest_window
    }

    /// Whether everything sent is acknowledged.
    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Processes the window of a segment with data acknowledgement `ack`. The right edge never moves back, whichever subflow
    /// carried the segment, since segments are not ordered between subflows (RFC 8684 §3.3.5).
    pub(super) fn widen(&mut self, ack: Position, offered: u64) {
        self.edge = self.edge.max(ack + offered);
        self.largest_window = self.largest_window.max(offered);
    }

    /// `piece` is sent for the first time.
    pub(super) fn push(&mut self, piece: Piece, path: PathId, now: Instant) {
        let mut carriers = Carriers::default();
        carriers.add(path);
        let chunk = Chunk {
            bytes: piece.bytes,
            path,
            carriers,
            sent_at: now,
        };
        self.hold(path, chunk.bytes.len() as u64);
        self.chunks.insert(piece.place, chunk);
    }

    fn hold(&mut self, path: PathId, bytes: u64) {
        let missing = (path.index() + 1).saturating_sub(self.held.len());
        self.held.extend(core::iter::repeat_n(0, missing));
        self.held[path.index()] += bytes;
    }

    fn release(&mut self, path: PathId, bytes: u64) {
        self.held[path.index()] -= bytes;
    }

    /// Bytes not acknowledged at data level that `path` was the last to carry.
    pub(super) fn held_by(&self, path: PathId) -> u64 {
        self.held.get(path.index()).copied().unwrap_or(0)
    }

    /// The position of `ack`; `None` for data that was never sent. `unsent` is the first unsent position.
    pub(super) fn acknowledged_position(&self, ack: crate::wire::Dsn, unsent: Position) -> Option<Position> {
        let position = self.idsn.position(ack, self.first)?;
        let limit = match self.end {
            End::Told { at, .. } => at + 1,
            End::Acknowledged => unsent + 1,
            End::Open => unsent,
        };
        (position <= limit).then_some(position)
    }

    /// Removes everything before `ack`, and what `non_renegable` reports as non-renegable (Yang 2015, §3.3.2).
    pub(super) fn acknowledge(&mut self, ack: Position, non_renegable: &[Range<Position>]) -> Acknowledged {
        let mut acknowledged = Acknowledged::default();
        if ack > self.first {
            self.first = ack;
            acknowledged.freed += self.forget_before(ack);
            if let End::Told { at, .. } = self.end
                && ack > at
            {
                self.end = End::Acknowledged;
                acknowledged.end = true;
            }
        }
        for range in non_renegable {
            acknowledged.freed += self.forget_within(range);
        }
        if acknowledged != Acknowledged::default() {
            self.checks = 0;
        }
        acknowledged
    }

    fn forget_before(&mut self, ack: Position) -> u64 {
        let mut freed = 0;
        while let Some(entry) = self.chunks.first_entry()
            && *entry.key() < ack
        {
            let start = *entry.key();
            let mut chunk = entry.remove();
            let gone = (ack - start).min(chunk.bytes.len() as u64);
            freed += gone;
            self.release(chunk.path, gone);
            let was_reinjected = self.reinjected.remove(&start);
            let _ = chunk.bytes.split_to(gone as usize);
            if !chunk.bytes.is_empty() {
                self.chunks.insert(ack, chunk);
                if was_reinjected {
                    self.reinjected.insert(ack);
                }
            }
        }
        freed
    }

    /// Chunks that lie completely in `range`.
    fn forget_within(&mut self, range: &Range<Position>) -> u64 {
        let mut freed = 0;
        while let Some((start, chunk)) = self.chunks.range(range.clone()).next()
            && start + chunk.bytes.len() as u64 <= range.end
        {
            let (start, path, length) = (*start, chunk.path, chunk.bytes.len() as u64);
            freed += length;
            self.release(path, length);
            self.chunks.remove(&start);
            self.reinjected.remove(&start);
        }
        freed
    }

    /// Queues the unacknowledged data in `range` that was last sent on `path` for reinjection. Returns the number of bytes.
    pub(super) fn reinject(&mut self, path: PathId, range: Range<Position>) -> u64 {
        let Self {
            chunks, reinjected, ..
        } = self;
        let before = chunks.range(..range.start).next_back();
        let overlapping = before.filter(|(start, chunk)| **start + chunk.bytes.len() as u64 > range.start);
        let mut moved = 0;
        for (start, chunk) in overlapping.into_iter().chain(chunks.range(range)) {
            if chunk.path == path && reinjected.insert(*start) {
                moved += chunk.bytes.len() as u64;
            }
        }
        moved
    }

    /// A subflow has ended: queues the data that it was the last to carry for reinjection.
    pub(super) fn reinject_all_from(&mut self, path: PathId) {
        let carried = self.chunks.iter().filter(|(_, chunk)| chunk.path == path);
        self.reinjected.extend(carried.map(|(start, _)| *start));
    }

    /// Queues the oldest unacknowledged data for retransmission on any subflow.
    pub(super) fn reinject_oldest(&mut self) {
        if let Some((start, chunk)) = self.chunks.iter_mut().next() {
            chunk.carriers = Carriers::default();
            self.reinjected.insert(*start);
        }
    }

    /// The first chunk queued for reinjection.
    pub(super) fn next_reinjected(&self) -> Option<(Position, &Chunk)> {
        let start = self.reinjected.first()?;
        Some((*start, self.chunks.get(start)?))
    }

    /// The oldest chunk.
    pub(super) fn oldest(&self) -> Option<(Position, &Chunk)> {
        let (start, chunk) = self.chunks.first_key_value()?;
        Some((*start, chunk))
    }

    /// Sends the chunk at `start` on `path` too, at most `most` bytes of it. Returns these bytes.
    pub(super) fn repeat(&mut self, start: Position, most: u64, path: PathId, now: Instant) -> Bytes {
        let is_reinjected = self.reinjected.remove(&start);
        let Some(chunk) = self.chunks.get_mut(&start) else {
            return Bytes::new();
        };
        if chunk.bytes.len() as u64 > most {
            let mut rest = chunk.clone();
            chunk.bytes.truncate(most as usize);
            let _ = rest.bytes.split_to(most as usize);
            self.chunks.insert(start + most, rest);
            if is_reinjected {
                self.reinjected.insert(start + most);
            }
        }
        let Some(chunk) = self.chunks.get_mut(&start) else {
            return Bytes::new();
        };
        let before = core::mem::replace(&mut chunk.path, path);
        chunk.carriers.add(path);
        chunk.sent_at = now;
        let bytes = chunk.bytes.clone();
        self.release(before, bytes.len() as u64);
        self.hold(path, bytes.len() as u64);
        bytes
    }

    /// The first chunk from `from` on that `path` has not carried, and its start.
    pub(super) fn not_on(&self, path: PathId, from: Position) -> Option<(Position, &Chunk)> {
        let mut behind = self.chunks.range(from..);
        let (start, chunk) = behind.find(|(_, chunk)| !chunk.carriers.contains(path))?;
        Some((*start, chunk))
    }

    /// Records that a duplicate of the chunk at `start` is sent on `path`; the chunk is still counted for its previous subflow.
    pub(super) fn duplicate(&mut self, start: Position, path: PathId) -> Bytes {
        let Some(chunk) = self.chunks.get_mut(&start) else {
            return Bytes::new();
        };
        chunk.carriers.add(path);
        chunk.bytes.clone()
    }

    /// Drops all data: nothing will be retransmitted.
    pub(super) fn clear(&mut self) {
        self.chunks.clear();
        self.reinjected.clear();
        self.held.clear();
        self.check = None;
    }
}

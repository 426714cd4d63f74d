//! Which ready stream is next on a path, if streams are bound to paths? One queue for each path, served in turn.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use anabranch_types::{PathId, StreamId};

use super::ready::Ready;

/// Ready streams, each in the lane of its path; streams without a path are in a lane that all paths serve.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    lanes: Vec<(Option<PathId>, Ready<u64>)>,
    turn: u64,
    /// The ready streams with their lanes.
    homes: BTreeMap<StreamId, Option<PathId>>,
}

impl Lanes {
    /// `stream` has something to send on `path`, or on any. One that is there already keeps its turn.
    pub(super) fn ready(&mut self, stream: StreamId, path: Option<PathId>) {
        match self.homes.get(&stream).copied() {
            Some(home) if home == path => {}
            Some(home) => self.move_to(stream, home, path),
            None => {
                self.homes.insert(stream, path);
                self.queue(stream, path);
            }
        }
    }

    /// `stream` was served and goes behind the others of its lane.
    pub(super) fn served(&mut self, stream: StreamId) {
        if let Some(path) = self.homes.get(&stream).copied() {
            self.queue(stream, path);
        }
    }

    /// `stream` has nothing to send.
    pub(super) fn idle(&mut self, stream: StreamId) {
        if let Some(path) = self.homes.remove(&stream) {
            self.lane(path).remove(stream);
        }
        if self.homes.is_empty() {
            *self = Self::default();
        }
    }

    /// Where each stream belongs has changed.
    pub(super) fn rebind(&mut self, home: impl Fn(StreamId) -> Option<PathId>) {
        let moved = |(stream, before): (&StreamId, &Option<PathId>)| {
            let path = home(*stream);
            (path != *before).then_some((*stream, *before, path))
        };
        let moved: Vec<_> = self.homes.iter().filter_map(moved).collect();
        for (stream, before, path) in moved {
            self.move_to(stream, before, path);
        }
    }

    /// The stream that has waited longest of those that may go on `path`.
    pub(super) fn next(&self, path: PathId) -> Option<StreamId> {
        let lanes = self.lanes.iter();
        let open = lanes.filter(|(lane, _)| lane.is_none_or(|lane| lane == path));
        let heads = open.filter_map(|(_, lane)| lane.first().map(|stream| (lane.key_of(stream), stream)));
        heads.min().map(|(_, stream)| stream)
    }

    /// Whether `stream` is ready and may go on `path`.
    pub(super) fn admit(&self, stream: StreamId, path: PathId) -> bool {
        let home = self.homes.get(&stream);
        home.is_some_and(|home| home.is_none_or(|home| home == path))
    }

    fn queue(&mut self, stream: StreamId, path: Option<PathId>) {
        self.turn += 1;
        let turn = self.turn;
        self.lane(path).insert(turn, stream);
    }

    /// A ready stream keeps its turn in another lane.
    fn move_to(&mut self, stream: StreamId, before: Option<PathId>, path: Option<PathId>) {
        let lane = self.lane(before);
        let turn = lane.key_of(stream);
        lane.remove(stream);
        self.homes.insert(stream, path);
        match turn {
            Some(turn) => self.lane(path).insert(turn, stream),
            None => self.queue(stream, path),
        }
    }

    fn lane(&mut self, path: Option<PathId>) -> &mut Ready<u64> {
        let at = match self.lanes.binary_search_by_key(&path, |(path, _)| *path) {
            Ok(at) => at,
            Err(at) => {
                self.lanes.insert(at, (path, Ready::default()));
                at
            }
        };
        &mut self.lanes[at].1
    }
}

//! Which ready stream is next on a path, if streams are bound to paths? One queue for each path, served in turn.

use alloc::vec::Vec;

use anabranch_types::{PathId, StreamId};

use super::ready::Ready;

/// Ready streams, each in the lane of its path; streams without a path are in a lane that all paths serve.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    lanes: Vec<(Option<PathId>, Ready<u64>)>,
    turn: u64,
    /// The ready streams, sorted, with their lanes.
    homes: Vec<(StreamId, Option<PathId>)>,
}

impl Lanes {
    /// `stream` has something to send on `path`, or on any. One that is there already keeps its turn.
    pub(super) fn ready(&mut self, stream: StreamId, path: Option<PathId>) {
        match self.homes.binary_search_by_key(&stream, |(stream, _)| *stream) {
            Ok(at) if self.homes[at].1 == path => {}
            Ok(at) => self.move_to(at, path),
            Err(at) => {
                self.homes.insert(at, (stream, path));
                self.queue(stream, path);
            }
        }
    }

    /// `stream` was served and goes behind the others of its lane.
    pub(super) fn served(&mut self, stream: StreamId) {
        if let Ok(at) = self.homes.binary_search_by_key(&stream, |(stream, _)| *stream) {
            let path = self.homes[at].1;
            self.queue(stream, path);
        }
    }

    /// `stream` has nothing to send.
    pub(super) fn idle(&mut self, stream: StreamId) {
        if let Ok(at) = self.homes.binary_search_by_key(&stream, |(stream, _)| *stream) {
            let (_, path) = self.homes.remove(at);
            self.lane(path).remove(stream);
        }
        if self.homes.is_empty() {
            *self = Self::default();
        }
    }

    /// Where each stream belongs has changed.
    pub(super) fn rebind(&mut self, home: impl Fn(StreamId) -> Option<PathId>) {
        for at in 0..self.homes.len() {
            let (stream, before) = self.homes[at];
            let path = home(stream);
            if path != before {
                self.move_to(at, path);
            }
        }
    }

    /// The stream that has waited longest of those that may go on `path`.
    pub(super) fn next(&self, path: PathId) -> Option<StreamId> {
        let lanes = self.lanes.iter();
        let open = lanes.filter(|(lane, _)| lane.is_none_or(|lane| lane == path));
        let heads = open.filter_map(|(_, lane)| lane.first().map(|stream| (lane.key_of(stream), stream)));
        heads.min().map(|(_, stream)| stream)
    }

    fn queue(&mut self, stream: StreamId, path: Option<PathId>) {
        self.turn += 1;
        let turn = self.turn;
        self.lane(path).insert(turn, stream);
    }

    /// The ready stream at `at` keeps its turn in another lane.
    fn move_to(&mut self, at: usize, path: Option<PathId>) {
        let (stream, before) = self.homes[at];
        let lane = self.lane(before);
        let turn = lane.key_of(stream);
        lane.remove(stream);
        self.homes[at].1 = path;
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

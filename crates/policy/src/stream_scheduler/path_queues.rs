//! Path queues. Which ready stream is next on a path, if streams are bound to paths?

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use anabranch_types::{PathId, StreamId};

use super::ready::Ready;

/// Ready streams, one queue for each path, served round robin; streams without a path are in a queue that all paths serve.
#[derive(Debug, Default)]
pub(super) struct PathQueues {
    path_queues: Vec<(Option<PathId>, Ready<u64>)>,
    turn: u64,
    /// The ready streams with their queues.
    homes: BTreeMap<StreamId, Option<PathId>>,
}

impl PathQueues {
    /// `stream` has data for `path`, or for any. If it is queued already it keeps its turn.
    pub(super) fn ready(&mut self, stream: StreamId, path: Option<PathId>) {
        match self.homes.get(&stream).copied() {
            Some(home) if home == path => {}
            Some(home) => self.move_to(stream, home, path),
            None => {
                self.homes.insert(stream, path);
                self.enqueue(stream, path);
            }
        }
    }

    /// `stream` was served and goes to the end of its queue.
    pub(super) fn served(&mut self, stream: StreamId) {
        if let Some(path) = self.homes.get(&stream).copied() {
            self.enqueue(stream, path);
        }
    }

    /// `stream` has no data.
    pub(super) fn idle(&mut self, stream: StreamId) {
        if let Some(path) = self.homes.remove(&stream) {
            self.queue(path).remove(stream);
        }
        if self.homes.is_empty() {
            *self = Self::default();
        }
    }

    /// The mapping of streams to paths has changed.
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

    /// The stream that has waited longest of those that may use `path`.
    pub(super) fn next(&self, path: PathId) -> Option<StreamId> {
        let path_queues = self.path_queues.iter();
        let open = path_queues.filter(|(queue, _)| queue.is_none_or(|queue| queue == path));
        let heads = open.filter_map(|(_, queue)| queue.first().map(|stream| (queue.key_of(stream), stream)));
        heads.min().map(|(_, stream)| stream)
    }

    /// Whether `stream` is ready and may use `path`.
    pub(super) fn admit(&self, stream: StreamId, path: PathId) -> bool {
        let home = self.homes.get(&stream);
        home.is_some_and(|home| home.is_none_or(|home| home == path))
    }

    fn enqueue(&mut self, stream: StreamId, path: Option<PathId>) {
        self.turn += 1;
        let turn = self.turn;
        self.queue(path).insert(turn, stream);
    }

    /// A ready stream keeps its turn in another queue.
    fn move_to(&mut self, stream: StreamId, before: Option<PathId>, path: Option<PathId>) {
        let queue = self.queue(before);
        let turn = queue.key_of(stream);
        queue.remove(stream);
        self.homes.insert(stream, path);
        match turn {
            Some(turn) => self.queue(path).insert(turn, stream),
            None => self.enqueue(stream, path),
        }
    }

    fn queue(&mut self, path: Option<PathId>) -> &mut Ready<u64> {
        let at = match self.path_queues.binary_search_by_key(&path, |(path, _)| *path) {
            Ok(at) => at,
            Err(at) => {
                self.path_queues.insert(at, (path, Ready::default()));
                at
            }
        };
        &mut self.path_queues[at].1
    }
}

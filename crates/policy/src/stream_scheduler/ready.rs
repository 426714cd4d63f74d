//! Which ready stream has the smallest key?

use alloc::collections::{BTreeMap, BTreeSet};

use anabranch_types::StreamId;

/// The streams with something to send, ordered by a key. Each operation costs O(log streams); as long as only
/// one stream is ready, no tree is touched and nothing is allocated.
#[derive(Debug, Default)]
pub(super) struct Ready {
    first: Option<(u64, StreamId)>,
    rest: BTreeSet<(u64, StreamId)>,
    keys: BTreeMap<StreamId, u64>,
}

impl Ready {
    pub(super) fn first(&self) -> Option<StreamId> {
        self.first.map(|(_, stream)| stream)
    }

    pub(super) fn contains(&self, stream: StreamId) -> bool {
        self.first() == Some(stream) || self.keys.contains_key(&stream)
    }

    /// Adds `stream`, or gives it a new key.
    pub(super) fn insert(&mut self, key: u64, stream: StreamId) {
        self.remove(stream);
        match self.first {
            Some(first) if first < (key, stream) => self.insert_behind(key, stream),
            Some((other_key, other)) => {
                self.insert_behind(other_key, other);
                self.first = Some((key, stream));
            }
            None => self.first = Some((key, stream)),
        }
    }

    pub(super) fn remove(&mut self, stream: StreamId) {
        if self.first() == Some(stream) {
            self.first = self.rest.pop_first();
            if let Some((_, next)) = self.first {
                self.keys.remove(&next);
            }
        } else if let Some(key) = self.keys.remove(&stream) {
            self.rest.remove(&(key, stream));
        }
    }

    fn insert_behind(&mut self, key: u64, stream: StreamId) {
        self.rest.insert((key, stream));
        self.keys.insert(stream, key);
    }
}

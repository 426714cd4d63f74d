//! Ready streams. Which ready stream has the smallest key?

use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use anabranch_types::StreamId;

/// The streams with data to send, ordered by a key. Each operation costs O(log streams), amortised.
///
/// The entry of a stream that leaves, or gets another key, stays in the heap until it comes to the top or until such
/// entries outnumber the others: removing it from the middle would cost more.
#[derive(Debug)]
pub(super) struct Ready<K> {
    /// `None` until a stream is ready: most associations are idle.
    streams: Option<Box<Streams<K>>>,
}

#[derive(Debug)]
struct Streams<K> {
    /// Smallest key first; the top entry is always valid.
    order: BinaryHeap<Reverse<(K, StreamId)>>,
    /// Sorted by stream; `None` for streams that are not ready.
    keys: Vec<(StreamId, Option<K>)>,
    /// Number of ready streams.
    count: usize,
}

/// Capacity kept when no stream is ready; more would add to the memory of idle associations.
const KEPT: usize = 32;

impl<K> Default for Ready<K> {
    fn default() -> Self {
        Self { streams: None }
    }
}

impl<K: Ord> Default for Streams<K> {
    fn default() -> Self {
        Self {
            order: BinaryHeap::new(),
            keys: Vec::new(),
            count: 0,
        }
    }
}

impl<K: Copy + Ord> Ready<K> {
    pub(super) fn first(&self) -> Option<StreamId> {
        self.streams.as_ref()?.first()
    }

    pub(super) fn contains(&self, stream: StreamId) -> bool {
        self.key_of(stream).is_some()
    }

    /// The key of `stream`; `None` if it is not ready.
    pub(super) fn key_of(&self, stream: StreamId) -> Option<K> {
        key_of(&self.streams.as_ref()?.keys, stream)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.streams.as_ref().is_none_or(|streams| streams.count == 0)
    }

    /// Adds `stream`, or gives it a new key.
    pub(super) fn insert(&mut self, key: K, stream: StreamId) {
        self.streams.get_or_insert_default().insert(key, stream);
    }

    pub(super) fn remove(&mut self, stream: StreamId) {
        if let Some(streams) = &mut self.streams {
            streams.remove(stream);
        }
    }
}

impl<K: Copy + Ord> Streams<K> {
    fn first(&self) -> Option<StreamId> {
        self.order.peek().map(|Reverse((_, stream))| *stream)
    }

    fn insert(&mut self, key: K, stream: StreamId) {
        let before = match self.keys.binary_search_by_key(&stream, |(stream, _)| *stream) {
            Ok(at) => self.keys[at].1.replace(key),
            Err(at) => {
                self.keys.insert(at, (stream, Some(key)));
                None
            }
        };
        if before == Some(key) {
            return;
        }
        self.count += usize::from(before.is_none());
        self.order.push(Reverse((key, stream)));
        self.tidy();
    }

    fn remove(&mut self, stream: StreamId) {
        let Ok(at) = self.keys.binary_search_by_key(&stream, |(stream, _)| *stream) else {
            return;
        };
        if self.keys[at].1.take().is_none() {
            return;
        }
        self.count -= 1;
        if self.first() == Some(stream) {
            self.order.pop();
        }
        if self.count == 0 {
            self.rest();
        }
        self.tidy();
    }

    fn tidy(&mut self) {
        if self.outdated() == 0 {
            return;
        }
        let keys = &self.keys;
        let holds = |Reverse((key, stream)): &Reverse<(K, StreamId)>| key_of(keys, *stream) == Some(*key);
        while self.order.peek().is_some_and(|top| !holds(top)) {
            self.order.pop();
        }
        if self.outdated() > self.count + KEPT {
            self.order.retain(holds);
        }
    }

    /// Entries of the heap that are out of date, or twice in it.
    fn outdated(&self) -> usize {
        self.order.len() - self.count
    }

    fn rest(&mut self) {
        self.order.clear();
        if self.keys.len() > KEPT || self.order.capacity() > 2 * KEPT {
            *self = Self::default();
        }
    }
}

fn key_of<K: Copy>(keys: &[(StreamId, Option<K>)], stream: StreamId) -> Option<K> {
    let at = keys.binary_search_by_key(&stream, |(stream, _)| *stream).ok()?;
    keys[at].1
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use anabranch_types::{Seed, StreamId};

    use super::Ready;

    #[test]
    fn the_first_entry_agrees_with_a_sorted_map() {
        for seed in 0..100 {
            let mut rng = Seed(seed).rng();
            let mut ready = Ready::default();
            let mut naive = BTreeMap::new();
            for _ in 0..1_000 {
                let stream = StreamId(rng.below(1 + seed) as u16);
                if rng.chance(1, 2) {
                    let key = rng.below(20);
                    ready.insert(key, stream);
                    naive.insert(stream, key);
                } else {
                    ready.remove(stream);
                    naive.remove(&stream);
                }
                let first = naive.iter().map(|(stream, key)| (*key, *stream)).min();
                assert_eq!(ready.first(), first.map(|(_, stream)| stream));
                assert_eq!(ready.contains(stream), naive.contains_key(&stream));
                assert!(
                    ready
                        .streams
                        .as_ref()
                        .is_none_or(|streams| streams.order.len() < 2_000),
                    "out of date entries pile up"
                );
            }
        }
    }
}

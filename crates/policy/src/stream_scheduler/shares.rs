//! Start-time fair queueing. Which ready stream has had the least of its share?
//!
//! Source: P. Goyal, H. Vin, H. Cheng, "Start-time fair queueing" (1996), which needs neither the rate of the link nor
//! the length of the next packet.
//!
//! Each stream has a tag: the bytes served to it, divided by its weight. The lowest tag is next. An idle stream earns no
//! credit: when it becomes ready, its tag is at least that of the stream in service.
//!
//! ```text
//! now          = tag of the stream last served, when it was served
//! becomes ready: tag = max(tag, now)
//! served b:    tag += b / weight
//! none ready:  all tags are forgotten
//! ```

use alloc::vec::Vec;

use anabranch_types::{MessageId, StreamId};

use super::ready::Ready;

/// What one byte counts at weight 1, so that a byte counts at any weight.
const PER_BYTE: u128 = 1 << 32;

/// Bytes over weight, in parts of [`PER_BYTE`]. Wide enough never to overflow.
type Tag = u128;

/// The streams with data, ordered by their tags; of equal tags the one with the older message first.
#[derive(Debug, Default)]
pub(super) struct Shares {
    ready: Ready<(Tag, MessageId)>,
    /// The ready ones of the streams that are bound to some of the paths, which are few: not all of them may be next everywhere.
    bound: Vec<(StreamId, (Tag, MessageId))>,
    now: Tag,
    /// Sorted by stream: all streams served since none was ready.
    accounts: Vec<(StreamId, Account)>,
}

#[derive(Clone, Copy, Debug)]
struct Account {
    tag: Tag,
    weight: u16,
}

/// Capacity kept when no stream is ready; more would add to the memory of idle associations.
const KEPT: usize = 32;

impl Shares {
    /// `stream` has this message at its head, and this weight.
    pub(super) fn ready(&mut self, stream: StreamId, weight: u16, head: MessageId) {
        let key = (self.tag_of_ready(stream, weight), head);
        self.forget_bound(stream);
        self.ready.insert(key, stream);
    }

    /// The same for a stream that is bound to some of the paths.
    pub(super) fn ready_bound(&mut self, stream: StreamId, weight: u16, head: MessageId) {
        let key = (self.tag_of_ready(stream, weight), head);
        self.ready.remove(stream);
        self.set_bound(stream, key);
    }

    fn tag_of_ready(&mut self, stream: StreamId, weight: u16) -> Tag {
        let (was_ready, now) = (self.key_of(stream).is_some(), self.now);
        let account = self.account(stream);
        account.weight = weight.max(1);
        if !was_ready {
            account.tag = account.tag.max(now);
        }
        account.tag
    }

    /// `stream` was served this many bytes.
    pub(super) fn serve(&mut self, stream: StreamId, bytes: u32) {
        let Some((tag, head)) = self.key_of(stream) else {
            return;
        };
        self.now = self.now.max(tag);
        let account = self.account(stream);
        account.tag = tag + u128::from(bytes) * PER_BYTE / u128::from(account.weight);
        let key = (account.tag, head);
        if self.is_bound(stream) {
            self.set_bound(stream, key);
        } else {
            self.ready.insert(key, stream);
        }
    }

    /// `stream` has no data.
    pub(super) fn idle(&mut self, stream: StreamId) {
        self.ready.remove(stream);
        self.forget_bound(stream);
        if self.ready.is_empty() && self.bound.is_empty() {
            self.now = 0;
            self.accounts.clear();
            if self.accounts.capacity() > KEPT {
                self.accounts = Vec::new();
            }
        }
    }

    pub(super) fn first(&self) -> Option<StreamId> {
        self.ready.first()
    }

    /// The first of all streams, of which those that are bound have to be `admitted`.
    pub(super) fn first_of_all(&self, admitted: impl Fn(StreamId) -> bool) -> Option<StreamId> {
        let free = self.ready.first();
        let bound = self.bound.iter().filter(|(stream, _)| admitted(*stream));
        let Some((bound, key)) = bound.min_by_key(|(stream, key)| (*key, *stream)) else {
            return free;
        };
        let comes_first = |free: &StreamId| self.ready.key_of(*free).is_some_and(|of_free| of_free <= *key);
        free.filter(comes_first).or(Some(*bound))
    }

    fn key_of(&self, stream: StreamId) -> Option<(Tag, MessageId)> {
        let bound = self.bound.iter().find(|(bound, _)| *bound == stream);
        bound.map(|(_, key)| *key).or_else(|| self.ready.key_of(stream))
    }

    fn is_bound(&self, stream: StreamId) -> bool {
        self.bound.iter().any(|(bound, _)| *bound == stream)
    }

    fn set_bound(&mut self, stream: StreamId, key: (Tag, MessageId)) {
        match self.bound.iter_mut().find(|(bound, _)| *bound == stream) {
            Some((_, known)) => *known = key,
            None => self.bound.push((stream, key)),
        }
    }

    fn forget_bound(&mut self, stream: StreamId) {
        self.bound.retain(|(bound, _)| *bound != stream);
    }

    fn account(&mut self, stream: StreamId) -> &mut Account {
        let at = match self.accounts.binary_search_by_key(&stream, |(stream, _)| *stream) {
            Ok(at) => at,
            Err(at) => {
                let fresh = Account {
                    tag: self.now,
                    weight: 1,
                };
                self.accounts.insert(at, (stream, fresh));
                at
            }
        };
        &mut self.accounts[at].1
    }
}

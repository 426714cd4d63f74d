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
        let (was_ready, now) = (self.ready.contains(stream), self.now);
        let account = self.account(stream);
        account.weight = weight.max(1);
        if !was_ready {
            account.tag = account.tag.max(now);
        }
        let tag = account.tag;
        self.ready.insert((tag, head), stream);
    }

    /// `stream` was served this many bytes.
    pub(super) fn serve(&mut self, stream: StreamId, bytes: u32) {
        let Some((tag, head)) = self.ready.key_of(stream) else {
            return;
        };
        self.now = self.now.max(tag);
        let account = self.account(stream);
        account.tag = tag + u128::from(bytes) * PER_BYTE / u128::from(account.weight);
        let tag = account.tag;
        self.ready.insert((tag, head), stream);
    }

    /// `stream` has no data.
    pub(super) fn idle(&mut self, stream: StreamId) {
        self.ready.remove(stream);
        if self.ready.is_empty() {
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

//! Which ready stream has had the least of its share? Start-time fair queueing.
//!
//! Source: P. Goyal, H. Vin, H. Cheng, "Start-time fair queueing" (1996), which needs neither the rate of the link nor
//! the length of what is sent next.
//!
//! Each stream has a tag: the bytes that it was served, divided by its weight. The lowest tag is next. A stream that
//! was away is not owed what it did not ask for: it begins where the stream in service is.
//!
//! ```text
//! now          = tag of the stream last served, as it was served
//! comes back:  tag = max(tag, now)
//! served b:    tag += b / weight
//! nobody ready: all tags are forgotten
//! ```

use alloc::vec::Vec;

use anabranch_types::{MessageId, StreamId};

use super::ready::Ready;

/// What a byte counts at weight 1, so that a byte at any weight counts something.
const PER_BYTE: u128 = 1 << 32;

/// Bytes over weight, in parts of [`PER_BYTE`]. Wide enough never to overflow.
type Tag = u128;

/// The streams with something to send, by what they have had. Of equals the one whose message is the older goes first.
#[derive(Debug, Default)]
pub(super) struct Shares {
    ready: Ready<(Tag, MessageId)>,
    now: Tag,
    /// Sorted by stream: all that were served since nobody was ready.
    accounts: Vec<(StreamId, Account)>,
}

#[derive(Clone, Copy, Debug)]
struct Account {
    tag: Tag,
    weight: u16,
}

/// What may be kept for the next burst when no stream is ready; more would weigh on idle associations.
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

    /// `stream` has nothing to send.
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

//! Messages that the association delivers in parts, until they are complete.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use anabranch_types::StreamId;
use bytes::Bytes;

use crate::set::{Extent, Received};

/// How many messages of the maximum length all parts together may fill.
const MAX_LONG_MESSAGES: usize = 8;

/// Incomplete messages, by stream and whether they are unordered.
#[derive(Debug)]
pub(crate) struct Parts {
    messages: BTreeMap<(StreamId, bool), Vec<u8>>,
    bytes: usize,
}

/// What a part leads to.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Assembled {
    /// The message is complete.
    Whole(Bytes),
    /// More follows, or the rest is not coming.
    Incomplete,
    /// The message is longer than the limit. Its other parts are ignored.
    TooLong,
}

impl Parts {
    pub(crate) const fn new() -> Self {
        Self {
            messages: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// Adds a part of a message of at most `max` bytes.
    pub(crate) fn add(&mut self, part: Received, max: usize) -> Assembled {
        let key = (part.stream, part.unordered);
        match part.extent {
            Extent::Whole if part.payload.len() > max => return Assembled::TooLong,
            Extent::Whole => return Assembled::Whole(part.payload),
            Extent::Aborted => {
                self.remove(key);
                return Assembled::Incomplete;
            }
            Extent::Beginning => {
                self.remove(key);
                self.messages.insert(key, Vec::new());
            }
            Extent::Middle | Extent::End => {}
        }
        let Some(message) = self.messages.get_mut(&key) else {
            return Assembled::Incomplete;
        };
        let more = part.payload.len();
        let is_long = message.len().saturating_add(more) > max;
        if is_long || self.bytes.saturating_add(more) > max.saturating_mul(MAX_LONG_MESSAGES) {
            self.remove(key);
            return Assembled::TooLong;
        }
        message.extend_from_slice(&part.payload);
        self.bytes += more;
        if part.extent == Extent::End {
            return Assembled::Whole(self.remove(key).into());
        }
        Assembled::Incomplete
    }

    /// Forgets incomplete messages of a stream.
    pub(crate) fn forget(&mut self, stream: StreamId) {
        self.remove((stream, false));
        self.remove((stream, true));
    }

    fn remove(&mut self, key: (StreamId, bool)) -> Vec<u8> {
        let message = self.messages.remove(&key).unwrap_or_default();
        self.bytes -= message.len();
        message
    }
}

//! Inbox: received messages between the driver, which fills it, and the handles, which empty it. It has its own lock,
//! so that a receiver does not contend with the traffic of its endpoint.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Mutex, PoisonError};

use anabranch_proto::{Extent, ReceivedMessage};

/// Bytes beyond which the driver leaves messages in the core, where they count against the receive buffer. A message
/// counts with its overhead, or many tiny ones would take much more memory.
const LIMIT: usize = 64 << 10;

/// Messages between the core and the handles of one association.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    delivered: Mutex<Delivered>,
    /// Messages that a handle took together. Locked before `delivered`.
    taken: Mutex<VecDeque<ReceivedMessage>>,
}

#[derive(Debug, Default)]
struct Delivered {
    messages: VecDeque<ReceivedMessage>,
    bytes: usize,
    /// The core has more.
    left_some: bool,
}

/// The result of a look into the inbox.
#[derive(Debug)]
pub(crate) enum Looked {
    Message(ReceivedMessage),
    /// The next one is a part of a message, and was not asked for.
    Part,
    /// The inbox is empty, but the core has more messages: poll the core, then read the inbox again.
    Ask,
    Empty,
}

impl Inbox {
    /// Takes messages from `next` until it has none or the inbox is full; `true` if there were any.
    pub(crate) fn fill(&self, mut next: impl FnMut() -> Option<ReceivedMessage>) -> bool {
        let mut delivered = self.delivered.lock().unwrap_or_else(PoisonError::into_inner);
        let before = delivered.messages.len();
        loop {
            delivered.left_some = delivered.bytes >= LIMIT;
            if delivered.left_some {
                break;
            }
            let Some(message) = next() else { break };
            delivered.bytes += message.payload.len() + size_of::<ReceivedMessage>();
            delivered.messages.push_back(message);
        }
        delivered.messages.len() > before
    }

    /// Whether there is a message, without taking it; `None` if the core has to be polled to tell.
    pub(crate) fn has_message(&self) -> Option<bool> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let delivered = self.delivered.lock().unwrap_or_else(PoisonError::into_inner);
        if !taken.is_empty() || !delivered.messages.is_empty() {
            return Some(true);
        }
        (!delivered.left_some).then_some(false)
    }

    /// Takes the next message, or part of a message if `takes_parts`.
    pub(crate) fn look(&self, takes_parts: bool) -> Looked {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.is_empty() {
            let mut delivered = self.delivered.lock().unwrap_or_else(PoisonError::into_inner);
            mem::swap(&mut *taken, &mut delivered.messages);
            delivered.bytes = 0;
            // Several tasks may read; all of them ask until there is no more.
            if taken.is_empty() && delivered.left_some {
                return Looked::Ask;
            }
        }
        let is_part = |next: &ReceivedMessage| next.extent != Extent::Whole;
        if !takes_parts && taken.front().is_some_and(is_part) {
            return Looked::Part;
        }
        taken.pop_front().map_or(Looked::Empty, Looked::Message)
    }
}

//! Where do received messages wait for the application? Between the driver, which fills, and the handles, which
//! empty, under a lock of their own: a receiver does not contend with the traffic of its endpoint.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Mutex, PoisonError};

use anabranch_proto::ReceivedMessage;

/// Bytes beyond which the driver leaves messages in the core, where they count against the receive buffer. A message
/// takes memory beside its payload, or a flood of tiny ones would take much more.
const LIMIT: usize = 64 << 10;

/// Messages on their way from the core to the handles of one association.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    delivered: Mutex<Delivered>,
    /// What a handle took in one go. Locked before `delivered`.
    taken: Mutex<VecDeque<ReceivedMessage>>,
}

#[derive(Debug, Default)]
struct Delivered {
    messages: VecDeque<ReceivedMessage>,
    bytes: usize,
    /// The core has more.
    left_some: bool,
}

/// What a look into the inbox showed.
#[derive(Debug)]
pub(crate) enum Looked {
    Message(ReceivedMessage),
    /// Nothing is here, but the core has more: it must be asked, then looked again.
    Ask,
    Empty,
}

impl Inbox {
    /// Takes messages from `next` until it has none or the inbox is full; `true` if any came.
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

    pub(crate) fn look(&self) -> Looked {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.is_empty() {
            let mut delivered = self.delivered.lock().unwrap_or_else(PoisonError::into_inner);
            mem::swap(&mut *taken, &mut delivered.messages);
            delivered.bytes = 0;
            // Several may look; all of them ask until there is no more.
            if taken.is_empty() && delivered.left_some {
                return Looked::Ask;
            }
        }
        taken.pop_front().map_or(Looked::Empty, Looked::Message)
    }
}

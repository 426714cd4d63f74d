//! Delivery queue: complete messages for the application, in the order in which they became deliverable.

use alloc::collections::VecDeque;

use crate::message::ReceivedMessage;

/// Capacity that an empty queue keeps; more would waste memory in associations that are idle after a burst.
const KEPT_SLOTS: usize = 16;

/// The queue between the protocol and the application.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    messages: VecDeque<ReceivedMessage>,
}

impl Delivery {
    pub(super) fn push(&mut self, message: ReceivedMessage) {
        self.messages.push_back(message);
    }

    pub(super) fn pop(&mut self) -> Option<ReceivedMessage> {
        let message = self.messages.pop_front()?;
        if self.messages.is_empty() && self.messages.capacity() > KEPT_SLOTS {
            self.messages.shrink_to(KEPT_SLOTS);
        }
        Some(message)
    }

    /// Length of each message in bytes.
    pub(super) fn lengths(&self) -> impl Iterator<Item = usize> + '_ {
        self.messages.iter().map(|message| message.payload.len())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}

//! Delivery queue: complete messages for the application, in the order in which they became deliverable.

use alloc::collections::VecDeque;

use crate::message::ReceivedMessage;
use crate::on_demand::{Idle, OnDemand};

/// Capacity that an empty queue keeps; more would waste memory in associations that are idle after a burst.
const KEPT_SLOTS: usize = 16;

/// The queue between the protocol and the application.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    queue: OnDemand<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    messages: VecDeque<ReceivedMessage>,
}

impl Idle for Queue {
    const IDLE: &'static Self = &Self {
        messages: VecDeque::new(),
    };

    fn is_idle(&self) -> bool {
        self.messages.is_empty()
    }
}

impl Delivery {
    #[inline(always)] // once for each message
    pub(super) fn push(&mut self, message: ReceivedMessage) {
        self.queue.make_mut().messages.push_back(message);
    }

    pub(super) fn pop(&mut self) -> Option<ReceivedMessage> {
        let messages = &mut self.queue.active_mut()?.messages;
        let message = messages.pop_front()?;
        if messages.is_empty() && messages.capacity() > KEPT_SLOTS {
            messages.shrink_to(KEPT_SLOTS);
        }
        Some(message)
    }

    /// Releases the memory of an empty queue.
    pub(super) fn release_memory(&mut self) {
        self.queue.release_if_idle();
    }

    /// Length of each message in bytes.
    pub(super) fn lengths(&self) -> impl Iterator<Item = usize> + '_ {
        self.queue.messages.iter().map(|message| message.payload.len())
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.queue.active().is_none_or(|queue| queue.messages.is_empty())
    }
}

//! Delivery queue: messages for the application, in the order in which they became deliverable.
//!
//! While a message is delivered in parts from DATA chunks, other messages wait behind it (RFC 6458 §8.1.20, levels 0 and 1).

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
    /// Whether other messages wait for the end of one that is delivered in parts.
    is_holding: bool,
    /// Those that wait.
    held: VecDeque<ReceivedMessage>,
}

impl Idle for Queue {
    const IDLE: &'static Self = &Self {
        messages: VecDeque::new(),
        is_holding: false,
        held: VecDeque::new(),
    };

    fn is_idle(&self) -> bool {
        self.messages.is_empty() && !self.is_holding
    }
}

impl Delivery {
    #[inline(always)] // once for each message
    pub(super) fn push(&mut self, message: ReceivedMessage) {
        let queue = self.queue.make_mut();
        if queue.is_holding {
            queue.held.push_back(message);
        } else {
            queue.messages.push_back(message);
        }
    }

    /// Adds a part of a message, which does not wait for others.
    pub(super) fn push_part(&mut self, part: ReceivedMessage) {
        self.queue.make_mut().messages.push_back(part);
    }

    /// Holds messages back from now on, but not parts.
    pub(super) fn hold(&mut self) {
        self.queue.make_mut().is_holding = true;
    }

    /// Adds the messages that were held back.
    pub(super) fn end_hold(&mut self) {
        if let Some(queue) = self.queue.active_mut() {
            queue.is_holding = false;
            queue.messages.append(&mut queue.held);
            queue.held = VecDeque::new();
        }
    }

    /// Whether messages are held back.
    pub(super) fn holds_any(&self) -> bool {
        self.queue.active().is_some_and(|queue| !queue.held.is_empty())
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

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
    /// Bytes added, and bytes removed, since it was allocated.
    added: u64,
    removed: u64,
}

impl Idle for Queue {
    const IDLE: &'static Self = &Self {
        messages: VecDeque::new(),
        is_holding: false,
        held: VecDeque::new(),
        added: 0,
        removed: 0,
    };

    fn is_idle(&self) -> bool {
        self.messages.is_empty() && !self.is_holding
    }
}

impl Delivery {
    #[inline(always)] // once for each message
    pub(super) fn push(&mut self, message: ReceivedMessage) {
        let queue = self.queue.make_mut();
        queue.added += message.payload.len() as u64;
        if queue.is_holding {
            queue.held.push_back(message);
        } else {
            queue.messages.push_back(message);
        }
    }

    /// Adds a part of a message, which does not wait for others.
    pub(super) fn push_part(&mut self, part: ReceivedMessage) {
        let queue = self.queue.make_mut();
        queue.added += part.payload.len() as u64;
        queue.messages.push_back(part);
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
        let Queue {
            messages, removed, ..
        } = self.queue.active_mut()?;
        let message = messages.pop_front()?;
        *removed += message.payload.len() as u64;
        if messages.is_empty() && messages.capacity() > KEPT_SLOTS {
            messages.shrink_to(KEPT_SLOTS);
        }
        Some(message)
    }

    /// Bytes that became readable since the queue was allocated, and how many of them are unread.
    pub(super) fn readable_and_unread(&self) -> (u64, u64) {
        let queue = &*self.queue;
        (queue.added, queue.added - queue.removed)
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

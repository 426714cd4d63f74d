//! Message queues of all streams, in one slab with a linked list per stream.
//!
//! A stream costs two indices instead of a buffer of its own, so thousands of streams take little memory.

use alloc::vec::Vec;
use core::{mem, num::NonZeroU32};

use anabranch_types::MessageId;

use crate::message::Message;

/// A message or a part of one with at least one unsent byte; its payload is the unsent rest.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) id: MessageId,
    pub(super) message: Message,
    /// Whether the message ends with it.
    pub(super) ends: bool,
    next: Option<Slot>,
}

impl Waiting {
    /// Payload bytes not sent yet.
    pub(super) fn bytes(&self) -> u64 {
        self.message.payload.len() as u64
    }
}

/// An index into the slab, from 1, so that an `Option` takes no extra space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slot(NonZeroU32);

impl Slot {
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

#[derive(Debug)]
enum Place {
    Taken(Waiting),
    Free { next: Option<Slot> },
}

/// The message queue of one stream.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Queue {
    first: Option<Slot>,
    last: Option<Slot>,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }
}

/// The message queues of all streams.
#[derive(Default, Debug)]
pub(super) struct Slab {
    places: Vec<Place>,
    free: Option<Slot>,
}

impl Slab {
    /// Adds a message, or a part of one, which ends it or not.
    pub(super) fn push(&mut self, queue: &mut Queue, (id, ends): (MessageId, bool), message: Message) {
        let slot = self.store(Waiting {
            id,
            message,
            ends,
            next: None,
        });
        match queue.last.replace(slot) {
            Some(last) => self.at_mut(last).next = Some(slot),
            None => queue.first = Some(slot),
        }
    }

    /// Puts a message, or a part of one, before all others.
    pub(super) fn push_front(&mut self, queue: &mut Queue, (id, ends): (MessageId, bool), message: Message) {
        let slot = self.store(Waiting {
            id,
            message,
            ends,
            next: queue.first,
        });
        queue.first = Some(slot);
        queue.last.get_or_insert(slot);
    }

    pub(super) fn first(&self, queue: Queue) -> Option<&Waiting> {
        queue.first.map(|slot| self.at(slot))
    }

    pub(super) fn first_mut(&mut self, queue: Queue) -> Option<&mut Waiting> {
        queue.first.map(|slot| self.at_mut(slot))
    }

    pub(super) fn last_mut(&mut self, queue: Queue) -> Option<&mut Waiting> {
        queue.last.map(|slot| self.at_mut(slot))
    }

    pub(super) fn pop(&mut self, queue: &mut Queue) -> Option<Waiting> {
        let slot = queue.first?;
        let place = mem::replace(&mut self.places[slot.index()], Place::Free { next: self.free });
        self.free = Some(slot);
        let Place::Taken(waiting) = place else {
            unreachable!("a queue leads to messages only");
        };
        queue.first = waiting.next;
        if queue.first.is_none() {
            queue.last = None;
        }
        Some(waiting)
    }

    /// Whether the queue has `message`.
    pub(super) fn has(&self, queue: Queue, message: MessageId) -> bool {
        self.walk(queue).any(|slot| self.at(slot).id == message)
    }

    /// Bytes of the parts at the head of the queue that are of one message.
    pub(super) fn queued_of_head(&self, queue: Queue) -> u64 {
        let Some(head) = self.first(queue) else { return 0 };
        let parts = self.walk(queue).map(|slot| self.at(slot));
        parts
            .take_while(|part| part.id == head.id)
            .map(Waiting::bytes)
            .sum()
    }

    /// Removes `message`, or its first part, from the queue.
    pub(super) fn remove(&mut self, queue: &mut Queue, message: MessageId) -> Option<Waiting> {
        let found = self.walk(*queue).find(|slot| self.at(*slot).id == message)?;
        if queue.first == Some(found) {
            return self.pop(queue);
        }
        let before = self
            .walk(*queue)
            .find(|slot| self.at(*slot).next == Some(found))?;
        let mut alone = Queue {
            first: Some(found),
            last: Some(found),
        };
        let next = self.at_mut(found).next.take();
        self.at_mut(before).next = next;
        if next.is_none() {
            queue.last = Some(before);
        }
        self.pop(&mut alone)
    }

    fn walk(&self, queue: Queue) -> impl Iterator<Item = Slot> {
        core::iter::successors(queue.first, |slot| self.at(*slot).next)
    }

    /// All messages, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.places.iter().filter_map(|place| match place {
            Place::Taken(waiting) => Some(waiting),
            Place::Free { .. } => None,
        })
    }

    /// Releases memory. To be called when all queues are empty.
    pub(super) fn shrink(&mut self, keep: usize) {
        if self.places.capacity() > keep {
            debug_assert!(self.iter().next().is_none(), "shrinking forgets all messages");
            *self = Self::default();
        }
    }

    #[cfg(test)]
    pub(super) fn capacity_in_bytes(&self) -> usize {
        self.places.capacity() * size_of::<Place>()
    }

    fn store(&mut self, waiting: Waiting) -> Slot {
        if let Some(slot) = self.free {
            let place = mem::replace(&mut self.places[slot.index()], Place::Taken(waiting));
            let Place::Free { next } = place else {
                unreachable!("the free list leads to free places only");
            };
            self.free = next;
            return slot;
        }
        self.places.push(Place::Taken(waiting));
        let number = u32::try_from(self.places.len()).ok().and_then(NonZeroU32::new);
        Slot(number.expect("fewer than 2³² messages wait: each has a byte and the send buffer is smaller"))
    }

    fn at(&self, slot: Slot) -> &Waiting {
        match &self.places[slot.index()] {
            Place::Taken(waiting) => waiting,
            Place::Free { .. } => unreachable!("a queue leads to messages only"),
        }
    }

    fn at_mut(&mut self, slot: Slot) -> &mut Waiting {
        match &mut self.places[slot.index()] {
            Place::Taken(waiting) => waiting,
            Place::Free { .. } => unreachable!("a queue leads to messages only"),
        }
    }
}

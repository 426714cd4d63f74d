//! Index of an endpoint: what follows from the state of its associations, and is updated after one may have changed.

use alloc::collections::VecDeque;
use core::mem;
use core::net::IpAddr;

use anabranch_types::{AssociationId, Instant};

use super::directory::Directory;
use super::limits::Limits;
use super::spent::Spent;
use super::timer_queue::{Entry, TimerQueue};
use crate::association::Association;
use crate::config::EndpointConfig;

/// An association, and its part of the [`Index`].
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) association: Association,
    /// Whether the directory has it so.
    pub(super) is_in_handshake: bool,
    /// Memory of received data, as it counts for the limits.
    pub(super) held: u64,
    /// Bytes in the send buffer, as they count for the limits.
    pub(super) queued: u64,
    /// The prefix for which it counts; `None` if we set it up.
    pub(super) prefix: Option<IpAddr>,
    pub(super) entry: Entry,
}

/// Addresses, timers, events and memory of all associations.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) directory: Directory,
    pub(super) timers: TimerQueue,
    /// Associations with events.
    pub(super) eventful: VecDeque<AssociationId>,
    pub(super) limits: Limits,
    /// The latest time given by the driver.
    pub(super) latest: Instant,
}

impl Index {
    pub(super) fn new(config: &EndpointConfig) -> Self {
        Self {
            directory: Directory::new(config.cookie_life),
            timers: TimerQueue::default(),
            eventful: VecDeque::new(),
            limits: Limits::new(config),
            latest: Instant::ZERO,
        }
    }

    /// Adds an association, which a peer at `source` set up, or we did. [`Index::follow`] lists it.
    pub(super) fn add(&mut self, association: Association, source: Option<IpAddr>) -> Slot {
        Slot {
            is_in_handshake: association.is_in_handshake(),
            association,
            held: 0,
            queued: 0,
            prefix: self.limits.add(source),
            entry: Entry::default(),
        }
    }

    /// Follows an association that may have changed, and lists it to be polled next.
    pub(super) fn follow(&mut self, slot: &mut Slot) {
        self.note_changes(slot);
        if slot.association.is_done() {
            self.directory
                .retire(&slot.association, Spent::Ended, self.latest);
        }
        let held = slot.association.transfer.receiver.memory();
        self.limits.update(&mut slot.held, held);
        let queued = slot.association.transfer.sender.send_used();
        self.limits.update_queued(&mut slot.queued, queued);
        self.timers.touch(slot.association.id, &mut slot.entry);
    }

    /// Updates directory and event queue.
    pub(super) fn note_changes(&mut self, slot: &mut Slot) {
        let association = &mut slot.association;
        let is_in_handshake = association.is_in_handshake();
        let is_settled = mem::replace(&mut slot.is_in_handshake, is_in_handshake) == is_in_handshake;
        if !is_settled || association.addresses.is_moved() {
            let removed = association.addresses.take_removed();
            self.directory.index(association, &removed);
        }
        if !slot.entry.has_events && association.has_events() {
            slot.entry.has_events = true;
            self.eventful.push_back(association.id);
        }
    }
}

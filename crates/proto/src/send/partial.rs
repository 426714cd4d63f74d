//! Partially reliable messages (RFC 3758, RFC 7496). Which messages may be abandoned, and which were?
//!
//! Reliable messages have no entry here, so they cost one test of an empty map.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use core::time::Duration;

use anabranch_types::{Instant, IntervalSet, MessageId, StreamId, UnwrappedTsn};

use super::chunk::Chunk;
use crate::message::Reliability;
use crate::on_demand::{Idle, OnDemand};

/// Abandoned messages that are not reported yet. Further ones are counted only, so that an application that never asks for events
/// does not use unbounded memory.
const MAX_UNREPORTED: usize = 1_024;

/// Messages that were abandoned (RFC 7496 §4.3, §4.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Abandonments {
    /// Of which nothing had been sent.
    pub unsent: u64,
    /// Of which a part had been sent, or all, and was not acknowledged.
    pub sent: u64,
}

impl Abandonments {
    const fn count(&mut self, sent: bool) {
        if sent {
            self.sent += 1;
        } else {
            self.unsent += 1;
        }
    }
}

/// A message that was abandoned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Abandoned {
    pub(crate) message: MessageId,
    pub(crate) stream: StreamId,
    /// Whether a part of it had been sent.
    pub(crate) sent: bool,
}

/// A message that may be abandoned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) stream: StreamId,
    pub(super) limit: Limit,
    /// The first and the last TSN of its chunks.
    pub(super) tsns: Option<(UnwrappedTsn, UnwrappedTsn)>,
}

/// When a message is abandoned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Limit {
    /// So much time after it was queued, which is not known yet.
    Lifetime(Duration),
    /// From this time on.
    Deadline(Instant),
    /// The time has passed; what was sent of it is in flight.
    Expired,
    /// When a chunk of it would be retransmitted more often.
    Retransmissions(u16),
    /// When the send buffer has no room for a message with a lower number.
    Priority(u32),
}

/// The state of partial reliability. It is allocated with the first message that may be abandoned, and kept: it has the counts.
pub(super) type Partial = OnDemand<Messages>;

impl Partial {
    /// Whether there are messages that may be abandoned.
    #[inline]
    pub(super) fn has_messages(&self) -> bool {
        self.has(|messages| !messages.messages.is_empty())
    }

    /// Whether an abandoned message waits for a TSN.
    #[inline]
    pub(super) fn has_ends(&self) -> bool {
        self.has(|messages| !messages.ends.is_empty())
    }

    /// Whether there are abandoned TSNs above the cumulative TSN ack point.
    #[inline]
    pub(super) fn has_skipped(&self) -> bool {
        self.has(|messages| !messages.skipped.is_empty())
    }

    /// Whether an abandoned message was not reported yet.
    #[inline]
    pub(super) fn has_report(&self) -> bool {
        self.has(|messages| !messages.unreported.is_empty())
    }

    /// Whether the paths' facts are to be updated.
    #[inline]
    pub(super) fn has_stale_facts(&self) -> bool {
        self.has(|messages| messages.facts_are_stale)
    }

    /// When a lifetime ends next.
    #[inline]
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let (deadline, _) = self.active()?.deadlines.first()?;
        Some(*deadline)
    }

    #[inline]
    fn has(&self, holds: impl FnOnce(&Messages) -> bool) -> bool {
        self.active().is_some_and(holds)
    }
}

/// All messages that may be abandoned, and the TSNs of those that were.
#[derive(Debug)]
pub(super) struct Messages {
    pub(super) messages: BTreeMap<MessageId, Entry>,
    /// Messages whose lifetime has not started: the time is known only at the next poll.
    new: VecDeque<MessageId>,
    deadlines: BTreeSet<(Instant, MessageId)>,
    /// Whether chunks were lost, or deadlines passed, since [`super::Sender::abandon_lost`] was called last.
    pub(super) is_unsettled: bool,
    /// Whether sent chunks were abandoned for a new message, so that the facts and timers of their paths are out of date.
    pub(super) facts_are_stale: bool,
    /// Last chunks of abandoned messages, which get a TSN when no message is being sent in consecutive TSNs.
    pub(super) ends: VecDeque<Chunk>,
    /// Abandoned TSNs above the cumulative TSN ack point.
    pub(super) skipped: IntervalSet,
    pub(super) counts: Abandonments,
    pub(super) streams: BTreeMap<StreamId, Abandonments>,
    unreported: VecDeque<Abandoned>,
}

impl Default for Messages {
    fn default() -> Self {
        Self::NONE
    }
}

impl Idle for Messages {
    const IDLE: &'static Self = &Self::NONE;

    fn is_idle(&self) -> bool {
        self.messages.is_empty()
            && self.ends.is_empty()
            && self.skipped.is_empty()
            && self.counts == Abandonments::default()
    }
}

impl Messages {
    const NONE: Self = Self {
        messages: BTreeMap::new(),
        new: VecDeque::new(),
        deadlines: BTreeSet::new(),
        is_unsettled: false,
        facts_are_stale: false,
        ends: VecDeque::new(),
        skipped: IntervalSet::new(),
        counts: Abandonments { unsent: 0, sent: 0 },
        streams: BTreeMap::new(),
        unreported: VecDeque::new(),
    };

    /// Adds a message that was queued.
    pub(super) fn add(&mut self, message: MessageId, stream: StreamId, reliability: Reliability) {
        let limit = match reliability {
            Reliability::Reliable => return,
            Reliability::Lifetime(lifetime) => {
                self.new.push_back(message);
                Limit::Lifetime(lifetime)
            }
            Reliability::Retransmissions(most) => Limit::Retransmissions(most),
            Reliability::Priority(priority) => Limit::Priority(priority),
        };
        let entry = Entry {
            stream,
            limit,
            tsns: None,
        };
        self.messages.insert(message, entry);
    }

    /// Notes that a chunk of `message` is sent for the first time.
    pub(super) fn sent(&mut self, message: MessageId, tsn: UnwrappedTsn) {
        if let Some(entry) = self.messages.get_mut(&message) {
            let first = entry.tsns.map_or(tsn, |(first, _)| first);
            entry.tsns = Some((first, tsn));
        }
    }

    /// A chunk of `message` is acknowledged cumulatively, as all up to `cumulative` are. The message is complete with its last chunk,
    /// which is not the last fragment if that was sent ahead of others. `is_sent` tells whether all of it on that stream was sent.
    pub(super) fn acknowledged(
        &mut self,
        message: MessageId,
        cumulative: UnwrappedTsn,
        is_sent: impl FnOnce(StreamId) -> bool,
    ) {
        let is_complete =
            |entry: &Entry| entry.tsns.is_some_and(|(_, last)| last <= cumulative) && is_sent(entry.stream);
        if self.messages.get(&message).is_some_and(is_complete) {
            self.remove(message);
        }
    }

    /// Removes a message that was acknowledged or abandoned.
    pub(super) fn remove(&mut self, message: MessageId) -> Option<Entry> {
        let entry = self.messages.remove(&message)?;
        match entry.limit {
            Limit::Deadline(deadline) => {
                self.deadlines.remove(&(deadline, message));
            }
            Limit::Lifetime(_) => self.new.retain(|new| *new != message),
            Limit::Expired | Limit::Retransmissions(_) | Limit::Priority(_) => {}
        }
        Some(entry)
    }

    /// Starts the lifetimes of messages that were queued since the last call.
    pub(super) fn start_lifetimes(&mut self, now: Instant) {
        while let Some(message) = self.new.pop_front() {
            if let Some(entry) = self.messages.get_mut(&message)
                && let Limit::Lifetime(lifetime) = entry.limit
            {
                entry.limit = Limit::Deadline(now + lifetime);
                self.deadlines.insert((now + lifetime, message));
            }
        }
    }

    /// Takes a message whose deadline has passed.
    pub(super) fn next_expired(&mut self, now: Instant) -> Option<MessageId> {
        let first = *self.deadlines.first().filter(|(deadline, _)| *deadline <= now)?;
        self.deadlines.remove(&first);
        if let Some(entry) = self.messages.get_mut(&first.1) {
            entry.limit = Limit::Expired;
        }
        Some(first.1)
    }

    /// The message with the lowest priority, which is the highest number, if it is lower than `priority`, or that of a reliable
    /// message; the oldest of several.
    pub(super) fn less_important_than(&self, priority: Option<u32>) -> Option<MessageId> {
        let of = |(message, entry): (&MessageId, &Entry)| match entry.limit {
            Limit::Priority(number) => Some((number, core::cmp::Reverse(*message))),
            _ => None,
        };
        let (lowest, message) = self.messages.iter().filter_map(of).max()?;
        priority
            .is_none_or(|priority| lowest > priority)
            .then_some(message.0)
    }

    /// Whether a lost chunk of `message` that was sent `transmissions` times is given up.
    pub(super) fn gives_up(&self, message: MessageId, transmissions: u32) -> bool {
        self.messages
            .get(&message)
            .is_some_and(|entry| match entry.limit {
                Limit::Expired => true,
                Limit::Retransmissions(most) => transmissions > u32::from(most),
                Limit::Lifetime(_) | Limit::Deadline(_) | Limit::Priority(_) => false,
            })
    }

    /// Counts an abandoned message.
    pub(super) fn count(&mut self, abandoned: Abandoned) {
        self.counts.count(abandoned.sent);
        self.streams
            .entry(abandoned.stream)
            .or_default()
            .count(abandoned.sent);
        if self.unreported.len() < MAX_UNREPORTED {
            self.unreported.push_back(abandoned);
        }
    }

    pub(super) fn take_report(&mut self) -> Option<Abandoned> {
        self.unreported.pop_front()
    }

    /// Forgets all limits, because the peer does not support FORWARD TSN.
    pub(super) fn make_reliable(&mut self) {
        self.messages.clear();
        self.new.clear();
        self.deadlines.clear();
    }
}

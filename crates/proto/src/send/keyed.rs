//! Messages that name a shared key (RFC 6458 §5.3.8). By which key is a packet authenticated, and which keys do messages still need?
//!
//! A packet has one AUTH chunk, so its messages have one key. Messages that name none are authenticated by the selected key, have no entry
//! here, and cost one test of an empty map.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

use anabranch_types::{MessageId, UnwrappedTsn};
use anabranch_wire::chunk::kind;
use anabranch_wire::{Chunk, Packet};

use super::Sender;
use crate::on_demand::{Idle, OnDemand};

/// The key of a message; `None` is the selected key.
type Named = Option<u16>;

/// A message that names a key.
#[derive(Clone, Copy, Debug)]
struct KeyedMessage {
    key: u16,
    /// Payload bytes that are not acknowledged cumulatively.
    unacknowledged: u64,
    /// Whether all of it is queued; a message that is sent in parts may not be.
    is_whole: bool,
}

#[derive(Debug)]
pub(super) struct Keyed {
    /// The messages that are not acknowledged.
    messages: BTreeMap<MessageId, KeyedMessage>,
    /// The key of the packet that is being written, once it has a message.
    packet: Option<Named>,
    /// Deactivated keys that messages still need.
    draining: BTreeSet<u16>,
    /// Deactivated keys that no message needs any more, and that were not reported.
    free: VecDeque<u16>,
}

impl Keyed {
    const NONE: Self = Self {
        messages: BTreeMap::new(),
        packet: None,
        draining: BTreeSet::new(),
        free: VecDeque::new(),
    };

    fn is_needed(&self, key: u16) -> bool {
        self.messages.values().any(|message| message.key == key)
    }

    fn key_of(&self, message: MessageId) -> Named {
        self.messages.get(&message).map(|message| message.key)
    }

    /// Forgets a message that was acknowledged or abandoned.
    fn remove(&mut self, message: MessageId) {
        if let Some(message) = self.messages.remove(&message) {
            self.settle(message.key);
        }
    }

    fn settle(&mut self, key: u16) {
        if !self.is_needed(key) && self.draining.remove(&key) {
            self.free.push_back(key);
        }
    }
}

impl Default for Keyed {
    fn default() -> Self {
        Self::NONE
    }
}

impl Idle for Keyed {
    const IDLE: &'static Self = &Self::NONE;

    fn is_idle(&self) -> bool {
        self.messages.is_empty() && self.draining.is_empty() && self.free.is_empty()
    }
}

/// The messages that name a key, from the first of them until all are acknowledged.
pub(super) type KeyedMessages = OnDemand<Keyed>;

impl KeyedMessages {
    /// Notes the key of a message that was queued, or the first part of it.
    pub(super) fn add(&mut self, message: MessageId, key: u16, bytes: u64, is_whole: bool) {
        let keyed = KeyedMessage {
            key,
            unacknowledged: bytes,
            is_whole,
        };
        self.make_mut().messages.insert(message, keyed);
    }

    /// Notes a further part of a message.
    pub(super) fn extend(&mut self, message: MessageId, bytes: u64, is_whole: bool) {
        let messages = self.active_mut().map(|keyed| &mut keyed.messages);
        if let Some(keyed) = messages.and_then(|messages| messages.get_mut(&message)) {
            keyed.unacknowledged += bytes;
            keyed.is_whole = is_whole;
        }
    }

    /// Notes that `bytes` of a message were acknowledged cumulatively. Its last fragment may be acknowledged before others: a fragment that
    /// was sent ahead has a lower TSN.
    pub(super) fn acknowledged(&mut self, message: MessageId, bytes: u64) {
        let Some(keyed) = self.active_mut() else {
            return;
        };
        let Some(known) = keyed.messages.get_mut(&message) else {
            return;
        };
        known.unacknowledged = known.unacknowledged.saturating_sub(bytes);
        if known.unacknowledged == 0 && known.is_whole {
            keyed.remove(message);
        }
    }

    /// Forgets a message that was refused or abandoned.
    #[inline]
    pub(super) fn remove(&mut self, message: MessageId) {
        if let Some(keyed) = self.active_mut() {
            keyed.remove(message);
        }
    }

    /// Whether `message` may be added to the packet that is being written; it then determines or has the packet's key.
    #[inline]
    pub(super) fn admits(&mut self, message: impl FnOnce() -> Option<MessageId>) -> bool {
        let Some(keyed) = self.active_mut() else {
            return true;
        };
        let key = message().and_then(|message| keyed.key_of(message));
        *keyed.packet.get_or_insert(key) == key
    }
}

impl Sender {
    /// Begins a packet, which has no messages yet.
    #[inline]
    pub(crate) fn begin_packet(&mut self) {
        if let Some(keyed) = self.keyed.active_mut() {
            keyed.packet = None;
            self.keyed.release_if_idle();
        }
    }

    /// Whether the chunk `tsn` may be added to the packet that is being written.
    #[inline]
    pub(crate) fn admits_again(&mut self, tsn: UnwrappedTsn) -> bool {
        let scoreboard = &self.scoreboard;
        self.keyed
            .admits(|| scoreboard.chunk(tsn).map(|chunk| chunk.message))
    }

    /// The key that the messages of `packet` name.
    #[cold]
    pub(crate) fn key_of(&self, packet: &Packet<'_>) -> Option<u16> {
        let keyed = self.keyed.active()?;
        let mut chunks = packet.chunks().flatten();
        let raw = chunks.find(|raw| matches!(raw.kind, kind::DATA | kind::I_DATA | kind::PART))?;
        let tsn = match raw.decode().ok()? {
            Chunk::Data(data) => data.tsn,
            Chunk::IData(data) => data.tsn,
            Chunk::Part(part) => part.tsn,
            _ => return None,
        };
        let chunk = self.scoreboard.chunk(self.cumulative().nearest(tsn))?;
        keyed.key_of(chunk.message)
    }

    /// Whether a message that is not acknowledged names the key `id`.
    pub(crate) fn needs_key(&self, id: u16) -> bool {
        self.keyed.is_needed(id)
    }

    /// Reports the key `id`, which is deactivated, when no message needs it any more.
    pub(crate) fn drain_key(&mut self, id: u16) {
        let keyed = self.keyed.make_mut();
        keyed.draining.insert(id);
        keyed.settle(id);
    }

    /// No longer reports the key `id`, because it was deleted or set again.
    pub(crate) fn forget_key(&mut self, id: u16) {
        if let Some(keyed) = self.keyed.active_mut() {
            keyed.draining.remove(&id);
            keyed.free.retain(|free| *free != id);
        }
    }

    /// Takes a deactivated key that no message needs any more.
    pub(crate) fn next_free_key(&mut self) -> Option<u16> {
        self.keyed.active_mut()?.free.pop_front()
    }

    /// Whether there is a deactivated key that no message needs any more.
    #[inline]
    pub(crate) fn has_free_key(&self) -> bool {
        self.keyed.active().is_some_and(|keyed| !keyed.free.is_empty())
    }

    /// Takes over deactivated keys after a restart of the peer, whose messages are lost.
    pub(super) fn keep_free_keys(&mut self, before: &Self) {
        if let Some(keyed) = before.keyed.active() {
            let free = &mut self.keyed.make_mut().free;
            free.extend(keyed.free.iter().chain(&keyed.draining));
        }
    }
}

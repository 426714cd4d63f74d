//! Abandoning of messages (RFC 3758 §3.5). What becomes of the chunks of a message that is given up?
//!
//! ```text
//! unsent:                 it leaves its queue, and needs no TSN
//! sent in part or whole:  its TSNs count as acknowledged without credit for the cwnd, and FORWARD TSN reports them; what was not
//!                         sent of it is represented by one more TSN, which is never sent as DATA
//! ```
//!
//! That one TSN keeps the last fragment that was sent apart from the first of the next message: a receiver that does not know yet
//! that the message was abandoned would take them for neighbours.

use alloc::vec::Vec;

use anabranch_policy::StreamScheduler;
use anabranch_types::{Instant, MessageId, Mid, PathId, Serial as _, Ssn, StreamId, Tsn, UnwrappedTsn};
use anabranch_wire::{OutboundForwardTsn, OutboundIForwardTsn, SkippedMid};
use bytes::Bytes;

use super::Sender;
use super::chunk::{Chunk, Place};
use super::partial::{Abandoned, Abandonments};
use crate::message::Reliability;

/// A FORWARD TSN or I-FORWARD-TSN to be sent.
#[derive(Debug)]
pub(crate) enum Forward {
    Tsn(OutboundForwardTsn),
    ITsn(OutboundIForwardTsn),
}

impl Sender {
    /// Whether both ends support partial reliability.
    pub(crate) const fn is_partially_reliable(&self) -> bool {
        self.partially_reliable
    }

    //= rfc3758 3.3.2-4, 3.3.2-5, 3.3.3-2, 3.3.3-3, 3.3.3-4
    /// Applies whether the peer supports partial reliability too. If it does not, all messages are reliable.
    pub(crate) fn negotiate_reliability(&mut self, agreed: bool) {
        self.partially_reliable = agreed;
        if !agreed && self.partial.has_messages() {
            self.partial.make_mut().make_reliable();
        }
    }

    //= rfc7496 3-1
    /// Adds a message that may be abandoned. Before the handshake is complete it is not known whether the peer supports that.
    pub(super) fn add_unreliable(&mut self, message: MessageId, stream: StreamId, reliability: Reliability) {
        if self.partially_reliable || !self.was_negotiated {
            self.partial.make_mut().add(message, stream, reliability);
        }
    }

    /// Whether any message may be abandoned.
    #[inline]
    pub(crate) fn has_unreliable(&self) -> bool {
        self.partial.has_messages() || self.partial.has_ends()
    }

    /// Numbers of abandoned messages.
    pub(crate) fn abandonments(&self) -> Abandonments {
        self.partial.counts
    }

    /// Numbers of abandoned messages of one stream.
    pub(crate) fn abandonments_on(&self, stream: StreamId) -> Abandonments {
        self.partial.streams.get(&stream).copied().unwrap_or_default()
    }

    /// Takes an abandoned message that was not reported yet.
    pub(crate) fn next_abandoned(&mut self) -> Option<Abandoned> {
        if self.partial.has_report() {
            self.partial.make_mut().take_report()
        } else {
            None
        }
    }

    /// Whether an abandoned message was not reported yet.
    pub(crate) fn has_abandoned(&self) -> bool {
        self.partial.has_report()
    }

    /// When a lifetime ends next.
    pub(crate) fn expiry(&self) -> Option<Instant> {
        self.partial.next_deadline()
    }

    //= rfc3758 4.1-1, 4.1-2, 4.1-3, 4.1-4, 4.1-8
    /// Abandons messages whose lifetime has ended. A message of which nothing is unsent is abandoned when a chunk of it is lost, so
    /// that the loss reduces the cwnd (RFC 3758 §3.5 F5). Returns whether sent chunks were abandoned.
    pub(crate) fn expire(&mut self, scheduler: &mut dyn StreamScheduler, now: Instant) -> bool {
        self.partial.make_mut().start_lifetimes(now);
        let mut sent = self.put_ends();
        while let Some(message) = self.partial.make_mut().next_expired(now) {
            if self.is_partly_unsent(message) {
                sent |= self.abandon(message, scheduler);
            } else {
                self.partial.make_mut().is_unsettled = true;
            }
        }
        sent
    }

    //= rfc3758 3.1-1, 3.4-1, 3.5-1, 3.5-19, 4.1-7
    //= rfc7496 3.1-1, 3.1-2
    /// Abandons messages that have a lost chunk which may not be retransmitted. Returns whether there were any.
    pub(crate) fn abandon_lost(&mut self, scheduler: &mut dyn StreamScheduler) -> bool {
        if !self.partial.is_unsettled {
            return false;
        }
        self.partial.make_mut().is_unsettled = false;
        let mut hopeless = Vec::new();
        let mut next = self.scoreboard.next_lost();
        while let Some(chunk) = next {
            let message = self.scoreboard.message_of(chunk.tsn);
            if hopeless.last() != Some(&message) && self.partial.gives_up(message, chunk.transmissions.into())
            {
                hopeless.push(message);
            }
            next = self.scoreboard.lost_after(chunk.tsn);
        }
        for message in &hopeless {
            self.abandon(*message, scheduler);
        }
        !hopeless.is_empty()
    }

    /// Notes that chunks were marked as lost.
    pub(super) fn note_losses(&mut self, chunks: u32) {
        if chunks > 0 && self.partial.has_messages() {
            self.partial.make_mut().is_unsettled = true;
        }
    }

    /// Abandons messages with a lower priority until the buffer has room for `length` bytes; returns whether it has. Reliable messages
    /// have the highest priority (RFC 7496 §3.2).
    #[cold]
    pub(super) fn make_room(
        &mut self,
        length: u64,
        reliability: Reliability,
        scheduler: &mut dyn StreamScheduler,
    ) -> bool {
        let priority = match reliability {
            Reliability::Reliable => None,
            Reliability::Priority(priority) => Some(priority),
            Reliability::Lifetime(_) | Reliability::Retransmissions(_) => return false,
        };
        while self.partial.has_messages()
            && self.partially_reliable
            && length > self.free_space()
            && let Some(message) = self.partial.less_important_than(priority)
        {
            let is_stale = self.abandon(message, scheduler);
            self.partial.make_mut().facts_are_stale |= is_stale;
        }
        length <= self.free_space()
    }

    /// Whether sent chunks were abandoned for a new message, and the facts and timers of all paths were not updated since.
    #[inline]
    pub(crate) fn has_stale_facts(&self) -> bool {
        self.partial.has_stale_facts()
    }

    /// Takes [`Sender::has_stale_facts`]: the caller updates facts and timers now.
    pub(crate) fn take_stale_facts(&mut self) -> bool {
        self.has_stale_facts() && core::mem::take(&mut self.partial.make_mut().facts_are_stale)
    }

    //= rfc3758 4.1-6
    /// Whether the chunk `tsn` in flight may not be sent again, so that it is left to loss detection.
    pub(crate) fn gives_up(&self, tsn: UnwrappedTsn) -> bool {
        let sent = self.scoreboard.transmissions(tsn);
        sent.is_some_and(|(message, transmissions)| self.partial.gives_up(message, transmissions))
    }

    /// Whether the chunk that was sent last on `path` may not be sent again.
    pub(crate) fn gives_up_tail(&self, path: PathId) -> bool {
        let tail = || self.scoreboard.highest_in_flight(path);
        self.partial.has_messages() && tail().is_some_and(|tsn| self.gives_up(tsn))
    }

    fn is_partly_unsent(&self, message: MessageId) -> bool {
        let entry = self.partial.messages.get(&message);
        let waits = |stream| self.streams.has_waiting(stream, message);
        entry.is_some_and(|entry| waits(entry.stream))
            || self.streams.open.has(message)
            || self.line.at(self.line.find_message(message)).is_some()
    }

    //= rfc3758 3.5-5
    /// Abandons a message. Returns whether a chunk of it was sent.
    fn abandon(&mut self, message: MessageId, scheduler: &mut dyn StreamScheduler) -> bool {
        let Some(entry) = self.partial.make_mut().remove(message) else {
            return false;
        };
        self.keyed.remove(message);
        let mut rest = None;
        if let Some(line) = self.line.active_mut() {
            while let Some(chunk) = line.take(line.find_message(message)) {
                rest = Some(chunk);
            }
        }
        let rest = self.streams.abandon(entry.stream, message, scheduler).or(rest);
        let has_rest = rest.is_some();
        if let Some((first, end)) = entry.tsns {
            for tsn in first.0..=end.0 {
                let tsn = UnwrappedTsn(tsn);
                if self.scoreboard.abandon(tsn, message) {
                    self.partial.make_mut().skipped.insert(tsn.0..tsn.0 + 1);
                }
            }
        }
        // Also chunks that were skipped have their sequence numbers, which only a TSN can report.
        self.partial.make_mut().ends.extend(rest);
        if self.streams.bound() == Some(message) {
            self.streams.unbind();
        }
        self.put_ends();
        if self.low_water.watches(entry.stream) {
            let queued = self.queued_on(entry.stream);
            self.low_water.make_mut().fell_to(entry.stream, queued);
        }
        let sent = entry.tsns.is_some();
        self.partial.make_mut().count(Abandoned {
            message,
            stream: entry.stream,
            sent,
        });
        self.scoreboard.debug_check();
        sent || has_rest
    }

    /// Adds a TSN for the rest of each abandoned message that needs one. It waits while another message is being sent, whose fragments
    /// need consecutive TSNs (RFC 9260 §6.9), and while an earlier message of its stream is not sent, because the TSN reports all of
    /// them as skipped. Returns whether any was added.
    #[inline]
    pub(super) fn put_ends(&mut self) -> bool {
        self.partial.has_ends() && self.put_waiting_ends()
    }

    #[cold]
    fn put_waiting_ends(&mut self) -> bool {
        if self.streams.bound().is_some() {
            return false;
        }
        let ends = core::mem::take(&mut self.partial.make_mut().ends);
        let before = ends.len();
        for mut last in ends {
            if self.line.has_earlier(&last) {
                self.partial.make_mut().ends.push_back(last);
                continue;
            }
            last.payload = Bytes::new();
            last.flags.beginning = false;
            let tsn = self.scoreboard.put_skipped(last);
            self.partial.make_mut().skipped.insert(tsn.0..tsn.0 + 1);
        }
        self.partial.ends.len() < before
    }

    //= rfc3758 3.5-7
    /// The Advanced.Peer.Ack.Point, if it is above the cumulative TSN ack point (RFC 3758 §3.5 C2). It passes TSNs that the peer has
    /// reported as non-renegable, because skipping them changes nothing.
    #[inline]
    pub(crate) fn advanced_point(&self) -> Option<UnwrappedTsn> {
        self.partial
            .has_skipped()
            .then(|| self.point_past_skipped())
            .flatten()
    }

    #[cold]
    fn point_past_skipped(&self) -> Option<UnwrappedTsn> {
        let first = self.partial.skipped.iter().next()?;
        if first.start != self.cumulative().next().0 {
            return None;
        }
        let end = self.scoreboard.kept_through(first.start);
        let skipped = self.partial.skipped.iter();
        let last = skipped.take_while(|range| range.start < end).last()?;
        Some(UnwrappedTsn(last.end - 1))
    }

    //= rfc3758 3.1-3, 3.1-4, 3.5-9, 3.5-10
    //= rfc8260 2-2, 2.3.1-1, 2.3.1-6, 2.3.1-7, 2.3.1-8, 2.3.1-9
    /// The FORWARD TSN up to the Advanced.Peer.Ack.Point, or as far as it fits into `room` bytes.
    pub(crate) fn forward(&self, room: usize) -> Option<(UnwrappedTsn, Forward)> {
        let point = self.advanced_point()?;
        let interleaving = self.streams.is_interleaving();
        let entry_len = if interleaving {
            OutboundIForwardTsn::ENTRY_LEN
        } else {
            OutboundForwardTsn::ENTRY_LEN
        };
        let most = room.checked_sub(OutboundForwardTsn::HEADER_LEN)? / entry_len;
        let mut skipped: Vec<SkippedMid> = Vec::new();
        let mut reached = self.cumulative();
        for tsn in reached.next().0..=point.0 {
            let abandoned = self.partial.skipped.contains(tsn).then_some(UnwrappedTsn(tsn));
            let chunk = abandoned.and_then(|tsn| self.scoreboard.chunk(tsn));
            let Some(entry) = chunk.and_then(entry) else {
                reached = UnwrappedTsn(tsn);
                continue;
            };
            let same =
                |known: &SkippedMid| known.stream == entry.stream && known.unordered == entry.unordered;
            match skipped.iter().position(same) {
                // Messages of a stream may be sent ahead of others, so a later TSN does not mean a later message.
                Some(at) if precedes(skipped[at].mid, entry.mid, interleaving) => skipped[at] = entry,
                Some(_) => {}
                None if skipped.len() < most => skipped.push(entry),
                None => break,
            }
            reached = UnwrappedTsn(tsn);
        }
        (reached > self.cumulative()).then(|| (reached, forward(reached.wrap(), skipped, interleaving)))
    }
}

/// Whether message `first` comes before `second` in its stream.
fn precedes(first: Mid, second: Mid, interleaving: bool) -> bool {
    if interleaving {
        first.precedes(second)
    } else {
        Ssn(first.0 as u16).precedes(Ssn(second.0 as u16))
    }
}

/// What FORWARD TSN reports of an abandoned chunk: nothing of an unordered DATA chunk, which has no number.
fn entry(chunk: &Chunk) -> Option<SkippedMid> {
    let mid = match chunk.place {
        Place::Data(_) if chunk.flags.unordered => return None,
        Place::Data(ssn) => Mid(ssn.0.into()),
        Place::IData(mid, _) => mid,
    };
    Some(SkippedMid {
        stream: chunk.stream,
        unordered: chunk.flags.unordered,
        mid,
    })
}

fn forward(cumulative: Tsn, skipped: Vec<SkippedMid>, interleaving: bool) -> Forward {
    if interleaving {
        return Forward::ITsn(OutboundIForwardTsn { cumulative, skipped });
    }
    let numbers = skipped.iter().map(|one| (one.stream, Ssn(one.mid.0 as u16)));
    Forward::Tsn(OutboundForwardTsn {
        cumulative,
        skipped: numbers.collect(),
    })
}

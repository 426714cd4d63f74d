//! Reassembly of I-DATA chunks: fragments with consecutive FSNs form a message (RFC 8260 §2.2.3).
//!
//! TSNs say nothing about the order of fragments: a message is identified by its stream, its U bit and its Message Identifier, and
//! its fragments are numbered from 0. So fragments of any number of messages may wait at once. The receive window bounds their
//! memory: each incomplete message counts as one chunk more.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use anabranch_types::{Fsn, Mid, Ppid, StreamId};
use anabranch_wire::{FragmentPlace, IData, IForwardTsn, SkippedMid};
use bytes::Bytes;

use super::fragments::{self, Added, Dropped, Fragment, Fragments};
use super::ordered::{Count as _, StreamOrder, Turn};
use super::{Limits, MAX_LOOKED_AT, Verdict};
use crate::message::{Extent, ReceivedMessage};
use crate::on_demand::{Idle, OnDemand};
use crate::recv::delivery::Delivery;
use crate::recv::window::Window;
use crate::violation::Violation;

const FRAGMENT_TWICE: Violation = Violation::Protocol("fragment sequence number was used before");
const WITHOUT_BEGINNING: Violation = Violation::Protocol("fragment 0 does not begin its message");
const BEHIND_THE_END: Violation = Violation::Protocol("fragment lies behind the end of its message");

/// Identification of a fragment's message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    stream: StreamId,
    /// Ordered and unordered messages have separate MIDs (RFC 8260 §2.1).
    unordered: bool,
    mid: u32,
}

/// A fragment's message and its FSN.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Place {
    message: Key,
    fsn: u32,
}

impl fragments::Place for Place {
    type Label = ();

    /// A message has at most 2³² - 1 fragments, so FSNs never wrap.
    fn ahead(self, count: u64) -> Self {
        Self {
            fsn: self.fsn.saturating_add(count as u32),
            ..self
        }
    }

    /// The first fragment has no predecessor; its own place is returned.
    fn previous(self) -> Self {
        Self {
            fsn: self.fsn.saturating_sub(1),
            ..self
        }
    }
}

/// State of an incomplete message, apart from its fragments.
#[derive(Clone, Copy, Debug)]
struct Begun {
    /// PPID, which only the first fragment carries.
    ppid: Ppid,
    bytes: usize,
    /// The highest FSN received.
    highest: u32,
    /// Whether that is the last fragment.
    ends: bool,
}

/// Number of MIDs that precede one, by serial arithmetic.
const HALF: u32 = (1 << 31) - 1;

/// Incomplete messages, and ordered messages that wait for earlier ones.
#[derive(Debug)]
pub(in crate::recv) struct IDataReassembly {
    received: OnDemand<Received>,
    limits: Limits,
    pub(super) inbound_streams: u16,
    /// Whether the peer has abandoned messages.
    has_skipped: bool,
}

/// What has been received; the idle state is that before the first message.
#[derive(Debug, Default)]
struct Received {
    fragments: Fragments<Place>,
    begun: BTreeMap<Key, Begun>,
    order: StreamOrder<Mid>,
    /// The streams with a message that is being delivered in parts.
    partial: BTreeSet<StreamId>,
}

impl Idle for Received {
    const IDLE: &'static Self = &Self {
        fragments: Fragments::NONE,
        begun: BTreeMap::new(),
        order: StreamOrder::FIRST,
        partial: BTreeSet::new(),
    };

    fn is_idle(&self) -> bool {
        self.fragments.is_empty() && self.begun.is_empty() && self.order.is_first()
    }
}

impl IDataReassembly {
    pub(super) fn new(limits: Limits, inbound_streams: u16) -> Self {
        Self {
            received: OnDemand::default(),
            limits,
            inbound_streams,
            has_skipped: false,
        }
    }

    /// Sets the limits of message lengths.
    pub(super) const fn allow(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Removes all that waits for more.
    pub(super) fn clear(&mut self, window: &mut Window, delivery: &mut Delivery) {
        if !self.received.partial.is_empty() {
            let received = self.received.make_mut();
            let dropped = received.fragments.drop_all();
            received.note_dropped(&dropped, window, delivery);
        }
        self.received = OnDemand::default();
    }

    /// Checks a new chunk without changing anything.
    pub(super) fn judge(&self, data: &IData<'_>) -> Result<Verdict, Violation> {
        if data.stream.0 >= self.inbound_streams {
            return Ok(Verdict::InvalidStream);
        }
        if !data.unordered
            && let Some(verdict) = self.judge_number(data.stream, data.mid)?
        {
            return Ok(verdict);
        }
        // RFC 8260 §2.1: only the first fragment has the B bit, and its FSN is 0.
        if data.place == FragmentPlace::Later(Fsn(0)) {
            return Err(WITHOUT_BEGINNING);
        }
        let Place { message, fsn } = place(data);
        let begun = self.received.begun.get(&message);
        let bytes = begun.map_or(0, |begun| begun.bytes) + data.payload.len();
        // Each fragment has at least one byte, so an FSN beyond the limit means a message beyond it.
        if bytes > self.limits.longest || fsn as usize >= self.limits.longest.min(u32::MAX as usize) {
            return Err(fragments::TOO_LARGE);
        }
        match begun {
            Some(begun) => self.fits(data, begun).map(|()| Verdict::Take),
            None => Ok(Verdict::Take),
        }
    }

    /// Checks the MID of an ordered message. Every message has its own, so a MID that was delivered, or belongs to a complete message that
    /// waits, is a repetition. `None` if neither is the case.
    fn judge_number(&self, stream: StreamId, mid: Mid) -> Result<Option<Verdict>, Violation> {
        let order = &self.received.order;
        if order.has(stream, mid) {
            return Err(Mid::USED_TWICE);
        }
        match order.turn(stream, mid) {
            // A late fragment of an abandoned message.
            Turn::Past if self.has_skipped => Ok(Some(Verdict::Skipped)),
            Turn::Past => Err(Mid::USED_TWICE),
            Turn::Now | Turn::Later => Ok(None),
        }
    }

    /// Checks a fragment against the received ones of its message.
    fn fits(&self, data: &IData<'_>, begun: &Begun) -> Result<(), Violation> {
        let place = place(data);
        if self.received.fragments.has(place) {
            return Err(FRAGMENT_TWICE);
        }
        let is_behind = begun.ends && place.fsn > begun.highest;
        let ends_before = data.ending && place.fsn < begun.highest;
        if is_behind || ends_before {
            return Err(BEHIND_THE_END);
        }
        Ok(())
    }

    pub(super) fn expected(&self, stream: StreamId) -> Mid {
        self.received.order.expected(stream)
    }

    /// Drops incomplete messages that were abandoned, and delivers messages that waited for them.
    pub(super) fn skip(&mut self, chunk: &IForwardTsn<'_>, window: &mut Window, delivery: &mut Delivery) {
        self.has_skipped = true;
        for SkippedMid {
            stream,
            unordered,
            mid,
        } in chunk.skipped()
        {
            if stream.0 >= self.inbound_streams {
                continue;
            }
            self.drop_incomplete((stream, unordered), mid, window, delivery);
            if !unordered {
                self.received.make_mut().order.skip(stream, mid, delivery);
            }
        }
    }

    /// Expects MID 0 next on `streams`, or on all if none is listed. Messages that a peer left incomplete are dropped.
    pub(super) fn reset_streams(
        &mut self,
        streams: &[StreamId],
        window: &mut Window,
        delivery: &mut Delivery,
    ) {
        if streams.is_empty() {
            let received = self.received.make_mut();
            let dropped = received.fragments.drop_all();
            received.note_dropped(&dropped, window, delivery);
            window.drop_pieces(0, received.begun.len());
            received.begun.clear();
        }
        for stream in streams {
            for (unordered, mid) in [(false, 0), (false, HALF), (true, 0), (true, HALF)] {
                // Each of both covers the half of the MIDs before it.
                self.drop_incomplete((*stream, unordered), Mid(mid), window, delivery);
            }
        }
        self.received.make_mut().order.reset(streams, delivery);
    }

    /// Begins to deliver an incomplete message in parts, if there is one whose turn it is.
    pub(super) fn begin_partial(&mut self, window: &mut Window, delivery: &mut Delivery) {
        let received = &*self.received;
        let beginnings = received.fragments.beginnings().take(MAX_LOOKED_AT);
        let mut its_turn = beginnings.filter(|(first, ())| received.may_begin_partial(first.message));
        let found = its_turn.next().map(|(first, ())| first);
        drop(its_turn);
        if let Some(first) = found {
            self.received.make_mut().hand_over(first, window, delivery);
        }
    }

    /// Whether a chunk continues a message that is being delivered in parts.
    pub(super) fn continues(&self, data: &IData<'_>) -> bool {
        let Place { message, fsn } = place(data);
        let first = Place { message, fsn: 0 };
        let fragments = &self.received.fragments;
        fragments.is_partial(first) && fragments.end_of(first).fsn == fsn
    }

    /// Drops incomplete messages of a stream up to `mid`.
    fn drop_incomplete(
        &mut self,
        (stream, unordered): (StreamId, bool),
        mid: Mid,
        window: &mut Window,
        delivery: &mut Delivery,
    ) {
        let of = |mid| Key {
            stream,
            unordered,
            mid,
        };
        // MIDs wrap, so those up to `mid` may be in two ranges.
        let first = mid.0.wrapping_sub(HALF);
        let ranges = if first <= mid.0 {
            [Some(first..=mid.0), None]
        } else {
            [Some(0..=mid.0), Some(first..=u32::MAX)]
        };
        let ranges = ranges.into_iter().flatten();
        let messages = ranges.flat_map(|mids| self.received.begun.range(of(*mids.start())..=of(*mids.end())));
        let abandoned: Vec<Key> = messages.map(|(key, _)| *key).collect();
        for message in abandoned {
            let received = self.received.make_mut();
            let place = |fsn| Place { message, fsn };
            let dropped = received.fragments.drop_range(place(0)..=place(u32::MAX));
            received.note_dropped(&dropped, window, delivery);
            // The message itself counted as one chunk.
            window.drop_pieces(0, 1);
            received.begun.remove(&message);
        }
    }

    //= rfc8260 2.2.3-1, 2.2.3-2
    /// Adds the chunk, and delivers all messages that become deliverable by it.
    pub(super) fn take(
        &mut self,
        data: &IData<'_>,
        window: &mut Window,
        delivery: &mut Delivery,
    ) -> Result<(), Violation> {
        window.hold(data.payload.len());
        let piece = Bytes::copy_from_slice(data.payload);
        let whole = match data.place {
            FragmentPlace::First(ppid) if data.ending => Some((ppid, piece)),
            _ => self.join(data, piece, window, delivery),
        };
        let Some((ppid, payload)) = whole else {
            return Ok(());
        };
        let message = ReceivedMessage {
            stream: data.stream,
            ppid,
            unordered: data.unordered,
            extent: Extent::Whole,
            payload,
        };
        if data.unordered {
            // RFC 9260 §6.6: it "bypasses the ordering mechanism".
            delivery.push(message);
            return Ok(());
        }
        self.received
            .make_mut()
            .order
            .deliver(data.mid, message, delivery)
    }

    /// Adds a fragment; returns the message and its PPID if it is complete now.
    fn join(
        &mut self,
        data: &IData<'_>,
        piece: Bytes,
        window: &mut Window,
        delivery: &mut Delivery,
    ) -> Option<(Ppid, Bytes)> {
        let place = place(data);
        let received = self.received.make_mut();
        let begun = received.begun.entry(place.message).or_insert_with(|| {
            window.hold(0);
            Begun {
                ppid: Ppid::default(),
                bytes: 0,
                highest: 0,
                ends: false,
            }
        });
        begun.bytes += piece.len();
        begun.highest = begun.highest.max(place.fsn);
        begun.ends |= data.ending;
        if let FragmentPlace::First(ppid) = data.place {
            begun.ppid = ppid;
        }
        let bytes = begun.bytes;
        let joined = match received.fragments.insert(fragment(data), piece) {
            Added::Message(joined) => joined,
            Added::Beginning {
                first, is_partial, ..
            } => {
                let is_long = || bytes >= self.limits.whole;
                if is_partial || is_long() && received.may_begin_partial(first.message) {
                    received.hand_over(first, window, delivery);
                }
                return None;
            }
            Added::Later => return None,
        };
        let begun = received.begun.remove(&place.message)?;
        window.join(joined.pieces + 1);
        if joined.follows {
            received.end_partial(place.message, begun.ppid, joined.payload, delivery);
            return None;
        }
        Some((begun.ppid, joined.payload))
    }
}

impl Received {
    /// Whether it is the turn of a message, and no other of its stream is being delivered in parts.
    fn may_begin_partial(&self, message: Key) -> bool {
        let is_next = || self.order.turn(message.stream, Mid(message.mid)) == Turn::Now;
        (message.unordered || is_next()) && !self.partial.contains(&message.stream)
    }

    /// Delivers what has arrived of the message that begins at `first`, up to the first gap.
    fn hand_over(&mut self, first: Place, window: &mut Window, delivery: &mut Delivery) {
        let Some(joined) = self.fragments.take_part(first) else {
            return;
        };
        window.join(joined.pieces);
        let extent = if joined.follows {
            Extent::Middle
        } else {
            Extent::Beginning
        };
        self.partial.insert(first.message.stream);
        delivery.push_part(self.part(first.message, extent, joined.payload));
    }

    /// Delivers the last part of a message, and the messages that waited for it.
    fn end_partial(&mut self, message: Key, ppid: Ppid, payload: Bytes, delivery: &mut Delivery) {
        let last = self.part(message, Extent::End, payload);
        delivery.push_part(ReceivedMessage { ppid, ..last });
        self.partial.remove(&message.stream);
        if !message.unordered {
            self.order.skip(message.stream, Mid(message.mid), delivery);
        }
    }

    /// Counts dropped fragments. If a part of their message was delivered, the application is told of its end.
    fn note_dropped(&mut self, dropped: &Dropped<Place>, window: &mut Window, delivery: &mut Delivery) {
        window.drop_pieces(dropped.bytes, dropped.pieces);
        for (first, ()) in &dropped.partial {
            window.hold(0);
            delivery.push_part(self.part(first.message, Extent::Aborted, Bytes::new()));
            self.partial.remove(&first.message.stream);
        }
    }

    fn part(&self, message: Key, extent: Extent, payload: Bytes) -> ReceivedMessage {
        let begun = self.begun.get(&message);
        ReceivedMessage {
            stream: message.stream,
            ppid: begun.map_or_else(Ppid::default, |begun| begun.ppid),
            unordered: message.unordered,
            extent,
            payload,
        }
    }
}

fn place(data: &IData<'_>) -> Place {
    let Fsn(fsn) = data.fsn();
    Place {
        message: Key {
            stream: data.stream,
            unordered: data.unordered,
            mid: data.mid.0,
        },
        fsn,
    }
}

fn fragment(data: &IData<'_>) -> Fragment<Place> {
    Fragment {
        place: place(data),
        label: (),
        beginning: data.flags().beginning,
        ending: data.ending,
        len: data.payload.len(),
    }
}

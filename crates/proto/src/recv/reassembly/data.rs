//! Reassembly of DATA chunks: fragments with consecutive TSNs form a message.
//!
//! The TSN alone determines the place of a DATA chunk in its message (RFC 9260 §3.3.1), ordered or not.

use anabranch_types::{Ppid, Ssn, StreamId, UnwrappedTsn};
use anabranch_wire::{Data, ForwardTsn};
use bytes::Bytes;

use super::fragments::{self, Added, Dropped, Fragment, Fragments};
use super::ordered::{Count as _, StreamOrder, Turn};
use super::{Limits, MAX_LOOKED_AT, Verdict};
use crate::message::{Extent, ReceivedMessage};
use crate::on_demand::{Idle, OnDemand};
use crate::recv::delivery::Delivery;
use crate::recv::tracker::Tracker;
use crate::recv::window::Window;
use crate::violation::Violation;

/// The fields of a DATA chunk that concern its message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    stream: StreamId,
    /// `None` for unordered messages, whose SSN MUST be ignored (RFC 9260 §3.3.1).
    ssn: Option<Ssn>,
    ppid: Ppid,
}

impl fragments::Label for Label {
    /// RFC 9260 §3.3.1 and §6.9 require it of stream, SSN and U bit. SCTP does not use the PPID; that of the first fragment is the message's.
    fn agrees(&self, other: &Self) -> bool {
        (self.stream, self.ssn) == (other.stream, other.ssn)
    }
}

impl Label {
    fn of(data: &Data<'_>) -> Self {
        let ssn = (!data.flags.unordered).then_some(data.ssn);
        Self {
            stream: data.stream,
            ssn,
            ppid: data.ppid,
        }
    }
}

/// Incomplete messages, and ordered messages that wait for earlier ones.
#[derive(Debug)]
pub(in crate::recv) struct DataReassembly {
    received: OnDemand<Received>,
    limits: Limits,
    pub(super) inbound_streams: u16,
}

/// What has been received; the idle state is that before the first message.
#[derive(Debug, Default)]
struct Received {
    fragments: Fragments<UnwrappedTsn>,
    order: StreamOrder<Ssn>,
    /// Up to this TSN it is not known which chunks arrived, because a FORWARD TSN has skipped some.
    unknown_through: Option<UnwrappedTsn>,
    /// First TSN of the message that is being delivered in parts.
    partial: Option<UnwrappedTsn>,
}

impl Idle for Received {
    const IDLE: &'static Self = &Self {
        fragments: Fragments::NONE,
        order: StreamOrder::FIRST,
        unknown_through: None,
        partial: None,
    };

    fn is_idle(&self) -> bool {
        self.fragments.is_empty() && self.order.is_first() && self.unknown_through.is_none()
    }
}

impl DataReassembly {
    pub(super) fn new(limits: Limits, inbound_streams: u16) -> Self {
        Self {
            received: OnDemand::default(),
            limits,
            inbound_streams,
        }
    }

    /// Sets the limits of message lengths.
    pub(super) const fn allow(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Removes all that waits for more.
    pub(super) fn clear(&mut self, window: &mut Window, delivery: &mut Delivery) {
        if self.received.partial.is_some() {
            let received = self.received.make_mut();
            let dropped = received.fragments.drop_all();
            received.note_dropped(&dropped, window, delivery);
        }
        self.received = OnDemand::default();
    }

    /// Checks a new chunk without changing anything.
    pub(super) fn judge(
        &self,
        data: &Data<'_>,
        tsn: UnwrappedTsn,
        tracker: &Tracker,
    ) -> Result<Verdict, Violation> {
        let exists = data.stream.0 < self.inbound_streams;
        // Fragments on an invalid stream are not kept, so a later fragment of the same message has no predecessor.
        let Received {
            fragments,
            order,
            unknown_through,
            ..
        } = &*self.received;
        if !exists && !fragments.touch(tsn) {
            return Ok(Verdict::InvalidStream);
        }
        let whole = data.flags.beginning && data.flags.ending;
        if !whole || !fragments.is_empty() {
            let arrived = |tsn| tracker.has(tsn) && unknown_through.is_none_or(|unknown| tsn > unknown);
            fragments.check(&fragment(data, tsn), self.limits.longest, arrived)?;
        } else if data.payload.len() > self.limits.longest {
            return Err(fragments::TOO_LARGE);
        }
        if !exists {
            return Ok(Verdict::InvalidStream);
        }
        if data.flags.unordered || order.turn(data.stream, data.ssn) != Turn::Past {
            return Ok(Verdict::Take);
        }
        // By serial arithmetic an SSN "before" the expected one is old, or at least 2^15 messages ahead (RFC 9260 §1.6). With TSNs
        // missing it may be the latter, and the chunk is dropped for now. With none missing it must be old.
        let is_next = tsn == tracker.cumulative().next();
        match unknown_through {
            _ if !is_next => Ok(Verdict::NotYet),
            // A late fragment of an abandoned message.
            Some(_) => Ok(Verdict::Skipped),
            None => Err(Ssn::USED_TWICE),
        }
    }

    pub(super) fn expected(&self, stream: StreamId) -> Ssn {
        self.received.order.expected(stream)
    }

    /// Drops incomplete messages of which a TSN up to `cumulative` is missing, and delivers messages that waited for abandoned ones.
    pub(super) fn skip(
        &mut self,
        cumulative: UnwrappedTsn,
        chunk: &ForwardTsn<'_>,
        window: &mut Window,
        delivery: &mut Delivery,
    ) {
        let received = self.received.make_mut();
        let dropped = received.fragments.drop_through(cumulative);
        received.note_dropped(&dropped, window, delivery);
        received.unknown_through = received.unknown_through.max(dropped.last).max(Some(cumulative));
        for (stream, ssn) in chunk.skipped() {
            if stream.0 < self.inbound_streams {
                received.order.skip(stream, ssn, delivery);
            }
        }
    }

    /// Expects SSN 0 next on `streams`, or on all if none is listed. Fragments that a peer left incomplete on all are dropped.
    pub(super) fn reset_streams(
        &mut self,
        streams: &[StreamId],
        window: &mut Window,
        delivery: &mut Delivery,
    ) {
        let received = self.received.make_mut();
        let dropped = if streams.is_empty() {
            Some(received.fragments.drop_all())
        } else {
            received.drop_partial_on(streams)
        };
        if let Some(dropped) = dropped {
            received.note_dropped(&dropped, window, delivery);
            received.unknown_through = received.unknown_through.max(dropped.last);
        }
        received.order.reset(streams, delivery);
    }

    /// Begins to deliver an incomplete message in parts, if there is one whose turn it is and none is delivered in parts.
    pub(super) fn begin_partial(&mut self, window: &mut Window, delivery: &mut Delivery) {
        let received = &*self.received;
        let is_free = received.partial.is_none();
        let beginnings = received.fragments.beginnings().take(MAX_LOOKED_AT);
        let mut its_turn = beginnings.filter(|(_, label)| is_free && received.is_its_turn(label));
        let found = its_turn.next().map(|(first, _)| first);
        drop(its_turn);
        if let Some(first) = found {
            self.received.make_mut().hand_over(first, window, delivery);
        }
    }

    /// Whether a chunk continues the message that is being delivered in parts.
    pub(super) fn continues(&self, tsn: UnwrappedTsn) -> bool {
        let received = &*self.received;
        let end = received.partial.map(|first| received.fragments.end_of(first));
        end == Some(tsn)
    }

    //= rfc9260 3.3.1-2, 3.3.1-3, 6.6-3
    /// Adds the chunk, and delivers all messages that become deliverable by it.
    pub(super) fn take(
        &mut self,
        data: &Data<'_>,
        tsn: UnwrappedTsn,
        window: &mut Window,
        delivery: &mut Delivery,
    ) -> Result<(), Violation> {
        window.hold(data.payload.len());
        let piece = Bytes::copy_from_slice(data.payload);
        let (ppid, payload) = if data.flags.beginning && data.flags.ending {
            (data.ppid, piece)
        } else {
            let received = self.received.make_mut();
            match received.fragments.insert(fragment(data, tsn), piece) {
                Added::Message(joined) if joined.follows => {
                    window.join(joined.pieces);
                    received.end_partial(&joined.label, joined.payload, delivery);
                    return Ok(());
                }
                Added::Message(joined) => {
                    window.join(joined.pieces);
                    (joined.label.ppid, joined.payload)
                }
                Added::Beginning {
                    first,
                    bytes,
                    is_partial,
                } => {
                    let is_long = bytes >= self.limits.whole && received.partial.is_none();
                    if is_partial || is_long && received.is_its_turn(&Label::of(data)) {
                        received.hand_over(first, window, delivery);
                    }
                    return Ok(());
                }
                Added::Later => return Ok(()),
            }
        };
        let unordered = data.flags.unordered;
        let message = ReceivedMessage {
            stream: data.stream,
            ppid,
            unordered,
            extent: Extent::Whole,
            payload,
        };
        if unordered {
            // RFC 9260 §6.6: it "bypasses the ordering mechanism".
            delivery.push(message);
            return Ok(());
        }
        self.received
            .make_mut()
            .order
            .deliver(data.ssn, message, delivery)
    }
}

impl Received {
    fn is_its_turn(&self, label: &Label) -> bool {
        label
            .ssn
            .is_none_or(|ssn| self.order.turn(label.stream, ssn) == Turn::Now)
    }

    /// Delivers what has arrived of the message that begins at `first`, up to the first gap.
    fn hand_over(&mut self, first: UnwrappedTsn, window: &mut Window, delivery: &mut Delivery) {
        let Some(joined) = self.fragments.take_part(first) else {
            return;
        };
        window.join(joined.pieces);
        let extent = if joined.follows {
            Extent::Middle
        } else {
            Extent::Beginning
        };
        delivery.push_part(part(&joined.label, extent, joined.payload));
        if extent == Extent::Beginning {
            self.partial = Some(first);
            delivery.hold();
        }
    }

    /// Delivers the last part of a message, and those that waited for it.
    fn end_partial(&mut self, label: &Label, payload: Bytes, delivery: &mut Delivery) {
        delivery.push_part(part(label, Extent::End, payload));
        self.partial = None;
        delivery.end_hold();
        if let Some(ssn) = label.ssn {
            self.order.skip(label.stream, ssn, delivery);
        }
    }

    /// Drops the fragments of the message that is being delivered in parts, if it is of one of these streams.
    fn drop_partial_on(&mut self, streams: &[StreamId]) -> Option<Dropped<UnwrappedTsn>> {
        let first = self.partial?;
        let label = self.fragments.label_of(first)?;
        streams
            .contains(&label.stream)
            .then(|| self.fragments.drop_range(first..=first))
    }

    /// Counts dropped fragments. If a part of their message was delivered, the application is told of its end.
    fn note_dropped(
        &mut self,
        dropped: &Dropped<UnwrappedTsn>,
        window: &mut Window,
        delivery: &mut Delivery,
    ) {
        window.drop_pieces(dropped.bytes, dropped.pieces);
        for (_, label) in &dropped.partial {
            window.hold(0);
            delivery.push_part(part(label, Extent::Aborted, Bytes::new()));
            self.partial = None;
            delivery.end_hold();
        }
    }
}

fn part(label: &Label, extent: Extent, payload: Bytes) -> ReceivedMessage {
    ReceivedMessage {
        stream: label.stream,
        ppid: label.ppid,
        unordered: label.ssn.is_none(),
        extent,
        payload,
    }
}

fn fragment(data: &Data<'_>, tsn: UnwrappedTsn) -> Fragment<UnwrappedTsn> {
    Fragment {
        place: tsn,
        label: Label::of(data),
        beginning: data.flags.beginning,
        ending: data.flags.ending,
        len: data.payload.len(),
    }
}

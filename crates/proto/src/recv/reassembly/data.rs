//! Reassembly of DATA chunks: fragments with consecutive TSNs form a message.
//!
//! The TSN alone determines the place of a DATA chunk in its message (RFC 9260 §3.3.1), ordered or not.

use anabranch_types::{Ppid, Ssn, StreamId, UnwrappedTsn};
use anabranch_wire::{Data, ForwardTsn};
use bytes::Bytes;

use super::Verdict;
use super::fragments::{self, Fragment, Fragments};
use super::ordered::{Count as _, StreamOrder, Turn};
use crate::message::ReceivedMessage;
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
    max_message: usize,
    pub(super) inbound_streams: u16,
}

/// What has been received; the idle state is that before the first message.
#[derive(Debug, Default)]
struct Received {
    fragments: Fragments<UnwrappedTsn>,
    order: StreamOrder<Ssn>,
    /// Up to this TSN it is not known which chunks arrived, because a FORWARD TSN has skipped some.
    unknown_through: Option<UnwrappedTsn>,
}

impl Idle for Received {
    const IDLE: &'static Self = &Self {
        fragments: Fragments::NONE,
        order: StreamOrder::FIRST,
        unknown_through: None,
    };

    fn is_idle(&self) -> bool {
        self.fragments.is_empty() && self.order.is_first() && self.unknown_through.is_none()
    }
}

impl DataReassembly {
    pub(super) fn new(max_message: usize, inbound_streams: u16) -> Self {
        Self {
            received: OnDemand::default(),
            max_message,
            inbound_streams,
        }
    }

    /// Sets the maximum message length.
    pub(super) const fn allow(&mut self, max_message: usize) {
        self.max_message = max_message;
    }

    /// Removes all that waits for more.
    pub(super) fn clear(&mut self) {
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
        } = &*self.received;
        if !exists && !fragments.touch(tsn) {
            return Ok(Verdict::InvalidStream);
        }
        let whole = data.flags.beginning && data.flags.ending;
        if !whole || !fragments.is_empty() {
            let arrived = |tsn| tracker.has(tsn) && unknown_through.is_none_or(|unknown| tsn > unknown);
            fragments.check(&fragment(data, tsn), self.max_message, arrived)?;
        } else if data.payload.len() > self.max_message {
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
        window.drop_pieces(dropped.bytes, dropped.pieces);
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
        received.order.reset(streams, delivery);
        if streams.is_empty() {
            let dropped = received.fragments.drop_all();
            window.drop_pieces(dropped.bytes, dropped.pieces);
            received.unknown_through = received.unknown_through.max(dropped.last);
        }
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
            let Some(joined) = self
                .received
                .make_mut()
                .fragments
                .insert(fragment(data, tsn), piece)
            else {
                return Ok(());
            };
            window.join(joined.pieces);
            (joined.label.ppid, joined.payload)
        };
        let unordered = data.flags.unordered;
        let message = ReceivedMessage {
            stream: data.stream,
            ppid,
            unordered,
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

fn fragment(data: &Data<'_>, tsn: UnwrappedTsn) -> Fragment<UnwrappedTsn> {
    Fragment {
        place: tsn,
        label: Label::of(data),
        beginning: data.flags.beginning,
        ending: data.flags.ending,
        len: data.payload.len(),
    }
}

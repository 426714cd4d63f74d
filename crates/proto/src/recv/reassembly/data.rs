//! Reassembly of DATA chunks. How do DATA chunks become messages? Fragments join by their TSNs.
//!
//! A DATA chunk's place in its message follows from its TSN alone (RFC 9260 §3.3.1), ordered or not.

use anabranch_types::{Ppid, Ssn, StreamId, UnwrappedTsn};
use anabranch_wire::Data;
use bytes::Bytes;

use super::Verdict;
use super::fragments::{self, Fragment, Fragments};
use super::ordered::{Count as _, StreamOrder, Turn};
use crate::message::ReceivedMessage;
use crate::recv::delivery::Delivery;
use crate::recv::tracker::Tracker;
use crate::recv::window::Window;
use crate::violation::Violation;

/// What all fragments of a message have in common.
///
/// RFC 9260 §3.3.1 and §6.9 ask it of stream, SSN and U flag. The PPID belongs to the message as well, so
/// fragments that disagree about it leave no right answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Label {
    stream: StreamId,
    /// `None` for unordered messages, whose SSN MUST be ignored (RFC 9260 §3.3.1).
    ssn: Option<Ssn>,
    ppid: Ppid,
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

/// Fragments that wait for others, and ordered messages that wait for earlier ones.
#[derive(Debug)]
pub(in crate::recv) struct DataReassembly {
    fragments: Fragments<UnwrappedTsn>,
    order: StreamOrder<Ssn>,
    max_message: usize,
    inbound_streams: u16,
}

impl DataReassembly {
    pub(super) fn new(max_message: usize, inbound_streams: u16) -> Self {
        Self {
            fragments: Fragments::default(),
            order: StreamOrder::default(),
            max_message,
            inbound_streams,
        }
    }

    /// Messages may be so long from now on.
    pub(super) const fn allow(&mut self, max_message: usize) {
        self.max_message = max_message;
    }

    /// Judges a new chunk; changes nothing.
    pub(super) fn judge(
        &self,
        data: &Data<'_>,
        tsn: UnwrappedTsn,
        tracker: &Tracker,
    ) -> Result<Verdict, Violation> {
        let exists = data.stream.0 < self.inbound_streams;
        // Of a message on a stream that does not exist nothing is kept: its next piece seems to continue nothing.
        if !exists && !self.fragments.touch(tsn) {
            return Ok(Verdict::InvalidStream);
        }
        let whole = data.flags.beginning && data.flags.ending;
        if !whole || !self.fragments.is_empty() {
            self.fragments
                .check(&fragment(data, tsn), self.max_message, |tsn| tracker.has(tsn))?;
        } else if data.payload.len() > self.max_message {
            return Err(fragments::TOO_LARGE);
        }
        if !exists {
            return Ok(Verdict::InvalidStream);
        }
        if data.flags.unordered || self.order.turn(data.stream, data.ssn) != Turn::Past {
            return Ok(Verdict::Take);
        }
        // An SSN "before" the expected one is an old one or one at least 2^15 messages ahead (RFC 9260 §1.6).
        // With TSNs missing it may well be the latter: then it waits at the sender. With none missing it
        // cannot be.
        if tsn == tracker.cumulative().next() {
            Err(Ssn::USED_TWICE)
        } else {
            Ok(Verdict::NotYet)
        }
    }

    pub(super) fn expected(&self, stream: StreamId) -> Ssn {
        self.order.expected(stream)
    }

    //= rfc9260 3.3.1-2, 3.3.1-3, 6.6-3
    /// Takes the chunk in, and hands on every message that becomes deliverable by it.
    pub(super) fn take(
        &mut self,
        data: &Data<'_>,
        tsn: UnwrappedTsn,
        window: &mut Window,
        delivery: &mut Delivery,
    ) -> Result<(), Violation> {
        window.hold(data.payload.len());
        let piece = Bytes::copy_from_slice(data.payload);
        let payload = if data.flags.beginning && data.flags.ending {
            piece
        } else {
            let Some(joined) = self.fragments.insert(fragment(data, tsn), piece) else {
                return Ok(());
            };
            window.join(joined.pieces);
            joined.payload
        };
        let unordered = data.flags.unordered;
        let message = ReceivedMessage {
            stream: data.stream,
            ppid: data.ppid,
            unordered,
            payload,
        };
        if unordered {
            // RFC 9260 §6.6: it "bypasses the ordering mechanism".
            delivery.push(message);
            return Ok(());
        }
        self.order.deliver(data.ssn, message, delivery)
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

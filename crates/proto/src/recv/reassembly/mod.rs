//! How do chunks become messages? Fragments join by their TSNs, then ordered messages wait for their turn.
//!
//! A DATA chunk's place in its message follows from its TSN alone (RFC 9260 §3.3.1), ordered or not, so
//! [`fragments`] serves both kinds; [`ordered`] concerns ordered messages only. Unordered ones pass it by.

mod fragments;
mod ordered;

use anabranch_types::UnwrappedTsn;
use anabranch_wire::Data;
use bytes::Bytes;

use self::fragments::{Fragment, Fragments, Label};
use self::ordered::{StreamOrder, Turn};
use super::delivery::Delivery;
use super::tracker::Tracker;
use super::window::Window;
use crate::ReceivedMessage;
use crate::violation::Violation;

/// What is to be done with a new chunk that the window has room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Take,
    /// Acknowledge it and throw its payload away (RFC 9260 §6.5).
    InvalidStream,
    /// Its SSN cannot be placed before more of the missing TSNs arrive: it must come again.
    NotYet,
}

/// Fragments that wait for others, and ordered messages that wait for earlier ones.
#[derive(Debug)]
pub(super) struct Reassembly {
    fragments: Fragments,
    order: StreamOrder,
    max_message: usize,
    inbound_streams: u16,
}

impl Reassembly {
    pub(super) fn new(max_message: usize, inbound_streams: u16) -> Self {
        Self {
            fragments: Fragments::default(),
            order: StreamOrder::default(),
            max_message,
            inbound_streams,
        }
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
            Err(ordered::SSN_USED_TWICE)
        } else {
            Ok(Verdict::NotYet)
        }
    }

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

fn fragment(data: &Data<'_>, tsn: UnwrappedTsn) -> Fragment {
    Fragment {
        tsn,
        label: Label::of(data),
        beginning: data.flags.beginning,
        ending: data.flags.ending,
        len: data.payload.len(),
    }
}

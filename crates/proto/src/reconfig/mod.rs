//! Stream reconfiguration (RFC 6525): streams begin their sequence numbers anew, or are added.
//!
//! Each end may request a change, one at a time, and answers those of the peer. The side that sends on a stream resets it: a request
//! to reset the peer's streams makes the peer send a request of its own.
//!
//! ```text
//! application ─▶ Requester ── RE-CONFIG: request ──▶ peer       repeated until it is answered
//!                    ▲ ─────── response ──────────────┘
//!
//! peer ── RE-CONFIG: request ──▶ Responder ── response ──▶ peer     repeated for a repeated request
//! ```
//!
//! An association has this state from the first request on.

mod combination;
mod requester;
mod responder;

use alloc::boxed::Box;
use alloc::vec::Vec;

use anabranch_types::{Instant, PathId, ReConfigNumber, StreamId, Tsn};
use anabranch_wire::{PacketBuilder, ReConfig};
use thiserror::Error;

use self::combination::{Combination, Request};
use self::requester::Requester;
use self::responder::Responder;
pub(crate) use self::responder::may_join;
use crate::association::Events;
use crate::config::AssociationConfig;
use crate::path::PathSet;
use crate::transfer::{Effects, Transfer};

/// Maximum number of streams that one request lists. The list fits into the smallest packet.
const MAX_LISTED: usize = 200;

/// A change of streams (RFC 6525).
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reconfiguration {
    /// Begins the sequence numbers of these outbound streams anew, of all if none is listed: behind the messages that were queued
    /// before, and ahead of those that are queued after.
    ResetOutbound(Vec<StreamId>),
    /// Asks the peer to do so with its outbound streams. [`Event::InboundReset`](crate::Event::InboundReset) tells when it did.
    ResetInbound(Vec<StreamId>),
    /// Begins TSNs and the sequence numbers of all streams anew, in both directions. Messages wait until all that were sent are
    /// acknowledged.
    ResetAssociation,
    /// Adds outbound streams.
    AddOutbound(u16),
    /// Asks the peer to add outbound streams. [`Event::StreamsAdded`](crate::Event::StreamsAdded) tells when it did.
    AddInbound(u16),
}

/// Why a change of streams cannot be requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ReconfigurationError {
    /// One of both ends does not support it, see
    /// [`AssociationConfig::reconfiguration`](crate::AssociationConfig::reconfiguration); or the handshake is not complete, or the
    /// association ends.
    #[error("stream reconfiguration is not possible now, or was not agreed")]
    NotAvailable,
    /// A stream does not exist, or there would be more than 65,535.
    #[error("no such streams")]
    InvalidStream,
    /// More than 200 streams are listed.
    #[error("more than 200 streams are listed")]
    TooMany,
    /// A change that the application requested before is not complete.
    #[error("an earlier change is not complete")]
    InProgress,
}

/// The limits that the configuration sets for requests of the peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Inbound streams that the peer may have.
    pub(crate) inbound: u16,
    /// Outbound streams that the peer may ask for.
    pub(crate) outbound: u16,
}

impl Limits {
    pub(crate) fn of(config: &AssociationConfig) -> Self {
        Self {
            inbound: config.allowed_streams(),
            outbound: config.max_outbound_streams,
        }
    }
}

/// The state of stream reconfiguration of one association.
#[derive(Debug)]
pub(crate) struct Reconfig {
    requester: Requester,
    responder: Responder,
}

impl Reconfig {
    /// Numbers of requests begin at the initial TSNs (RFC 6525 §4.1).
    fn new(local: Tsn, peer: Tsn) -> Self {
        Self {
            requester: Requester::new(ReConfigNumber(local.0)),
            responder: Responder::new(ReConfigNumber(peer.0)),
        }
    }

    /// Queues a request of the application.
    ///
    /// # Errors
    /// See [`ReconfigurationError`].
    pub(crate) fn request(
        &mut self,
        change: Reconfiguration,
        transfer: &mut Transfer,
    ) -> Result<(), ReconfigurationError> {
        check(&change, transfer)?;
        if self.responder.is_resetting_association() {
            return Err(ReconfigurationError::InProgress);
        }
        self.requester.request(change, transfer)
    }

    /// The state of an association with these initial TSNs, created if there is none.
    pub(crate) fn of(slot: &mut Option<Box<Self>>, (local, peer): (Tsn, Tsn)) -> &mut Self {
        slot.get_or_insert_with(|| Box::new(Self::new(local, peer)))
    }

    //= rfc6525 3.1-1, 5.2.1-1, 5.2.1-3
    /// Handles a RE-CONFIG chunk. Returns whether its combination of parameters is a valid one; the peer is told otherwise.
    pub(crate) fn on_chunk(
        &mut self,
        chunk: &ReConfig<'_>,
        (transfer, events): (&mut Transfer, &mut Events),
        limits: Limits,
        (path, now): (PathId, Instant),
    ) -> bool {
        let Some(combination) = Combination::parse(chunk) else {
            return false;
        };
        for response in combination.responses() {
            let parts = (&mut *transfer, &mut *events);
            self.requester.on_response(&response, parts, now);
        }
        let has_requests = !combination.requests().is_empty();
        for request in combination.requests() {
            if let Request::ResetOutgoing { response, .. } = request {
                let parts = (&mut *transfer, &mut *events);
                self.requester.on_implicit_response(*response, parts);
            }
            let parts = (&mut *transfer, &mut *events);
            self.responder
                .on_request(request, parts, &mut self.requester, limits);
        }
        if has_requests {
            self.responder.answer_on(path);
            transfer.receiver.force_sack();
        }
        true
    }

    /// Advances what waits for data: called before each packet is planned. Nearly always there is nothing to do.
    pub(crate) fn advance(&mut self, transfer: &mut Transfer, events: &mut Events) {
        self.responder.advance(transfer, events);
        let expected = self.responder.last_number();
        self.requester.advance(transfer, expected);
    }

    /// The path of the next RE-CONFIG chunk, if one is due.
    pub(crate) fn due_on(&self, paths: &PathSet) -> Option<PathId> {
        let answer = self.responder.due_on(paths);
        answer.or_else(|| self.requester.due_on(paths))
    }

    /// Writes the chunks that are due into a packet for `path`.
    pub(crate) fn write(
        &mut self,
        transfer: &Transfer,
        path: PathId,
        packet: &mut PacketBuilder<'_>,
        now: Instant,
    ) {
        if !transfer.paths.is_confirmed(path) {
            return;
        }
        self.responder.write(packet);
        self.requester.write(transfer, path, packet, now);
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.requester.deadline()
    }

    /// Handles the expiry of the re-configuration timer.
    pub(crate) fn on_timeout(&mut self, transfer: &mut Transfer, now: Instant) -> Effects {
        self.requester.on_timeout(transfer, now)
    }
}

/// Checks that the streams of a request exist.
fn check(change: &Reconfiguration, transfer: &Transfer) -> Result<(), ReconfigurationError> {
    let within = |streams: &[StreamId], count: u16| {
        if streams.len() > MAX_LISTED {
            Err(ReconfigurationError::TooMany)
        } else if streams.iter().all(|stream| stream.0 < count) {
            Ok(())
        } else {
            Err(ReconfigurationError::InvalidStream)
        }
    };
    let (outbound, inbound) = (transfer.sender.stream_count(), transfer.receiver.stream_count());
    let fits = |count: u16, more: u16| {
        let is_possible = more > 0 && count.checked_add(more).is_some();
        is_possible
            .then_some(())
            .ok_or(ReconfigurationError::InvalidStream)
    };
    match change {
        Reconfiguration::ResetOutbound(streams) => within(streams, outbound),
        Reconfiguration::ResetInbound(streams) => within(streams, inbound),
        Reconfiguration::ResetAssociation => Ok(()),
        Reconfiguration::AddOutbound(more) => fits(outbound, *more),
        Reconfiguration::AddInbound(more) => fits(inbound, *more),
    }
}

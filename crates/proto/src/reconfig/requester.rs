//! Own requests (RFC 6525 §5.1). One is outstanding at a time, and is repeated until the peer has answered it.
//!
//! A request to reset outbound streams holds later messages of these streams back, and waits until the earlier ones are acknowledged. RFC 6525
//! §5.1.2 permits that, and some peers perform a reset that has overtaken data only when further data arrives.

use alloc::collections::VecDeque;

use anabranch_types::{Instant, PathId, ReConfigNumber, StreamId, Tsn, UnwrappedTsn};
use anabranch_wire::{OutboundReConfig, PacketBuilder, ReConfigResponse, ReConfigResult};

use super::{Reconfiguration, ReconfigurationError};
use crate::association::{Event, Events};
use crate::path::PathSet;
use crate::send::HoldId;
use crate::transfer::{Effects, Transfer};

/// Maximum number of requests that wait for an earlier one.
const MAX_WAITING: usize = 8;

/// A request that waits.
#[derive(Debug)]
struct Wanted {
    change: Reconfiguration,
    /// The number of the peer's request that this one answers.
    answers: Option<ReConfigNumber>,
    /// The messages that it holds back.
    hold: Option<HoldId>,
    /// The last TSN before a reset of outbound streams, from when all earlier messages have been sent.
    behind: Option<UnwrappedTsn>,
}

impl Wanted {
    fn new(change: Reconfiguration, answers: Option<ReConfigNumber>, transfer: &mut Transfer) -> Self {
        Self {
            hold: hold(&change, transfer),
            change,
            answers,
            behind: None,
        }
    }

    //= rfc6525 5.1.4-1
    /// Whether nothing has to come before it.
    fn is_ready(&mut self, transfer: &Transfer) -> bool {
        let sender = &transfer.sender;
        match &self.change {
            Reconfiguration::ResetOutbound(streams) => {
                if !sender.has_sent_all_on(streams) {
                    return false;
                }
                let last = || {
                    sender
                        .last_outstanding_on(streams)
                        .unwrap_or_else(|| sender.cumulative())
                };
                *self.behind.get_or_insert_with(last) <= sender.cumulative()
            }
            Reconfiguration::ResetAssociation => sender.has_sent_all_on(&[]) && !sender.has_outstanding(),
            _ => true,
        }
    }
}

/// The request that waits for its answer.
#[derive(Debug)]
struct Outstanding {
    wanted: Wanted,
    number: ReConfigNumber,
    chunk: OutboundReConfig,
    /// Whether it is to be sent, for the first time or again.
    is_due: bool,
    /// Whether the peer has answered that it is in progress.
    is_in_progress: bool,
    /// Path of its last transmission.
    path: Option<PathId>,
    /// Deadline of the re-configuration timer.
    expires: Option<Instant>,
}

/// The state of own requests.
#[derive(Debug)]
pub(super) struct Requester {
    next: ReConfigNumber,
    waiting: VecDeque<Wanted>,
    outstanding: Option<Outstanding>,
}

impl Requester {
    pub(super) const fn new(first: ReConfigNumber) -> Self {
        Self {
            next: first,
            waiting: VecDeque::new(),
            outstanding: None,
        }
    }

    //= rfc6525 5.1.1-5, 5.1.1-6
    /// Queues a request of the application.
    pub(super) fn request(
        &mut self,
        change: Reconfiguration,
        transfer: &mut Transfer,
    ) -> Result<(), ReconfigurationError> {
        if !self.has_room() || (holds(&change) && self.holds()) {
            return Err(ReconfigurationError::InProgress);
        }
        self.waiting.push_back(Wanted::new(change, None, transfer));
        Ok(())
    }

    /// Whether another request can wait.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.len() < MAX_WAITING
    }

    //= rfc6525 5.1.2-4, 5.1.2-5
    /// Queues the request that answers request `number` of the peer, ahead of those of the application: the peer waits for it.
    pub(super) fn answer(
        &mut self,
        change: Reconfiguration,
        number: ReConfigNumber,
        transfer: &mut Transfer,
    ) {
        self.waiting
            .push_front(Wanted::new(change, Some(number), transfer));
    }

    /// Whether a request to reset inbound streams is outstanding, which the peer's own reset answers.
    pub(super) fn waits_for_reset(&self) -> bool {
        let change = self
            .outstanding
            .as_ref()
            .map(|outstanding| &outstanding.wanted.change);
        matches!(change, Some(Reconfiguration::ResetInbound(_)))
    }

    /// Whether a reset of the association is requested. It waits until nothing is outstanding.
    pub(super) fn wants_association_reset(&self) -> bool {
        let outstanding = self.outstanding.iter().map(|outstanding| &outstanding.wanted);
        outstanding
            .chain(&self.waiting)
            .any(|wanted| wanted.change == Reconfiguration::ResetAssociation)
    }

    /// Whether messages are held back for a request.
    pub(super) fn holds(&self) -> bool {
        let outstanding = self.outstanding.iter().map(|outstanding| &outstanding.wanted);
        outstanding
            .chain(&self.waiting)
            .any(|wanted| holds(&wanted.change))
    }

    /// Number of outbound streams that requests would add.
    pub(super) fn requested_streams(&self) -> u32 {
        let outstanding = self.outstanding.iter().map(|outstanding| &outstanding.wanted);
        let counts = outstanding
            .chain(&self.waiting)
            .map(|wanted| match wanted.change {
                Reconfiguration::AddOutbound(count) => u32::from(count),
                _ => 0,
            });
        counts.sum()
    }

    /// Whether a request to reset the association is outstanding.
    pub(super) fn is_resetting_association(&self) -> bool {
        let change = self
            .outstanding
            .as_ref()
            .map(|outstanding| &outstanding.wanted.change);
        change == Some(&Reconfiguration::ResetAssociation)
    }

    /// Whether an outstanding request resets all of these outbound streams.
    pub(super) fn is_resetting(&self, streams: &[StreamId]) -> bool {
        let change = self
            .outstanding
            .as_ref()
            .map(|outstanding| &outstanding.wanted.change);
        let Some(Reconfiguration::ResetOutbound(reset)) = change else {
            return false;
        };
        let has = |stream: &StreamId| reset.contains(stream);
        reset.is_empty() || (!streams.is_empty() && streams.iter().all(has))
    }

    //= rfc6525 5.1.2-2, 5.1.2-3, 5.1.2-6, 5.1.2-7, 5.1.2-8, 5.1.2-9
    //= rfc6525 5.1.3-1, 5.1.3-2, 5.1.3-3, 5.1.3-4, 5.1.3-5, 5.1.4-1, 5.1.4-3, 5.1.4-4
    /// Makes the first waiting request the outstanding one if nothing has to come before it. `last` is the number of the peer's last
    /// request.
    pub(super) fn advance(&mut self, transfer: &Transfer, last: ReConfigNumber) {
        if self.outstanding.is_some() {
            return;
        }
        let is_ready = |wanted: &mut Wanted| wanted.is_ready(transfer);
        if !self.waiting.front_mut().is_some_and(is_ready) {
            return;
        }
        let Some(wanted) = self.waiting.pop_front() else {
            return;
        };
        let number = self.next;
        self.next = number.next();
        let mut chunk = OutboundReConfig::default();
        let last_tsn = transfer.sender.next_tsn().previous();
        match &wanted.change {
            Reconfiguration::ResetOutbound(streams) => {
                let response = wanted.answers.unwrap_or(last);
                chunk.push_reset_outgoing(number, response, last_tsn.wrap(), streams);
            }
            Reconfiguration::ResetInbound(streams) => chunk.push_reset_incoming(number, streams),
            Reconfiguration::ResetAssociation => chunk.push_reset_association(number),
            Reconfiguration::AddOutbound(count) => chunk.push_add_outgoing(number, *count),
            Reconfiguration::AddInbound(count) => chunk.push_add_incoming(number, *count),
        }
        self.outstanding = Some(Outstanding {
            wanted,
            number,
            chunk,
            is_due: true,
            is_in_progress: false,
            path: None,
            expires: None,
        });
    }

    /// The path on which the request is due: a usable one other than that of the last transmission.
    pub(super) fn due_on(&self, paths: &PathSet) -> Option<PathId> {
        let outstanding = self
            .outstanding
            .as_ref()
            .filter(|outstanding| outstanding.is_due)?;
        let alternate = outstanding.path.and_then(|path| paths.another_usable(path));
        let path = alternate.unwrap_or_else(|| paths.best());
        paths.is_confirmed(path).then_some(path)
    }

    //= rfc6525 5.1.1-7, 5.1.1-8, 5.1.1-9
    /// Writes the request if it is due, and starts the re-configuration timer.
    pub(super) fn write(
        &mut self,
        transfer: &Transfer,
        path: PathId,
        packet: &mut PacketBuilder<'_>,
        now: Instant,
    ) {
        let Some(outstanding) = self.outstanding.as_mut().filter(|outstanding| outstanding.is_due) else {
            return;
        };
        if packet.push(&outstanding.chunk).is_ok() {
            outstanding.is_due = false;
            outstanding.path = Some(path);
            outstanding.expires = Some(now + transfer.paths.fact(path).rto());
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.outstanding.as_ref()?.expires
    }

    //= rfc6525 5.1.1-10, 5.1.1-11, 5.2.7-3, 5.2.7-4
    /// The re-configuration timer expired: the request is sent again. That is an error of the path, unless the peer has answered that
    /// the request is in progress.
    pub(super) fn on_timeout(&mut self, transfer: &mut Transfer, now: Instant) -> Effects {
        let Some(outstanding) = &mut self.outstanding else {
            return Effects::default();
        };
        if outstanding.expires.take_if(|expires| *expires <= now).is_none() {
            return Effects::default();
        }
        outstanding.is_due = true;
        match outstanding.path.filter(|path| transfer.paths.contains(*path)) {
            Some(path) if !outstanding.is_in_progress => transfer.request_timed_out(path, now),
            _ => Effects::default(),
        }
    }

    //= rfc6525 5.2.2-1, 5.2.2-2
    /// The peer resets its streams on request `number`, which is an answer too.
    pub(super) fn on_implicit_response(
        &mut self,
        number: ReConfigNumber,
        (transfer, events): (&mut Transfer, &mut Events),
    ) {
        let change = self
            .outstanding
            .as_ref()
            .map(|outstanding| &outstanding.wanted.change);
        if matches!(change, Some(Reconfiguration::ResetInbound(_))) {
            self.complete(number, ReConfigResult::Performed, None, (transfer, events));
        }
    }

    //= rfc6525 5.2.7-1, 5.2.7-2
    /// Handles a response of the peer. Unless it is to the outstanding request, it is a late copy.
    pub(super) fn on_response(
        &mut self,
        response: &ReConfigResponse,
        parts: (&mut Transfer, &mut Events),
        now: Instant,
    ) {
        let Some(outstanding) = &mut self.outstanding else {
            return;
        };
        if outstanding.number != response.number {
            return;
        }
        if response.result == ReConfigResult::InProgress {
            let path = outstanding.path.filter(|path| parts.0.paths.contains(*path));
            if let Some(path) = path {
                outstanding.is_in_progress = true;
                outstanding.expires = Some(now + parts.0.paths.fact(path).rto());
            }
            return;
        }
        self.complete(response.number, response.result, response.next, parts);
    }

    //= rfc6525 5.1.5-1, 5.2.7-5, 5.2.7-6, 5.2.7-7, 5.2.7-8, 5.2.7-9
    fn complete(
        &mut self,
        number: ReConfigNumber,
        result: ReConfigResult,
        next: Option<(Tsn, Tsn)>,
        (transfer, events): (&mut Transfer, &mut Events),
    ) {
        let Some(outstanding) = self
            .outstanding
            .take_if(|outstanding| outstanding.number == number)
        else {
            return;
        };
        let Wanted { change, hold, .. } = outstanding.wanted;
        let is_success = matches!(result, ReConfigResult::Performed | ReConfigResult::NothingToDo);
        let accepted = is_success && (next.is_some() || change != Reconfiguration::ResetAssociation);
        match &change {
            Reconfiguration::ResetAssociation => {
                if let Some((sender, receiver)) = next.filter(|_| accepted) {
                    transfer.renumber(receiver, sender);
                }
            }
            Reconfiguration::AddOutbound(count) if accepted => {
                transfer.sender.add_streams(*count);
                events.push(Event::StreamsAdded {
                    outbound: transfer.sender.stream_count(),
                    inbound: transfer.receiver.stream_count(),
                });
            }
            _ => {}
        }
        if let Some(hold) = hold {
            let reset = match &change {
                Reconfiguration::ResetOutbound(streams) => &streams[..],
                _ => &[],
            };
            transfer.end_hold(hold, accepted.then_some(reset));
        }
        events.push(Event::Reconfigured { change, accepted });
    }
}

//= rfc6525 5.1.2-1, 5.1.4-2
/// Holds messages back that have to wait for the request.
fn hold(change: &Reconfiguration, transfer: &mut Transfer) -> Option<HoldId> {
    match change {
        Reconfiguration::ResetOutbound(streams) => Some(transfer.sender.hold(streams)),
        Reconfiguration::ResetAssociation => Some(transfer.sender.hold(&[])),
        _ => None,
    }
}

/// Whether messages are held back for the request.
const fn holds(change: &Reconfiguration) -> bool {
    matches!(
        change,
        Reconfiguration::ResetOutbound(_) | Reconfiguration::ResetAssociation
    )
}

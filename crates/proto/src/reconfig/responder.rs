//! Requests of the peer (RFC 6525 §5.2). Each new one is processed once; a repeated one gets the answer again.
//!
//! A reset of inbound streams waits until all data that the peer sent before has arrived, and the application has received it, so that
//! [`Event::InboundReset`] lies between the messages before and after.

use alloc::vec;
use alloc::vec::Vec;

use anabranch_types::{PathId, ReConfigNumber, StreamId, Tsn, UnwrappedTsn};
use anabranch_wire::{OutboundReConfig, PacketBuilder, ReConfigResult};

use super::combination::Request;
use super::requester::Requester;
use super::{Limits, MAX_LISTED, Reconfiguration};
use crate::association::{Event, Events};
use crate::path::PathSet;
use crate::send::HoldId;
use crate::transfer::Transfer;

/// Answers that are kept for requests that the peer repeats. A peer has one request in flight (RFC 6525 §5.1.1), but pion sends one for
/// each stream that it closes, all at once.
const MAX_ANSWERS: usize = 16;

/// The answer to a request.
#[derive(Clone, Copy, Debug)]
struct Answer {
    number: ReConfigNumber,
    result: ReConfigResult,
    next: Option<(Tsn, Tsn)>,
    is_due: bool,
}

impl Answer {
    const fn new(number: ReConfigNumber, result: ReConfigResult) -> Self {
        Self {
            number,
            result,
            next: None,
            is_due: true,
        }
    }
}

/// A request that waits for data.
#[derive(Debug)]
enum Deferred {
    ResetInbound {
        numbers: Vec<ReConfigNumber>,
        last: UnwrappedTsn,
        streams: Vec<StreamId>,
    },
    ResetAssociation {
        number: ReConfigNumber,
        hold: HoldId,
    },
}

/// The state of requests of the peer.
#[derive(Debug)]
pub(super) struct Responder {
    /// The number of the peer's next request.
    expected: ReConfigNumber,
    /// The last answers, at most [`MAX_ANSWERS`].
    answers: Vec<Answer>,
    /// Answers to requests that were not processed, at most two; they are not kept.
    refusals: Vec<Answer>,
    deferred: Option<Deferred>,
    /// Whether the answers are to be sent, and on which path.
    due: Option<PathId>,
}

impl Responder {
    pub(super) const fn new(first: ReConfigNumber) -> Self {
        Self {
            expected: first,
            answers: Vec::new(),
            refusals: Vec::new(),
            deferred: None,
            due: None,
        }
    }

    /// Whether a reset of the association waits for data.
    pub(super) const fn is_resetting_association(&self) -> bool {
        matches!(self.deferred, Some(Deferred::ResetAssociation { .. }))
    }

    /// The number of the peer's last request.
    pub(super) fn last_number(&self) -> ReConfigNumber {
        ReConfigNumber(self.expected.0.wrapping_sub(1))
    }

    /// Requests the answers that are due on the path of a chunk with requests.
    pub(super) fn answer_on(&mut self, path: PathId) {
        self.due = Some(path);
    }

    //= rfc6525 5.1.7-1, 5.1.7-2, 5.2.1-4, 5.2.1-5
    /// Handles a request: a new one is processed, the last ones are only answered again.
    pub(super) fn on_request(
        &mut self,
        request: &Request,
        (transfer, events): (&mut Transfer, &mut Events),
        requester: &mut Requester,
        limits: Limits,
    ) {
        let number = request.number();
        if number != self.expected {
            match self.answers.iter_mut().find(|answer| answer.number == number) {
                Some(answer) => answer.is_due = true,
                None => self.refuse(number, ReConfigResult::BadSequenceNumber),
            }
            return;
        }
        let parts = (&mut *transfer, &mut *events);
        let result = self.process(request, parts, requester, limits);
        let Some(result) = result else {
            // The peer repeats it, and it is processed then.
            self.refuse(number, ReConfigResult::InProgress);
            return;
        };
        self.expected = number.next();
        if self.answers.len() == MAX_ANSWERS {
            self.answers.remove(0);
        }
        self.answers.push(Answer::new(number, result));
        self.advance(transfer, events);
    }

    /// Answers a request without processing it. Further ones have to be repeated.
    fn refuse(&mut self, number: ReConfigNumber, result: ReConfigResult) {
        if self.refusals.len() < 2 {
            self.refusals.push(Answer::new(number, result));
        }
    }

    //= rfc6525 5.2.5-1, 5.2.5-2, 5.2.5-3
    /// Processes a new request. `None` if it has to be repeated, because a request of our own comes first.
    fn process(
        &mut self,
        request: &Request,
        (transfer, events): (&mut Transfer, &mut Events),
        requester: &mut Requester,
        limits: Limits,
    ) -> Option<ReConfigResult> {
        let (outbound, inbound) = (transfer.sender.stream_count(), transfer.receiver.stream_count());
        if self.is_resetting_association() {
            return Some(ReConfigResult::RequestInProgress);
        }
        match request {
            Request::ResetOutgoing { streams, .. } if !exist(streams, inbound) => {
                Some(ReConfigResult::WrongSsn)
            }
            Request::ResetOutgoing {
                number,
                last,
                streams,
                ..
            } => Some(self.defer(Deferred::ResetInbound {
                numbers: vec![*number],
                last: transfer.receiver.nearest(*last),
                streams: streams.clone(),
            })),
            Request::ResetIncoming { number, streams } => {
                Some(reset_outbound(*number, streams, transfer, requester))
            }
            Request::ResetAssociation { number } => {
                if requester.is_resetting_association() {
                    // Both ends ask for the same, and each would wait for the other.
                    return Some(ReConfigResult::Denied);
                }
                if requester.holds() {
                    return None;
                }
                if self.deferred.is_some() {
                    return Some(ReConfigResult::RequestInProgress);
                }
                let hold = transfer.sender.hold(&[]);
                Some(self.defer(Deferred::ResetAssociation {
                    number: *number,
                    hold,
                }))
            }
            Request::AddOutgoing { count: 0, .. } | Request::AddIncoming { count: 0, .. } => {
                Some(ReConfigResult::NothingToDo)
            }
            Request::AddOutgoing { count, .. } => {
                let total = inbound
                    .checked_add(*count)
                    .filter(|total| *total <= limits.inbound);
                let Some(inbound) = total else {
                    return Some(ReConfigResult::Denied);
                };
                transfer.receiver.set_stream_count(inbound);
                events.push(Event::StreamsAdded { outbound, inbound });
                Some(ReConfigResult::Performed)
            }
            Request::AddIncoming { number, count } => {
                Some(add_outbound(*number, *count, (transfer, requester), limits))
            }
        }
    }

    //= rfc6525 5.2.2-5
    fn defer(&mut self, request: Deferred) -> ReConfigResult {
        match (&mut self.deferred, request) {
            (None, request) => self.deferred = Some(request),
            (
                Some(Deferred::ResetInbound {
                    numbers,
                    last,
                    streams,
                }),
                Deferred::ResetInbound {
                    numbers: more,
                    last: later,
                    streams: others,
                },
            ) if may_join(streams, &others) => {
                numbers.extend(more);
                *last = later.max(*last);
                streams.extend(others);
            }
            _ => return ReConfigResult::RequestInProgress,
        }
        ReConfigResult::InProgress
    }

    //= rfc6525 5.1.7-3, 5.1.7-4, 5.1.7-6, 5.2.2-3, 5.2.2-6, 5.2.2-8
    //= rfc6525 5.2.4-1, 5.2.4-3, 5.2.4-4, 5.2.4-5, 5.2.4-6
    /// Performs the deferred request if all data before it was received, or sent and acknowledged, and the application has taken the event
    /// of the one before: a list of streams may be long, so a single one waits.
    pub(super) fn advance(&mut self, transfer: &mut Transfer, events: &mut Events) {
        let (numbers, next) = match &self.deferred {
            None => return,
            Some(Deferred::ResetInbound {
                numbers,
                last,
                streams,
            }) => {
                let is_ready = transfer.receiver.has_delivered_through(*last);
                if !is_ready || !events.push_inbound_reset(streams) {
                    return;
                }
                transfer.receiver.reset_streams(streams);
                (&numbers[..], None)
            }
            Some(Deferred::ResetAssociation { number, hold }) => {
                let is_ready = transfer.sender.has_sent_all_on(&[]) && !transfer.sender.has_outstanding();
                if !is_ready || transfer.receiver.readable() || events.has_reset() {
                    return;
                }
                // Half of the number space away, so that late chunks with the old TSNs are not accepted, and ours are not before the
                // peer has the answer.
                let theirs = transfer.receiver.cumulative() + (1 + (1 << 31));
                let ours = (transfer.sender.next_tsn() + (1 << 31)).wrap();
                transfer.renumber(ours, theirs);
                transfer.end_hold(*hold, Some(&[]));
                events.push(Event::AssociationReset);
                (core::slice::from_ref(number), Some((ours, theirs)))
            }
        };
        let performed = self
            .answers
            .iter_mut()
            .filter(|answer| numbers.contains(&answer.number));
        for answer in performed {
            *answer = Answer {
                next,
                ..Answer::new(answer.number, ReConfigResult::Performed)
            };
        }
        self.deferred = None;
        self.due = self.due.or_else(|| Some(transfer.receiver.last_data_path()));
    }

    /// The path of the answers that are due.
    pub(super) fn due_on(&self, paths: &PathSet) -> Option<PathId> {
        let path = self.due?;
        let is_fit = |path: &PathId| paths.contains(*path) && paths.is_confirmed(*path);
        Some(path)
            .filter(is_fit)
            .or_else(|| Some(paths.best()).filter(is_fit))
    }

    //= rfc6525 5.1.7-5, 5.2.1-2
    /// Writes the answers that are due, two in a chunk.
    pub(super) fn write(&mut self, packet: &mut PacketBuilder<'_>) {
        if self.due.take().is_none() {
            return;
        }
        let answers = self.answers.iter_mut().filter(|answer| answer.is_due);
        let kept = answers.map(|answer| {
            answer.is_due = false;
            *answer
        });
        let due: Vec<Answer> = self.refusals.drain(..).chain(kept).collect();
        for pair in due.chunks(2) {
            let mut chunk = OutboundReConfig::default();
            for answer in pair {
                chunk.push_response(answer.number, answer.result, answer.next);
            }
            // What does not fit is lost, as in the network: the peer repeats its request.
            let _ = packet.push(&chunk);
        }
    }
}

/// Whether two resets of these streams are one: none is reset twice or meant by an empty list, which means all, and the list stays short.
pub(crate) fn may_join(streams: &[StreamId], others: &[StreamId]) -> bool {
    let lists_some = !streams.is_empty() && !others.is_empty();
    let is_short = streams.len() + others.len() <= MAX_LISTED;
    lists_some && is_short && others.iter().all(|stream| !streams.contains(stream))
}

fn exist(streams: &[StreamId], count: u16) -> bool {
    streams.iter().all(|stream| stream.0 < count)
}

//= rfc6525 5.2.3-1, 5.2.3-2, 5.2.3-3, 5.2.3-4
/// Handles a request to reset outbound streams.
fn reset_outbound(
    number: ReConfigNumber,
    streams: &[StreamId],
    transfer: &mut Transfer,
    requester: &mut Requester,
) -> ReConfigResult {
    if !exist(streams, transfer.sender.stream_count()) {
        return ReConfigResult::WrongSsn;
    }
    // The request in answer lists them, and has to fit into any packet.
    if streams.len() > MAX_LISTED {
        return ReConfigResult::Denied;
    }
    if requester.is_resetting(streams) || transfer.sender.is_unused(streams) {
        return ReConfigResult::NothingToDo;
    }
    if requester.wants_association_reset() || !requester.has_room() {
        return ReConfigResult::RequestInProgress;
    }
    let change = Reconfiguration::ResetOutbound(streams.to_vec());
    requester.answer(change, number, transfer);
    // The peer sends no request of its own while it waits for an answer, and ours waits for that request: it is told that the reset
    // will come.
    if requester.waits_for_reset() {
        ReConfigResult::Performed
    } else {
        ReConfigResult::InProgress
    }
}

//= rfc6525 5.2.6-1, 5.2.6-2
/// Handles a request to add outbound streams.
fn add_outbound(
    number: ReConfigNumber,
    count: u16,
    (transfer, requester): (&mut Transfer, &mut Requester),
    limits: Limits,
) -> ReConfigResult {
    let there = u32::from(transfer.sender.stream_count()) + requester.requested_streams();
    if there + u32::from(count) > u32::from(limits.outbound) {
        return ReConfigResult::Denied;
    }
    if !requester.has_room() {
        return ReConfigResult::RequestInProgress;
    }
    requester.answer(Reconfiguration::AddOutbound(count), number, transfer);
    ReConfigResult::Performed
}

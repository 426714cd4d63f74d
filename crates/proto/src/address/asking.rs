//! How does the peer learn that we have an address more or less? One ASCONF at a time, repeated until it is answered
//! (RFC 5061 §5.1).

use alloc::format;
use alloc::vec::Vec;
use core::mem;
use core::net::SocketAddr;

use anabranch_types::{AddressScope, AsconfNumber, Instant, PathId, Serial as _};
use anabranch_wire::chunk::kind;
use anabranch_wire::{AddressRequest, AsconfAck, CorrelationId, OutboundAsconf, ParameterWriter};

use super::AddressError;
use super::responses::{Fate, Fates};
use crate::Association;
use crate::association::{Event, liveness, paths};
use crate::violation::Violation;

/// Changes that may wait; they leave in one chunk, which fits the smallest packet.
const MOST: usize = 12;

/// A change of our addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Request {
    Add(SocketAddr),
    Delete(SocketAddr),
    SetPrimary(SocketAddr),
}

/// What we want to tell the peer.
#[derive(Debug)]
pub(super) struct Asking {
    next: AsconfNumber,
    waiting: Vec<Request>,
    question: Option<Question>,
    /// The peer turned out not to understand.
    is_vain: bool,
}

/// The ASCONF that is not answered yet.
#[derive(Debug)]
struct Question {
    chunk: OutboundAsconf,
    requests: Vec<Request>,
    /// It has to be sent, again or for the first time.
    is_due: bool,
    /// On which path it left last.
    path: Option<PathId>,
    expires: Option<Instant>,
}

impl Asking {
    pub(super) const fn new(first: AsconfNumber) -> Self {
        Self {
            next: first,
            waiting: Vec::new(),
            question: None,
            is_vain: false,
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.question.as_ref()?.expires
    }

    /// The question, which leaves now on `path`.
    pub(super) fn take_due(&mut self, path: PathId, expires: Instant) -> Option<OutboundAsconf> {
        let question = self.question.as_mut().filter(|question| question.is_due)?;
        question.is_due = false;
        question.path = Some(path);
        question.expires = Some(expires);
        Some(question.chunk.clone())
    }

    /// One path is no more; its number may be another's soon.
    pub(super) fn forget_path(&mut self, gone: PathId) {
        if let Some(question) = &mut self.question {
            question.path.take_if(|path| *path == gone);
        }
    }

    fn pending(&self) -> impl Iterator<Item = &Request> {
        let asked = self.question.iter().flat_map(|question| &question.requests);
        asked.chain(&self.waiting)
    }
}

impl Association {
    /// Uses the address `local`, to which the driver has a socket now, for this association too. The peer is told;
    /// when it agrees, paths from there are confirmed and used: [`crate::PathChange::Added`] follows.
    ///
    /// # Errors
    ///
    /// See [`AddressError`]. A refusal of the peer comes as [`crate::Event::PeerError`].
    pub fn add_local_address(&mut self, local: SocketAddr) -> Result<(), AddressError> {
        let is_one_host =
            AddressScope::of(local.ip()) != AddressScope::Unusable && !local.ip().is_unspecified();
        if !is_one_host {
            return Err(AddressError::InvalidAddress(local));
        }
        ask(self, Request::Add(local))
    }

    /// Uses the address `local` no more. Its paths end at once, and what is in flight on them is sent again on others:
    /// [`crate::PathChange::Removed`] follows. The socket may be closed when the peer has confirmed, or at once if
    /// what still comes in over it may be lost.
    ///
    /// # Errors
    ///
    /// See [`AddressError`].
    pub fn remove_local_address(&mut self, local: SocketAddr) -> Result<(), AddressError> {
        // A peer that began anew may have called one that was removed before.
        let is_used = self.paths.iter().any(|(_, path)| path.addr.local == local);
        if !self.here.contains(&local) && !is_used {
            return Err(AddressError::UnknownAddress(local));
        }
        check(self)?;
        // RFC 5061 §5.3 F5: "An endpoint MUST NOT delete its last remaining IP address from an association."
        // F4: the address "MUST NOT be used as a source address for any subsequent packets".
        if !paths::remove_where(self, |path| path.local == local) {
            return Err(AddressError::LastAddress(local));
        }
        self.here = self.here.iter().copied().filter(|addr| *addr != local).collect();
        self.addresses.changed = true;
        self.addresses.leaving.push(local);
        ask(self, Request::Delete(local))
    }

    /// Asks the peer to send to our address `local` when it sends on one path only (RFC 5061 §5.4).
    ///
    /// # Errors
    ///
    /// See [`AddressError`].
    pub fn request_peer_primary(&mut self, local: SocketAddr) -> Result<(), AddressError> {
        let is_coming = self
            .addresses
            .asking
            .pending()
            .any(|request| *request == Request::Add(local));
        if !self.here.contains(&local) && !is_coming {
            return Err(AddressError::UnknownAddress(local));
        }
        ask(self, Request::SetPrimary(local))
    }
}

/// The peer of `before` began anew, and with it `association`: it has forgotten what it was asked. What was to be deleted is
/// not among our addresses any more, so the handshake did not tell of it.
pub(crate) fn ask_again(association: &mut Association, before: &Association) {
    let pending = before.addresses.asking.pending().copied();
    for request in pending.filter(|request| !matches!(request, Request::Delete(_))) {
        // It may have come back without what that takes.
        let _ = ask(association, request);
    }
}

fn check(association: &Association) -> Result<(), AddressError> {
    if !super::may_talk(association) {
        return Err(AddressError::NotConnected);
    }
    let asking = &association.addresses.asking;
    if asking.is_vain || !association.may_change_addresses() {
        return Err(AddressError::NotAgreed);
    }
    if asking.pending().count() >= MOST {
        return Err(AddressError::TooMany);
    }
    Ok(())
}

fn ask(association: &mut Association, request: Request) -> Result<(), AddressError> {
    check(association)?;
    association.addresses.asking.waiting.push(request);
    Ok(())
}

/// Makes the next question of what waits, if there is none, and settles which paths remain. To be called before anything
/// is sent.
pub(crate) fn advance(association: &mut Association, now: Instant) {
    if !super::may_talk(association) {
        return;
    }
    if mem::take(&mut association.addresses.unsettled) {
        paths::retire_superfluous(association);
    }
    let asking = &mut association.addresses.asking;
    if asking.waiting.is_empty() || asking.question.is_some() {
        return;
    }
    let requests = mem::take(&mut asking.waiting);
    let known = association.paths.path(association.paths.best()).addr.local;
    let parameters =
        requests
            .iter()
            .zip(0..)
            .fold(ParameterWriter::new(), |mut writer, (request, number)| {
                push(&mut writer, *request, CorrelationId(number));
                writer
            });
    let deletes = requests
        .iter()
        .any(|request| matches!(request, Request::Delete(_)));
    let asking = &mut association.addresses.asking;
    asking.question = Some(Question {
        chunk: OutboundAsconf {
            number: asking.next,
            address: known.ip(),
            requests: parameters.finish(),
        },
        requests,
        is_due: true,
        path: None,
        expires: None,
    });
    asking.next = asking.next.next();
    if deletes {
        // The peer will braid its addresses with those of ours that are left.
        paths::follow_addresses(association, now);
    }
}

fn push(writer: &mut ParameterWriter, request: Request, id: CorrelationId) {
    let about = |local: SocketAddr| AddressRequest {
        id,
        address: local.ip(),
    };
    match request {
        Request::Add(local) => writer.push_add_address(about(local)),
        Request::Delete(local) => writer.push_delete_address(about(local)),
        Request::SetPrimary(local) => writer.push_set_primary(about(local)),
    };
}

/// The path on which the question is due: one that works, and another one than last time (RFC 5061 §5.1 B4).
pub(super) fn due_on(association: &Association) -> Option<PathId> {
    let question = association.addresses.asking.question.as_ref()?;
    if !question.is_due {
        return None;
    }
    let alternate = question
        .path
        .and_then(|path| association.paths.another_usable(path));
    let path = alternate.unwrap_or_else(|| association.paths.best());
    association.paths.is_confirmed(path).then_some(path)
}

/// T4 may have expired: an error on the path that the question took, and it leaves again (RFC 5061 §5.1 B1 to B5).
pub(crate) fn on_timeout(association: &mut Association, now: Instant) {
    let Some(question) = &mut association.addresses.asking.question else {
        return;
    };
    if question.expires.take_if(|expires| *expires <= now).is_none() {
        return;
    }
    question.is_due = true;
    if let Some(path) = question.path {
        association.paths.path_mut(path).rtt.back_off();
        association.paths.publish_rtt(path);
        liveness::error_on(association, path, now);
    }
}

/// The peer answered, or pretends to.
pub(crate) fn on_asconf_ack(
    association: &mut Association,
    now: Instant,
    chunk: &AsconfAck<'_>,
) -> Result<(), Violation> {
    let asking = &mut association.addresses.asking;
    let answered = asking
        .question
        .take_if(|question| question.chunk.number == chunk.number);
    let Some(question) = answered else {
        // RFC 5061 §5.3 F0: "an ASCONF-ACK that is greater than or equal to the next Sequence Number to be used but no
        // ASCONF chunk is outstanding [...] MUST ABORT the association".
        let is_ahead = asking.next.precedes_or_is(chunk.number);
        return if is_ahead && asking.question.is_none() {
            Err(Violation::IllegalAsconfAck)
        } else {
            Ok(())
        };
    };
    if let Some(path) = question.path {
        liveness::answered_at_some_time(association, path, now);
    }
    let fates = Fates::read(&chunk.responses, question.requests.len());
    association.addresses.asking.is_vain |= fates.not_understood;
    for (request, number) in question.requests.into_iter().zip(0..) {
        settle(association, request, fates.of(CorrelationId(number)));
    }
    paths::follow_addresses(association, now);
    Ok(())
}

/// The peer did, or refused, what was asked.
fn settle(association: &mut Association, request: Request, fate: &Fate) {
    let what = match request {
        Request::Add(local) => {
            if *fate == Fate::Done && !association.here.contains(&local) {
                association.here = association.here.iter().copied().chain([local]).collect();
            }
            format!("add {}", local.ip())
        }
        Request::Delete(local) => {
            association.addresses.leaving.retain(|leaving| *leaving != local);
            format!("delete {}", local.ip())
        }
        Request::SetPrimary(local) => format!("set primary {}", local.ip()),
    };
    if let Fate::Refused(why) = fate {
        association
            .events
            .push(Event::PeerError(format!("{what} refused: {why}")));
    }
}

/// The peer reported an unknown chunk of type ASCONF: "MUST NOT send any further ASCONF Chunks and MUST stop its T-4
/// timer" (RFC 5061 §5.1 A9).
pub(crate) fn peer_knows_no_asconf(association: &mut Association, unrecognized: &[u8]) {
    if unrecognized.first() == Some(&kind::ASCONF) {
        let asking = &mut association.addresses.asking;
        asking.is_vain = true;
        asking.question = None;
        asking.waiting.clear();
    }
}

//! End of an association. How does it end? Only here does it enter CLOSED, by ABORT, SHUTDOWN COMPLETE or failure.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use anabranch_types::VerificationTag;
use anabranch_wire::parameter::kind::STATE_COOKIE;
use anabranch_wire::{Abort, Cause, CauseWriter};

use super::{Association, CloseReason, Event, PeerError, State};
use crate::violation::Violation;

/// Further error causes in one ABORT are ignored.
const MAX_CAUSES: usize = 4;

impl Association {
    //= rfc9260 8.1-4, 8.1-5, 9.1-1
    /// Ends the association for `reason`. After that only the queued ABORT or SHUTDOWN COMPLETE is sent: with `abort`, an ABORT
    /// with these causes.
    pub(crate) fn end(&mut self, reason: CloseReason, abort: Option<Vec<u8>>) {
        if !self.state.is_closed() {
            self.state = State::Closed;
            self.transfer.stop();
            self.control.clear();
            // A message that was being delivered in parts is aborted.
            self.owed.tell_readable(&self.transfer.receiver, &mut self.events);
            self.events.push(Event::Closed(reason));
        }
        // Before the INIT ACK the peer's tag is unknown, and an ABORT without it would be discarded (RFC 9260 §8.5.1).
        if let Some(causes) = abort.filter(|_| self.peer.tag != VerificationTag::ZERO) {
            self.control.abort(causes);
        }
    }
}

/// Turns a violation into the reason of the end and the error causes of the ABORT.
pub(crate) fn violated(violation: Violation) -> (CloseReason, Vec<u8>) {
    let mut causes = CauseWriter::new();
    match &violation {
        Violation::NoUserData(tsn) => causes.push(Cause::NoUserData(*tsn)),
        Violation::InvalidMandatoryParameter => causes.push(Cause::InvalidMandatoryParameter),
        Violation::HostName(name) => causes.push(Cause::UnresolvableAddress(name.parameter())),
        Violation::NoStateCookie => causes.push_missing_parameters(&[STATE_COOKIE]),
        Violation::IllegalAsconfAck => causes.push(Cause::IllegalAsconfAck),
        Violation::Protocol(what) => causes.push(Cause::ProtocolViolation(what.as_bytes())),
    };
    let text = violation.to_string();
    (CloseReason::PeerViolation(text), causes.finish())
}

//= rfc9260 9.1-4
/// The error cause of an ABORT by the application: User-Initiated Abort (RFC 9260 §3.3.10.12).
pub(crate) fn user_abort(reason: &[u8]) -> Vec<u8> {
    CauseWriter::one(Cause::UserInitiatedAbort(reason))
}

//= rfc9260 3.3.7-3, 9.1-7, 9.1-8, 9.1-9
/// The reason of the end after an ABORT from the peer; `None` if the ABORT has a format error, as it is then discarded (RFC 9260
/// §3.3.7).
///
/// An ABORT with the T bit means that the peer has no such association. In SHUTDOWN-ACK-SENT all data is acknowledged in both
/// directions, so this is a graceful end: the peer has sent SHUTDOWN COMPLETE and removed the association, and a late packet of
/// ours was out of the blue there.
pub(crate) fn aborted_by_peer(state: &State, abort: &Abort<'_>) -> Option<CloseReason> {
    if abort.causes.iter().any(|cause| cause.is_err()) {
        return None;
    }
    if abort.tag_reflected && matches!(state, State::ShutdownAckSent(..)) {
        return Some(CloseReason::Finished);
    }
    let (mut error, mut reason) = (PeerError::default(), None);
    for cause in abort.causes.iter().flatten().take(MAX_CAUSES) {
        let cause = cause.decode();
        if let Ok(Cause::UserInitiatedAbort(text)) = &cause {
            reason = reason.or_else(|| PeerError::said(text));
        }
        match cause {
            Ok(cause) => error.add(&cause),
            Err(malformed) => error.add(&malformed),
        }
    }
    let causes = error.finish();
    let causes = if causes.is_empty() {
        String::from("no reason given")
    } else {
        causes
    };
    Some(CloseReason::AbortedByPeer { causes, reason })
}

//! End of an association. How does it die? Here, and nowhere else.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use anabranch_types::VerificationTag;
use anabranch_wire::parameter::kind::STATE_COOKIE;
use anabranch_wire::{Abort, Cause, CauseWriter};

use super::{Association, CloseReason, Event, PeerError, State};
use crate::violation::Violation;

/// Causes beyond this number in one ABORT are not read.
const MAX_CAUSES: usize = 4;

impl Association {
    //= rfc9260 8.1-4, 8.1-5, 9.1-1
    /// It is over for `reason`; nothing is sent any more but what the control slots hold: an ABORT with these causes, if there
    /// is one.
    pub(crate) fn end(&mut self, reason: CloseReason, abort: Option<Vec<u8>>) {
        if !self.state.is_closed() {
            self.state = State::Closed;
            self.transfer.stop();
            self.control.clear();
            self.events.push(Event::Closed(reason));
        }
        // Before the INIT ACK no tag of the peer is known that it would recognise.
        if let Some(causes) = abort.filter(|_| self.peer.tag != VerificationTag::ZERO) {
            self.control.abort(causes);
        }
    }
}

/// The peer broke the protocol: the reason of the end, and the causes that it is told.
pub(crate) fn violated(violation: Violation) -> (CloseReason, Vec<u8>) {
    let mut causes = CauseWriter::new();
    match violation {
        Violation::NoUserData(tsn) => causes.push(Cause::NoUserData(tsn)),
        Violation::InvalidMandatoryParameter => causes.push(Cause::InvalidMandatoryParameter),
        Violation::HostName => causes.push(Cause::UnresolvableAddress(&[])),
        Violation::NoStateCookie => causes.push_missing_parameters(&[STATE_COOKIE]),
        Violation::IllegalAsconfAck => causes.push(Cause::IllegalAsconfAck),
        Violation::Protocol(what) => causes.push(Cause::ProtocolViolation(what.as_bytes())),
    };
    let text = violation.to_string();
    (CloseReason::PeerViolation(text), causes.finish())
}

//= rfc9260 9.1-4
/// The causes of an ABORT that the application asks for.
pub(crate) fn user_abort(reason: &[u8]) -> Vec<u8> {
    CauseWriter::one(Cause::UserInitiatedAbort(reason))
}

//= rfc9260 3.3.7-3, 9.1-7, 9.1-8, 9.1-9
/// The reason of the end after an ABORT of the peer.
///
/// `None` for one with a format error, which is discarded (RFC 9260 §3.3.7).
///
/// With the T bit the peer says that it knows no such association. After our SHUTDOWN ACK, when everything is
/// acknowledged both ways, that is the good end: the peer forgot after its SHUTDOWN COMPLETE, and a late packet of
/// ours, from another path, was out of the blue to it.
pub(crate) fn aborted_by_peer(state: &State, abort: &Abort<'_>) -> Option<CloseReason> {
    if abort.causes.iter().any(|cause| cause.is_err()) {
        return None;
    }
    if abort.tag_reflected && matches!(state, State::ShutdownAckSent(..)) {
        return Some(CloseReason::Finished);
    }
    let mut error = PeerError::default();
    for cause in abort.causes.iter().flatten().take(MAX_CAUSES) {
        match cause.decode() {
            Ok(cause) => error.add(&cause),
            Err(malformed) => error.add(&malformed),
        }
    }
    let text = error.finish();
    let text = if text.is_empty() {
        String::from("no reason given")
    } else {
        text
    };
    Some(CloseReason::AbortedByPeer(text))
}

//! How does an association die? Here, and nowhere else.

use alloc::string::ToString;
use alloc::vec::Vec;

use anabranch_types::VerificationTag;
use anabranch_wire::parameter::kind::STATE_COOKIE;
use anabranch_wire::{Abort, Cause, CauseWriter};

use super::complaint::Complaint;
use super::{CloseReason, Event, State};
use crate::Association;
use crate::violation::Violation;

/// It is over for `reason`; nothing is sent any more but what the control slots hold.
pub(crate) fn finish(association: &mut Association, reason: CloseReason) {
    if association.state.is_closed() {
        return;
    }
    association.state = State::Closed;
    for id in association.paths.ids() {
        let path = association.paths.path_mut(id);
        path.t3.stop();
        path.heartbeat = crate::path::Heartbeat::default();
        path.mtu.end();
        path.release_at = None;
        path.blocked_until = None;
    }
    association.control.clear();
    association.scheduler_wakes = None;
    association.events.push(Event::Closed(reason));
}

/// The peer broke the protocol: it is told how, and the association ends.
pub(crate) fn because_of(association: &mut Association, violation: Violation) {
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
    end_with_abort(association, causes.finish(), CloseReason::PeerViolation(text));
}

pub(crate) fn abort_by_user(association: &mut Association, reason: &[u8]) {
    let cause = CauseWriter::one(Cause::UserInitiatedAbort(reason));
    end_with_abort(association, cause, CloseReason::Aborted);
}

/// The peer stopped answering. It is told in case it hears us all the same.
pub(crate) fn given_up(association: &mut Association, reason: CloseReason) {
    end_with_abort(association, Vec::new(), reason);
}

/// An ABORT came from the peer.
///
/// With the T bit the peer says that it knows no such association. After our SHUTDOWN ACK, when everything is
/// acknowledged both ways, that is the good end: the peer forgot after its SHUTDOWN COMPLETE, and a late packet of
/// ours, from another path, was out of the blue to it.
pub(crate) fn aborted_by_peer(association: &mut Association, abort: &Abort<'_>) {
    // RFC 9260 §3.3.7: one with a format error is discarded silently.
    if abort.causes.iter().any(|cause| cause.is_err()) {
        return;
    }
    if abort.tag_reflected && matches!(association.state, State::ShutdownAckSent(..)) {
        finish(association, CloseReason::Finished);
        return;
    }
    let mut complaint = Complaint::default();
    for cause in abort.causes.iter().flatten().take(4) {
        match cause.decode() {
            Ok(cause) => complaint.add(&cause),
            Err(error) => complaint.add(&error),
        }
    }
    let mut text = complaint.finish();
    if text.is_empty() {
        text += "no reason given";
    }
    finish(association, CloseReason::AbortedByPeer(text));
}

fn end_with_abort(association: &mut Association, causes: Vec<u8>, reason: CloseReason) {
    finish(association, reason);
    // Before the INIT ACK no tag of the peer is known that it would recognise.
    if association.peer.tag != VerificationTag::ZERO {
        association.control.abort(causes);
    }
}

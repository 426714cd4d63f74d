//! How do two sides finish? The graceful end of RFC 9260 §9.2.

use anabranch_types::{Instant, PathId};
use anabranch_wire::Shutdown;

use super::sack;
use crate::Association;
use crate::association::{CloseReason, Event, Retry, State, close};

/// Any packet came. "The reception of any packet from its peer SHOULD clear the endpoint's retransmission count and
/// restart the T2-shutdown timer, giving its peer ample opportunity to transmit all of its queued DATA chunks"
/// (RFC 9260 §9.2); T5-shutdown-guard says how ample. What it was backed off by is forgotten: the heartbeats of a peer that
/// missed the SHUTDOWN would come before it expired, for ever.
pub(super) fn heard(association: &mut Association, now: Instant) {
    if let State::ShutdownSent(retry, _) = &mut association.state {
        let best = association.paths.path(association.paths.best());
        *retry = Retry::start(best.rtt.rto_without_back_off(), now);
        association.errors = 0;
    }
}

/// The peer has nothing more to send. Its cumulative TSN acknowledges; when all we sent is acknowledged,
/// SHUTDOWN ACK follows from the output side.
pub(crate) fn on_shutdown(association: &mut Association, now: Instant, path: PathId, chunk: Shutdown) {
    match association.state {
        State::Established | State::ShutdownPending => {
            association.state = State::ShutdownReceived;
            association.events.push(Event::PeerShutdown);
        }
        // Both sides sent SHUTDOWN at once: "the endpoint MUST respond with SHUTDOWN ACK". All our data is
        // acknowledged already, so the output side sends it next.
        State::ShutdownSent(..) => association.state = State::ShutdownReceived,
        State::ShutdownAckSent(..) => association.control.send_shutdown_ack(),
        State::ShutdownReceived => {}
        State::CookieWait(_) | State::CookieEchoed(..) | State::Closed => return,
    }
    // The answer goes where the question came from (RFC 9260 §6.4).
    if association.paths.fact(path).is_usable() {
        association.control.end_on(path);
    }
    sack::on_cumulative(association, now, path, chunk.cumulative);
}

/// The peer has nothing outstanding either: it is told that we know, and that is the end.
pub(crate) fn on_shutdown_ack(association: &mut Association) {
    if matches!(
        association.state,
        State::ShutdownSent(..) | State::ShutdownAckSent(..)
    ) {
        close::finish(association, CloseReason::Finished);
        association.control.send_shutdown_complete();
    }
}

pub(crate) fn on_shutdown_complete(association: &mut Association) {
    if matches!(association.state, State::ShutdownAckSent(..)) {
        close::finish(association, CloseReason::Finished);
    }
}

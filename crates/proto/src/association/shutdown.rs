//! Graceful shutdown (RFC 9260 §9.2). How do both ends close the association after all data is acknowledged?
//!
//! ```text
//! ESTABLISHED ── the application finishes ──▶ SHUTDOWN-PENDING ── all acknowledged: SHUTDOWN ──▶ SHUTDOWN-SENT
//!      │                                            │                                                │
//!      └────────────── SHUTDOWN came ──────────────▶└──▶ SHUTDOWN-RECEIVED ◀──── SHUTDOWN came ──────┘
//!                                                             │
//!                                                             └─ all acknowledged: SHUTDOWN ACK ──▶ SHUTDOWN-ACK-SENT
//! ```
//!
//! SHUTDOWN ACK and SHUTDOWN COMPLETE end the association. T2 retransmits SHUTDOWN and SHUTDOWN ACK; T5-shutdown-guard bounds the
//! whole shutdown.

use alloc::boxed::Box;
use core::time::Duration;

use anabranch_types::{Instant, PathId};
use anabranch_wire::Shutdown;

use super::{Association, CloseReason, Control, Event, Guard, Retry, State, T2};
use crate::transfer::Transfer;

impl Association {
    //= rfc9260 9.2-2, 9.2-4, 9.2-5, 9.2-6, 9.2-14, 9.2-17, 9.2-18, 9.2-19, 9.2-20
    /// Handles the expiry of T2 or T5. At T2, SHUTDOWN or SHUTDOWN ACK is retransmitted, on another path than before if one works,
    /// as RFC 9260 §6.4.1 recommends for data.
    pub(crate) fn shutdown_timer(&mut self, now: Instant) {
        let max_rto = self.config.rto().max;
        if let Some(reason) = self.shutdown_is_over(now) {
            self.end(reason, Some(alloc::vec::Vec::new()));
            return;
        }
        match &mut self.state {
            State::ShutdownSent(t2) => {
                t2.retry.repeat(max_rto, now);
                self.control.send_shutdown();
            }
            State::ShutdownAckSent(t2) => {
                t2.retry.repeat(max_rto, now);
                self.control.send_shutdown_ack();
            }
            _ => return,
        }
        let best = self.transfer.paths.best();
        let missed = self.control.end_left_on().unwrap_or(best);
        // Heartbeats have stopped, so only T2 shows that the peer may not know the source address of the path any more.
        self.transfer.paths.path_mut(missed).join.want();
        let effects = self.transfer.error_on(missed, now);
        self.apply(effects);
        if let Some(other) = self.transfer.paths.another_usable(missed) {
            self.control.end_on(other);
        }
    }

    /// The reason to end the shutdown, if there is one: T5 expired, or the chunk was retransmitted Association.Max.Retrans times, on
    /// any paths.
    fn shutdown_is_over(&self, now: Instant) -> Option<CloseReason> {
        let (retry, guard) = match &self.state {
            State::ShutdownSent(t2) => (&t2.retry, Some(t2.guard)),
            State::ShutdownAckSent(t2) => (&t2.retry, t2.guard),
            _ => return None,
        };
        let guard = guard.and_then(|guard| guard.deadline(retry));
        if guard.is_some_and(|guard| guard <= now) {
            return Some(CloseReason::ShutdownTimeout);
        }
        (retry.repeated >= self.config.max_retransmits).then_some(CloseReason::PeerUnreachable)
    }

    //= rfc9260 9.2-9, 9.2-28, 9.2-29
    /// Handles a SHUTDOWN: the peer has no more data to send. Its cumulative TSN acknowledges our data; when all of it is
    /// acknowledged, the output side sends SHUTDOWN ACK.
    pub(crate) fn on_shutdown(&mut self, now: Instant, path: PathId, chunk: Shutdown) {
        match &self.state {
            State::Established | State::ShutdownPending => {
                self.state = State::ShutdownReceived(None);
                self.events.push(Event::PeerShutdown);
            }
            // Both sides sent SHUTDOWN at once. All our data is acknowledged already, so the output side sends SHUTDOWN ACK next.
            State::ShutdownSent(t2) => self.state = State::ShutdownReceived(Some(t2.guard)),
            State::ShutdownAckSent(..) => self.control.send_shutdown_ack(),
            State::ShutdownReceived(_) => {}
            State::CookieWait(_) | State::CookieEchoed(..) | State::Closed => return,
        }
        // The reply is sent to the source of the SHUTDOWN (RFC 9260 §6.4).
        if self.transfer.paths.fact(path).is_active() {
            self.control.end_on(path);
        }
        let effects = self.transfer.on_cumulative(now, path, chunk.cumulative);
        self.apply(effects);
    }
}

//= rfc9260 9.2-7, 9.2-12
/// Restarts T2 and clears the error counter when a packet arrives in SHUTDOWN-SENT, because the peer may have much data to send
/// before it can close, too (RFC 9260 §9.2); T5-shutdown-guard bounds this. T2 restarts without back-off: otherwise heartbeats of a
/// peer that missed the SHUTDOWN would restart T2 before it expires, for ever.
pub(crate) fn restart_t2(state: &mut State, transfer: &mut Transfer, now: Instant) {
    if let State::ShutdownSent(t2) = state {
        let best = transfer.paths.fact(transfer.paths.best());
        t2.retry = Retry::start(best.rtt.rto_without_back_off(), now);
        transfer.forget_errors();
    }
}

//= rfc9260 3.3.8-1, 3.3.9-1, 4-11, 9.2-1, 9.2-15, 9.2-16, 9.2-24
/// Advances the shutdown: SHUTDOWN or SHUTDOWN ACK is sent when all data is acknowledged. T5-shutdown-guard starts with SHUTDOWN.
#[cold]
pub(crate) fn advance(
    state: &mut State,
    control: &mut Control,
    transfer: &mut Transfer,
    max_rto: Duration,
    now: Instant,
) {
    if !state.is_shutdown_due() || !transfer.sender.is_finished() {
        return;
    }
    let retry = Retry::start(transfer.paths.fact(transfer.paths.best()).rto(), now);
    match *state {
        State::ShutdownPending => {
            // RFC 9260 §9.2 recommends five times RTO.Max for T5-shutdown-guard.
            let guard = Guard(now + max_rto * 5);
            *state = State::ShutdownSent(Box::new(T2 { retry, guard }));
            control.send_shutdown();
        }
        State::ShutdownReceived(guard) => {
            *state = State::ShutdownAckSent(Box::new(T2 { retry, guard }));
            control.send_shutdown_ack();
        }
        _ => return,
    }
    transfer.stop_heartbeats();
}

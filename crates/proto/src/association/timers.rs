//! What is due next, and what happens when it is?

use anabranch_policy::{LossCause, LossEvent, Reachability};
use anabranch_types::{Instant, PathId, earliest};

use super::{CloseReason, State, close, liveness, packet_size};
use crate::output::WindowProbe;
use crate::{Association, address, handshake};

/// The next moment at which anything is due.
pub(crate) fn next(association: &Association) -> Option<Instant> {
    if association.state.is_closed() {
        return None;
    }
    // Nothing but the handshake leaves before its end. What is due on a path, of which an attempt that has to begin again
    // may have left something behind, waits for it.
    if let State::CookieWait(_) | State::CookieEchoed(..) = association.state {
        return association.state.deadline();
    }
    // Without a confirmed path these wait for one.
    let can_leave = association.paths.any_confirmed();
    earliest([
        association.state.deadline(),
        association.receiver.sack_deadline().filter(|_| can_leave),
        association.scheduler_wakes,
        association.window_probe.deadline().filter(|_| can_leave),
        association.addresses.deadline(),
        association.paths.next_deadline(),
    ])
}

/// Everything that is due happens, in a fixed order.
pub(crate) fn fire(association: &mut Association, now: Instant) {
    if association.state.is_closed() {
        return;
    }
    association.policies.burst.on_transmission_opportunity();
    state_timer(association, now);
    association.scheduler_wakes.take_if(|wakes| *wakes <= now);
    association.window_probe.expire(now);
    address::on_timeout(association, now);
    loss_timer(association, now);
    for path in association.paths.ids() {
        if association.state.is_closed() {
            return;
        }
        let machinery = association.paths.path_mut(path);
        machinery.blocked_until.take_if(|blocked| *blocked <= now);
        machinery.tail_probe.expire(now);
        let released = machinery.release_at.take_if(|release| *release <= now);
        if released.is_some() {
            association.paths.fact_mut(path).pacing_limited = false;
        }
        expire_copies(association, path, now);
        heartbeat_timer(association, path, now);
        packet_size::on_timer(association, path, now);
        t3_timer(association, path, now);
    }
}

fn state_timer(association: &mut Association, now: Instant) {
    if association.state.deadline().is_none_or(|deadline| deadline > now) {
        return;
    }
    let max_rto = association.config.rto().max;
    match &mut association.state {
        State::CookieWait(retry) => {
            retry.repeat(max_rto, now);
            let repeated = retry.repeated;
            repeat_handshake(association, repeated);
        }
        State::CookieEchoed(retry, _) => {
            retry.repeat(max_rto, now);
            let repeated = retry.repeated;
            repeat_handshake(association, repeated);
        }
        State::ShutdownSent(_, guard) | State::ShutdownAckSent(_, guard) if guard.0 <= now => {
            close::given_up(association, CloseReason::ShutdownTimeout);
        }
        State::ShutdownSent(retry, _) => {
            retry.repeat(max_rto, now);
            association.control.send_shutdown();
            end_was_missed(association, now);
        }
        State::ShutdownAckSent(retry, _) => {
            retry.repeat(max_rto, now);
            association.control.send_shutdown_ack();
            end_was_missed(association, now);
        }
        State::Established | State::ShutdownPending | State::ShutdownReceived | State::Closed => {}
    }
}

/// T2 expired: SHUTDOWN or SHUTDOWN ACK goes again, on another path than last time if one works, as data would (RFC 9260
/// §6.4.1).
fn end_was_missed(association: &mut Association, now: Instant) {
    let best = association.paths.best();
    let missed = association.control.end_left_on().unwrap_or(best);
    liveness::error_on(association, missed, now);
    if let Some(other) = association.paths.another_usable(missed) {
        association.control.end_on(other);
    }
}

/// T1 expired: INIT or COOKIE ECHO goes again, on the next path if there is one (RFC 9260 §5.1 suggests it),
/// or nobody is there. An address that the peer lists may be a stranger's, to whom no INIT goes; a COOKIE ECHO may with a
/// HEARTBEAT (RFC 9260 §5.4), since the address that was called may have died.
fn repeat_handshake(association: &mut Association, repeated: u16) {
    if repeated > association.config.max_init_retransmits {
        close::given_up(association, CloseReason::NoAnswer);
        return;
    }
    let next = match &association.state {
        State::CookieEchoed(_, cookie) => handshake::path_of_cookie(association, cookie, repeated),
        _ => handshake::path_of_call(association, repeated),
    };
    association.control.send_handshake(next);
}

fn heartbeat_timer(association: &mut Association, path: PathId, now: Instant) {
    if let Some(overdue) = association.paths.path_mut(path).heartbeat.take_overdue(now) {
        if overdue.excused {
            liveness::schedule_heartbeat(association, path, now);
            return;
        }
        association.paths.path_mut(path).rtt.back_off();
        association.paths.publish_rtt(path);
        liveness::heartbeat_missed(association, path, now);
        if association.state.is_closed() {
            return;
        }
        let is_dead = association.paths.fact(path).reachability == Reachability::Inactive;
        // "It is RECOMMENDED that a HEARTBEAT chunk is sent once per RTO […] plus 'HB.interval'" (RFC 9260 §8.3): a dead path is
        // found well the sooner. Where errors still count, an outage should end no association the sooner.
        liveness::schedule_heartbeat(association, path, if is_dead { overdue.sent_at } else { now });
    }
}

/// Duplicates that left a round trip ago no longer fill the window.
fn expire_copies(association: &mut Association, path: PathId, now: Instant) {
    let duplicates = &mut association.paths.path_mut(path).duplicates;
    duplicates.expire(now);
    let bytes = duplicates.bytes();
    association.paths.fact_mut(path).duplicated_bytes = bytes;
}

/// The loss policy wanted to be asked again, though no SACK came.
fn loss_timer(association: &mut Association, now: Instant) {
    let is_due = |path: PathId| {
        let check_at = association.paths.path(path).loss_check_at;
        check_at.is_some_and(|at| at <= now)
    };
    if association.paths.ids().any(is_due) {
        crate::input::find_losses(association, now);
        crate::input::publish(association, now);
    }
}

/// T3-rtx expired on `path` (RFC 9260 §6.3.3): everything outstanding on it is lost, its window falls to one
/// packet, its timeout doubles.
fn t3_timer(association: &mut Association, path: PathId, now: Instant) {
    if association
        .paths
        .path(path)
        .t3
        .expires()
        .is_none_or(|expires| expires > now)
    {
        return;
    }
    let lost = association.sender.lose_all(path);
    association.paths.fact_mut(path).in_recovery = false;
    let machinery = association.paths.path_mut(path);
    machinery.t3.stop();
    machinery.rtt.back_off();
    machinery.recovery = None;
    machinery.retransmission_credit = false;
    machinery.loss_check_at = None;
    machinery.tail_probe.settle();
    machinery.counters.timeouts += 1;
    association.paths.publish_rtt(path);
    association.policies.loss.on_timeout(path);
    let counts = match association.window_probe {
        // RFC 9260 §6.1 A: "Zero window probing does not affect the calculation of cwnd", and unanswered probes
        // are no errors while SACKs keep coming. One packet is enough to ask.
        WindowProbe::Out { answered } => {
            let machinery = association.paths.path_mut(path);
            machinery.one_at_a_time = true;
            answered.is_none_or(|at| !machinery.was_silent_since(at))
        }
        WindowProbe::Idle | WindowProbe::At(_) | WindowProbe::Due => {
            association.paths.chunks_lost(path, lost.chunks);
            let event = LossEvent {
                path,
                cause: LossCause::Timeout,
                bytes: lost.bytes,
            };
            association.tell_loss(&event, now);
            // A policy whose window has place for more all the same wants more to leave.
            let window = association.policies.congestion.cwnd(path);
            let (facts, machinery) = association.paths.both_mut(path);
            machinery.one_at_a_time = window <= u64::from(facts.max_data_chunk);
            packet_size::doubt(association, path, now);
            true
        }
    };
    crate::input::publish(association, now);
    if counts {
        liveness::error_on(association, path, now);
    }
}

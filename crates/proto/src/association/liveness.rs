//! Does the peer still answer, and on which paths? Errors, signs of life and what follows from them.

use core::time::Duration;

use anabranch_policy::{PathFacts, Reachability, SentOnce};
use anabranch_types::{Instant, PathId};

use super::{CloseReason, Event, PathChange, PathEvent, State, close, packet_size, paths};
use crate::path::Heartbeat;
use crate::{Association, address};

/// Something sent on `path` was not answered in time (RFC 9260 §8.1, §8.2).
pub(crate) fn error_on(association: &mut Association, path: PathId, now: Instant) {
    let was_confirmed = association.paths.is_confirmed(path);
    path_error(association, path, now);
    // An address that was never confirmed says nothing about the peer, unless it is all that is left: both ends may have
    // removed addresses at once, and what remains need not be connected.
    let failover = &association.policies.failover;
    let counts = failover.counts_against_peer(association.paths.fact(path), association.paths.facts());
    if was_confirmed && counts || !association.paths.any_confirmed() {
        association.errors = association.errors.saturating_add(1);
        if association.errors > association.config.max_retransmits {
            close::given_up(association, CloseReason::PeerUnreachable);
        }
    }
}

/// A heartbeat on `path` was not answered in time.
///
/// "Unacknowledged HEARTBEAT chunks observed on paths different from the path currently used for data transfer SHOULD
/// NOT increment the association error counter" (RFC 9260 §8.1): several dead paths would end an association that works
/// over another one and is only idle. Once no other path is usable, this one is as good as any, and counts.
pub(crate) fn heartbeat_missed(association: &mut Association, path: PathId, now: Instant) {
    let is_other = |facts: &PathFacts| facts.id != path && facts.is_usable();
    if !association.paths.facts().iter().any(is_other) {
        error_on(association, path, now);
    } else if association.paths.fact(path).reachability != Reachability::Inactive {
        // RFC 9260 §8.3: of an inactive path, one "SHOULD stop increasing the counter".
        path_error(association, path, now);
    }
}

/// One more error in a row on `path`, and what the failover policy makes of it.
fn path_error(association: &mut Association, path: PathId, now: Instant) {
    let (facts, machinery) = association.paths.both_mut(path);
    facts.errors = facts.errors.saturating_add(1);
    machinery.failed_at = Some(now);
    let reachability = association
        .policies
        .failover
        .on_error(association.paths.fact(path));
    if set_reachability(association, path, reachability) {
        // A suspected path is probed sooner than a working one, an inactive one later (RFC 7829 §3.2).
        schedule_heartbeat(association, path, now);
        leave_if_dead(association, path, now);
    }
}

/// What is in flight on a path that is given up leaves on others at once. Its timer has backed off, up to RTO.Max.
fn leave_if_dead(association: &mut Association, path: PathId, now: Instant) {
    let is_dead = association.paths.fact(path).reachability == Reachability::Inactive;
    if is_dead && association.sender.in_flight(path) > 0 {
        send_again(association, path, now);
    }
}

/// The peer answered something that was sent on `path`: both counters are cleared (RFC 9260 §8.1, §8.2). Whose address it is
/// that has not answered a heartbeat yet, nothing else proves (RFC 9260 §5.4).
fn sign_of_life_on(association: &mut Association, path: PathId, now: Instant) {
    if association.paths.is_confirmed(path) {
        proved_alive(association, path, now);
    }
}

fn proved_alive(association: &mut Association, path: PathId, now: Instant) {
    association.errors = 0;
    let facts = association.paths.fact_mut(path);
    if facts.errors == 0 && facts.reachability == Reachability::Active {
        return;
    }
    facts.errors = 0;
    let reachability = association
        .policies
        .failover
        .on_reachable(association.paths.fact(path));
    if set_reachability(association, path, reachability) && reachability == Reachability::Active {
        take_over(association, now);
    }
}

/// Chunks were acknowledged that were last sent on `path`; the latest of those that were sent only once is `sent_once`.
///
/// "There exists ambiguity as to whether or not the acknowledgement could be credited to the address of the last chunk sent"
/// if it was sent more than once (RFC 9260 §8.2), and after an outage what is acknowledged first may have arrived before it. So
/// a path that is out of use does not come back by that, but is asked at once.
pub(crate) fn acknowledged(
    association: &mut Association,
    path: PathId,
    sent_once: Option<SentOnce>,
    now: Instant,
) {
    if let Some(chunk) = sent_once {
        let machinery = association.paths.path_mut(path);
        // Whether the way back is alive, only an answer over it tells.
        if !machinery.sacks_doubted {
            machinery.heartbeat.path_is_proved(chunk.sent_at, now);
        }
    }
    let failed_at = association.paths.path(path).failed_at;
    let is_proof = |chunk: SentOnce| failed_at.is_none_or(|failed_at| chunk.sent_at >= failed_at);
    if association.paths.fact(path).is_usable() || sent_once.is_some_and(is_proof) {
        sign_of_life_on(association, path, now);
        return;
    }
    association.errors = 0;
    ask(association, path, now);
}

/// Something was answered that had left on `path`, nobody knows when, for it left several times. If data waits there for a
/// timer that has backed off, a heartbeat tells at once whether it arrived.
pub(crate) fn answered_at_some_time(association: &mut Association, path: PathId, now: Instant) {
    let is_in_doubt = is_in_doubt(association, path);
    sign_of_life_on(association, path, now);
    if is_in_doubt && association.sender.in_flight(path) > 0 {
        ask(association, path, now);
    }
}

/// A heartbeat leaves on `path` at once, unless the answer to one may still come.
pub(crate) fn ask(association: &mut Association, path: PathId, now: Instant) {
    if !heartbeats_are_over(association, path) {
        let path = association.paths.path_mut(path);
        path.heartbeat.hurry(path.rtt.rto_without_back_off(), now);
    }
}

/// The application asks for a heartbeat on `path`. Addresses that are not confirmed are asked at their own pace (RFC 9260 §5.4).
pub(crate) fn request(association: &mut Association, path: PathId) {
    if association.paths.is_confirmed(path) && !heartbeats_are_over(association, path) {
        association.paths.path_mut(path).heartbeat.request();
    }
}

/// Whether `path` is out of use, or what was tried on it after a timeout is all that may leave. What finds the window shut
/// waits for more than an answer.
fn is_in_doubt(association: &Association, path: PathId) -> bool {
    let waits = association.paths.path(path).waits_for_answer() && !association.window_probe.is_out();
    waits || !association.paths.fact(path).is_usable()
}

/// A heartbeat that left on `path` at `sent_at` was answered. What was tried there before is not acknowledged yet, so it did
/// not arrive.
pub(crate) fn heartbeat_answered(
    association: &mut Association,
    path: PathId,
    sent_at: Instant,
    now: Instant,
) {
    let was_in_doubt = is_in_doubt(association, path);
    proved_alive(association, path, now);
    association.paths.path_mut(path).t3.release();
    let tried = association.sender.earliest_outstanding(path);
    if was_in_doubt && tried.is_some_and(|(_, tried_at)| tried_at < sent_at) {
        send_again(association, path, now);
    }
}

/// A path answers again. What was tried on others, which do not, leaves on it at once: their timers have backed off, up to
/// RTO.Max.
fn take_over(association: &mut Association, now: Instant) {
    for path in association.paths.ids() {
        if !association.paths.fact(path).is_usable() && association.sender.in_flight(path) > 0 {
            send_again(association, path, now);
        }
    }
}

/// What is in flight on `path` counts as lost, without any fault of the network.
pub(crate) fn send_again(association: &mut Association, path: PathId, now: Instant) {
    association.sender.lose_all(path);
    association.policies.loss.on_timeout(path);
    crate::input::follow_path(association, path, now);
}

/// A SACK came over `arrived_on`. It speaks of all paths: one with data in flight of which it and those before it
/// said nothing for too long is suspected, if there is another one to take over.
pub(crate) fn suspect_the_silent(association: &mut Association, arrived_on: PathId, now: Instant) {
    // What finds the window shut is not acknowledged on any path.
    if association.paths.usable_count() < 2 || association.window_probe.is_out() {
        return;
    }
    // What a SACK says was true when it left, which is no longer ago than a round trip.
    let age = association.paths.fact(arrived_on).srtt.unwrap_or_default();
    for path in association.paths.ids() {
        if is_silent(association, path, now - age) && association.paths.usable_count() > 1 {
            suspect(association, path, now);
        }
    }
}

fn is_silent(association: &Association, path: PathId, until: Instant) -> bool {
    let facts = association.paths.fact(path);
    let Some(patience) = association.policies.failover.suspect_after(facts) else {
        return false;
    };
    let Some((_, sent_at)) = association.sender.earliest_outstanding(path) else {
        return false;
    };
    let acked_at = association.paths.path(path).acked_at;
    let since = acked_at.map_or(sent_at, |acked_at| acked_at.max(sent_at));
    facts.is_usable() && since + patience < until
}

/// Others take over what is in flight on `path`, and a heartbeat asks it at once. Nothing was lost yet as far as is
/// known, so neither its window nor its timeout changes: if it answers, it goes on as before.
fn suspect(association: &mut Association, path: PathId, now: Instant) {
    send_again(association, path, now);
    association.paths.path_mut(path).counters.suspicions += 1;
    ask(association, path, now);
    set_reachability(association, path, Reachability::PotentiallyFailed);
}

/// The handshake proved that the peer is at the far end of `path`. It is the primary one if nothing is known of the one
/// that was.
pub(crate) fn confirm(association: &mut Association, path: PathId) {
    set_reachability(association, path, Reachability::Active);
    if !association.paths.is_confirmed(association.paths.primary()) {
        paths::make_primary(association, path);
    }
}

/// Tells whether it was another one before.
fn set_reachability(association: &mut Association, path: PathId, reachability: Reachability) -> bool {
    let facts = association.paths.fact_mut(path);
    if facts.reachability == reachability {
        return false;
    }
    let was_unconfirmed = facts.reachability == Reachability::Unconfirmed;
    facts.reachability = reachability;
    tell(association, path, PathChange::Reachability(reachability));
    match reachability {
        Reachability::Active => association.paths.note_usable(),
        Reachability::Inactive => packet_size::out_of_use(association, path),
        Reachability::PotentiallyFailed | Reachability::Unconfirmed => {}
    }
    if was_unconfirmed && reachability == Reachability::Active {
        address::prefer(association);
        // Without a change of addresses the pair that carried the handshake stays, braided or not.
        association.addresses.unsettled = association.addresses.changed;
    }
    true
}

pub(crate) fn tell(association: &mut Association, path: PathId, change: PathChange) {
    let addr = association.paths.path(path).addr;
    association.events.push(Event::Path(PathEvent {
        id: path,
        addr,
        change,
    }));
}

/// The handshake is complete: unconfirmed paths are probed at once (RFC 9260 §5.4), the others in due time.
pub(crate) fn start_heartbeats(association: &mut Association, now: Instant) {
    for id in association.paths.ids() {
        schedule_heartbeat(association, id, now);
    }
}

/// "The sending of HEARTBEAT chunks is discontinued after sending either a SHUTDOWN chunk or SHUTDOWN ACK chunk"
/// (RFC 9260 §8.3): whoever has finished already would answer them with an ABORT. Unless there is no path yet on which
/// these chunks could leave.
pub(crate) fn stop_heartbeats(association: &mut Association) {
    if !association.paths.any_confirmed() {
        return;
    }
    for id in association.paths.ids() {
        let path = association.paths.path_mut(id);
        path.heartbeat = Heartbeat::default();
        path.mtu.end();
    }
}

/// Sets the next heartbeat of `path`, counted from `begin`: after HB.interval and a retransmission timeout, give or take half of the
/// latter, in which nothing that was sent on an active path was acknowledged (RFC 9260 §8.3 has "idle", but what is sent
/// on a dead path proves nothing); as soon as the budget allows while the path is unconfirmed and was not given up (RFC 9260
/// §5.4).
pub(crate) fn schedule_heartbeat(association: &mut Association, path: PathId, begin: Instant) {
    if heartbeats_are_over(association, path) {
        return;
    }
    let facts = association.paths.fact(path);
    let (reachability, rto) = (facts.reachability, facts.rto);
    let Some(every) = association.policies.failover.heartbeat_interval(facts) else {
        association.paths.path_mut(path).heartbeat.schedule(None);
        return;
    };
    if reachability == Reachability::Unconfirmed && every == Duration::ZERO {
        let period = association.paths.fact(association.paths.best()).rto;
        let next = association.probe_budget.reserve(begin, period);
        association.paths.path_mut(path).heartbeat.schedule(Some(next));
        return;
    }
    let period = every + jittered(rto, association.secrets.number());
    let machinery = association.paths.path_mut(path);
    // Whether SACKs arrive there a heartbeat finds out, not the data.
    if reachability == Reachability::Active && !machinery.sacks_doubted {
        machinery.heartbeat.schedule_when_unproved(period, begin);
    } else {
        machinery.heartbeat.schedule(Some(begin + period));
    }
}

/// The heartbeat that is under way on `path`, if there is one, went where nobody is. Another one leaves: at once, or to an
/// address that is not confirmed as soon as the budget allows.
pub(crate) fn probe_anew(association: &mut Association, path: PathId, now: Instant) {
    association.paths.path_mut(path).heartbeat = Heartbeat::default();
    if !association.paths.is_confirmed(path) {
        schedule_heartbeat(association, path, now);
    } else if !heartbeats_are_over(association, path) {
        association.paths.path_mut(path).heartbeat.schedule(Some(now));
    }
}

/// Not where the peer came from while we finish: SHUTDOWN may go there only when that is confirmed.
fn heartbeats_are_over(association: &Association, path: PathId) -> bool {
    let is_finishing = matches!(
        association.state,
        State::ShutdownSent(..) | State::ShutdownAckSent(..)
    );
    is_finishing && association.paths.is_confirmed(path)
}

/// Between half of `rto` and one and a half.
fn jittered(rto: Duration, random: u64) -> Duration {
    let per_mille = 500 + (random % 1_001) as u32;
    rto * per_mille / 1_000
}

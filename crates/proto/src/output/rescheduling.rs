//! Do the buffers wait for what another path owes? Chunk rescheduling, as the chunk-rescheduling policy decides it.

use anabranch_policy::{PathFacts, Reschedule, RescheduleExtent, ReschedulePenalty, StuckChunk};
use anabranch_types::{Instant, PathId};
use anabranch_wire::PacketBuilder;

use super::data::push_data;
use super::room::{self, Purpose};
use crate::Association;
use crate::association::liveness;

/// Nothing can be sent, perhaps because the buffers are blocked altogether: the path onto which the policy would move
/// what blocks them.
pub(crate) fn wanted(association: &mut Association, now: Instant) -> Option<PathId> {
    if association.policies.rescheduling.is_never() {
        return None;
    }
    let stuck = association.sender.oldest_outstanding()?;
    room::refresh(association, Purpose::Again, now);
    association.paths.ids().find(|id| {
        association.paths.fact(*id).can_take_data() && ask(association, *id, &stuck, now).is_some()
    })
}

/// Sends the oldest outstanding chunk on `path` too, or gives up the path that owes it, if the policy holds that it
/// blocks the buffers. Gives the bytes written.
pub(crate) fn write(
    association: &mut Association,
    path: PathId,
    packet: &mut PacketBuilder<'_>,
    now: Instant,
) -> u64 {
    if association.policies.rescheduling.is_never() {
        return 0;
    }
    let stuck = association.sender.oldest_outstanding();
    let Some(stuck) = stuck.filter(|stuck| stuck.bytes <= packet.room() as u64) else {
        return 0;
    };
    let Some(reschedule) = ask(association, path, &stuck, now) else {
        return 0;
    };
    let written = match reschedule.extent {
        RescheduleExtent::Oldest => {
            let chunk = association.sender.moved(stuck.tsn, path, now);
            push_data(packet, &chunk);
            association.paths.path_mut(path).counters.rescheduled += 1;
            association.paths.fact_mut(path).sent_chunks += 1;
            stuck.bytes
        }
        RescheduleExtent::BelowFirstGap => {
            let chunks = association.sender.reschedule_below_first_gap(stuck.path);
            if chunks == 0 {
                // All that blocks is on its way again already: nobody is to blame.
                return 0;
            }
            association.paths.path_mut(path).counters.rescheduled += u64::from(chunks);
            0
        }
    };
    if stuck.path != path && association.paths.contains(stuck.path) {
        let owed = association.sender.earliest_outstanding(stuck.path);
        let machinery = association.paths.path_mut(stuck.path);
        if owed.is_none() && machinery.one_at_a_time {
            machinery.t3.stay();
        } else {
            machinery.t3.run_on(owed);
        }
        if owed.is_none() && !machinery.answered_lately(now) {
            // What was taken from it is acknowledged elsewhere, which says nothing of it.
            liveness::ask(association, stuck.path, now);
        }
    }
    punish(association, &stuck, reschedule.penalty, now);
    crate::input::follow_path(association, stuck.path, now);
    written
}

fn ask(association: &mut Association, onto: PathId, stuck: &StuckChunk, now: Instant) -> Option<Reschedule> {
    // What the peer has no room for would not find any over another path (RFC 9260 §6.1 A).
    if association.window_probe.is_out() {
        return None;
    }
    let buffer = room::buffer_facts(association);
    let facts: &[PathFacts] = association.paths.facts();
    let policy = &mut association.policies.rescheduling;
    policy.reschedule(association.paths.fact(onto), stuck, &buffer, facts, now)
}

/// A path that is paused already has paid.
fn punish(association: &mut Association, stuck: &StuckChunk, penalty: ReschedulePenalty, now: Instant) {
    let path = stuck.path;
    if !association.paths.contains(path) || association.paths.path(path).blocked_until.is_some() {
        return;
    }
    match penalty {
        ReschedulePenalty::Nothing => {}
        ReschedulePenalty::Blocked(time) => association.paths.path_mut(path).blocked_until = Some(now + time),
        ReschedulePenalty::WindowCut => {
            crate::input::begin_recovery(association, path, (stuck.tsn, stuck.bytes), now);
            association.publish_windows();
        }
    }
}

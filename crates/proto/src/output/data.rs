//! What of the data goes into a packet? Lost chunks, new ones, duplicates and probes, as the plan says.
//!
//! A chunk is registered with the scoreboard as it is written, so what was sent and what is believed to be sent are one
//! thing.

use core::mem;

use anabranch_types::{Instant, PathId, UnwrappedTsn};
use anabranch_wire::PacketBuilder;

use super::plan::DataPlan;
use super::{duplicates, rescheduling};
use crate::Association;
use crate::association::packet_size;
use crate::send::Ahead;
use crate::user_data::UserData;

/// Writes what the plan for this packet says, and has the path follow.
pub(super) fn write(
    association: &mut Association,
    path: PathId,
    data: DataPlan,
    packet: &mut PacketBuilder<'_>,
    now: Instant,
) {
    decay_window_if_idle(association, path, now);
    match data {
        DataPlan::Again { tsn, credit: true } => write_on_credit(association, tsn, path, packet, now),
        DataPlan::Again { tsn, credit: false } => {
            let room = association.paths.fact(path).sendable;
            let room = write_lost(association, tsn, (path, room), packet, now);
            write_new(association, NewData { path, skip: 0, room }, packet, now);
        }
        DataPlan::New { skip } => write_unblocked(association, path, skip, packet, now),
        DataPlan::Reschedule => write_unblocked(association, path, 0, packet, now),
        DataPlan::Tail { new } => write_tail_probe(association, path, new, packet, now),
        DataPlan::Duplicates => duplicates::write(association, path, packet, now),
    }
    association.policies.stream_scheduler.on_packet_end();
    commit(association, path, now);
}

/// "When a Fast Retransmit is being performed, the sender SHOULD ignore the value of cwnd" for a packet of the earliest chunks
/// that fit (RFC 9260 §7.2.4 step 3).
fn write_on_credit(
    association: &mut Association,
    tsn: UnwrappedTsn,
    path: PathId,
    packet: &mut PacketBuilder<'_>,
    now: Instant,
) {
    let room = packet.room() as u64;
    // The policy has to see the room too, to let them go here.
    association.paths.fact_mut(path).sendable = room;
    write_lost(association, tsn, (path, room), packet, now);
    association.paths.fact_mut(path).sendable = 0;
}

/// Writes lost chunks from `tsn` on while they fit into the room of a path and the policy wants them there; gives the room that
/// is left for other data, none while lost chunks wait for this path.
fn write_lost(
    association: &mut Association,
    tsn: UnwrappedTsn,
    (path, mut room): (PathId, u64),
    packet: &mut PacketBuilder<'_>,
    now: Instant,
) -> u64 {
    let mut next = Some(tsn);
    while let Some(tsn) = next.filter(|_| room > 0) {
        let Some(sent) = write_again(association, tsn, path, packet, now) else {
            return 0;
        };
        room = room.saturating_sub(sent);
        next = next_lost_for(association, tsn, path);
    }
    if next.is_some() { 0 } else { room }
}

/// New data, behind what the chunk-rescheduling policy takes from other paths because it blocks the buffers.
fn write_unblocked(
    association: &mut Association,
    path: PathId,
    skip: u64,
    packet: &mut PacketBuilder<'_>,
    now: Instant,
) {
    let room = association.paths.fact(path).sendable;
    let room = room.saturating_sub(rescheduling::write(association, path, packet, now));
    write_new(association, NewData { path, skip, room }, packet, now);
}

/// A probe for a lost tail. One that did not fit beside control chunks stays due.
fn write_tail_probe(
    association: &mut Association,
    path: PathId,
    new: bool,
    packet: &mut PacketBuilder<'_>,
    now: Instant,
) {
    let (before, stands_alone) = (packet.len(), packet.is_empty());
    if new {
        let room = association.paths.fact(path).sendable;
        write_new(association, NewData { path, skip: 0, room }, packet, now);
    } else {
        write_tail(association, path, packet, now);
    }
    if packet.len() > before || stands_alone {
        let machinery = association.paths.path_mut(path);
        machinery.tail_probe.leave();
        machinery.counters.tail_probes += 1;
    }
}

/// The chunk behind `tsn` in the queue of lost ones, if the policy wants it on the same path.
fn next_lost_for(association: &mut Association, tsn: UnwrappedTsn, path: PathId) -> Option<UnwrappedTsn> {
    let chunk = association.sender.lost_after(tsn)?;
    let wanted = association
        .policies
        .retransmission
        .path_for(&chunk, association.paths.facts());
    (wanted == Some(path)).then_some(chunk.tsn)
}

fn write_again(
    association: &mut Association,
    tsn: UnwrappedTsn,
    path: PathId,
    packet: &mut PacketBuilder<'_>,
    now: Instant,
) -> Option<u64> {
    let lost = association.sender.lost_chunk(tsn)?;
    if lost.bytes > packet.room() as u64 {
        return None;
    }
    let chunk = association.sender.send_again(tsn, path, now);
    let payload = chunk.payload().len() as u64;
    push_data(packet, &chunk);
    let machinery = association.paths.path_mut(path);
    machinery.retransmission_credit = false;
    machinery.counters.payload_retransmitted += payload;
    association.paths.fact_mut(path).sent_chunks += 1;
    if lost.lost_on != path && association.paths.contains(lost.lost_on) {
        crate::input::follow_path(association, lost.lost_on, now);
    }
    Some(lost.bytes)
}

/// Sends the highest chunk in flight on `path` again. One that does not fit beside control chunks stays where it is.
fn write_tail(association: &mut Association, path: PathId, packet: &mut PacketBuilder<'_>, now: Instant) {
    let fits = |bytes: u64| bytes <= packet.room() as u64;
    if !association.sender.tail_bytes(path).is_some_and(fits) {
        return;
    }
    let Some(chunk) = association.sender.probe_tail(path, now) else {
        return;
    };
    let payload = chunk.payload().len() as u64;
    push_data(packet, &chunk);
    association.paths.path_mut(path).counters.payload_retransmitted += payload;
    association.paths.fact_mut(path).sent_chunks += 1;
}

/// Where new data begins, and how much of it may go.
struct NewData {
    path: PathId,
    /// Bytes of chunks to be passed over.
    skip: u64,
    room: u64,
}

fn write_new(association: &mut Association, new: NewData, packet: &mut PacketBuilder<'_>, now: Instant) {
    let NewData { path, skip, mut room } = new;
    let fragment_at = association.paths.cut_length(path);
    let ahead = Ahead {
        path,
        skip,
        fragment_at,
    };
    let scheduler = &mut *association.policies.stream_scheduler;
    let sender = &mut association.sender;
    let (mut payload, mut chunks) = (0, 0);
    let is_window_probe = sender.window_is_shut();
    let mut probe = association
        .policies
        .rtt_samples
        .wants_probe(association.paths.fact(path), now);
    while room > 0 {
        let chunk = if skip == 0 && !sender.has_passed_over() {
            sender.send_new(path, packet.room(), fragment_at, scheduler, now)
        } else {
            sender.send_ahead(ahead, packet.room(), scheduler, now)
        };
        let Some(mut chunk) = chunk else { break };
        payload += chunk.payload().len() as u64;
        chunks += 1;
        room = room.saturating_sub(chunk.padded_len());
        if probe {
            chunk = chunk.urging();
        }
        push_data(packet, &chunk);
        if mem::take(&mut probe) {
            sender.last_was_probe();
            let facts = association.paths.fact(path);
            association.policies.rtt_samples.on_probe_sent(facts, now);
        }
    }
    if payload > 0 {
        if is_window_probe {
            association.window_probe.leave();
        }
        association.policies.path_scheduler.on_sent(path, payload, now);
    }
    association.paths.path_mut(path).counters.payload_sent += payload;
    association.paths.fact_mut(path).sent_chunks += chunks;
}

pub(super) fn push_data(packet: &mut PacketBuilder<'_>, chunk: &UserData<'_>) {
    let pushed = packet.push(chunk);
    debug_assert!(pushed.is_ok(), "the sender was told the room");
}

/// RFC 9260 §7.2.1: a window that was not used says little about the path.
fn decay_window_if_idle(association: &mut Association, path: PathId, now: Instant) {
    let facts = association.paths.fact(path);
    let Some(last) = association.paths.path(path).data_sent_at else {
        return;
    };
    let idle = now - last;
    if facts.in_flight == 0 && idle > facts.rto {
        association.policies.congestion.on_idle(facts, idle);
        association.publish_windows();
    }
}

fn commit(association: &mut Association, path: PathId, now: Instant) {
    packet_size::in_use(association, now);
    // Before the timers follow: a tail is probed some time after what is sent now, not after what was sent last.
    association.paths.path_mut(path).data_sent_at = Some(now);
    let before = association.paths.fact(path).in_flight;
    crate::input::follow_path(association, path, now);
    let sent = association.paths.fact(path).in_flight.saturating_sub(before);
    let recovery = association.paths.path_mut(path).recovery.as_mut();
    if let Some(rate) = recovery.and_then(|recovery| recovery.rate.as_mut()) {
        rate.on_sent(sent);
    }
}

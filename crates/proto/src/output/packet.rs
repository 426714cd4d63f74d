//! How is a planned packet written? Chunk by chunk, in the order of RFC 9260 §6.10: control, SACK, data.
//!
//! Each chunk is committed as it is written, so what is in the buffer and what the association believes to have
//! sent are the same thing.

use alloc::vec::Vec;
use core::mem;

use anabranch_policy::catalog::NrSackChoice;
use anabranch_types::{Ecn, Instant, PathId, UnwrappedTsn, VerificationTag};
use anabranch_wire::chunk::kind;
use anabranch_wire::{
    CommonHeader, CookieAck, CookieEcho, Heartbeat, OutboundAbort, OutboundError, OutboundHeartbeatAck,
    PacketBuilder, Shutdown, ShutdownAck, ShutdownComplete,
};

use super::plan::{DataPlan, Lead, Plan};
use super::{LastWords, Transmit, copies, rescue};
use crate::Association;
use crate::association::{State, packet_size};
use crate::path::HeartbeatInfo;
use crate::recv::{Promises, SackForm};
use crate::send::Ahead;
use crate::user_data::UserData;

/// Bytes of a HEARTBEAT of ours: two headers and what we want back, padded.
const HEARTBEAT_LEN: usize = (4 + 4 + HeartbeatInfo::LEN).next_multiple_of(4);

/// Bytes of a packet with a COOKIE ECHO of so many and a HEARTBEAT.
pub(crate) const fn bundled_cookie_len(cookie: usize) -> usize {
    CommonHeader::LEN + (4 + cookie).next_multiple_of(4) + HEARTBEAT_LEN
}

/// Writes the packet and returns its length; 0 if nothing of the plan fits into `limit` bytes.
pub(crate) fn write(
    association: &mut Association,
    plan: &Plan,
    limit: usize,
    buffer: &mut Vec<u8>,
    now: Instant,
) -> usize {
    let start = buffer.len();
    let tag = if plan.lead == Some(Lead::Init) {
        VerificationTag::ZERO
    } else {
        association.peer.tag
    };
    let mut packet = PacketBuilder::new(buffer, header(association, tag), limit);
    match plan.lead {
        Some(Lead::Init) => crate::handshake::write_init(association, &mut packet),
        Some(Lead::CookieEcho) => write_cookie_echo(association, plan.path, &mut packet, now),
        Some(Lead::Addresses(due)) => crate::address::write(association, due, &mut packet, now),
        None => {
            write_control(association, plan, &mut packet, now);
            if let Some(data) = plan.data {
                write_data(association, plan.path, data, &mut packet, now);
            }
        }
    }
    if packet.is_empty() {
        drop(packet);
        buffer.truncate(start);
        return 0;
    }
    let length = packet.finish();
    commit(association, plan.path, length, now);
    length
}

/// The packet after the end.
pub(crate) fn last_words(association: &mut Association, words: LastWords, buffer: &mut Vec<u8>) -> Transmit {
    let path = association.paths.best();
    let limit = usize::from(association.paths.fact(path).max_packet);
    let mut packet = PacketBuilder::new(buffer, header(association, association.peer.tag), limit);
    let pushed = match words {
        LastWords::Abort(causes) => packet.push(&OutboundAbort {
            tag_reflected: false,
            causes,
        }),
        LastWords::ShutdownComplete => packet.push(&ShutdownComplete { tag_reflected: false }),
    };
    debug_assert!(pushed.is_ok(), "causes are short");
    let size = packet.finish();
    let addr = association.paths.path(path).addr;
    Transmit {
        path: addr,
        ecn: Ecn::NotCapable,
        size,
        segment_size: None,
        may_fragment: false,
    }
}

pub(super) fn header(association: &Association, tag: VerificationTag) -> CommonHeader {
    CommonHeader {
        source_port: association.local.port,
        destination_port: association.peer.port,
        tag,
    }
}

fn write_cookie_echo(
    association: &mut Association,
    path: PathId,
    packet: &mut PacketBuilder<'_>,
    now: Instant,
) {
    let State::CookieEchoed(_, cookie) = &association.state else {
        return;
    };
    let echo = CookieEcho { cookie };
    if association.is_proven(path) {
        // A cookie that does not fit one packet cannot be echoed; the handshake then times out.
        let _ = packet.push(&echo);
        return;
    }
    // RFC 9260 §5.4: to an address that is not confirmed it "MUST be bundled with a HEARTBEAT chunk", or it goes elsewhere.
    let fits = bundled_cookie_len(cookie.len()) <= CommonHeader::LEN + packet.room();
    if fits && packet.push(&echo).is_ok() {
        push_heartbeat(association, path, packet, now);
    }
}

fn write_control(association: &mut Association, plan: &Plan, packet: &mut PacketBuilder<'_>, now: Instant) {
    if plan.has_control {
        write_slots(association, plan.path, packet);
        write_heartbeat(association, plan.path, packet, now);
    }
    if plan.sack {
        let form = SackForm {
            reports_packet_count: association.policies.ack.reports_packet_count(),
            promises: promises(association),
            ..SackForm::of(&association.config.policies)
        };
        if association.receiver.write_sack(packet, form) {
            association.counters.sacks_sent += 1;
            let number = association.counters.sacks_sent;
            association.paths.sack_sent(plan.path, number);
        }
    }
}

/// What the next SACK says about what is never thrown away.
fn promises(association: &Association) -> Promises {
    match association.config.policies.nr_sack {
        _ if !association.extensions.agreed(kind::NR_SACK) => Promises::Nothing,
        NrSackChoice::Delivered(_) => Promises::Readable,
        NrSackChoice::On(_) | NrSackChoice::Off(_) => Promises::Arrived,
    }
}

/// Slots that do not fit are dropped, as the network might have done: each of them is repeated by someone.
fn write_slots(association: &mut Association, path: PathId, packet: &mut PacketBuilder<'_>) {
    let control = &mut association.control;
    if control.take_cookie_ack(path) {
        let _ = packet.push(&CookieAck);
    }
    while let Some(value) = control.take_heartbeat_ack(path) {
        let _ = packet.push(&OutboundHeartbeatAck { value: &value });
    }
    if !association.paths.is_confirmed(path) {
        control.settle();
        return;
    }
    while let Some(causes) = control.take_error() {
        let _ = packet.push(&OutboundError { causes });
    }
    let end = control.take_end(path);
    if end.shutdown && matches!(association.state, State::ShutdownSent(..)) {
        let _ = packet.push(&Shutdown {
            cumulative: association.receiver.cumulative(),
        });
    }
    if end.shutdown_ack && matches!(association.state, State::ShutdownAckSent(..)) {
        let _ = packet.push(&ShutdownAck);
    }
    control.settle();
}

fn write_heartbeat(
    association: &mut Association,
    path: PathId,
    packet: &mut PacketBuilder<'_>,
    now: Instant,
) {
    if association.paths.path(path).heartbeat.is_due(now) {
        push_heartbeat(association, path, packet, now);
    }
}

fn push_heartbeat(association: &mut Association, path: PathId, packet: &mut PacketBuilder<'_>, now: Instant) {
    let nonce = association.secrets.number();
    let info = HeartbeatInfo { path, nonce }.encode();
    if packet.push(&Heartbeat { info: &info }).is_ok() {
        let rto = association.paths.fact(path).rto;
        association.paths.path_mut(path).heartbeat.sent(nonce, rto, now);
    }
}

fn write_data(
    association: &mut Association,
    path: PathId,
    data: DataPlan,
    packet: &mut PacketBuilder<'_>,
    now: Instant,
) {
    decay_window_if_idle(association, path, now);
    let (before, stands_alone) = (packet.len(), packet.is_empty());
    let on_credit = matches!(data, DataPlan::Again { credit: true, .. });
    if on_credit {
        // "When a Fast Retransmit is being performed, the sender SHOULD ignore the value of cwnd" for a packet of the
        // earliest chunks that fit (RFC 9260 §7.2.4 step 3). The policy has to see the room too, to let them go here.
        association.paths.fact_mut(path).room = packet.room() as u64;
    }
    let mut room = association.paths.fact(path).room;
    let mut next = match data {
        DataPlan::Again { tsn, .. } => Some(tsn),
        DataPlan::New { .. } | DataPlan::Tail { .. } | DataPlan::Rescue | DataPlan::Copies => None,
    };
    if data == DataPlan::Copies {
        copies::write(association, path, packet, now);
        room = 0;
    }
    if data == (DataPlan::Tail { new: false }) {
        write_tail(association, path, packet, now);
        room = 0;
    }
    while let Some(tsn) = next.filter(|_| room > 0) {
        let Some(sent) = write_again(association, tsn, path, packet, now) else {
            break;
        };
        room = room.saturating_sub(sent);
        next = next_lost_for(association, tsn, path);
    }
    if on_credit {
        association.paths.fact_mut(path).room = 0;
        room = 0;
    }
    let skip = match data {
        DataPlan::New { skip } => skip,
        DataPlan::Again { .. } | DataPlan::Tail { .. } | DataPlan::Rescue | DataPlan::Copies => 0,
    };
    if next.is_none() && matches!(data, DataPlan::New { .. } | DataPlan::Rescue) {
        room = room.saturating_sub(rescue::write(association, path, packet, now));
    }
    if next.is_none() {
        write_new(association, NewData { path, skip, room }, packet, now);
    }
    association.policies.stream_scheduler.on_packet_end();
    // A probe that did not fit beside control chunks stays due.
    if matches!(data, DataPlan::Tail { .. }) && (packet.len() > before || stands_alone) {
        let machinery = association.paths.path_mut(path);
        machinery.tail_probe.leave();
        machinery.counters.tail_probes += 1;
    }
    commit_data(association, path, now);
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

fn commit_data(association: &mut Association, path: PathId, now: Instant) {
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

/// A packet is in the buffer.
pub(super) fn commit(association: &mut Association, path: PathId, length: usize, now: Instant) {
    let bytes = length as u64;
    association.paths.fact_mut(path).last_sent = Some(now);
    let counters = &mut association.paths.path_mut(path).counters;
    counters.packets_sent += 1;
    counters.bytes_sent += bytes;
    association.policies.burst.on_sent(path, bytes, now);
}

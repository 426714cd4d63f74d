//! How is a planned packet written? Chunk by chunk, in the order of RFC 9260 §6.10: control, SACK, data.
//!
//! Each chunk is committed as it is written, so what is in the buffer and what the association believes to have
//! sent are the same thing.

use alloc::vec::Vec;

use anabranch_policy::catalog::NrSackChoice;
use anabranch_types::{Ecn, Instant, PathId, VerificationTag};
use anabranch_wire::chunk::kind;
use anabranch_wire::{
    CommonHeader, CookieAck, CookieEcho, Heartbeat, OutboundAbort, OutboundError, OutboundHeartbeatAck,
    PacketBuilder, Shutdown, ShutdownAck, ShutdownComplete,
};

use super::plan::{Lead, Plan};
use super::{LastWords, Transmit, data};
use crate::Association;
use crate::association::State;
use crate::path::HeartbeatInfo;
use crate::recv::{Promises, SackForm};

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
                data::write(association, plan.path, data, &mut packet, now);
            }
        }
    }
    if packet.is_empty() {
        drop(packet);
        buffer.truncate(start);
        return 0;
    }
    let length = packet.finish_unsealed();
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
    let size = packet.finish_unsealed();
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

/// A packet is in the buffer.
pub(super) fn commit(association: &mut Association, path: PathId, length: usize, now: Instant) {
    let bytes = length as u64;
    association.paths.fact_mut(path).last_sent = Some(now);
    let counters = &mut association.paths.path_mut(path).counters;
    counters.packets_sent += 1;
    counters.bytes_sent += bytes;
    association.policies.burst.on_sent(path, bytes, now);
}

//! Packet writer. A planned packet is written chunk by chunk in the order of RFC 9260 §6.10: control chunks, SACK, data.
//!
//! Each chunk is committed as it is written, so the state of the association always matches the buffer.

use alloc::vec::Vec;

use anabranch_policy::catalog::NrSackChoice;
use anabranch_types::{Instant, PathId, VerificationTag};
use anabranch_wire::chunk::kind;
use anabranch_wire::{
    CommonHeader, CookieAck, CookieEcho, OutboundAbort, OutboundAsconfAck, OutboundError,
    OutboundHeartbeatAck, PacketBuilder, Shutdown, ShutdownAck, ShutdownComplete,
};

use super::plan::{Lead, TransmitPlan};
use crate::address::Addresses;
use crate::association::{Association, Control, FinalChunk, State};
use crate::handshake::{self, bundled_cookie_len};
use crate::recv::{NonRenegable, SackForm};
use crate::transfer::{Effects, Transfer};

//= rfc9260 8.5.1-1, 8.5.1-14, 12.3-1, 12.3-2
/// Writes the packet and returns its length; 0 if nothing of the plan fits into `limit` bytes.
pub(super) fn write(
    association: &mut Association,
    plan: &TransmitPlan,
    limit: usize,
    buffer: &mut Vec<u8>,
    now: Instant,
) -> usize {
    let start = buffer.len();
    //= rfc9260 3.1-3, 3.1-4, 3.3.2-6, 3.3.3-4
    let tag = if plan.lead == Some(Lead::Init) {
        VerificationTag::ZERO
    } else {
        association.peer.tag
    };
    let mut packet = PacketBuilder::new(buffer, header(association, tag), limit);
    match plan.lead {
        Some(Lead::Init) => {
            association.control.handshake_sent();
            handshake::write_init(association, &mut packet);
        }
        Some(Lead::CookieEcho) => {
            association.control.handshake_sent();
            let (state, addresses) = (&association.state, &association.addresses);
            let transfer = &mut association.transfer;
            write_cookie(state, addresses, transfer, (plan.path, now), &mut packet);
            let usual = usize::from(association.transfer.paths.fact(plan.path).max_packet);
            if !packet.is_empty() && association.transfer.paths.is_confirmed(plan.path) {
                write_errors(&mut association.control, usual, &mut packet);
                if let Some(data) = plan.data {
                    association
                        .transfer
                        .write_early(plan.path, data, &mut packet, now);
                }
            }
        }
        Some(Lead::Addresses(due)) => {
            let paths = &association.transfer.paths;
            if let Some(authentication) = &association.authentication {
                let addresses = &mut association.addresses;
                addresses.write(due, authentication, paths, &mut packet, now);
            }
        }
        None => {
            let form = plan.sack.then(|| sack_form(association));
            let (state, control) = (&association.state, &mut association.control);
            let transfer = &mut association.transfer;
            if plan.has_control
                && state.changes_streams()
                && let Some(reconfig) = &mut association.reconfig
            {
                reconfig.write(transfer, plan.path, &mut packet, now);
            }
            let effects = write_bundle((state, control, transfer), plan, form, &mut packet, now);
            association.apply(effects);
        }
    }
    if packet.is_empty() {
        drop(packet);
        buffer.truncate(start);
        return 0;
    }
    let length = packet.finish_unsealed();
    association.transfer.packet_sent(plan.path, length, now);
    length
}

//= rfc9260 3.2.2-3, 3.3.11-2, 5.1-7, 5.4-5, 5.4-6, 5.4-7
#[cold]
fn write_cookie(
    state: &State,
    addresses: &Addresses,
    transfer: &mut Transfer,
    (path, now): (PathId, Instant),
    packet: &mut PacketBuilder<'_>,
) {
    let State::CookieEchoed(echo) = state else {
        return;
    };
    let cookie = &*echo.cookie;
    let echo = CookieEcho { cookie };
    if addresses.is_proven(&transfer.paths, path) {
        // A cookie that does not fit into a packet cannot be echoed, and the handshake times out.
        let _ = packet.push(&echo);
        return;
    }
    // To an unconfirmed address the COOKIE ECHO must be bundled with a HEARTBEAT (RFC 9260 §5.4).
    let fits = bundled_cookie_len(cookie.len()) <= CommonHeader::LEN + packet.room();
    if fits && packet.push(&echo).is_ok() {
        transfer.write_heartbeat(path, packet, now);
    }
}

//= rfc9260 3.2.2-2
/// Bundles with the COOKIE ECHO what is to be reported of the INIT ACK (RFC 9260 §3.2.2), as far as the packet is not longer than
/// `usual` by it. What does not fit waits for the COOKIE ACK.
fn write_errors(control: &mut Control, usual: usize, packet: &mut PacketBuilder<'_>) {
    while let Some(causes) = control.take_error_within(usual.saturating_sub(packet.len()).min(packet.room()))
    {
        let _ = packet.push(&OutboundError { causes });
    }
    control.settle();
}

//= rfc9260 6-10, 6.1-17, 6.9-9, 6.10-3
#[inline(always)] // once for each packet
fn write_bundle(
    (state, control, transfer): (&State, &mut Control, &mut Transfer),
    plan: &TransmitPlan,
    form: Option<SackForm>,
    packet: &mut PacketBuilder<'_>,
    now: Instant,
) -> Effects {
    if plan.has_control {
        if control.is_waiting() {
            write_slots(state, control, transfer, plan.path, packet);
        }
        transfer.write_due_heartbeat(plan.path, packet, now);
        transfer.write_forward(plan.path, packet, now);
        transfer.write_cwr(plan.path, packet, now);
    }
    if let Some(form) = form {
        transfer.write_echoes(packet);
        transfer.write_sack(form, plan.path, packet);
    }
    match plan.data {
        Some(data) => transfer.write_data(plan.path, data, packet, now),
        None => Effects::default(),
    }
}

//= rfc9260 3.3.7-1, 3.3.7-2, 8.5.1-4, 8.5.1-8, 8.5.1-9, 9.1-2, 9.1-3
/// Writes the last packet of an ended association; returns its path and length.
#[cold]
pub(super) fn final_chunk(
    association: &Association,
    chunk: FinalChunk,
    buffer: &mut Vec<u8>,
) -> (PathId, usize) {
    let path = association.transfer.paths.best();
    let limit = usize::from(association.transfer.paths.fact(path).max_packet);
    let tag_reflected = matches!(chunk, FinalChunk::AbortWithReflectedTag(_));
    let tag = if tag_reflected {
        association.local.tag
    } else {
        association.peer.tag
    };
    let mut packet = PacketBuilder::new(buffer, header(association, tag), limit);
    let pushed = match chunk {
        FinalChunk::Abort(causes) | FinalChunk::AbortWithReflectedTag(causes) => {
            packet.push(&OutboundAbort {
                tag_reflected,
                causes,
            })
        }
        FinalChunk::ShutdownComplete => packet.push(&ShutdownComplete { tag_reflected: false }),
    };
    debug_assert!(pushed.is_ok(), "causes are short");
    (path, packet.finish_unsealed())
}

/// Writes an ASCONF ACK to an address that no path leads to, and returns its length.
#[cold]
pub(super) fn repeated_answer(
    association: &Association,
    answer: &OutboundAsconfAck,
    buffer: &mut Vec<u8>,
) -> Option<usize> {
    let authentication = association.authentication.as_ref()?;
    let paths = &association.transfer.paths;
    let limit = usize::from(paths.fact(paths.best()).max_packet);
    let mut packet = PacketBuilder::new(buffer, header(association, association.peer.tag), limit);
    let pushed = authentication.push(&mut packet, core::slice::from_ref(answer));
    debug_assert!(pushed.is_ok(), "ASCONF ACKs are kept short");
    Some(packet.finish_unsealed())
}

//= rfc9260 1.3-2, 8.5-1
pub(super) fn header(association: &Association, tag: VerificationTag) -> CommonHeader {
    CommonHeader {
        source_port: association.local.port,
        destination_port: association.peer.port,
        tag,
    }
}

fn sack_form(association: &Association) -> SackForm {
    SackForm {
        non_renegable: non_renegable(association),
        ..SackForm::of(&association.config.policies)
    }
}

/// Which TSNs the next SACK reports as non-renegable.
fn non_renegable(association: &Association) -> NonRenegable {
    match association.config.policies.nr_sack {
        _ if !association.extensions.agreed(kind::NR_SACK) => NonRenegable::Nothing,
        NrSackChoice::Delivered(_) => NonRenegable::Deliverable,
        NrSackChoice::On(_) | NrSackChoice::Off(_) => NonRenegable::Received,
    }
}

//= rfc9260 3.3.12-1, 5.1.5-6, 5.1.5-8, 5.1-9, 9.2-2, 12.4-2
/// Writes queued control chunks. Those that do not fit are dropped, as the network might drop them: one end or the other repeats
/// each of them.
#[cold]
fn write_slots(
    state: &State,
    control: &mut Control,
    transfer: &Transfer,
    path: PathId,
    packet: &mut PacketBuilder<'_>,
) {
    if control.take_cookie_ack(path) {
        let _ = packet.push(&CookieAck);
    }
    while let Some(value) = control.take_heartbeat_ack(path) {
        let _ = packet.push(&OutboundHeartbeatAck { value: &value });
    }
    //= rfc9260 5.4-2
    if !transfer.paths.is_confirmed(path) {
        control.settle();
        return;
    }
    while let Some(causes) = control.take_error() {
        let _ = packet.push(&OutboundError { causes });
    }
    let end = control.take_end(path);
    if end.shutdown && matches!(state, State::ShutdownSent(..)) {
        let _ = packet.push(&Shutdown {
            cumulative: transfer.receiver.cumulative(),
        });
    }
    if end.shutdown_ack && matches!(state, State::ShutdownAckSent(..)) {
        let _ = packet.push(&ShutdownAck);
    }
    control.settle();
}

//! How does a packet leave? Plan, write, seal; then more of the same for the same path.
//!
//! [`plan`] looks and decides, [`packet`] writes what was decided and commits it chunk by chunk, [`room`] says
//! how much each path may take.

mod control;
mod data;
mod duplicates;
mod mtu_probe;
mod packet;
mod plan;
mod probe;
mod rescheduling;
mod room;

use alloc::vec::Vec;

use anabranch_types::{Ecn, Instant, PathAddr};
use anabranch_wire::CommonHeader;

use crate::Association;
use crate::association::{Guard, Retry, State, liveness};

pub(crate) use control::{Control, LastWords};
pub(crate) use packet::bundled_cookie_len;
use plan::{Lead, Plan};
pub(crate) use probe::{WindowProbe, answered as probe_answered};

/// Bytes that a batch may not exceed: what one UDP datagram could carry.
const MAX_BATCH: usize = 65_000;

/// Packets to send: `size` bytes in the buffer, for one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// From where to where.
    pub path: PathAddr,
    /// The ECN bits of the IP header.
    pub ecn: Ecn,
    /// Bytes written, all packets together.
    pub size: usize,
    /// If there are several packets: the size of each but the last, which may be shorter (generic segmentation
    /// offload).
    pub segment_size: Option<usize>,
    /// It is larger than what is known to get through, so IP may cut it up on its way: the don't-fragment bit is
    /// not set (RFC 9260 §6.9). Without this, IP must not fragment.
    pub may_fragment: bool,
}

pub(crate) fn poll_transmit(
    association: &mut Association,
    now: Instant,
    buffer: &mut Vec<u8>,
    max_segments: usize,
) -> Option<Transmit> {
    advance_shutdown(association, now);
    crate::address::advance(association, now);
    if let Some(words) = association.control.take_last_words() {
        return Some(packet::last_words(association, words, buffer));
    }
    if !association.control.is_waiting()
        && let Some(transmit) = mtu_probe::write(association, buffer, now)
    {
        return Some(transmit);
    }
    let (plan, first) = loop {
        let Some(plan) = plan::next(association, now) else {
            association.policies.path_scheduler.on_round();
            return None;
        };
        let limit = limit(association, &plan);
        let written = packet::write(association, &plan, limit, buffer, now);
        if written > 0 {
            break (plan, written);
        }
        // What was rescheduled without being written waits to be sent again now.
        let goes_on =
            plan.data == Some(plan::DataPlan::Reschedule) && association.sender.next_lost().is_some();
        if !plan.has_control && !goes_on {
            return None;
        }
    };
    let size = first + more_for_the_same_path(association, &plan, first, max_segments, buffer, now);
    association.tell_low_streams();
    Some(Transmit {
        path: association.paths.path(plan.path).addr,
        ecn: Ecn::NotCapable,
        size,
        segment_size: (size > first).then_some(first),
        may_fragment: first > usize::from(association.paths.fact(plan.path).max_packet),
    })
}

/// How long the packet may be.
///
/// "Once a user message is fragmented, it cannot be re-fragmented. Instead, if the PMTU has been reduced, then IP
/// fragmentation MUST be used" (RFC 9260 §6.9). A cookie cannot be divided either, but to an address that is not confirmed
/// it goes only if it fits (RFC 9260 §5.4).
fn limit(association: &Association, plan: &Plan) -> usize {
    let usual = usize::from(association.paths.fact(plan.path).max_packet);
    if let Some(Lead::Init | Lead::CookieEcho) = plan.lead
        && association.is_proven(plan.path)
    {
        return usual.max(association.largest_packet(plan.path));
    }
    plan.oversize
        .map_or(usual, |chunk| usual.max(CommonHeader::LEN + chunk))
}

/// Writes further data packets behind the first while they are for the same path and equally long.
fn more_for_the_same_path(
    association: &mut Association,
    first_plan: &Plan,
    segment: usize,
    max_segments: usize,
    buffer: &mut Vec<u8>,
    now: Instant,
) -> usize {
    let most = max_segments.min(MAX_BATCH / segment);
    let mut size = 0;
    for _ in 1..most {
        if first_plan.lead.is_some() || first_plan.oversize.is_some() {
            break;
        }
        let Some(plan) = plan::next(association, now) else {
            break;
        };
        if plan.path != first_plan.path || !plan.is_plain() {
            break;
        }
        let written = packet::write(association, &plan, segment, buffer, now);
        size += written;
        if written < segment {
            break;
        }
    }
    size
}

/// SHUTDOWN and SHUTDOWN ACK wait until everything sent is acknowledged (RFC 9260 §9.2).
fn advance_shutdown(association: &mut Association, now: Instant) {
    let finishing = matches!(
        association.state,
        State::ShutdownPending | State::ShutdownReceived
    );
    if !finishing || !association.sender.is_drained() {
        return;
    }
    let rto = association.paths.fact(association.paths.best()).rto;
    let retry = Retry::start(rto, now);
    // "The recommended value of T5-shutdown-guard is 5 times RTO.Max" (RFC 9260 §9.2).
    let guard = Guard(now + association.config.rto().max * 5);
    liveness::stop_heartbeats(association);
    if matches!(association.state, State::ShutdownPending) {
        association.state = State::ShutdownSent(retry, guard);
        association.control.send_shutdown();
    } else {
        association.state = State::ShutdownAckSent(retry, guard);
        association.control.send_shutdown_ack();
    }
}

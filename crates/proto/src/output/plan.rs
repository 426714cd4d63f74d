//! Packet plan. Which chunks are in the next packet, and on which path is it sent?
//!
//! Handshake and ASCONF chunks are sent without data, except the COOKIE ECHO. Otherwise the most urgent chunk determines the path: control chunks, a
//! heartbeat, a SACK that is due, then data. Other chunks for the same path are bundled (RFC 9260 §6.10).

use anabranch_types::{Instant, PathId};

use crate::address::{Addresses, Due};
use crate::association::{Control, State};
use crate::handshake::cookie_echo_len;
use crate::reconfig::Reconfig;
use crate::transfer::{Batch, DataPlan, Transfer};

/// The plan of the next packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TransmitPlan {
    pub(super) path: PathId,
    /// A chunk that comes first in its packet, and is not bundled with data unless it is a COOKIE ECHO.
    pub(super) lead: Option<Lead>,
    /// Whether the packet has a control chunk, a heartbeat or a SACK that is due.
    pub(super) has_control: bool,
    pub(super) sack: bool,
    pub(super) data: Option<DataPlan>,
    /// Length, with padding, of a chunk that is too large for the path and is sent alone.
    pub(super) oversize: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lead {
    Init,
    CookieEcho,
    /// ASCONF or ASCONF ACK, after an AUTH chunk.
    Addresses(Due),
}

impl TransmitPlan {
    /// A packet of control chunks only.
    const fn control(path: PathId, lead: Option<Lead>) -> Self {
        Self {
            path,
            lead,
            has_control: true,
            sack: false,
            data: None,
            oversize: None,
        }
    }

    /// Whether the packet has new data, and neither a retransmission nor a chunk of the handshake before it.
    pub(super) const fn is_new_data(&self) -> bool {
        matches!(self.data, Some(DataPlan::New { .. })) && self.lead.is_none()
    }

    /// Whether the packet has new data from the head of the queue and nothing else that concerns its path.
    pub(super) fn is_next_data(&self) -> bool {
        self.is_plain() && self.data == Some(DataPlan::New { skip: 0 })
    }

    /// Whether the packet has only data that a batch can continue. A tail loss probe is sent once, so it has no further packets.
    pub(super) fn is_plain(&self) -> bool {
        let is_probe = matches!(self.data, Some(DataPlan::TailProbe { .. }));
        self.lead.is_none() && !self.has_control && self.oversize.is_none() && !is_probe
    }
}

/// The parts of an association from which a packet is made.
pub(super) struct Parts<'a> {
    state: &'a State,
    control: &'a Control,
    reconfig: Option<&'a Reconfig>,
    addresses: &'a Addresses,
    transfer: &'a mut Transfer,
}

impl<'a> Parts<'a> {
    pub(super) const fn new(
        state: &'a State,
        control: &'a Control,
        (addresses, reconfig): (&'a Addresses, Option<&'a Reconfig>),
        transfer: &'a mut Transfer,
    ) -> Self {
        Self {
            state,
            control,
            reconfig,
            addresses,
            transfer,
        }
    }
}

/// Plans the next packet; `None` if nothing may be sent now. New data continues `batch` if it can.
pub(super) fn next(parts: Parts<'_>, batch: Option<Batch>, now: Instant) -> Option<TransmitPlan> {
    let Parts {
        state,
        control,
        reconfig,
        addresses,
        transfer,
    } = parts;
    let handshake = |lead| {
        let path = control.handshake()?;
        Some(TransmitPlan::control(path, Some(lead)))
    };
    match state {
        State::Closed => return None,
        State::CookieWait(_) => return handshake(Lead::Init),
        //= rfc9260 3.3.11-1, 5-1, 5.1-8, 6-1
        // From this state on HEARTBEATs are answered (RFC 9260 §8.3): the peer is established already, and confirms the addresses
        // to which it may send the COOKIE ACK.
        State::CookieEchoed(echo) => {
            let answer = || Some(TransmitPlan::control(control.next_path(None)?, None));
            let echo = handshake(Lead::CookieEcho).map(|plan| with_early(plan, &echo.cookie, transfer, now));
            return echo.or_else(answer);
        }
        _ => {}
    }
    // Before its COOKIE ACK the peer accepts no other chunks.
    if state.changes_addresses()
        && !control.owes_cookie_ack()
        && let Some(due) = addresses.due(&transfer.paths)
    {
        let (Due::Acks(path) | Due::Asconf(path)) = due;
        return Some(TransmitPlan::control(path, Some(Lead::Addresses(due))));
    }
    let reconfig = reconfig.filter(|_| state.changes_streams());
    bundle(state, (control, reconfig), (transfer, batch), now)
}

/// Adds data to the packet of the COOKIE ECHO, unless the cookie alone fills it.
#[cold]
fn with_early(plan: TransmitPlan, cookie: &[u8], transfer: &mut Transfer, now: Instant) -> TransmitPlan {
    let has_room = cookie_echo_len(cookie.len()) < usize::from(transfer.paths.fact(plan.path).max_packet);
    TransmitPlan {
        data: has_room.then(|| transfer.plan_early(plan.path, now)).flatten(),
        ..plan
    }
}

fn bundle(
    state: &State,
    (control, reconfig): (&Control, Option<&Reconfig>),
    (transfer, batch): (&mut Transfer, Option<Batch>),
    now: Instant,
) -> Option<TransmitPlan> {
    let due_sack = transfer.due_sack(now);
    let reconfig = || reconfig.and_then(|reconfig| reconfig.due_on(&transfer.paths));
    let control = control_path(control, transfer, now).or_else(reconfig);
    let urgent = control.or(due_sack);
    let data = state
        .sends_data()
        .then(|| transfer.plan_data(batch, now))
        .flatten();
    let path = urgent.or_else(|| data.map(|(path, _)| path))?;
    let data = data.filter(|(wanted, _)| *wanted == path).map(|(_, data)| data);
    let oversize = data.and_then(|data| transfer.oversize(path, data));
    let sack = due_sack.or_else(|| transfer.delayed_sack(now));
    Some(TransmitPlan {
        path,
        lead: None,
        has_control: urgent.is_some(),
        sack: sack == Some(path) && (oversize.is_none() || urgent.is_some()),
        data: data.filter(|_| oversize.is_none() || urgent.is_none()),
        oversize: oversize.filter(|_| urgent.is_none()),
    })
}

//= rfc5061 5.3-5
/// The path of the next control chunk, heartbeat or reachability probe that is due.
fn control_path(control: &Control, transfer: &Transfer, now: Instant) -> Option<PathId> {
    let paths = &transfer.paths;
    let slot = || {
        let any = paths.best();
        control.next_path(Some(any).filter(|any| paths.is_confirmed(*any)))
    };
    let waiting = control.is_waiting();
    let slot = waiting.then(slot).flatten();
    slot.or_else(|| paths.heartbeat_due(now))
        .or_else(|| transfer.probe_due(now))
        .or_else(|| transfer.forward_due())
        .or_else(|| transfer.cwr_due())
}

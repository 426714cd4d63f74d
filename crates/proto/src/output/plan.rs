//! What goes into the next packet, and on which path? Decides: changes nothing but policies,
//! deadlines, and the room that the facts tell policies of.

use anabranch_policy::{Backlog, PathFacts, Pick, last_resort, path_facts};
use anabranch_types::{Instant, PathId, UnwrappedTsn};

use super::control::Control;
use super::duplicates;
use super::probe;
use super::rescheduling;
use super::room::{self, Purpose};
use crate::association::{State, way_back};
use crate::path::PathIds;
use crate::recv::SackWanted;
use crate::{Association, address};

/// The next packet, decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    pub(crate) path: PathId,
    /// A chunk that leads its packet and stays alone.
    pub(crate) lead: Option<Lead>,
    /// A control chunk, a heartbeat or a SACK that must go now is among its chunks.
    pub(crate) has_control: bool,
    pub(crate) sack: bool,
    pub(crate) data: Option<DataPlan>,
    /// The data is a chunk too large for the path, which stays alone: its length, padding included.
    pub(crate) oversize: Option<usize>,
}

impl Plan {
    /// Whether it is data that may follow in a batch of packets, however short the first of them was. A probe may not: it is
    /// tried once.
    pub(crate) fn is_plain(&self) -> bool {
        let is_probe = matches!(self.data, Some(DataPlan::Tail { .. }));
        self.lead.is_none() && !self.has_control && self.oversize.is_none() && !is_probe
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lead {
    Init,
    CookieEcho,
    /// A question or answer about addresses, behind its AUTH chunk.
    Addresses(address::Due),
}

/// With which data the packet begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DataPlan {
    /// This lost chunk, then what else fits.
    Again {
        tsn: UnwrappedTsn,
        /// The window is full, and lost chunks fill this one packet all the same (RFC 9260 §7.2.4 step 3).
        credit: bool,
    },
    /// New chunks, the first of them behind so many bytes of others.
    New {
        /// 0 to begin with what is next.
        skip: u64,
    },
    /// A probe for a lost tail: new chunks, or the highest one in flight on the path once more.
    Tail { new: bool },
    /// What blocks the buffers, so that nothing new can be sent.
    Reschedule,
    /// What is in flight on other paths.
    Duplicates,
}

pub(crate) fn next(association: &mut Association, now: Instant) -> Option<Plan> {
    match association.state {
        State::Closed => return None,
        State::CookieWait(_) => return handshake(association, Lead::Init),
        State::CookieEchoed(..) => {
            let cookie = handshake(association, Lead::CookieEcho);
            return cookie.or_else(|| answer(&association.control));
        }
        _ => {}
    }
    // Before its COOKIE ACK a peer does not listen.
    if let Some(due) = address::due(association).filter(|_| !association.control.owes_cookie_ack()) {
        return Some(about_addresses(due));
    }
    let (sack_wanted, sack_path) = sack(association, now);
    let control = control_path(association, now);
    let urgent = control.or_else(|| sack_path.filter(|_| sack_wanted == SackWanted::Must));
    let data = data(association, now);
    let path = urgent.or_else(|| data.map(|(path, _)| path))?;
    let data = data.filter(|(wanted, _)| *wanted == path).map(|(_, data)| data);
    let oversize = data.and_then(|data| oversize(association, path, data));
    Some(Plan {
        path,
        lead: None,
        has_control: urgent.is_some(),
        sack: sack_path == Some(path) && (oversize.is_none() || urgent.is_some()),
        data: data.filter(|_| oversize.is_none() || urgent.is_none()),
        oversize: oversize.filter(|_| urgent.is_none()),
    })
}

fn handshake(association: &mut Association, lead: Lead) -> Option<Plan> {
    let path = association.control.take_handshake()?;
    Some(Plan {
        path,
        lead: Some(lead),
        has_control: true,
        sack: false,
        data: None,
        oversize: None,
    })
}

/// "A receiver of a HEARTBEAT chunk MUST respond to a HEARTBEAT chunk with a HEARTBEAT ACK chunk after entering the
/// COOKIE-ECHOED state" (RFC 9260 §8.3): the peer, which is connected already, learns where it may answer the cookie.
fn answer(control: &Control) -> Option<Plan> {
    let path = control.next_path(None)?;
    Some(Plan {
        path,
        lead: None,
        has_control: true,
        sack: false,
        data: None,
        oversize: None,
    })
}

const fn about_addresses(due: address::Due) -> Plan {
    let (address::Due::Answers(path) | address::Due::Question(path)) = due;
    Plan {
        path,
        lead: Some(Lead::Addresses(due)),
        has_control: true,
        sack: false,
        data: None,
        oversize: None,
    }
}

/// The length of the lost or passed-over chunk that is next, if it was cut when the packets of `path` were larger.
fn oversize(association: &Association, path: PathId, data: DataPlan) -> Option<usize> {
    let limit = usize::from(association.paths.fact(path).max_data_chunk);
    let size = match data {
        DataPlan::Again { tsn, .. } => association.sender.lost_chunk(tsn).map(|lost| lost.bytes as usize),
        DataPlan::New { skip: 0 } | DataPlan::Tail { new: true } => association.sender.passed_over_size(),
        DataPlan::New { .. }
        | DataPlan::Tail { new: false }
        | DataPlan::Reschedule
        | DataPlan::Duplicates => None,
    };
    size.filter(|size| *size > limit)
}

/// Whether a SACK leaves, and on which path: that on which the peer wants it, for a SACK over another one does not answer
/// a packet that wants one over its own; else the policy's.
fn sack(association: &mut Association, now: Instant) -> (SackWanted, Option<PathId>) {
    if let Some(asked) = association.paths.sack_asked() {
        return (SackWanted::Must, Some(asked));
    }
    match association.receiver.sack_wanted(now) {
        SackWanted::No => (SackWanted::No, None),
        wanted => (wanted, sack_path(association)),
    }
}

/// The policy's path, or a better one if that is not in use. Never an unconfirmed one, to which nothing but handshake
/// chunks and heartbeats may go (RFC 9260 §5.4).
fn sack_path(association: &mut Association) -> Option<PathId> {
    if !association.paths.any_confirmed() {
        return None;
    }
    let arrived_on = association.receiver.last_data_path();
    let facts = association.paths.facts();
    let mut path = association.policies.sack_path.path(arrived_on, facts);
    let is_usable = |id: PathId| path_facts(facts, id).is_some_and(PathFacts::is_usable);
    if !is_usable(path) {
        let best = association.paths.best();
        if is_usable(best) || !association.paths.is_confirmed(path) {
            path = best;
        }
    }
    Some(way_back::for_sack(association, path))
}

/// The path of the next control chunk or heartbeat.
fn control_path(association: &Association, now: Instant) -> Option<PathId> {
    let paths = &association.paths;
    let slot = || {
        let any = paths.best();
        association
            .control
            .next_path(Some(any).filter(|any| paths.is_confirmed(*any)))
    };
    let waiting = association.control.is_waiting();
    waiting.then(slot).flatten().or_else(|| paths.heartbeat_due(now))
}

fn data(association: &mut Association, now: Instant) -> Option<(PathId, DataPlan)> {
    if !association.state.sends_data() {
        return None;
    }
    if let Some(probe) = tail_probe(association) {
        return Some(probe);
    }
    let lost = association.sender.next_lost().is_some();
    if !lost && let Some(path) = duplicates::wanted(association, now) {
        return Some((path, DataPlan::Duplicates));
    }
    if !lost && !association.sender.may_send_new() {
        if association.sender.has_unsent() {
            association.policies.path_scheduler.on_blocked();
        }
        return rescheduling::wanted(association, now).map(|path| (path, DataPlan::Reschedule));
    }
    let scheduler = &mut *association.policies.stream_scheduler;
    scheduler.observe(association.paths.facts(), now);
    if association.paths.usable_count() == 0 {
        return dormant(association, now);
    }
    if lost {
        room::refresh(association, Purpose::Again, now);
        let again = again(association);
        if again.is_some() {
            return again;
        }
    }
    room::refresh(association, Purpose::New, now);
    new(association, now)
}

/// The first path on which a probe for a lost tail is due. It may exceed the window by a packet (RFC 8985 §7.3): new data
/// if the peer's window lets some go, else what was sent last. It stays due until it is written, for this plan may have to
/// stand back behind what is urgent on another path.
fn tail_probe(association: &mut Association) -> Option<(PathId, DataPlan)> {
    let path = association.paths.tail_probe_due()?;
    let facts = association.paths.fact_mut(path);
    if !facts.is_usable() || facts.in_flight == 0 {
        association.paths.path_mut(path).tail_probe.leave();
        return None;
    }
    facts.sendable = u64::from(facts.max_data_chunk);
    let sender = &association.sender;
    let new = sender.next_lost().is_none() && sender.may_send_new() && room::has_new_for(association, path);
    Some((path, DataPlan::Tail { new }))
}

/// How much may be on its way or held by the peer out of order, at most.
fn send_window(association: &Association) -> u64 {
    let peer = association
        .sender
        .peer_window()
        .saturating_add(association.sender.total_queued());
    peer.min(association.config.send_buffer)
}

/// No path is known to work: the best of them is tried with what its window allows (RFC 9260 §8.2, RFC 7829
/// §5.1: when all are suspected, the one with the fewest errors).
fn dormant(association: &mut Association, now: Instant) -> Option<(PathId, DataPlan)> {
    let path = last_resort(association.paths.facts())?;
    let (facts, machinery) = association.paths.both_mut(path);
    // RFC 9260 §7.2.1, as on paths in use.
    if facts.in_flight >= facts.cwnd || machinery.waits_for_answer() {
        return None;
    }
    facts.sendable = u64::from(facts.max_data_chunk);
    match association.sender.next_lost() {
        Some(chunk) => {
            let again = DataPlan::Again {
                tsn: chunk.tsn,
                credit: false,
            };
            Some((path, again))
        }
        None => probe::permits(association, now).then_some((path, DataPlan::New { skip: 0 })),
    }
}

/// The first lost chunk for which the policy has a path. Of the chunks that were lost on one path, where one may not go now,
/// none may; those of others need not wait for it.
fn again(association: &mut Association) -> Option<(PathId, DataPlan)> {
    let mut candidate = association.sender.next_lost();
    while let Some(chunk) = candidate {
        let granted = grant_credit(association);
        let facts = association.paths.facts();
        let path = association.policies.retransmission.path_for(&chunk, facts);
        let checked = path.filter(|path| path_facts(facts, *path).is_some_and(PathFacts::can_take_data));
        withdraw_credit(association, granted.clone());
        if let Some(path) = checked {
            let path = where_it_fits(association.paths.facts(), path, chunk.bytes);
            let again = DataPlan::Again {
                tsn: chunk.tsn,
                credit: granted.contains(path),
            };
            return Some((path, again));
        }
        candidate = association.sender.first_lost_of_another(chunk.tsn);
    }
    None
}

/// `wanted`, or another path that takes a chunk of `bytes` whole where `wanted` does not. If there is none, IP has to
/// fragment, which not every network does reliably.
fn where_it_fits(facts: &[PathFacts], wanted: PathId, bytes: u64) -> PathId {
    let fits = |path: &PathFacts| u64::from(path.max_data_chunk) >= bytes;
    if path_facts(facts, wanted).is_some_and(fits) {
        return wanted;
    }
    let others = facts.iter().filter(|path| path.can_take_data() && fits(path));
    others
        .min_by_key(|path| (path.srtt, path.id))
        .map_or(wanted, |path| path.id)
}

/// "The first packet of fast retransmissions may be sent even if the window is full" (RFC 9260 §7.2.4 step 3).
/// The credit is for retransmissions only, so it is withdrawn after the question; the answer is who got one.
fn grant_credit(association: &mut Association) -> PathIds {
    let mut granted = PathIds::default();
    for id in association.paths.ids() {
        let credit = association.paths.path(id).retransmission_credit;
        let facts = association.paths.fact_mut(id);
        if credit && facts.sendable == 0 {
            facts.sendable = u64::from(facts.max_data_chunk);
            granted.insert(id);
        }
    }
    granted
}

fn withdraw_credit(association: &mut Association, granted: PathIds) {
    for id in granted {
        association.paths.fact_mut(id).sendable = 0;
    }
}

fn new(association: &mut Association, now: Instant) -> Option<(PathId, DataPlan)> {
    if !association.sender.may_send_new() || !probe::permits(association, now) {
        return None;
    }
    let backlog = Backlog {
        unsent_bytes: association.sender.unsent_bytes(),
        peer_window: association.sender.peer_window(),
        send_window: send_window(association),
        bound: association.sender.bound(),
    };
    let facts = association.paths.facts();
    let (path, skip) = match association.policies.path_scheduler.pick(facts, &backlog, now) {
        Pick::On(path) => (path, 0),
        Pick::Ahead { path, skip } => (path, skip),
        Pick::Wait { .. } if association.policies.stream_scheduler.binds_streams() => {
            let open = facts.iter().find(|path| path.can_take_data())?;
            (open.id, 0)
        }
        Pick::Wait { until } => {
            association.scheduler_wakes = until.filter(|until| *until > now);
            return None;
        }
    };
    // A scheduler that names a dead or full path is wrong; nothing is sent for it.
    let fit = path_facts(facts, path).is_some_and(PathFacts::can_take_data);
    fit.then_some((path, DataPlan::New { skip }))
}

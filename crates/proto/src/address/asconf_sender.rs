//! ASCONF sender (RFC 5061 §5.1): requests to the peer to add or delete our addresses.
//!
//! One ASCONF is outstanding at a time, and is retransmitted until it is acknowledged. Each ends with the request to add the source
//! address of its packet, so that it can be sent on a path that the peer does not know ([`super::join`]).

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use anabranch_types::{AsconfNumber, Instant, PathId, Serial as _};
use anabranch_wire::chunk::kind;
use anabranch_wire::{AddressRequest, AsconfAck, CorrelationId, OutboundAsconf, ParameterWriter};

use super::responses::{Outcome, Outcomes};
use super::{AddressError, Addresses};
use crate::on_demand::{Idle, OnDemand};
use crate::path::{PathIds, PathSet};
use crate::transfer::{Effects, Transfer};
use crate::violation::Violation;

/// Maximum number of queued changes. They are sent in one ASCONF, which fits into the smallest packet.
const MAX_REQUESTS: usize = 12;

/// A change of our addresses to request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Request {
    Add(SocketAddr),
    Delete(SocketAddr),
    SetPrimary(SocketAddr),
}

/// State of the ASCONF sender.
#[derive(Debug)]
pub(super) struct AsconfSender {
    next: AsconfNumber,
    pub(super) waiting: OnDemand<Requests>,
    pub(super) outstanding: Option<Box<Outstanding>>,
    /// Whether the peer has rejected ASCONF as unknown.
    pub(super) is_vain: bool,
}

/// Changes that wait for their ASCONF.
#[derive(Debug, Default)]
pub(super) struct Requests(Vec<Request>);

impl Idle for Requests {
    const IDLE: &'static Self = &Self(Vec::new());

    fn is_idle(&self) -> bool {
        self.0.is_empty()
    }
}

/// The outstanding ASCONF.
#[derive(Debug)]
pub(super) struct Outstanding {
    chunk: OutboundAsconf,
    /// Empty for a join, which only requests to add the source address of its packet.
    requests: Vec<Request>,
    /// Whether it is to be sent, for the first time or again.
    is_due: bool,
    /// Path of its last transmission, except as a join.
    path: Option<PathId>,
    /// The path on which it is to be sent as a join.
    pub(super) join_on: Option<PathId>,
    /// The paths on which it was sent as a join.
    joined: PathIds,
    /// Deadline of T4.
    expires: Option<Instant>,
}

impl Outstanding {
    pub(super) fn join(&mut self, path: PathId) {
        self.join_on = Some(path);
    }

    /// Whether it is a join: its only request is to add the source address of its packet.
    pub(super) const fn is_join(&self) -> bool {
        self.requests.is_empty()
    }

    pub(super) fn debug_check(&self, paths: &PathSet) {
        let named = self
            .path
            .into_iter()
            .chain(self.join_on)
            .chain(self.joined.clone());
        for path in named {
            assert!(paths.contains(path), "ASCONF on {path:?}, which is no more");
        }
        let is_timed = self.is_due || self.expires.is_some();
        assert!(is_timed || self.is_join(), "a request waits for nothing");
    }

    /// Whether it is to be sent as a join, or the answer to a join may still arrive.
    pub(super) const fn is_under_way(&self) -> bool {
        self.join_on.is_some() || (self.is_join() && self.expires.is_some())
    }
}

/// An ASCONF that the peer has acknowledged.
#[derive(Debug)]
pub(crate) struct Acknowledged {
    /// Path of its last transmission.
    pub(crate) path: Option<PathId>,
    /// The paths on which it was sent as a join.
    pub(crate) joined: PathIds,
    requests: Vec<Request>,
}

impl Acknowledged {
    /// Whether it was a join.
    pub(crate) fn is_join(&self) -> bool {
        self.requests.is_empty()
    }

    /// The local addresses that it requested to add.
    pub(crate) fn added(&self) -> impl Iterator<Item = SocketAddr> {
        added(&self.requests)
    }
}

impl AsconfSender {
    pub(super) const fn new(first: AsconfNumber) -> Self {
        Self {
            next: first,
            waiting: OnDemand::IDLE,
            outstanding: None,
            is_vain: false,
        }
    }

    /// Sets the serial number of the first ASCONF.
    pub(super) const fn number_from(&mut self, first: AsconfNumber) {
        self.next = first;
    }

    /// Whether changes wait for their ASCONF.
    #[inline]
    pub(super) const fn has_waiting(&self) -> bool {
        self.waiting.is_active()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.outstanding.as_ref()?.expires
    }

    //= rfc5061 5.1-7, 5.1-13, 5.1-14
    /// Takes the ASCONF that is due, to be sent on `path`.
    pub(super) fn take_due(&mut self, paths: &PathSet, path: PathId, now: Instant) -> Option<OutboundAsconf> {
        let asconf = self.outstanding.as_mut()?;
        if asconf.join_on.take_if(|join_on| *join_on == path).is_some() {
            asconf.joined.insert(path);
            if !asconf.is_due && asconf.expires.is_none() {
                asconf.expires = Some(now + paths.fact(path).rtt.rto_without_back_off());
            }
            return Some(asconf.chunk.clone());
        }
        if !mem::take(&mut asconf.is_due) {
            return None;
        }
        asconf.path = Some(path);
        asconf.expires = Some(now + paths.fact(path).rto());
        Some(asconf.chunk.clone())
    }

    /// The path on which the ASCONF is due: a usable one other than that of the last transmission (RFC 5061 §5.1 B4).
    pub(super) fn due_on(&self, paths: &PathSet, departing: &[SocketAddr]) -> Option<PathId> {
        let asconf = self.outstanding.as_ref()?;
        if asconf.join_on.is_some() {
            return asconf.join_on;
        }
        if !asconf.is_due {
            return None;
        }
        if asconf.is_join() {
            // Sent from an address that the peer knows, a join changes nothing. Its ASCONF ACK makes room for the next
            // request.
            return paths.working(departing);
        }
        let alternate = asconf.path.and_then(|path| paths.another_usable(path));
        let path = alternate.unwrap_or_else(|| paths.best());
        paths.is_confirmed(path).then_some(path)
    }

    /// Sends an unanswered join on a working path if another request waits, so that its serial number is acknowledged.
    fn give_way(&mut self, paths: &PathSet, departing: &[SocketAddr]) {
        let Some(asconf) = self.outstanding.as_mut().filter(|asconf| asconf.is_join()) else {
            return;
        };
        let has_only_joined = asconf.path.is_none() && asconf.join_on.is_none();
        if self.waiting.is_active() && has_only_joined && paths.working(departing).is_some() {
            asconf.is_due = true;
            asconf.expires = None;
        }
    }

    /// Makes an ASCONF of `requests`, to be sent on a path from `local`.
    pub(super) fn begin(&mut self, requests: Vec<Request>, local: SocketAddr) -> &mut Outstanding {
        let wildcard = unspecified(local);
        let chunk = OutboundAsconf {
            number: self.next,
            // Behind a NAT, the peer may know none of our local addresses. It finds the association by the verification
            // tag.
            address: if requests.is_empty() { wildcard } else { local.ip() },
            requests: parameters(&requests, wildcard),
        };
        self.next = self.next.next();
        self.outstanding.insert(Box::new(Outstanding {
            chunk,
            is_due: !requests.is_empty(),
            requests,
            path: None,
            join_on: None,
            joined: PathIds::default(),
            expires: None,
        }))
    }

    /// The local addresses that queued or outstanding requests add.
    pub(super) fn coming(&self) -> Vec<SocketAddr> {
        added(self.pending()).collect()
    }

    /// Forgets the deleted path `gone`, whose id may be reused.
    pub(super) fn forget_path(&mut self, gone: PathId) {
        if let Some(asconf) = &mut self.outstanding {
            asconf.path.take_if(|path| *path == gone);
            asconf.join_on.take_if(|path| *path == gone);
            asconf.joined.remove(gone);
        }
    }

    fn pending(&self) -> impl Iterator<Item = &Request> {
        let sent = self.outstanding.iter().flat_map(|asconf| &asconf.requests);
        sent.chain(&self.waiting.0)
    }
}

impl Addresses {
    //= rfc5061 5.1.1-6, 5.3-7, 5.3-9
    /// Checks whether another change may be requested.
    ///
    /// # Errors
    /// The peer does not support ASCONF, or too many changes are queued.
    pub(crate) fn check_request(&self) -> Result<(), AddressError> {
        if self.asconf_sender.is_vain {
            return Err(AddressError::NotAgreed);
        }
        if self.asconf_sender.pending().count() >= MAX_REQUESTS {
            return Err(AddressError::TooMany);
        }
        Ok(())
    }

    /// Queues a change that [`Addresses::check_request`] permits.
    pub(crate) fn request(&mut self, request: Request) {
        if let Request::Add(local) = request {
            self.keep(local);
        }
        self.asconf_sender.waiting.make_mut().0.push(request);
    }

    /// Whether `request` is queued or outstanding.
    pub(crate) fn is_pending(&self, request: Request) -> bool {
        self.asconf_sender.pending().any(|pending| *pending == request)
    }

    /// The requests to repeat after a restart of the peer. Deletions are left out: deleted addresses are not among ours any more,
    /// so the handshake of the restart did not list them.
    pub(crate) fn requests_to_repeat(&self) -> impl Iterator<Item = Request> {
        let pending = self.asconf_sender.pending().copied();
        pending.filter(|request| !matches!(request, Request::Delete(_)))
    }

    /// Whether changes wait for an ASCONF, or some paths may have become superfluous.
    #[inline]
    pub(crate) const fn needs_advance(&self) -> bool {
        self.is_unsettled || self.asconf_sender.has_waiting()
    }

    //= rfc5061 4.1.1-4, 5.1-1, 5.1.1-1, 5.1.1-2, 5.1-2, 5.1-3, 5.1-4, 5.1-6, 5.3.2-1
    /// Makes the next ASCONF of the queued changes if none is outstanding, and updates the paths. To be called before sending if
    /// [`Addresses::needs_advance`].
    #[cold]
    pub(crate) fn advance(&mut self, transfer: &mut Transfer, now: Instant) -> Effects {
        let mut effects = Effects::default();
        if mem::take(&mut self.is_unsettled) {
            effects.append(self.retire_superfluous(transfer));
            effects.append(self.remove_departing(transfer));
        }
        effects.append(self.begin_next(transfer, now));
        effects.append(self.hurry_replacement(transfer, now));
        effects
    }

    fn begin_next(&mut self, transfer: &mut Transfer, now: Instant) -> Effects {
        let sender = &mut self.asconf_sender;
        sender.give_way(&transfer.paths, &self.former.departing);
        if !sender.has_waiting() || sender.outstanding.is_some() {
            return Effects::default();
        }
        let requests = mem::take(&mut sender.waiting).take().0;
        let known = transfer.paths.path(transfer.paths.best()).addr.local;
        let deletes = requests
            .iter()
            .any(|request| matches!(request, Request::Delete(_)));
        sender.begin(requests, known);
        if deletes {
            // The peer pairs its addresses with our remaining ones, and so do we.
            self.follow(transfer, now)
        } else {
            Effects::default()
        }
    }

    //= rfc5061 5.1-12
    /// Handles T4 if it has expired: the path of the ASCONF gets an error, and the ASCONF is retransmitted (RFC 5061 §5.1 B1 to
    /// B5).
    pub(crate) fn on_timeout(&mut self, transfer: &mut Transfer, now: Instant) -> Effects {
        let Some(asconf) = &mut self.asconf_sender.outstanding else {
            return Effects::default();
        };
        if asconf.expires.take_if(|expires| *expires <= now).is_none() {
            return Effects::default();
        }
        // A join is repeated on its path at growing intervals, until another request is to be sent.
        asconf.is_due = !asconf.is_join() || asconf.path.is_some();
        match asconf.path {
            Some(path) => transfer.request_timed_out(path, now),
            // It was sent as a join only, and the heartbeats of that path count its errors already.
            None => Effects::default(),
        }
    }

    //= rfc5061 5.1-8, 5.3-2
    /// Takes the outstanding ASCONF if the ASCONF ACK is for it.
    ///
    /// # Errors
    /// The ASCONF ACK is for an ASCONF that was never sent, while none is outstanding: the association has to end (RFC 5061 §5.3 F0).
    pub(crate) fn take_acknowledged(
        &mut self,
        chunk: &AsconfAck<'_>,
    ) -> Result<Option<Acknowledged>, Violation> {
        let sender = &mut self.asconf_sender;
        let is_meant = |asconf: &mut Box<Outstanding>| asconf.chunk.number == chunk.number;
        if let Some(asconf) = sender.outstanding.take_if(is_meant) {
            let Outstanding {
                path,
                joined,
                requests,
                ..
            } = *asconf;
            return Ok(Some(Acknowledged {
                path,
                joined,
                requests,
            }));
        }
        let is_ahead = sender.next.precedes_or_is(chunk.number);
        if is_ahead && sender.outstanding.is_none() {
            Err(Violation::IllegalAsconfAck)
        } else {
            Ok(None)
        }
    }

    /// Applies the responses of the peer; returns its refusals as text.
    pub(crate) fn settle(&mut self, acknowledged: Acknowledged, chunk: &AsconfAck<'_>) -> Vec<String> {
        let requests = acknowledged.requests;
        let outcomes = Outcomes::read(&chunk.responses, requests.len());
        self.asconf_sender.is_vain |= outcomes.not_understood;
        let ids = (0..).map(CorrelationId);
        let refused = requests.into_iter().zip(ids).filter_map(|(request, id)| {
            let outcome = outcomes.of(id);
            let what = self.settle_one(request, outcome);
            match outcome {
                Outcome::Refused(why) => Some(format!("{what} refused: {why}")),
                Outcome::Done => None,
            }
        });
        refused.collect()
    }

    //= rfc5061 5.3-3, 5.3-31
    fn settle_one(&mut self, request: Request, outcome: &Outcome) -> String {
        match request {
            Request::Add(local) => {
                if *outcome == Outcome::Done && !self.local_addrs.contains(&local) {
                    self.local_addrs = self.local_addrs.iter().copied().chain([local]).collect();
                }
                format!("add {}", local.ip())
            }
            Request::Delete(local) => {
                self.former.make_mut().leaving.retain(|leaving| *leaving != local);
                self.former.release_if_idle();
                format!("delete {}", local.ip())
            }
            Request::SetPrimary(local) => format!("set primary {}", local.ip()),
        }
    }

    //= rfc5061 4.1.1-9, 5.1.1-7, 5.1-10, 5.1-11
    /// Handles a report of an unrecognized chunk. If it is an ASCONF, T4 stops and no further ASCONF is sent (RFC 5061 §5.1 A9).
    pub(crate) fn on_unrecognized(&mut self, chunk: &[u8]) {
        if chunk.first() == Some(&kind::ASCONF) {
            let sender = &mut self.asconf_sender;
            sender.is_vain = true;
            sender.outstanding = None;
            sender.waiting = OnDemand::IDLE;
        }
    }
}

fn added<'a>(requests: impl IntoIterator<Item = &'a Request>) -> impl Iterator<Item = SocketAddr> {
    requests.into_iter().filter_map(|request| match request {
        Request::Add(local) => Some(*local),
        Request::Delete(_) | Request::SetPrimary(_) => None,
    })
}

/// The wildcard of the IP version of `local`: in a request to add, it means the source address of the packet (RFC 5061 §4.2.1).
const fn unspecified(local: SocketAddr) -> IpAddr {
    match local {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    }
}

//= rfc5061 5.3-1
/// The parameters of `requests`, followed by the request to add the source address of the packet.
fn parameters(requests: &[Request], wildcard: IpAddr) -> Vec<u8> {
    let mut writer = ParameterWriter::new();
    for (request, id) in requests.iter().zip((0..).map(CorrelationId)) {
        let about = |local: &SocketAddr| AddressRequest {
            id,
            address: local.ip(),
        };
        match request {
            Request::Add(local) => writer.push_add_address(about(local)),
            Request::Delete(local) => writer.push_delete_address(about(local)),
            Request::SetPrimary(local) => writer.push_set_primary(about(local)),
        };
    }
    writer.push_add_address(AddressRequest {
        id: CorrelationId(requests.len() as u32),
        address: wildcard,
    });
    writer.finish()
}

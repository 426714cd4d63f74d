//! ASCONF receiver (RFC 5061 §5.2, §5.3). What becomes of the peer's requests about its addresses?
//!
//! Each is done or refused, and the answer is kept for the case that it gets lost.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;
use core::net::{IpAddr, SocketAddr};

use anabranch_policy::PathFacts;
use anabranch_types::{AsconfNumber, Instant, PathAddr, PathId};
use anabranch_wire::chunk::kind;
use anabranch_wire::{
    Asconf, Cause, CauseWriter, Chunk, CorrelationId, OutboundAsconfAck, Packet, Parameter, ParameterWriter,
    RawChunk, RawParameter, UnknownAction,
};

use super::Addresses;
use super::scope::is_believable;
use crate::auth::{Authentication, Verdict};
use crate::path::{Arrived, Path, covers};
use crate::transfer::{Effects, Transfer};

/// Answers kept for repetition. A peer that keeps to the rules asks one question at a time.
const MAX_ANSWERS: usize = 4;
/// Addresses of the peer beyond this number are refused.
const MAX_ADDRESSES: usize = 16;
/// Requests are carried out until the answer to them is this long, so that it fits every packet. The peer takes those
/// beyond for refused (RFC 5061 §5.1 A7).
const MAX_RESPONSES: usize = 400;

/// What we said to the peer.
#[derive(Debug)]
pub(super) struct AsconfReceiver {
    expected: AsconfNumber,
    /// Answers to the last questions, oldest first.
    answers: VecDeque<OutboundAsconfAck>,
    /// Those to be sent, and over which path.
    due: Vec<AsconfNumber>,
    due_on: Option<PathId>,
    /// The peer would like to be sent to at this address, which is not confirmed yet.
    preferred: Option<IpAddr>,
}

impl AsconfReceiver {
    pub(super) const fn new() -> Self {
        Self {
            expected: AsconfNumber(0),
            answers: VecDeque::new(),
            due: Vec::new(),
            due_on: None,
            preferred: None,
        }
    }

    pub(super) const fn expect(&mut self, first: AsconfNumber) {
        self.expected = first;
    }

    pub(super) const fn due_on(&self) -> Option<PathId> {
        self.due_on
    }

    //= rfc5061 5.1.1-4, 5.1.1-6, 5.2-8
    /// The answers to be sent, in the order of their numbers (RFC 5061 §5.1.1 C3).
    pub(super) fn take_due(&mut self) -> Vec<OutboundAsconfAck> {
        self.due_on = None;
        let due = mem::take(&mut self.due);
        let is_due = |answer: &&OutboundAsconfAck| due.contains(&answer.number);
        // Answers to several questions at once go as far as they fit; the peer asks again (RFC 5061 §5.2 E7).
        let mut room = MAX_RESPONSES;
        let fits = |answer: &&OutboundAsconfAck| {
            let fits = answer.responses.len() <= room;
            room = room.saturating_sub(answer.responses.len());
            fits
        };
        self.answers
            .iter()
            .filter(is_due)
            .take_while(fits)
            .cloned()
            .collect()
    }

    /// One path is no more; its number may be another's soon. The peer asks again.
    pub(super) fn forget_path(&mut self, gone: PathId) {
        self.due_on.take_if(|path| *path == gone);
    }

    fn answer(&mut self, answer: OutboundAsconfAck) {
        if self.answers.len() >= MAX_ANSWERS {
            self.answers.pop_front();
        }
        self.answers.push_back(answer);
    }

    fn has_answered(&self, number: AsconfNumber) -> bool {
        self.answers.iter().any(|answer| answer.number == number)
    }

    //= rfc5061 5.2-6
    fn send(&mut self, number: AsconfNumber, path: PathId) {
        if !self.due.contains(&number) && self.due.len() < MAX_ANSWERS {
            self.due.push(number);
        }
        self.due_on = Some(path);
    }
}

impl Addresses {
    //= rfc5061 4.1.1-1, 5.2-7, 5.2-9, 5.3.2-3
    /// An ASCONF came, over `path` and behind a genuine AUTH chunk.
    pub(crate) fn on_asconf(
        &mut self,
        transfer: &mut Transfer,
        now: Instant,
        path: PathId,
        chunk: &Asconf<'_>,
    ) -> Effects {
        let mut effects = Effects::default();
        let number = chunk.number;
        if number == self.asconf_receiver.expected {
            self.asconf_receiver.expected = number.next();
            let (responses, changed) = self.carry_out(transfer, now, path, chunk);
            effects = changed;
            self.asconf_receiver
                .answer(OutboundAsconfAck { number, responses });
        }
        // An old one gets its old answer (E2); anything else is stale, or an attack (E5).
        if self.asconf_receiver.has_answered(number) {
            self.asconf_receiver.send(number, path);
        }
        effects
    }

    //= rfc5061 4.2.6-5, 5.2-4
    /// Does what is asked, one after the other; gives the responses.
    fn carry_out(
        &mut self,
        transfer: &mut Transfer,
        now: Instant,
        path: PathId,
        chunk: &Asconf<'_>,
    ) -> (Vec<u8>, Effects) {
        let source = transfer.paths.path(path).addr.remote;
        let (mut refusals, mut effects) = (Refusals::default(), Effects::default());
        for raw in chunk.requests.iter().map_while(Result::ok) {
            let Ok(parameter) = raw.decode() else { break };
            let done = match parameter {
                Parameter::AddAddress(request) => {
                    let add = || self.add(transfer, now, source, request.address);
                    Some((request.id, refusals.unless_full(add)))
                }
                Parameter::DeleteAddress(request) => {
                    let delete = || self.delete(transfer, now, source, request.address);
                    Some((request.id, refusals.unless_full(delete)))
                }
                Parameter::SetPrimary(request) => {
                    let done = self.set_primary(transfer, source, request.address);
                    Some((request.id, done))
                }
                // It belongs in INIT and INIT ACK (RFC 5061 §4.2.6).
                Parameter::AdaptationLayer(_) => continue,
                _ => None,
            };
            let goes_on = match done {
                Some((id, done)) => {
                    refusals.note(raw, id, done.map(|done| effects.append(done)));
                    true
                }
                None => refusals.unknown(raw),
            };
            if !goes_on || refusals.writer.clone().finish().len() > MAX_RESPONSES - 60 {
                break;
            }
        }
        (refusals.writer.finish(), effects)
    }

    //= rfc5061 5.3-22, 5.3-30
    fn add(
        &mut self,
        transfer: &mut Transfer,
        now: Instant,
        source: SocketAddr,
        address: IpAddr,
    ) -> Result<Effects, Refusal> {
        let ip = meant(address, source);
        if self.peer_addrs.iter().any(|known| known.ip() == ip) {
            return Ok(Effects::default());
        }
        if !is_believable(ip, source.ip()) {
            return Err(Refusal::NotAllowed);
        }
        if self.peer_addrs.len() >= MAX_ADDRESSES {
            return Err(Refusal::Resources);
        }
        // Its encapsulation port is a guess; when something arrives from there, that is right (RFC 6951 §5.4).
        self.peer_addrs.push(SocketAddr::new(ip, source.port()));
        Ok(self.follow(transfer, now))
    }

    //= rfc5061 4.2.2-3, 5.3-18, 5.3-19, 5.3-20, 5.3-21, 5.3-25
    fn delete(
        &mut self,
        transfer: &mut Transfer,
        now: Instant,
        source: SocketAddr,
        address: IpAddr,
    ) -> Result<Effects, Refusal> {
        // An unspecified address stands for all but the source address of the packet (RFC 5061 §4.2.2).
        let others = address.is_unspecified();
        let goes = |ip: IpAddr| if others { ip != source.ip() } else { ip == address };
        if !self.peer_addrs.iter().any(|known| goes(known.ip())) {
            return Ok(Effects::default());
        }
        // The last address stays (F7), and so does the one that the request came from, unless that is the last (F8).
        if self.peer_addrs.iter().all(|known| goes(known.ip())) {
            return Err(Refusal::LastAddress);
        }
        if goes(source.ip()) {
            return Err(Refusal::SourceAddress);
        }
        let removed = self.remove_paths(transfer, |path| goes(path.remote.ip()));
        let effects = removed.ok_or(Refusal::LastAddress)?;
        self.peer_addrs.retain(|known| !goes(known.ip()));
        Ok(effects.then(self.follow(transfer, now)))
    }

    //= rfc5061 5.4-2, 5.4-3
    /// The peer would rather be sent to at `address`, as soon as it is confirmed. RFC 5061 §5.4 has it as advice that should be
    /// followed.
    fn set_primary(
        &mut self,
        transfer: &mut Transfer,
        source: SocketAddr,
        address: IpAddr,
    ) -> Result<Effects, Refusal> {
        let ip = meant(address, source);
        if !transfer.paths.leads_to(ip) {
            return Err(Refusal::NotAllowed);
        }
        self.asconf_receiver.preferred = Some(ip);
        Ok(self.prefer(transfer))
    }

    /// Makes the path that the peer prefers the primary one, as soon as it can be used.
    pub(super) fn prefer(&mut self, transfer: &mut Transfer) -> Effects {
        let Some(ip) = self.asconf_receiver.preferred else {
            return Effects::default();
        };
        let leads_there =
            |(facts, path): &(&PathFacts, &Path)| facts.is_usable() && path.addr.remote.ip() == ip;
        let found = transfer.paths.iter().find(leads_there);
        let Some(path) = found.map(|(facts, _)| facts.id) else {
            return Effects::default();
        };
        self.asconf_receiver.preferred = None;
        transfer.make_primary(path)
    }

    //= rfc4895 6.3-15
    //= rfc5061 5.2-1
    /// A packet came from an address that the peer is not known to have. If it brings the genuine request to add that very
    /// address, it is the peer's from now on, and the path is told; the request itself is answered in its turn.
    ///
    /// So a host whose old addresses are all gone can move (RFC 5061 §5.2 D2, §5.3.2). The address that it was known by
    /// must be in the chunk, which the code covers.
    pub(crate) fn introduce(
        &mut self,
        transfer: &mut Transfer,
        authentication: &Authentication,
        (now, arrival): (Instant, PathAddr),
        packet: &Packet<'_>,
    ) -> Option<(Option<PathId>, Effects)> {
        let mut chunks = packet.chunks().map_while(Result::ok);
        let auth = chunks.next().filter(|raw| raw.kind == kind::AUTH)?;
        let asconf = chunks.next().filter(|raw| raw.kind == kind::ASCONF)?;
        let (Ok(Chunk::Auth(code)), Ok(Chunk::Asconf(asconf))) = (auth.decode(), RawChunk::decode(asconf))
        else {
            return None;
        };
        let is_next = asconf.number == self.asconf_receiver.expected;
        let is_known = self.peer_addrs.iter().any(|known| known.ip() == asconf.address);
        let is_ours = self.local_addrs.iter().any(|local| covers(*local, arrival.local));
        let is_meant = |raw: RawParameter<'_>| match raw.decode() {
            Ok(Parameter::AddAddress(request)) => {
                meant(request.address, arrival.remote) == arrival.remote.ip()
            }
            _ => false,
        };
        let is_requested = asconf.requests.iter().map_while(Result::ok).any(is_meant);
        if !(is_next && is_known && is_ours && is_requested) {
            return None;
        }
        let covered = packet.bytes().get(auth.at..)?;
        if authentication.judge(&code, covered) != Verdict::Genuine {
            return None;
        }
        let effects = self.add(transfer, now, arrival.remote, arrival.remote.ip());
        let effects = effects.ok()?;
        let path = match transfer.paths.arrived(&arrival) {
            Arrived::On(path) => Some(path),
            // As many paths as there may be are there already.
            Arrived::Rebound(_) | Arrived::Unknown => None,
        };
        Some((path, effects))
    }
}

/// Why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Refusal {
    LastAddress,
    SourceAddress,
    Resources,
    NotAllowed,
}

/// The answer as it is put together. Success is not mentioned before a refusal, and must be after one.
#[derive(Default)]
struct Refusals {
    writer: ParameterWriter,
    any: bool,
    /// A request to add or delete was refused for want of resources, so all such requests behind it in the same ASCONF are
    /// (RFC 5061 §5.3 F11).
    full: bool,
}

impl Refusals {
    //= rfc5061 5.3-23, 5.3-24
    /// Does what a request to add or delete asks, unless one before it found no room.
    fn unless_full(&mut self, act: impl FnOnce() -> Result<Effects, Refusal>) -> Result<Effects, Refusal> {
        if self.full {
            return Err(Refusal::Resources);
        }
        let done = act();
        self.full = matches!(done, Err(Refusal::Resources));
        done
    }

    //= rfc5061 4.2.1-1, 4.2.2-1, 4.2.4-1
    /// Notes what became of a request.
    fn note(&mut self, raw: RawParameter<'_>, id: CorrelationId, done: Result<(), Refusal>) {
        let cause = match done {
            Ok(()) => {
                if self.any {
                    self.writer.push_success_indication(id);
                }
                return;
            }
            Err(Refusal::LastAddress) => Cause::DeleteLastAddress(raw.bytes),
            Err(Refusal::SourceAddress) => Cause::DeleteSourceAddress(raw.bytes),
            Err(Refusal::Resources) => Cause::ResourceShortage(raw.bytes),
            Err(Refusal::NotAllowed) => Cause::NoAuthorization(raw.bytes),
        };
        self.refuse(id, cause);
    }

    /// A request that we do not know, or one that is none (RFC 5061 §5.2 V2).
    fn unknown(&mut self, raw: RawParameter<'_>) -> bool {
        let action = UnknownAction::of_parameter(raw.kind);
        if let Some(id) = raw.value.first_chunk().filter(|_| action.reports()) {
            let id = CorrelationId(u32::from_be_bytes(*id));
            let quoted = &raw.bytes[..raw.bytes.len().min(MAX_RESPONSES / 4)];
            self.refuse(id, Cause::UnrecognizedParameters(quoted));
        }
        action.goes_on()
    }

    //= rfc5061 4.2.3-1, 5.2-5
    fn refuse(&mut self, id: CorrelationId, cause: Cause<'_>) {
        self.any = true;
        self.writer.push_error_indication(id, &CauseWriter::one(cause));
    }
}

//= rfc5061 4.2.1-3
/// An unspecified address stands for the source address of the packet (RFC 5061 §4.2.1).
fn meant(address: IpAddr, source: SocketAddr) -> IpAddr {
    if address.is_unspecified() {
        source.ip()
    } else {
        address
    }
}

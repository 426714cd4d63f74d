//! What becomes of the peer's wishes about its addresses? Each is done or refused, and the answer is kept for the case
//! that it gets lost (RFC 5061 §5.2, §5.3).

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;
use core::net::{IpAddr, SocketAddr};

use anabranch_policy::PathFacts;
use anabranch_types::{AsconfNumber, Instant, PathAddr, PathId};
use anabranch_wire::chunk::kind;
use anabranch_wire::{
    AddressRequest, Asconf, Cause, CauseWriter, Chunk, CorrelationId, OutboundAsconfAck, Packet, Parameter,
    ParameterWriter, RawChunk, RawParameter, UnknownAction,
};

use crate::Association;
use crate::association::paths;
use crate::auth::Verdict;
use crate::handshake;
use crate::path::{Arrived, Path, covers};

/// Answers kept for repetition. A peer that keeps to the rules asks one question at a time.
const ANSWERS: usize = 4;
/// Addresses of the peer beyond this number are refused.
const MOST_ADDRESSES: usize = 16;
/// Requests are carried out until the answer to them is this long, so that it fits every packet. The peer takes those
/// beyond for refused (RFC 5061 §5.1 A7).
const MOST_RESPONSES: usize = 400;

/// What we said to the peer.
#[derive(Debug)]
pub(super) struct Answering {
    expected: AsconfNumber,
    /// Answers to the last questions, oldest first.
    answers: VecDeque<OutboundAsconfAck>,
    /// Those to be sent, and over which path.
    due: Vec<AsconfNumber>,
    due_on: Option<PathId>,
    /// The peer would like to be sent to at this address, which is not confirmed yet.
    preferred: Option<IpAddr>,
}

impl Answering {
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

    /// The answers to be sent, in the order of their numbers (RFC 5061 §5.1.1 C3).
    pub(super) fn take_due(&mut self) -> Vec<OutboundAsconfAck> {
        self.due_on = None;
        let due = mem::take(&mut self.due);
        let is_due = |answer: &&OutboundAsconfAck| due.contains(&answer.number);
        // Answers to several questions at once go as far as they fit; the peer asks again (RFC 5061 §5.2 E7).
        let mut room = MOST_RESPONSES;
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
        if self.answers.len() >= ANSWERS {
            self.answers.pop_front();
        }
        self.answers.push_back(answer);
    }

    fn has_answered(&self, number: AsconfNumber) -> bool {
        self.answers.iter().any(|answer| answer.number == number)
    }

    fn send(&mut self, number: AsconfNumber, path: PathId) {
        if !self.due.contains(&number) && self.due.len() < ANSWERS {
            self.due.push(number);
        }
        self.due_on = Some(path);
    }
}

/// A question came, over `path` and behind a genuine AUTH chunk.
pub(crate) fn on_asconf(association: &mut Association, now: Instant, path: PathId, chunk: &Asconf<'_>) {
    if !super::may_talk(association) || !association.may_change_addresses() {
        return;
    }
    let answering = &mut association.addresses.answering;
    if chunk.number == answering.expected {
        answering.expected = chunk.number.next();
        let responses = carry_out(association, now, path, chunk);
        let number = chunk.number;
        association
            .addresses
            .answering
            .answer(OutboundAsconfAck { number, responses });
    }
    // E2: an old question gets its old answer; E5: anything else is "either a stale packet or from an attacker".
    let answering = &mut association.addresses.answering;
    if answering.has_answered(chunk.number) {
        answering.send(chunk.number, path);
    }
}

/// Does what is asked, one after the other; gives the responses.
fn carry_out(association: &mut Association, now: Instant, path: PathId, chunk: &Asconf<'_>) -> Vec<u8> {
    let source = association.paths.path(path).addr.remote;
    let mut refusals = Refusals::default();
    for raw in chunk.requests.iter().map_while(Result::ok) {
        let Ok(parameter) = raw.decode() else { break };
        let done = match parameter {
            Parameter::AddAddress(request) => {
                refusals.unless_full(raw, request, || add(association, now, source, request.address))
            }
            Parameter::DeleteAddress(request) => {
                refusals.unless_full(raw, request, || delete(association, now, source, request.address))
            }
            Parameter::SetPrimary(request) => {
                let done = set_primary(association, source, request.address);
                refusals.note(raw, request.id, done)
            }
            _ => refusals.unknown(raw),
        };
        if !done || refusals.writer.clone().finish().len() > MOST_RESPONSES - 60 {
            break;
        }
    }
    refusals.writer.finish()
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
    /// "Once a receiver begins failing any ADD or DELETE request, it must fail all subsequent ADD or DELETE requests
    /// contained in that single ASCONF" (RFC 5061 §5.3 F11).
    full: bool,
}

impl Refusals {
    /// Notes what became of a request to add or delete. Tells whether to go on, as all of these do.
    fn unless_full(
        &mut self,
        raw: RawParameter<'_>,
        request: AddressRequest,
        act: impl FnOnce() -> Result<(), Refusal>,
    ) -> bool {
        let done = if self.full { Err(Refusal::Resources) } else { act() };
        self.full |= done == Err(Refusal::Resources);
        self.note(raw, request.id, done)
    }

    fn note(&mut self, raw: RawParameter<'_>, id: CorrelationId, done: Result<(), Refusal>) -> bool {
        let cause = match done {
            Ok(()) => {
                if self.any {
                    self.writer.push_success_indication(id);
                }
                return true;
            }
            Err(Refusal::LastAddress) => Cause::DeleteLastAddress(raw.bytes),
            Err(Refusal::SourceAddress) => Cause::DeleteSourceAddress(raw.bytes),
            Err(Refusal::Resources) => Cause::ResourceShortage(raw.bytes),
            Err(Refusal::NotAllowed) => Cause::NoAuthorization(raw.bytes),
        };
        self.refuse(id, cause);
        true
    }

    /// A request that we do not know, or one that is none (RFC 5061 §5.2 V2).
    fn unknown(&mut self, raw: RawParameter<'_>) -> bool {
        let action = UnknownAction::of_parameter(raw.kind);
        if let Some(id) = raw.value.first_chunk().filter(|_| action.reports()) {
            let id = CorrelationId(u32::from_be_bytes(*id));
            let quoted = &raw.bytes[..raw.bytes.len().min(MOST_RESPONSES / 4)];
            self.refuse(id, Cause::UnrecognizedParameters(quoted));
        }
        action.goes_on()
    }

    fn refuse(&mut self, id: CorrelationId, cause: Cause<'_>) {
        self.any = true;
        self.writer.push_error_indication(id, &CauseWriter::one(cause));
    }
}

/// "If the address 0.0.0.0 or ::0 is provided, the source address of the packet" is meant (RFC 5061 §4.2.1).
fn meant(address: IpAddr, source: SocketAddr) -> IpAddr {
    if address.is_unspecified() {
        source.ip()
    } else {
        address
    }
}

fn add(
    association: &mut Association,
    now: Instant,
    source: SocketAddr,
    address: IpAddr,
) -> Result<(), Refusal> {
    let ip = meant(address, source);
    if association.there.iter().any(|known| known.ip() == ip) {
        return Ok(());
    }
    if !handshake::is_believable(ip, source.ip()) {
        return Err(Refusal::NotAllowed);
    }
    if association.there.len() >= MOST_ADDRESSES {
        return Err(Refusal::Resources);
    }
    // Its encapsulation port is a guess; when something arrives from there, that is right (RFC 6951 §5.4).
    association.there.push(SocketAddr::new(ip, source.port()));
    paths::follow_addresses(association, now);
    Ok(())
}

fn delete(
    association: &mut Association,
    now: Instant,
    source: SocketAddr,
    address: IpAddr,
) -> Result<(), Refusal> {
    // "If the address 0.0.0.0 or ::0 is provided, all addresses of the peer except the source address of the packet
    // MUST be deleted" (RFC 5061 §4.2.2).
    let others = address.is_unspecified();
    let goes = |ip: IpAddr| if others { ip != source.ip() } else { ip == address };
    if !association.there.iter().any(|known| goes(known.ip())) {
        return Ok(());
    }
    // F7, and F8: "(unless Rule F5 has also been violated [...])".
    if association.there.iter().all(|known| goes(known.ip())) {
        return Err(Refusal::LastAddress);
    }
    if goes(source.ip()) {
        return Err(Refusal::SourceAddress);
    }
    if !paths::remove_where(association, |path| goes(path.remote.ip())) {
        return Err(Refusal::LastAddress);
    }
    association.there.retain(|known| !goes(known.ip()));
    paths::follow_addresses(association, now);
    Ok(())
}

/// RFC 5061 §5.4: advice that "the receiver SHOULD perform"; once the address is confirmed, if it is not yet.
fn set_primary(association: &mut Association, source: SocketAddr, address: IpAddr) -> Result<(), Refusal> {
    let ip = meant(address, source);
    if !association.paths.leads_to(ip) {
        return Err(Refusal::NotAllowed);
    }
    association.addresses.answering.preferred = Some(ip);
    prefer(association);
    Ok(())
}

/// Makes the path that the peer prefers the primary one, as soon as it can be used.
pub(crate) fn prefer(association: &mut Association) {
    let Some(ip) = association.addresses.answering.preferred else {
        return;
    };
    let leads_there = |(facts, path): &(&PathFacts, &Path)| facts.is_usable() && path.addr.remote.ip() == ip;
    let found = association.paths.iter().find(leads_there);
    let Some(path) = found.map(|(facts, _)| facts.id) else {
        return;
    };
    association.addresses.answering.preferred = None;
    paths::make_primary(association, path);
}

/// A packet came from an address that the peer is not known to have. If it brings the genuine wish to add that very
/// address, it is the peer's from now on, and the path is told; the wish itself is answered in its turn.
///
/// So a host whose old addresses are all gone can move (RFC 5061 §5.2 D2, §5.3.2). The address that it was known by
/// must be in the chunk, which the code covers.
pub(crate) fn introduce(
    association: &mut Association,
    now: Instant,
    arrival: PathAddr,
    packet: &Packet<'_>,
) -> Option<PathId> {
    if !super::may_talk(association) || !association.may_change_addresses() {
        return None;
    }
    let mut chunks = packet.chunks().map_while(Result::ok);
    let auth = chunks.next().filter(|raw| raw.kind == kind::AUTH)?;
    let asconf = chunks.next().filter(|raw| raw.kind == kind::ASCONF)?;
    let (Ok(Chunk::Auth(code)), Ok(Chunk::Asconf(asconf))) = (auth.decode(), RawChunk::decode(asconf)) else {
        return None;
    };
    let is_next = asconf.number == association.addresses.answering.expected;
    let is_known = association.there.iter().any(|known| known.ip() == asconf.address);
    let is_here = association.here.iter().any(|local| covers(*local, arrival.local));
    let is_meant = |raw: RawParameter<'_>| match raw.decode() {
        Ok(Parameter::AddAddress(request)) => meant(request.address, arrival.remote) == arrival.remote.ip(),
        _ => false,
    };
    let is_wished = asconf.requests.iter().map_while(Result::ok).any(is_meant);
    if !(is_next && is_known && is_here && is_wished) {
        return None;
    }
    let authentication = association.authentication.as_ref()?;
    let covered = packet.bytes().get(auth.at..)?;
    if authentication.judge(&code, covered) != Verdict::Genuine {
        return None;
    }
    add(association, now, arrival.remote, arrival.remote.ip()).ok()?;
    match association.paths.arrived(arrival) {
        Arrived::On(path) => Some(path),
        Arrived::Rebound(_) | Arrived::Unknown => None,
    }
}

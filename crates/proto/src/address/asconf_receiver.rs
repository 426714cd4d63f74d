//! ASCONF receiver (RFC 5061 §5.2, §5.3). How are the peer's requests to change its addresses handled?
//!
//! Each request is carried out or refused, and the ASCONF ACK is kept in case it is lost.

use alloc::boxed::Box;
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

/// Maximum number of ASCONF ACKs that are kept. A compliant peer has one ASCONF outstanding at a time.
const MAX_ANSWERS: usize = 4;
/// Maximum number of addresses of the peer; further ones are refused.
const MAX_ADDRESSES: usize = 16;
/// Maximum length of the responses in bytes, so that an ASCONF ACK fits into every packet. Further requests are not carried
/// out, and the peer considers them refused (RFC 5061 §5.1 A7).
const MAX_RESPONSES: usize = 400;

/// State of the ASCONF receiver.
#[derive(Debug)]
pub(super) struct AsconfReceiver {
    expected: AsconfNumber,
    due_on: Option<PathId>,
    /// `None` before the first ASCONF: most peers never send one.
    received: Option<Box<Received>>,
}

/// State of received ASCONFs.
#[derive(Debug, Default)]
struct Received {
    /// The last ASCONF ACKs, oldest first.
    answers: VecDeque<OutboundAsconfAck>,
    /// Serial numbers of the ASCONF ACKs to send.
    due: Vec<AsconfNumber>,
    /// An ASCONF ACK to send again to an unknown address.
    repeated: Option<(PathAddr, AsconfNumber)>,
    /// The primary address that the peer requests, while it is not confirmed.
    preferred: Option<IpAddr>,
}

impl AsconfReceiver {
    pub(super) const fn new() -> Self {
        Self {
            expected: AsconfNumber(0),
            due_on: None,
            received: None,
        }
    }

    pub(super) const fn expect(&mut self, first: AsconfNumber) {
        self.expected = first;
    }

    pub(super) const fn due_on(&self) -> Option<PathId> {
        self.due_on
    }

    //= rfc5061 5.1.1-4, 5.1.1-6, 5.2-8
    /// Takes the ASCONF ACKs to send, in the order of their serial numbers (RFC 5061 §5.1.1 C3).
    pub(super) fn take_due(&mut self) -> Vec<OutboundAsconfAck> {
        self.due_on = None;
        let Some(received) = &mut self.received else {
            return Vec::new();
        };
        let due = mem::take(&mut received.due);
        let is_due = |answer: &&OutboundAsconfAck| due.contains(&answer.number);
        // Several ASCONF ACKs are bundled as far as they fit; the peer repeats the other ASCONFs (RFC 5061 §5.2 E7).
        let mut room = MAX_RESPONSES;
        let fits = |answer: &&OutboundAsconfAck| {
            let fits = answer.responses.len() <= room;
            room = room.saturating_sub(answer.responses.len());
            fits
        };
        received
            .answers
            .iter()
            .filter(is_due)
            .take_while(fits)
            .cloned()
            .collect()
    }

    //= rfc5061 5.2-7
    /// Queues the ASCONF ACK of a repeated ASCONF for an unknown address, to which the peer moved before it received the
    /// ASCONF ACK (RFC 5061 §5.2 E6). Not if the ASCONF ACK is longer than the ASCONF's packet.
    fn repeat_to(&mut self, number: AsconfNumber, arrival: PathAddr, asconf_len: usize) {
        let Some(received) = &mut self.received else {
            return;
        };
        let mut answers = received.answers.iter().filter(|answer| answer.number == number);
        if answers.any(|answer| answer.responses.len() <= asconf_len) {
            received.repeated = Some((arrival, number));
        }
    }

    /// Whether an ASCONF ACK is to be sent to an unknown address.
    pub(super) fn has_repeated(&self) -> bool {
        self.received
            .as_ref()
            .is_some_and(|received| received.repeated.is_some())
    }

    /// Takes the ASCONF ACK to send to an unknown address, and the two addresses.
    pub(super) fn take_repeated(&mut self) -> Option<(PathAddr, OutboundAsconfAck)> {
        let received = self.received.as_mut()?;
        let (path, number) = received.repeated.take()?;
        let mut answers = received.answers.iter();
        let answer = answers.find(|answer| answer.number == number)?;
        Some((path, answer.clone()))
    }

    /// Drops ASCONF ACKs for the deleted path `gone`, whose id may be reused. The peer will repeat its ASCONF.
    pub(super) fn forget_path(&mut self, gone: PathId) {
        self.due_on.take_if(|path| *path == gone);
    }

    fn answer(&mut self, answer: OutboundAsconfAck) {
        let answers = &mut self.received.get_or_insert_default().answers;
        if answers.len() >= MAX_ANSWERS {
            answers.pop_front();
        }
        answers.push_back(answer);
    }

    fn has_answered(&self, number: AsconfNumber) -> bool {
        let mut answers = self.received.iter().flat_map(|received| &received.answers);
        answers.any(|answer| answer.number == number)
    }

    //= rfc5061 5.2-6
    fn send(&mut self, number: AsconfNumber, path: PathId) {
        let received = self.received.get_or_insert_default();
        if !received.due.contains(&number) && received.due.len() < MAX_ANSWERS {
            received.due.push(number);
        }
        received.repeated = None;
        self.due_on = Some(path);
    }
}

impl Addresses {
    //= rfc5061 4.1.1-1, 5.2-7, 5.2-9, 5.3.2-3
    /// Handles an ASCONF that arrived over `path` after a valid AUTH chunk.
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
        // A repeated ASCONF gets its previous ASCONF ACK (E2). Any other serial number is old or an attack (E5).
        if self.asconf_receiver.has_answered(number) {
            self.asconf_receiver.send(number, path);
        }
        effects
    }

    //= rfc5061 4.2.6-5, 5.2-4
    /// Carries out the requests one after the other; returns the responses.
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
                // This parameter is only for INIT and INIT ACK (RFC 5061 §4.2.6).
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
        // For a wildcard address, the path of the packet exists already; [`Addresses::introduce`] may have added it.
        let is_known = address.is_unspecified() || self.peer_addrs.iter().any(|known| known.ip() == address);
        if is_known {
            return Ok(Effects::default());
        }
        if !is_believable(address, source.ip()) {
            return Err(Refusal::NotAllowed);
        }
        if self.peer_addrs.len() >= MAX_ADDRESSES {
            return Err(Refusal::Resources);
        }
        // The encapsulation port is a guess until a packet arrives from that address (RFC 6951 §5.4).
        self.add_to_peer(SocketAddr::new(address, source.port()));
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
        // A wildcard address means all addresses except the source of the packet (RFC 5061 §4.2.2).
        let others = address.is_unspecified();
        let goes = |ip: IpAddr| if others { ip != source.ip() } else { ip == address };
        let known = || transfer.paths.remotes().chain(self.peer_addrs.iter().copied());
        if !known().any(|known| goes(known.ip())) {
            return Ok(Effects::default());
        }
        // Deleting the last address is refused (F7), and so is deleting the source of the ASCONF (F8).
        if known().all(|known| goes(known.ip())) {
            return Err(Refusal::LastAddress);
        }
        if goes(source.ip()) {
            return Err(Refusal::SourceAddress);
        }
        let removed = self.remove_paths(transfer, |path| goes(path.remote.ip()));
        let effects = removed.ok_or(Refusal::LastAddress)?;
        self.change_lists(|lists| {
            let others = lists.peer_addrs.iter().copied();
            lists.peer_addrs = others.filter(|known| !goes(known.ip())).collect();
        });
        Ok(effects.then(self.follow(transfer, now)))
    }

    //= rfc5061 5.4-2, 5.4-3
    /// Handles a Set Primary Address request for `address`, which takes effect when that is confirmed. RFC 5061 §5.4
    /// recommends following such requests.
    fn set_primary(
        &mut self,
        transfer: &mut Transfer,
        source: SocketAddr,
        address: IpAddr,
    ) -> Result<Effects, Refusal> {
        let ip = meant(address, source);
        if !transfer.paths.leads_to(ip) && !self.is_address_waiting(ip) {
            return Err(Refusal::NotAllowed);
        }
        self.asconf_receiver.received.get_or_insert_default().preferred = Some(ip);
        Ok(self.prefer(transfer))
    }

    /// Makes the path that the peer requests the primary path, if it is usable.
    pub(super) fn prefer(&mut self, transfer: &mut Transfer) -> Effects {
        let received = &self.asconf_receiver.received;
        let Some(ip) = received.as_ref().and_then(|received| received.preferred) else {
            return Effects::default();
        };
        let leads_there =
            |(facts, path): &(&PathFacts, &Path)| facts.is_active() && path.addr.remote.ip() == ip;
        let found = transfer.paths.iter().find(leads_there);
        let Some(path) = found.map(|(facts, _)| facts.id) else {
            return Effects::default();
        };
        if let Some(received) = &mut self.asconf_receiver.received {
            received.preferred = None;
        }
        transfer.make_primary(path)
    }

    //= rfc4895 6.3-15
    //= rfc5061 4.2.1-3, 5.2-1
    /// Handles a packet from an unknown address. If it has an authenticated ASCONF that adds this address, the address is added,
    /// and its path is returned; the ASCONF itself is handled afterwards.
    ///
    /// In this way, a host can move that has lost all its old addresses (RFC 5061 §5.2 D2, §5.3.2). A host behind a NAT
    /// does not know its public addresses and adds them by a wildcard. Each ASCONF adds one address, because its serial
    /// number is accepted once. A repeated ASCONF gets its ASCONF ACK again and changes nothing.
    pub(crate) fn introduce(
        &mut self,
        transfer: &mut Transfer,
        authentication: &Authentication,
        (now, arrival): (Instant, PathAddr),
        packet: &Packet<'_>,
    ) -> Option<(PathId, Effects)> {
        let mut chunks = packet.chunks().map_while(Result::ok);
        let auth = chunks.next().filter(|raw| raw.kind == kind::AUTH)?;
        let asconf = chunks.next().filter(|raw| raw.kind == kind::ASCONF)?;
        let (Ok(Chunk::Auth(code)), Ok(Chunk::Asconf(asconf))) = (auth.decode(), RawChunk::decode(asconf))
        else {
            return None;
        };
        let is_ours = self.local_addrs.iter().any(|local| covers(*local, arrival.local));
        let is_next = asconf.number == self.asconf_receiver.expected;
        if !is_ours || !(is_next || self.asconf_receiver.has_answered(asconf.number)) {
            return None;
        }
        let requested = self.requested(&asconf, arrival.remote.ip())?;
        let covered = packet.bytes().get(auth.at..)?;
        if authentication.judge(&code, covered) != Verdict::Genuine {
            return None;
        }
        if !is_next {
            self.asconf_receiver
                .repeat_to(asconf.number, arrival, packet.len());
            return None;
        }
        let mut effects = Effects::default();
        if requested == Requested::ByName {
            let added = self.add(transfer, now, arrival.remote, arrival.remote.ip());
            effects.append(added.ok()?);
        }
        if let Arrived::On(path) = transfer.paths.arrived(&arrival) {
            return Some((path, effects));
        }
        let (path, joined) = self.join_path(transfer, now, arrival)?;
        Some((path, effects.then(joined)))
    }

    /// How `asconf` requests to add `source`, the source address of its packet. A request that names the address must
    /// contain another address by which the peer is known.
    fn requested(&self, asconf: &Asconf<'_>, source: IpAddr) -> Option<Requested> {
        let is_known = self.peer_addrs.iter().any(|known| known.ip() == asconf.address);
        let decoded = asconf.requests.iter().map_while(Result::ok);
        let requests = decoded.filter_map(|raw| match raw.decode() {
            Ok(Parameter::AddAddress(request)) if request.address.is_unspecified() => Some(Requested::AsSeen),
            Ok(Parameter::AddAddress(request)) if request.address == source => Some(Requested::ByName),
            _ => None,
        });
        let (mut by_name, mut as_seen) = (false, false);
        for request in requests {
            match request {
                Requested::ByName => by_name = true,
                Requested::AsSeen => as_seen = true,
            }
        }
        if by_name && (is_known || as_seen) {
            Some(Requested::ByName)
        } else {
            as_seen.then_some(Requested::AsSeen)
        }
    }
}

/// How an ASCONF requests to add the source address of its packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Requested {
    /// The request names the address, which is paired with all local addresses.
    ByName,
    /// The request has the wildcard address. The source may be valid only for the local address that received the packet,
    /// because a NAT may choose another for each destination.
    AsSeen,
}

/// Reason why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Refusal {
    LastAddress,
    SourceAddress,
    Resources,
    NotAllowed,
}

/// The responses under construction. Success is not reported before the first refusal, and must be reported after it.
#[derive(Default)]
struct Refusals {
    writer: ParameterWriter,
    any: bool,
    /// Whether a request was refused for lack of resources. All later requests to add or delete in the same ASCONF are then
    /// refused, too (RFC 5061 §5.3 F11).
    full: bool,
}

impl Refusals {
    //= rfc5061 5.3-23, 5.3-24
    /// Carries out a request to add or delete, unless an earlier one was refused for lack of resources.
    fn unless_full(&mut self, act: impl FnOnce() -> Result<Effects, Refusal>) -> Result<Effects, Refusal> {
        if self.full {
            return Err(Refusal::Resources);
        }
        let done = act();
        self.full = matches!(done, Err(Refusal::Resources));
        done
    }

    //= rfc5061 4.2.1-1, 4.2.2-1, 4.2.4-1
    /// Adds the response to a request.
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

    /// Handles an unknown parameter, or one that is no request (RFC 5061 §5.2 V2).
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
/// The address that a request means: a wildcard address means the source of the packet (RFC 5061 §4.2.1).
fn meant(address: IpAddr, source: SocketAddr) -> IpAddr {
    if address.is_unspecified() {
        source.ip()
    } else {
        address
    }
}

//! COOKIE ECHO, received: creates an association, or is handled by the table of RFC 9260 §5.2.4 for an existing one.

use alloc::vec;
use alloc::vec::Vec;
use core::net::SocketAddr;

use anabranch_types::{AssociationId, Instant, PathAddr, PathId, VerificationTag};
use anabranch_wire::chunk::kind;
use anabranch_wire::{Cause, CauseWriter, Chunk, CookieAck, OutboundError, ShutdownAck};

use super::cookie::{BadCookie, Cookie, seal_of};
use super::directory::{Correspondent, Directory};
use super::inbound::Inbound;
use super::spent::Spent;
use super::{Endpoint, listener};
use crate::association::{Agreement, Association, Control, Event, Introduced, Setup, Side, State};
use crate::auth::{self, Authentication, RANDOM_LEN};
use crate::config::AssociationConfig;
use crate::handshake;
use crate::path::{Arrived, MAX_PATHS, PathSet, pair_addresses, pair_through};
use crate::transfer::Transfer;

/// Action of the table of RFC 9260 §5.2.4, by comparison of the tags of cookie and association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// The peer has restarted.
    A,
    /// INITs have crossed.
    B,
    /// A late cookie of an earlier attempt.
    C,
    /// A copy of the cookie, or the peer's cookie for our own handshake.
    D,
    /// No action: the packet is dropped.
    None,
}

//= rfc9260 8.4-5
/// Handles a COOKIE ECHO; returns whether the later chunks of the packet are processed. With a forged cookie "the SCTP packet,
/// including the COOKIE ECHO chunk and any DATA chunks, MUST be silently discarded" (RFC 9260 §5.1.5). The other chunks are also
/// dropped if the cookie is stale, is for another tag, or belongs to an association that has ended.
pub(crate) fn on_cookie_echo(endpoint: &mut Endpoint, inbound: &Inbound<'_>, bytes: &[u8]) -> bool {
    let header = inbound.packet.header();
    if let Some(until) = endpoint.index.directory.spent().forgotten_until() {
        endpoint.cookies.refuse_until(until);
    }
    // RFC 9260 §5.1.5 step 3: the packet must have the tag for which the cookie was made; the seal covers it.
    let opened = endpoint
        .cookies
        .open(bytes, inbound.ports(), header.tag, inbound.now);
    let (cookie, staleness) = match opened {
        Ok(cookie) => (cookie, None),
        Err(BadCookie::Stale(cookie, by)) => (*cookie, Some(by)),
        //= rfc9260 4-1, 5.1.5-1, 5.1.5-2
        Err(BadCookie::Forged) => {
            let known = acknowledge_late_copy(endpoint, inbound, bytes);
            endpoint.counters.dropped += u64::from(!known);
            return known;
        }
    };
    if let Some(why) = spent(endpoint, &cookie) {
        endpoint.counters.dropped += 1;
        // A late copy of a cookie whose association has ended; the ABORT notifies the peer in case it does not know.
        if why == Spent::Ended {
            endpoint.replies.abort(inbound, cookie.peer_tag, Vec::new());
        }
        return false;
    }
    let existing = existing(endpoint, inbound, &cookie);
    if !is_authentic(endpoint, inbound, existing, &cookie) {
        endpoint.counters.dropped += 1;
        return false;
    }
    let verdict = existing.map(|id| (id, compare(endpoint, &endpoint.slots[&id].association, &cookie)));
    //= rfc9260 4-2, 5.1.5-4, 5.1.5-5, 5.2.4-1, 5.2.4-2
    if let Some(by) = staleness.filter(|_| !may_be_stale(endpoint, verdict)) {
        let staleness = u32::try_from(by.as_micros()).unwrap_or(u32::MAX);
        let causes = CauseWriter::one(Cause::StaleCookie { staleness });
        endpoint
            .replies
            .push(inbound, cookie.peer_tag, &OutboundError { causes });
        return false;
    }
    let lives = match verdict {
        None => accept(endpoint, inbound, &cookie),
        Some((id, verdict)) => apply(endpoint, inbound, id, verdict, &cookie),
    };
    if let Some(association) = with_tag_of(endpoint, inbound) {
        association.cookie_seal = seal_of(bytes);
    }
    lives
}

//= rfc4895 6.3-9, 6.3-10, 6.3-11
/// Whether a COOKIE ECHO may be handled: it follows a valid AUTH chunk, or there is none and none is required. Its key is that of the
/// existing association if that has one, otherwise it is derived from the cookie (RFC 4895 §6.3).
fn is_authentic(
    endpoint: &Endpoint,
    inbound: &Inbound<'_>,
    existing: Option<AssociationId>,
    cookie: &Cookie,
) -> bool {
    let association = existing.and_then(|id| endpoint.slots.get(&id));
    let association = association.map(|slot| &slot.association);
    let config = association.map_or(endpoint.accept.as_ref(), |association| Some(&association.config));
    let Some(config) = config else { return true };
    let first = inbound.packet.chunks().next().and_then(Result::ok);
    let auth = first.filter(|first| first.kind == kind::AUTH);
    let Some(raw) = auth else {
        return !config.demanded_chunks().contains(&kind::COOKIE_ECHO);
    };
    let Ok(Chunk::Auth(code)) = raw.decode() else {
        return false;
    };
    let covered = inbound.packet.bytes().get(raw.at..).unwrap_or_default();
    let known = association.and_then(|association| association.authentication.as_deref());
    if let Some(known) = known.filter(|known| known.is_agreed()) {
        return known.judge(&code, covered) == auth::Verdict::Genuine;
    }
    let random = endpoint.randoms.of_tag(cookie.local_tag);
    let (others, all) = (&config.authenticated_chunks, config.demanded_chunks());
    let mut derived = Authentication::new(&random, others, &all, &config.authentication_key);
    if let Some(known) = known {
        derived.keep_keys(known);
    }
    derived.agree(cookie.vector.clone(), &config.authentication_key);
    derived.judge(&code, covered) == auth::Verdict::Genuine
}

/// Acknowledges a late copy of the cookie that created an association. A peer that misses the COOKIE ACK may repeat the COOKIE ECHO
/// for longer than the key exists (RFC 9260 §5.1, T1-cookie). Only the peer knows the cookie's seal, so comparing it is sufficient.
fn acknowledge_late_copy(endpoint: &mut Endpoint, inbound: &Inbound<'_>, bytes: &[u8]) -> bool {
    let Some(association) = with_tag_of(endpoint, inbound) else {
        return false;
    };
    let is_the_same = association.cookie_seal.is_some() && association.cookie_seal == seal_of(bytes);
    if !is_the_same || association.is_closed() {
        return false;
    }
    let id = association.id;
    let otherwise = association.transfer.paths.best();
    acknowledge(
        &mut association.control,
        &mut association.transfer,
        inbound,
        otherwise,
    );
    endpoint.touch(id);
    true
}

fn with_tag_of<'e>(endpoint: &'e mut Endpoint, inbound: &Inbound<'_>) -> Option<&'e mut Association> {
    let id = endpoint.index.directory.with_tag(inbound.packet.header().tag)?;
    let slot = endpoint.slots.get_mut(&id)?;
    let ports = inbound.ports();
    let association = &mut slot.association;
    let is_its = association.channel == ports.channel;
    (is_its && association.local.port == ports.ours && association.peer.port == ports.peers)
        .then_some(association)
}

/// Why the cookie is spent, if it is: its association has ended, even if its last chunk has not been sent yet, or has another tag.
fn spent(endpoint: &Endpoint, cookie: &Cookie) -> Option<Spent> {
    let with_tag = endpoint.index.directory.with_tag(cookie.local_tag);
    let slot = with_tag.and_then(|id| endpoint.slots.get(&id));
    let ends = slot.is_some_and(|slot| slot.association.is_closed());
    let earlier = endpoint.index.directory.spent().reason(cookie.local_tag);
    earlier.or_else(|| ends.then_some(Spent::Ended))
}

//= rfc9260 1.3-1
/// The association of the cookie's peer. The COOKIE ECHO may come from an address that is not confirmed, so the source of the INIT
/// counts too.
fn existing(endpoint: &Endpoint, inbound: &Inbound<'_>, cookie: &Cookie) -> Option<AssociationId> {
    let from = inbound.correspondent();
    let from_source = Some(Correspondent {
        remote: cookie.source,
        ..from
    });
    let from_source = from_source.filter(|from_source| *from_source != from);
    let found = endpoint
        .index
        .directory
        .with_tag(cookie.local_tag)
        .or_else(|| endpoint.index.directory.with_proven(from))
        .or_else(|| endpoint.index.directory.with_proven(from_source?))
        .or_else(|| listener::crossing(endpoint, inbound, &cookie.listed).map(|(id, _)| id));
    found.filter(|id| {
        endpoint
            .slots
            .get(id)
            .is_some_and(|slot| slot.association.channel == inbound.channel && !slot.association.is_closed())
    })
}

/// Whether a cookie is valid although it is stale: the association exists, and the peer misses only its COOKIE ACK (RFC 9260 §5.2.4
/// step 3). During our own handshake it is not: after an earlier Stale Cookie error the peer starts again, and would not know that
/// this end is connected. Its new cookie could make a second association.
fn may_be_stale(endpoint: &Endpoint, verdict: Option<(AssociationId, Verdict)>) -> bool {
    let Some((id, Verdict::D)) = verdict else {
        return false;
    };
    let state = endpoint.slots.get(&id).map(|slot| &slot.association.state);
    state.is_some_and(|state| !matches!(state, State::CookieWait(..) | State::CookieEchoed(..)))
}

fn compare(endpoint: &Endpoint, association: &Association, cookie: &Cookie) -> Verdict {
    let (ours, peers) = (association.local.tag, association.peer.tag);
    let local = cookie.local_tag == ours;
    let peer = cookie.peer_tag == peers;
    let tied = cookie
        .tie_tags
        .is_some_and(|tie_tags| tie_tags == endpoint.randoms.tie(ours, peers));
    match (local, peer) {
        (false, false) if tied => Verdict::A,
        (true, false) => Verdict::B,
        (false, true) if cookie.tie_tags.is_none() => Verdict::C,
        (true, true) => Verdict::D,
        _ => Verdict::None,
    }
}

//= rfc9260 5.1.5-9
/// Acts on a cookie of an existing association; returns whether the later chunks of the packet are processed. Not after a restart:
/// the application learns of it before it receives a message of the new association, and the peer sends its data again.
fn apply(
    endpoint: &mut Endpoint,
    inbound: &Inbound<'_>,
    id: AssociationId,
    verdict: Verdict,
    cookie: &Cookie,
) -> bool {
    let Some(slot) = endpoint.slots.get_mut(&id) else {
        return false;
    };
    let association = &mut slot.association;
    let mut restarts = false;
    match verdict {
        //= rfc9260 5.2.4-6
        Verdict::A | Verdict::B if matches!(association.state, State::ShutdownAckSent(..)) => {
            // RFC 9260 §5.2.4 A: the endpoint "MUST NOT set up a new association but instead resend the SHUTDOWN ACK chunk", and
            // reports with an ERROR that it is shutting down.
            let causes = CauseWriter::one(Cause::CookieWhileShuttingDown);
            endpoint
                .replies
                .push(inbound, cookie.peer_tag, &OutboundError { causes });
            endpoint.replies.push(inbound, cookie.peer_tag, &ShutdownAck);
        }
        Verdict::A => {
            restarts = true;
            restart(endpoint, inbound, id, cookie);
        }
        // The INITs crossed, and the peer restarted after it had received ours: our tag stays.
        Verdict::B if association.state.is_connected() => {
            restarts = true;
            restart(endpoint, inbound, id, cookie);
        }
        Verdict::B => collide(
            association,
            &endpoint.randoms.of_tag(cookie.local_tag),
            inbound,
            cookie,
        ),
        // A Stale Cookie error has thrown our handshake back, after both ends had learnt both tags. The peer completes its own.
        Verdict::D if matches!(association.state, State::CookieWait(..)) => {
            collide(
                association,
                &endpoint.randoms.of_tag(cookie.local_tag),
                inbound,
                cookie,
            );
        }
        //= rfc9260 5.2.4-12, 5.2.4-13
        // Our own handshake is completed by the peer's COOKIE ECHO.
        Verdict::D if matches!(association.state, State::CookieEchoed(..)) => {
            let peer = Introduced::of(association);
            association.events.push_connected(false, peer);
            complete(association, inbound, cookie);
        }
        // The COOKIE ACK was lost.
        Verdict::D if may_reply_to_source(association, inbound) => {
            endpoint.replies.push(inbound, cookie.peer_tag, &CookieAck);
        }
        Verdict::D => {
            let (control, transfer) = (&mut association.control, &mut association.transfer);
            let path = had_at(&transfer.paths, inbound, cookie);
            acknowledge(control, transfer, inbound, path);
        }
        //= rfc9260 5.2.4-3, 5.2.4-9, 5.2.4-10, 5.2.4-11
        Verdict::C | Verdict::None => endpoint.counters.dropped += 1,
    }
    endpoint.touch(id);
    !restarts
}

//= rfc9260 5.2.4-7, 5.2.4-8
/// Action B: the peer's INIT crossed ours. Its new tag is used, and its cookie completes the handshake. Keys are derived from the key
/// vector in our answer to its INIT, of which `random` is the random number.
fn collide(association: &mut Association, random: &[u8; RANDOM_LEN], inbound: &Inbound<'_>, cookie: &Cookie) {
    if let Some(authentication) = &mut association.authentication {
        authentication.begin_again_with(random);
    }
    association.peer.tag = cookie.peer_tag;
    association.peer.initial_tsn = cookie.peer_tsn;
    association.transfer.take_back_early(inbound.now);
    association.agree(agreement(cookie));
    let pairs = pairs(
        &association.config,
        &association.addresses.local_addrs,
        inbound,
        cookie,
    );
    association.control.forget_paths();
    let transfer = &mut association.transfer;
    association
        .addresses
        .replace_paths(transfer, &pairs, remotes(cookie), inbound.now);
    let peer = Introduced::of(association);
    association.events.push_connected(false, peer);
    complete(association, inbound, cookie);
}

//= rfc9260 5.2.4-4, 5.2.4-5
/// Action A: the peer has lost its state. The association starts again with the same id (RFC 9260 §5.2.4.1).
fn restart(endpoint: &mut Endpoint, inbound: &Inbound<'_>, id: AssociationId, cookie: &Cookie) {
    let Some(slot) = endpoint.slots.get_mut(&id) else {
        return;
    };
    let old = &slot.association;
    let undelivered = old.transfer.sender.unacknowledged().count() as u64;
    let setup = Setup {
        id,
        channel: old.channel,
        config: old.config.clone(),
        local_addrs: old.addresses.local_addrs.clone(),
        local: Side {
            tag: cookie.local_tag,
            initial_tsn: super::tsn_of(cookie.local_tag),
            ..old.local
        },
        peer: Side {
            tag: cookie.peer_tag,
            initial_tsn: cookie.peer_tsn,
            ..old.peer
        },
        peer_addrs: remotes(cookie),
        pairs: pairs(&old.config, &old.addresses.local_addrs, inbound, cookie),
        random: endpoint.randoms.of_tag(cookie.local_tag),
        secrets: slot.association.transfer.split_secrets(),
    };
    let directory = &mut endpoint.index.directory;
    unlist(directory, &slot.association, cookie.local_tag, inbound.now);
    let mut anew = Association::new(setup, State::Established, inbound.now);
    anew.zero_checksum.is_accepted = cookie.declared.zero_checksum.is_some();
    anew.events = core::mem::take(&mut slot.association.events);
    anew.counters = slot.association.counters;
    anew.transfer.counters = core::mem::take(&mut slot.association.transfer.counters);
    anew.events.push(Event::Restarted { undelivered });
    if slot.association.owed.writable {
        anew.events.push(Event::Writable);
    }
    core::mem::swap(
        &mut anew.transfer.receiver,
        &mut slot.association.transfer.receiver,
    );
    anew.transfer
        .sender
        .keep_stream_settings(&slot.association.transfer.sender);
    if let (Some(authentication), Some(before)) = (&mut anew.authentication, &slot.association.authentication)
    {
        authentication.keep_keys(before);
    }
    anew.agree(agreement(cookie));
    anew.owed.readable_told = slot.association.owed.readable_told;
    // A requested shutdown continues after the restart.
    anew.owed.shutdown = slot.association.owed.shutdown;
    complete(&mut anew, inbound, cookie);
    for request in slot.association.addresses.requests_to_repeat() {
        // The restarted peer may not support address changes.
        if anew.check_request().is_ok() {
            anew.addresses.request(request);
        }
    }
    anew.addresses.keep_departing(&slot.association.addresses);
    // Its addresses are indexed by `touch`, as those of any new association.
    slot.association = anew;
}

/// Unlists an association that restarts with the tag `tag`.
fn unlist(directory: &mut Directory, old: &Association, tag: VerificationTag, now: Instant) {
    if old.local.tag == tag {
        directory.forget_addresses(old);
    } else {
        // Late copies of the cookie that created the old association are spent, too.
        directory.retire(old, Spent::Ended, now);
    }
}

/// Accepts a new peer if there is room; returns whether there is.
fn accept(endpoint: &mut Endpoint, inbound: &Inbound<'_>, cookie: &Cookie) -> bool {
    let ports = inbound.ports();
    let listens = ports.ours == endpoint.config.sctp_port;
    let Some(config) = endpoint.accept.clone().filter(|_| listens) else {
        refuse(endpoint, inbound, cookie, Vec::new());
        return false;
    };
    // A cookie reserves no association, so the limit may have been reached meanwhile.
    if !endpoint.admits(cookie.source.ip()) {
        refuse(endpoint, inbound, cookie, CauseWriter::one(Cause::OutOfResource));
        return false;
    }
    let pairs = pairs(&config, &endpoint.local_addrs, inbound, cookie);
    let setup = Setup {
        id: endpoint.fresh_id(),
        channel: inbound.channel,
        config,
        local_addrs: endpoint.local_addrs.clone(),
        local: Side {
            port: ports.ours,
            tag: cookie.local_tag,
            initial_tsn: super::tsn_of(cookie.local_tag),
        },
        peer: Side {
            port: ports.peers,
            tag: cookie.peer_tag,
            initial_tsn: cookie.peer_tsn,
        },
        peer_addrs: remotes(cookie),
        pairs,
        random: endpoint.randoms.of_tag(cookie.local_tag),
        secrets: endpoint.secrets.split(),
    };
    let mut association = Association::new(setup, State::Established, inbound.now);
    association.zero_checksum.is_accepted = cookie.declared.zero_checksum.is_some();
    association.agree(agreement(cookie));
    let peer = Introduced::of(&association);
    association.events.push_connected(true, peer);
    complete(&mut association, inbound, cookie);
    endpoint.insert(association, Some(cookie.source.ip()));
    true
}

//= rfc9260 5.1-16, 5.1-17, 5.1-18
/// Refuses a new association. An endpoint that decides "not to establish the new association due to [...] lack of local resources,
/// it SHOULD respond with an ABORT chunk" (RFC 9260 §5.1).
fn refuse(endpoint: &mut Endpoint, inbound: &Inbound<'_>, cookie: &Cookie, causes: Vec<u8>) {
    endpoint.counters.dropped += 1;
    endpoint.replies.abort(inbound, cookie.peer_tag, causes);
}

/// The negotiated parameters of a cookie.
fn agreement(cookie: &Cookie) -> Agreement {
    Agreement {
        extensions: cookie.extensions,
        vector: cookie.vector.clone(),
        declared: cookie.declared,
        peer_tsn: cookie.peer_tsn,
        peer_window: cookie.peer_window,
        outbound_streams: cookie.outbound_streams,
        inbound_streams: cookie.inbound_streams,
    }
}

/// Completes the handshake. Only the address to which the INIT ACK was sent is confirmed, because the peer received the cookie
/// there (RFC 9260 §5.4). The source of the COOKIE ECHO could be forged.
fn complete(association: &mut Association, inbound: &Inbound<'_>, cookie: &Cookie) {
    let path = had_at(&association.transfer.paths, inbound, cookie);
    if path_to(&association.transfer.paths, proven(inbound, cookie)).is_some() {
        let effects = association.transfer.confirm(path);
        association.apply(effects);
    }
    let paths = &mut association.transfer.paths;
    if let Some(came) = path_to(paths, inbound.arrival).filter(|came| !paths.is_confirmed(*came)) {
        paths.path_mut(came).heard_at = Some(inbound.now);
    }
    let state = (&mut association.state, association.owed.shutdown);
    let parts = (&mut association.addresses, &mut association.control);
    handshake::establish(state, parts, &mut association.transfer, inbound.now);
    acknowledge(&mut association.control, &mut association.transfer, inbound, path);
}

/// The path over which the peer received the cookie.
fn had_at(paths: &PathSet, inbound: &Inbound<'_>, cookie: &Cookie) -> PathId {
    let path = path_to(paths, proven(inbound, cookie));
    path.unwrap_or_else(|| paths.primary())
}

//= rfc9260 5.4-3, 6.4-2
/// Sends the COOKIE ACK over the path of the COOKIE ECHO, since another one may have failed. To an unconfirmed address it "MUST be
/// bundled with a HEARTBEAT chunk" (RFC 9260 §5.4); if none can be sent now, the path `otherwise` is used.
fn acknowledge(control: &mut Control, transfer: &mut Transfer, inbound: &Inbound<'_>, otherwise: PathId) {
    let came = path_to(&transfer.paths, inbound.arrival)
        .filter(|path| transfer.paths.is_confirmed(*path) || transfer.hurry_heartbeat(*path, inbound.now));
    control.send_cookie_ack(came.unwrap_or(otherwise));
}

//= rfc9260 6.4-2
/// Whether a repeated COOKIE ECHO comes from an address that is not the peer's, because the peer's NAT has changed during the handshake.
/// Then the COOKIE ACK alone is sent to this address, which becomes no path: the peer joins from there. Not if the peer requires
/// authentication of COOKIE ACK, which replies do not have.
fn may_reply_to_source(association: &Association, inbound: &Inbound<'_>) -> bool {
    let paths = &association.transfer.paths;
    let authentication = association.authentication.as_deref();
    let must_prove = authentication.is_some_and(|known| known.peer_demands(kind::COOKIE_ACK));
    association.state.is_connected()
        && !matches!(paths.arrived(&inbound.arrival), Arrived::On(_))
        && !must_prove
}

fn path_to(paths: &PathSet, addr: PathAddr) -> Option<PathId> {
    match paths.arrived(&addr) {
        Arrived::On(path) | Arrived::Rebound(path) => Some(path),
        Arrived::Unknown => None,
    }
}

/// The address pair over which the peer received the cookie. The cookie does not contain our address, so that of the COOKIE ECHO is
/// used.
const fn proven(inbound: &Inbound<'_>, cookie: &Cookie) -> PathAddr {
    PathAddr {
        local: inbound.arrival.local,
        remote: cookie.source,
    }
}

//= rfc9260 5.1.2-5
/// The address pairs of the paths. If the whole handshake used one pair, it is one of them, even if our address in it is not known
/// to the endpoint.
fn pairs(
    config: &AssociationConfig,
    local_addrs: &[SocketAddr],
    inbound: &Inbound<'_>,
    cookie: &Cookie,
) -> Vec<PathAddr> {
    let proven = proven(inbound, cookie);
    if config.single_homed {
        return vec![proven];
    }
    let remotes = remotes(cookie);
    if inbound.arrival.remote == cookie.source {
        return pair_through(local_addrs, &remotes, proven);
    }
    let pairs = pair_addresses(local_addrs, &remotes);
    if pairs.iter().any(|pair| pair.remote == cookie.source) {
        return pairs;
    }
    // The pairing has no path to the source of the INIT: there are too many addresses, or none can reach it.
    let pairs_there = pair_addresses(local_addrs, &[cookie.source]);
    let first = pairs_there.first().copied().unwrap_or(proven);
    core::iter::once(first).chain(pairs).take(MAX_PATHS).collect()
}

//= rfc9260 3.3.2.1.2-3, 5.1.2-1, 5.1.2-4
/// The peer's addresses in the order in which it pairs them: as listed, preceded by the source of its INIT if that is not listed.
fn remotes(cookie: &Cookie) -> Vec<SocketAddr> {
    let listed = cookie
        .listed
        .iter()
        .map(|ip| SocketAddr::new(*ip, cookie.source.port()));
    let mut remotes: Vec<SocketAddr> = Vec::new();
    let source = Some(cookie.source).filter(|source| !cookie.listed.contains(&source.ip()));
    for remote in source.into_iter().chain(listed) {
        if !remotes.contains(&remote) {
            remotes.push(remote);
        }
    }
    remotes.shrink_to_fit();
    remotes
}

//! INIT ACK, received. It has the peer's tag, initial TSN, streams, window, cookie and addresses (RFC 9260 §3.3.3).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use anabranch_types::{Instant, PathAddr, PathId, VerificationTag};
use anabranch_wire::chunk::kind;
use anabranch_wire::{Cause, CauseWriter, Chunk, InitAck, Packet, Parameter, Parameters, UnknownAction};

use crate::address::{Addresses, is_believable};
use crate::association::{Agreement, Association, Control, Retry, Side, State, close};
use crate::auth::{BadRandom, KeyVector, KeyVectorReader};
use crate::config::{AssociationConfig, MIN_RECEIVE_BUFFER};
use crate::extensions::ChunkKinds;
use crate::path::{Path, PathSet, covers, pair_through};
use crate::transfer::Transfer;
use crate::violation::Violation;

use super::{Declared, HostName};

/// Further addresses of the peer are ignored.
const MAX_ADDRESSES: usize = 32;

pub(crate) fn on_init_ack(
    association: &mut Association,
    now: Instant,
    path: PathId,
    chunk: &InitAck<'_>,
) -> Result<(), Violation> {
    //= rfc9260 3.3.3-8, 3.3.3-18, 3.3.3-22, 5.2.3-1
    // In any other state the INIT ACK is an old one and discarded (RFC 9260 §5.2.3).
    let State::CookieWait(Some(retry)) = &association.state else {
        return Ok(());
    };
    let retry = **retry;
    //= rfc9260 3.3.3-10, 3.3.3-12
    // RFC 9260 §3.3.3: an INIT ACK with an a_rwnd below 1,500 is discarded. The attempt continues.
    if u64::from(chunk.a_rwnd) < MIN_RECEIVE_BUFFER {
        return Ok(());
    }
    //= rfc9260 3.3.3-6, 3.3.3-7
    // No tag of the peer is known, so the ABORT reflects that of the INIT ACK.
    if chunk.initiate_tag == VerificationTag::ZERO {
        let (reason, causes) = close::violated(Violation::InvalidMandatoryParameter);
        association.end(reason, None);
        association.control.abort_with_reflected_tag(causes);
        return Ok(());
    }
    // The tag is set first, because an ABORT for any of the following errors needs it.
    association.peer.tag = chunk.initiate_tag;
    if !is_valid(chunk) {
        return Err(Violation::InvalidMandatoryParameter);
    }
    let (addresses, paths) = (&association.addresses, &association.transfer.paths);
    let path = path_of_answer(addresses, paths, path, retry);
    let answered_from = paths.path(path).addr;
    let forwards = association.config.partial_reliability;
    let offer = Offer::read(&chunk.parameters, answered_from.remote.ip(), forwards)?;
    object(association, &offer)?;
    association.peer = Side {
        tag: chunk.initiate_tag,
        initial_tsn: chunk.initial_tsn,
        ..association.peer
    };
    let agreement = agreement(&association.config, chunk, &offer);
    association.agree(agreement);
    if retry.repeated == 0 {
        // The INIT was sent only once, so the INIT ACK gives an RTT sample (RFC 9260 §6.3.1 C5).
        let rtt = &mut association.transfer.paths.fact_mut(path).rtt;
        rtt.on_sample(retry.expires - retry.timeout, now);
    }
    let (addresses, transfer) = (&mut association.addresses, &mut association.transfer);
    let path = if association.config.single_homed {
        path
    } else {
        let measured = transfer.paths.fact(path).rtt.clone();
        let taken = take_addresses(addresses, transfer, &offer.addresses, answered_from, now);
        if taken == Paths::Replaced {
            association.control.forget_paths();
        }
        let path = path_between(&transfer.paths, answered_from).unwrap_or_default();
        transfer.paths.fact_mut(path).rtt = measured;
        path
    };
    report_unrecognized(&mut association.control, &offer.unrecognized);
    let retry = Retry {
        begun_again: retry.begun_again,
        ..Retry::start(association.transfer.paths.fact(path).rto(), now)
    };
    //= rfc9260 3.3.3-25, 5.1.4-1, 5.1.4-2
    association.state = State::echoed(retry, offer.cookie);
    association.control.send_handshake(path);
    let effects = association.transfer.confirm(path);
    association.apply(effects);
    Ok(())
}

//= rfc5061 6-4, 6-5
/// Checks whether an association can be set up with what the INIT ACK offers.
fn object(association: &Association, offer: &Offer) -> Result<(), Violation> {
    // All chunks of a peer without authentication that have to be authenticated would be discarded.
    let authenticates = offer.vector.is_some() && offer.extensions.contains(kind::AUTH);
    if !association.config.authenticated_chunks.is_empty() && !authenticates {
        return Err(Violation::Protocol(super::NO_AUTHENTICATION));
    }
    if association.config.offers_address_changes() && offer.extensions.lack_authentication() {
        return Err(Violation::Protocol(super::ASCONF_WITHOUT_AUTH));
    }
    Ok(())
}

/// Reports the parameters of the INIT ACK that are unrecognized, if there are any, together with the COOKIE ECHO.
fn report_unrecognized(control: &mut Control, unrecognized: &[u8]) {
    if !unrecognized.is_empty() {
        let cause = Cause::UnrecognizedParameters(unrecognized);
        control.report(CauseWriter::one(cause));
    }
}

/// Matches an INIT ACK from an unknown address. If it lists an address to which an INIT was sent, it belongs to that INIT (RFC 9260
/// §5.1.2 D) and is handled as if it had arrived over that path, which is returned. Its source is recorded beside the listed
/// addresses (§5.1.2 C), and is unconfirmed.
pub(crate) fn introduce(
    addresses: &mut Addresses,
    paths: &PathSet,
    arrival: PathAddr,
    packet: &Packet<'_>,
) -> Option<PathId> {
    let Ok(Chunk::InitAck(chunk)) = packet.chunks().next()?.ok()?.decode() else {
        return None;
    };
    let lists = |ip: IpAddr| {
        let mut parameters = chunk.parameters.iter().map_while(Result::ok);
        parameters.any(|raw| match raw.decode() {
            Ok(Parameter::Ipv4(address)) => ip == address,
            Ok(Parameter::Ipv6(address)) => ip == address,
            _ => false,
        })
    };
    let is_listed = |path: &PathId| lists(paths.path(*path).addr.remote.ip());
    let mut initiated = paths.ids().filter(|path| addresses.is_initiated_to(paths, *path));
    let path = initiated.find(is_listed)?;
    addresses.add_to_peer(arrival.remote);
    Some(path)
}

/// The path that an INIT ACK over `path` confirms: `path` itself if the application gave its address. All other addresses are
/// unconfirmed (RFC 9260 §5.4). After a stale cookie they are among the paths, and an INIT ACK from there counts as one from the
/// address to which the INIT was sent.
fn path_of_answer(addresses: &Addresses, paths: &PathSet, path: PathId, retry: Retry) -> PathId {
    if addresses.is_initiated_to(paths, path) {
        path
    } else {
        super::path_of_init(addresses, paths, retry.repeated)
    }
}

//= rfc9260 3.3.3-16, 3.3.3-17, 3.3.3-20, 3.3.3-21
/// Whether the stream counts are valid; a zero in either of them ends the attempt (RFC 9260 §3.3.3).
const fn is_valid(chunk: &InitAck<'_>) -> bool {
    chunk.outbound_streams > 0 && chunk.inbound_streams > 0
}

/// The parameters of an INIT ACK.
struct Offer {
    cookie: Box<[u8]>,
    addresses: Vec<IpAddr>,
    extensions: ChunkKinds,
    vector: Option<KeyVector>,
    declared: Declared,
    /// Unrecognized parameters to report to the peer, unchanged.
    unrecognized: Vec<u8>,
}

impl Offer {
    //= rfc3758 3.3.2-2
    //= rfc4895 6.1-3, 6.1-4
    //= rfc9260 3.3.3-24, 12.2.4.1-1
    fn read(parameters: &Parameters<'_>, source: IpAddr, forwards: bool) -> Result<Self, Violation> {
        let mut cookie = None;
        let mut addresses = Vec::new();
        let mut extensions = ChunkKinds::default();
        let mut supports_forward_tsn = false;
        let mut unrecognized = Vec::new();
        let mut vector = KeyVectorReader::default();
        let mut declared = Declared::default();
        for raw in parameters.iter() {
            let parameter = raw.and_then(|raw| raw.decode().map(|parameter| (raw, parameter)));
            let Ok((raw, parameter)) = parameter else { break };
            vector.note(raw, &parameter);
            match parameter {
                Parameter::StateCookie(value) => cookie = Some(value.into()),
                Parameter::Ipv4(address) => addresses.push(address.into()),
                Parameter::Ipv6(address) => addresses.push(address.into()),
                Parameter::SupportedExtensions(kinds) => extensions = ChunkKinds::from_bytes(kinds),
                //= rfc9260 3.3.2.1.4-2, 3.3.3-2
                // RFC 9260 §3.3.3: an INIT ACK with a Host Name Address gets an ABORT.
                Parameter::HostName => return Err(Violation::HostName(HostName::of(raw))),
                Parameter::ForwardTsnSupported if forwards => supports_forward_tsn = true,
                Parameter::Unknown(_) | Parameter::ForwardTsnSupported => {
                    let action = UnknownAction::of_parameter(raw.kind);
                    if action.reports() {
                        unrecognized.extend_from_slice(raw.bytes);
                        unrecognized.resize(unrecognized.len().next_multiple_of(4), 0);
                    }
                    if !action.goes_on() {
                        break;
                    }
                }
                other => declared.note(&other),
            }
        }
        addresses.retain(|listed| is_believable(*listed, source));
        addresses.truncate(MAX_ADDRESSES);
        let vector = vector
            .finish()
            .map_err(|BadRandom| Violation::Protocol("RANDOM is not of 32 bytes"))?;
        let cookie = cookie.ok_or(Violation::NoStateCookie)?;
        Ok(Self {
            cookie,
            addresses,
            extensions: extensions.with(kind::FORWARD_TSN, supports_forward_tsn),
            vector,
            declared,
            unrecognized,
        })
    }
}

//= rfc9260 5.1.1-2, 5.1.1-3
/// The negotiated parameters. The number of streams is the smaller of those requested and those allowed (RFC 9260 §5.1.1).
fn agreement(config: &AssociationConfig, chunk: &InitAck<'_>, offer: &Offer) -> Agreement {
    Agreement {
        extensions: offer.extensions,
        vector: offer.vector.clone(),
        declared: offer.declared.agreed(Declared::ours(config)),
        peer_tsn: chunk.initial_tsn,
        peer_window: chunk.a_rwnd,
        outbound_streams: config.wanted_streams().min(chunk.inbound_streams),
        inbound_streams: config.allowed_streams().min(chunk.outbound_streams),
    }
}

//= rfc9260 3.3.3-26, 5.1.2-1, 5.1.2-4
/// Pairs our addresses with those that the peer listed, in its order, those that the application gave, and the source of the INIT
/// ACK.
fn take_addresses(
    addresses: &mut Addresses,
    transfer: &mut Transfer,
    listed: &[IpAddr],
    answered_from: PathAddr,
    now: Instant,
) -> Paths {
    let paths = &transfer.paths;
    let remotes = peer_addresses(addresses, paths, listed, answered_from);
    let pairs = pair_through(&addresses.local_addrs, &remotes, answered_from);
    if pairs.iter().copied().eq(paths.iter().map(|(_, path)| path.addr)) {
        addresses.peer_addrs = remotes.into();
        Paths::Kept
    } else {
        addresses.replace_paths(transfer, &pairs, remotes, now);
        Paths::Replaced
    }
}

/// Whether the paths on which INITs were sent still exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Paths {
    Kept,
    Replaced,
}

/// The peer's addresses: those that it listed, with known encapsulation ports, and those known before.
fn peer_addresses(
    addresses: &Addresses,
    paths: &PathSet,
    listed: &[IpAddr],
    answered_from: PathAddr,
) -> Vec<SocketAddr> {
    let all_known = || paths.remotes().chain(addresses.peer_addrs.iter().copied());
    let port_of = |ip: &IpAddr| {
        let named = all_known().find(|addr| addr.ip() == *ip);
        named.unwrap_or(answered_from.remote).port()
    };
    let mut remotes: Vec<SocketAddr> = Vec::new();
    let from_peer = listed.iter().map(|ip| SocketAddr::new(*ip, port_of(ip)));
    for remote in from_peer.chain(all_known()) {
        if !remotes.contains(&remote) {
            remotes.push(remote);
        }
    }
    remotes.shrink_to_fit();
    remotes
}

/// The path with these addresses; the local one may be any of ours.
fn path_between(paths: &PathSet, addr: PathAddr) -> Option<PathId> {
    let is_it = |path: &Path| {
        let PathAddr { local, remote } = path.addr;
        remote == addr.remote && covers(local, addr.local)
    };
    let nearly = || paths.iter().find(|(_, path)| is_it(path));
    let nearly = || nearly().map(|(facts, _)| facts.id);
    paths.between(addr).or_else(nearly)
}

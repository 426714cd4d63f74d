//! INIT, received, and its INIT ACK. All state goes into the cookie, and none is kept (RFC 9260 §5.1, §5.2.1, §5.2.2).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use anabranch_types::{AssociationId, PathAddr, VerificationTag};
use anabranch_wire::chunk::kind;
use anabranch_wire::{
    Cause, CauseWriter, CommonHeader, Init, OutboundInit, Parameter, ParameterWriter, Parameters,
    UnknownAction,
};

use super::Endpoint;
use super::cookie::{Cookie, MAX_ADDRESSES};
use super::directory::Correspondent;
use super::inbound::Inbound;
use super::replies::MAX_AMPLIFICATION;
use crate::association::State;
use crate::auth::{ADDRESS_CHANGES, BadRandom, KeyVector, KeyVectorReader};
use crate::config::{AssociationConfig, MIN_RECEIVE_BUFFER};
use crate::extensions::{ChunkKinds, Extensions};
use crate::handshake::{self, Declared, HostName};
use crate::path::max_packet;
use crate::secrets::TieTags;

/// Length of common header, chunk header and fixed fields of an INIT ACK.
const INIT_ACK_FIXED: usize = CommonHeader::LEN + 20;

/// The parameters of an INIT.
struct Wishes {
    addresses: Vec<IpAddr>,
    extensions: ChunkKinds,
    /// The peer's key vector for authentication; an error if it is invalid.
    vector: Result<Option<KeyVector>, BadRandom>,
    declared: Declared,
    /// Unrecognized parameters to report to the peer, unchanged.
    unrecognized: Vec<Vec<u8>>,
    host_name: Option<HostName>,
}

/// Contents of an INIT ACK: values of a new association, or of an existing one.
struct Answer {
    local_tag: VerificationTag,
    tie_tags: Option<TieTags>,
    config: Arc<AssociationConfig>,
    /// The addresses to list.
    local_addrs: Arc<[SocketAddr]>,
}

//= rfc9260 5.1-6, 8.4-3, 8.5.1-2, 8.5.1-3, 12.2.4.1-1, 12.3-3
pub(crate) fn on_init(endpoint: &mut Endpoint, inbound: &Inbound<'_>, init: &Init<'_>) {
    //= rfc9260 3-1, 3.3.2-7, 5.1-10, 5.1-11, 6.10-8
    // RFC 9260 §8.5.1 A and §3.3.2: an INIT whose packet has another tag than zero or other chunks, or whose initiate tag is zero,
    // is dropped.
    if inbound.packet.header().tag != VerificationTag::ZERO
        || inbound.packet.chunks().count() != 1
        || init.initiate_tag.0 == 0
    {
        endpoint.counters.dropped += 1;
        return;
    }
    if !endpoint.answers_for(inbound) {
        return;
    }
    let mut configs = endpoint.accept.iter().chain(&endpoint.last_config);
    let forwards = configs.any(|config| config.partial_reliability);
    let wishes = Wishes::read(&init.parameters, inbound.arrival.remote.ip(), forwards);
    if let Some(cause) = objection(endpoint, init, &wishes) {
        refuse(endpoint, inbound, init, cause);
        return;
    }
    let by_source = endpoint.index.directory.with_proven(inbound.correspondent());
    let known = by_source
        .map(|id| (id, inbound.arrival))
        .or_else(|| crossing(endpoint, inbound, &wishes.addresses));
    let inbound = Inbound {
        arrival: known.map_or(inbound.arrival, |(_, reverse_path)| reverse_path),
        ..*inbound
    };
    let answer = match known {
        Some((id, _)) => known_peer(endpoint, id, &inbound, init, &wishes),
        None => unknown_peer(endpoint, &inbound, init),
    };
    if let Some(answer) = answer {
        reply(endpoint, &inbound, init, &wishes, &answer);
    }
}

//= rfc4895 6.1-3, 6.1-4
//= rfc5061 6-3
/// The error cause if the INIT cannot be accepted from any peer.
fn objection<'w>(endpoint: &Endpoint, init: &Init<'_>, wishes: &'w Wishes) -> Option<Cause<'w>> {
    let config = endpoint.accept.as_ref();
    let changes_addresses = config.is_some_and(|config| config.offers_address_changes());
    //= rfc9260 3.3.2-9, 3.3.2-10, 3.3.2-11, 3.3.2-14, 3.3.2-15, 3.3.2-16, 3.3.2-18, 3.3.2-19, 3.3.2-20
    //= rfc9260 5.1-16, 5.1-17, 5.1-18
    if init.outbound_streams == 0 || init.inbound_streams == 0 || u64::from(init.a_rwnd) < MIN_RECEIVE_BUFFER
    {
        Some(Cause::InvalidMandatoryParameter)
    //= rfc9260 3.3.2-3, 3.3.2.1.4-2, 5.1.2-2, 5.1.2-3
    } else if let Some(host_name) = &wishes.host_name {
        // RFC 9260 §3.3.2 Note 3: "MUST send an ABORT chunk".
        Some(Cause::UnresolvableAddress(host_name.parameter()))
    } else if wishes.vector.is_err() {
        Some(Cause::ProtocolViolation(b"RANDOM is not of 32 bytes"))
    } else if changes_addresses && wishes.extensions.lack_authentication() {
        Some(Cause::ProtocolViolation(
            handshake::ASCONF_WITHOUT_AUTH.as_bytes(),
        ))
    } else if config.is_some_and(|config| !config.authenticated_chunks.is_empty()) && !wishes.authenticates()
    {
        Some(Cause::ProtocolViolation(handshake::NO_AUTHENTICATION.as_bytes()))
    } else {
        None
    }
}

//= rfc9260 5.2.1-3, 5.2.1-4
/// Finds an association that we are setting up with one of the `listed` addresses while the peer's INIT comes from another one, and
/// the path of the INIT ACK: "only [...] to an address passed by the upper layer in the
/// request to initialize the association" (RFC 9260 §5.2.1).
///
/// Otherwise two multi-homed hosts that send INITs to different addresses of each other would end with two associations on one
/// side. This search is for the handshake only: later, a listed address proves nothing (ADR 0067), since hosts behind different
/// NATs may list the same private address.
pub(super) fn crossing(
    endpoint: &Endpoint,
    inbound: &Inbound<'_>,
    listed: &[IpAddr],
) -> Option<(AssociationId, PathAddr)> {
    listed.iter().find_map(|ip| {
        let remote = SocketAddr::new(*ip, inbound.arrival.remote.port());
        let id = endpoint.index.directory.in_handshake(Correspondent {
            remote,
            ..inbound.correspondent()
        })?;
        let mut paths = endpoint.slots.get(&id)?.association.transfer.paths.iter();
        let reverse_path = paths.find(|(_, path)| path.addr.remote == remote);
        Some((id, reverse_path?.1.addr))
    })
}

//= rfc9260 3.3.2-4
/// Handles an INIT from an unknown peer, which is accepted if this endpoint listens on the port and has room.
fn unknown_peer(endpoint: &mut Endpoint, inbound: &Inbound<'_>, init: &Init<'_>) -> Option<Answer> {
    let listens = inbound.packet.header().destination_port == endpoint.config.sctp_port;
    match endpoint.accept.clone().filter(|_| listens) {
        Some(_) if !endpoint.admits(inbound.arrival.remote.ip()) => {
            refuse(endpoint, inbound, init, Cause::OutOfResource);
            None
        }
        Some(config) => {
            let local_tag = endpoint.fresh_tag();
            Some(Answer {
                local_tag,
                //= rfc9260 5.2.2-11
                tie_tags: None,
                config,
                local_addrs: endpoint.local_addrs.clone(),
            })
        }
        None => {
            endpoint.replies.abort(inbound, init.initiate_tag, Vec::new());
            None
        }
    }
}

//= rfc9260 9.2-26
/// Handles an INIT from a known peer: INITs have crossed, or the peer has restarted.
fn known_peer(
    endpoint: &mut Endpoint,
    id: AssociationId,
    inbound: &Inbound<'_>,
    init: &Init<'_>,
    wishes: &Wishes,
) -> Option<Answer> {
    let slot = endpoint.slots.get_mut(&id)?;
    let association = &mut slot.association;
    let (config, local_addrs) = (
        association.config.clone(),
        association.addresses.local_addrs.clone(),
    );
    let local_tag = association.local.tag;
    let tie_tags = endpoint.randoms.tie(local_tag, association.peer.tag);
    let added = association.added(&wishes.addresses);
    match association.state {
        //= rfc9260 5.2.1-1, 5.2.1-2, 5.2.1-5, 5.2.1-12, 5.2.1-13, 5.2.1-14
        // RFC 9260 §5.2.1: the endpoint "MUST respond with an INIT ACK chunk using the same parameters it sent in its original INIT
        // chunk".
        State::CookieWait(_) => Some(Answer {
            local_tag,
            tie_tags: None,
            config,
            local_addrs,
        }),
        // RFC 9260 §9.2: in this state an INIT is discarded and the SHUTDOWN ACK retransmitted, whatever addresses the INIT lists.
        State::ShutdownAckSent(..) => {
            association.control.send_shutdown_ack();
            endpoint.touch(id);
            None
        }
        // A closed association that is not removed yet does not prevent a new one.
        State::Closed => unknown_peer(endpoint, inbound, init),
        //= rfc9260 5.2.1-7, 5.2.1-8, 5.2.1-9, 5.2.1-10, 5.2.2-2, 5.2.2-3, 5.2.2-4
        // RFC 9260 §5.2.1, §5.2.2: an INIT that adds addresses could hijack the association. It gets an ABORT that lists the added
        // addresses.
        _ if !added.is_empty() => {
            let mut addresses = ParameterWriter::new();
            for address in added {
                addresses.push_address(address);
            }
            let addresses = addresses.finish();
            let cause = Cause::RestartWithNewAddresses(Parameters::new(&addresses));
            refuse(endpoint, inbound, init, cause);
            None
        }
        //= rfc9260 5.2.1-6, 5.2.1-15
        State::CookieEchoed(..) => Some(Answer {
            local_tag,
            tie_tags: Some(tie_tags),
            config,
            local_addrs,
        }),
        //= rfc9260 5.2.2-5, 5.2.2-7, 5.2.2-9, 5.2.2-10
        // §5.2.2.
        State::Established
        | State::ShutdownPending
        | State::ShutdownSent(..)
        | State::ShutdownReceived(_) => {
            let local_tag = endpoint.fresh_tag();
            Some(Answer {
                local_tag,
                tie_tags: Some(tie_tags),
                config,
                local_addrs,
            })
        }
    }
}

//= rfc9260 8.4-4
fn refuse(endpoint: &mut Endpoint, inbound: &Inbound<'_>, init: &Init<'_>, cause: Cause<'_>) {
    endpoint
        .replies
        .abort(inbound, init.initiate_tag, CauseWriter::one(cause));
}

/// Adds what both ends use to the `mandatory` parameters of an INIT ACK. Returns those that are left out where the reply has no room.
fn declare(
    config: &AssociationConfig,
    agreed: Declared,
    extensions: &Extensions,
    vector: Option<&KeyVector>,
    mandatory: &mut ParameterWriter,
) -> Vec<Vec<u8>> {
    // An INIT that declares no feature may have no room for it in its reply.
    let features = Declared {
        adaptation_layer: None,
        ..agreed
    };
    features.push(mandatory);
    let adaptation = Declared {
        adaptation_layer: config.adaptation_layer,
        ..Declared::default()
    };
    let mut optional = alloc::vec![one(|alone| adaptation.push(alone))];
    if vector.is_some() {
        handshake::push_extensions(extensions, vector, mandatory);
    } else {
        // The extensions matter only if the peer lists some, and then its INIT is long enough for a reply with them.
        optional.push(one(|alone| handshake::push_extensions(extensions, None, alone)));
    }
    optional
}

//= rfc9260 5.1-4, 5.1-5, 5.2.1-11, 5.2.2-1, 5.2.2-6, 5.2.2-8
fn reply(endpoint: &mut Endpoint, inbound: &Inbound<'_>, init: &Init<'_>, wishes: &Wishes, answer: &Answer) {
    let config = &answer.config;
    let mut extensions = Extensions::offered(config);
    let vector = wishes.vector.clone().ok().flatten();
    let vector = vector.filter(|_| extensions.ours.contains(kind::AUTH));
    if vector.is_none() {
        // Extensions that need authentication are not offered without it.
        extensions.ours = extensions.ours.without(&[kind::AUTH]).without(&ADDRESS_CHANGES);
    }
    let random = endpoint.randoms.of_tag(answer.local_tag);
    let ours = vector
        .as_ref()
        .map(|_| KeyVector::ours(&random, &config.demanded_chunks()));
    let declared = wishes.declared.agreed(Declared::ours(config));
    let cookie = Cookie {
        local_tag: answer.local_tag,
        peer_tag: init.initiate_tag,
        peer_tsn: init.initial_tsn,
        peer_window: init.a_rwnd,
        //= rfc9260 3.3.3-15
        outbound_streams: config.wanted_streams().min(init.inbound_streams),
        inbound_streams: config.allowed_streams().min(init.outbound_streams),
        tie_tags: answer.tie_tags,
        // Only extensions that we support are kept.
        extensions: extensions.ours.common(&wishes.extensions),
        vector,
        declared,
        source: inbound.arrival.remote,
        listed: if config.single_homed {
            Vec::new()
        } else {
            wishes.addresses.clone()
        },
    };
    let sealed = endpoint.cookies.seal(&cookie, inbound.ports(), inbound.now);
    // The cookie, our key vector, and small ones.
    let mut mandatory = ParameterWriter::with_capacity(sealed.len() + KeyVector::MAX_LEN);
    mandatory.push_state_cookie(&sealed);
    let mut optional = declare(config, declared, &extensions, ours.as_ref(), &mut mandatory);
    optional.extend(addresses_and_unrecognized(inbound, wishes, answer));
    // A packet that needs fragmentation may never arrive, and a retransmitted INIT gets the same one.
    let path = max_packet(&inbound.arrival, config.mtu).into();
    let limit = (inbound.packet.len() * MAX_AMPLIFICATION)
        .min(path)
        .saturating_sub(INIT_ACK_FIXED);
    let chunk = OutboundInit {
        acknowledges: true,
        initiate_tag: answer.local_tag,
        a_rwnd: u32::try_from(config.advertised_buffer()).unwrap_or(u32::MAX),
        outbound_streams: cookie.outbound_streams,
        inbound_streams: config.allowed_streams(),
        initial_tsn: super::tsn_of(answer.local_tag),
        parameters: parameters(mandatory, &optional, limit),
    };
    endpoint.replies.push(inbound, init.initiate_tag, &chunk);
}

/// The parameters for our addresses, if several are allowed, and for unrecognized parameters of the INIT.
fn addresses_and_unrecognized(inbound: &Inbound<'_>, wishes: &Wishes, answer: &Answer) -> Vec<Vec<u8>> {
    let mut parameters = Vec::new();
    if !answer.config.single_homed {
        let arrival = inbound.arrival;
        let addresses = crate::address::listed(
            &answer.local_addrs,
            Some(arrival.remote),
            Some(arrival.local.ip()),
        );
        parameters.extend(addresses.into_iter().map(address));
    }
    parameters.extend(
        wishes
            .unrecognized
            .iter()
            .map(|parameter| unrecognized(parameter)),
    );
    parameters
}

fn one(push: impl FnOnce(&mut ParameterWriter)) -> Vec<u8> {
    let mut alone = ParameterWriter::new();
    push(&mut alone);
    alone.finish()
}

fn address(address: IpAddr) -> Vec<u8> {
    one(|alone| {
        alone.push_address(address);
    })
}

fn unrecognized(parameter: &[u8]) -> Vec<u8> {
    one(|alone| {
        alone.push_unrecognized(parameter);
    })
}

//= rfc9260 12.4-6
/// The mandatory parameters, then as many optional ones as the amplification limit permits.
fn parameters(mandatory: ParameterWriter, optional: &[Vec<u8>], limit: usize) -> Vec<u8> {
    let mut all = mandatory.finish();
    // Empty parameters are left out, because appending one would pad the parameter before it, which may be the last: "it
    // does include any padding of variable-length parameters other than the last" (RFC 9260 §3.2).
    for parameter in optional.iter().filter(|parameter| !parameter.is_empty()) {
        let aligned = all.len().next_multiple_of(4);
        if aligned + parameter.len() <= limit {
            all.resize(aligned, 0);
            all.extend(parameter);
        }
    }
    all
}

impl Wishes {
    /// Whether the peer supports authentication.
    fn authenticates(&self) -> bool {
        matches!(self.vector, Ok(Some(_))) && self.extensions.contains(kind::AUTH)
    }

    //= rfc3758 3.3.2-1
    //= rfc4820 4-3, 4-4, 4-5
    //= rfc5061 4.2-1, 4.2-2, 6-6
    fn read(parameters: &Parameters<'_>, source: IpAddr, forwards: bool) -> Self {
        let mut wishes = Self {
            addresses: Vec::new(),
            extensions: ChunkKinds::default(),
            vector: Ok(None),
            declared: Declared::default(),
            unrecognized: Vec::new(),
            host_name: None,
        };
        let mut supports_forward_tsn = false;
        let mut vector = KeyVectorReader::default();
        for raw in parameters.iter() {
            let parameter = raw.and_then(|raw| raw.decode().map(|parameter| (raw, parameter)));
            let Ok((raw, parameter)) = parameter else { break };
            vector.note(raw, &parameter);
            match parameter {
                Parameter::Ipv4(address) => wishes.addresses.push(address.into()),
                Parameter::Ipv6(address) => wishes.addresses.push(address.into()),
                Parameter::SupportedExtensions(kinds) => wishes.extensions = ChunkKinds::from_bytes(kinds),
                Parameter::HostName => wishes.host_name = Some(HostName::of(raw)),
                Parameter::ForwardTsnSupported if forwards => supports_forward_tsn = true,
                Parameter::Unknown(_) | Parameter::ForwardTsnSupported => {
                    let action = UnknownAction::of_parameter(raw.kind);
                    if action.reports() {
                        //= rfc9260 3.2.2-1, 3.3.3.1.2-1
                        wishes.unrecognized.push(raw.bytes.to_vec());
                    }
                    if !action.goes_on() {
                        break;
                    }
                }
                //= rfc9260 5.1.2-10, 5.1.2-11
                other => wishes.declared.note(&other),
            }
        }
        wishes.extensions = wishes.extensions.with(kind::FORWARD_TSN, supports_forward_tsn);
        wishes.vector = vector.finish();
        wishes
            .addresses
            .retain(|listed| crate::address::is_believable(*listed, source));
        // Addresses that do not fit into a cookie are ignored, now and when the peer restarts with the same list.
        wishes.addresses.truncate(MAX_ADDRESSES);
        wishes
    }
}

#[cfg(test)]
mod tests;

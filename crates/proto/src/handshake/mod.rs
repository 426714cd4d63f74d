//! Four-way handshake (RFC 9260 §5.1), initiating side. The answering side keeps no state and is in [`crate::endpoint`].

mod declared;
mod host_name;
mod init_ack;

use alloc::boxed::Box;
use alloc::vec::Vec;

use anabranch_types::{Instant, PathId};
use anabranch_wire::chunk::kind;
use anabranch_wire::parameter::kind::PADDING;
use anabranch_wire::{CommonHeader, OutboundInit, PacketBuilder, ParameterWriter};

use crate::address::{Addresses, listed};
use crate::association::{Association, Control, Retry, State};
use crate::auth::{Authentication, KeyVector};
use crate::config::AssociationConfig;
use crate::extensions::Extensions;
use crate::path::PathSet;
use crate::transfer::{HEARTBEAT_LEN, Transfer};

pub(crate) use declared::Declared;
pub(crate) use host_name::HostName;
pub(crate) use init_ack::{introduce, on_init_ack};

/// Minimum length of our INIT. Before our address is verified, the INIT ACK may be at most three times as long, and needs room for
/// all addresses of the peer.
const INIT_LEN: usize = 160;
/// Reason of the ABORT for a peer that supports ASCONF without AUTH.
pub(crate) const ASCONF_WITHOUT_AUTH: &str = "ASCONF is supported without AUTH";
/// Reason of the ABORT for a peer without authentication.
pub(crate) const NO_AUTHENTICATION: &str = "chunks have to be authenticated";
/// Chunk header and fixed fields of an INIT.
const INIT_FIXED: usize = 20;
const PARAMETER_HEADER: usize = 4;

/// Length of a packet with a COOKIE ECHO of `cookie` bytes.
pub(crate) const fn cookie_echo_len(cookie: usize) -> usize {
    CommonHeader::LEN + (4 + cookie).next_multiple_of(4)
}

/// Length of a packet with a COOKIE ECHO of `cookie` bytes and a HEARTBEAT.
pub(crate) const fn bundled_cookie_len(cookie: usize) -> usize {
    cookie_echo_len(cookie) + HEARTBEAT_LEN
}

//= rfc9260 3.3.2-1
//= rfc6951 3.2-1
/// Writes the INIT of an initiating association.
#[cold]
pub(crate) fn write_init(association: &Association, packet: &mut PacketBuilder<'_>) {
    let remote = association.transfer.paths.remotes().next();
    let mut parameters = ParameterWriter::with_capacity(INIT_LEN);
    if !association.config.single_homed {
        for address in listed(&association.addresses.local_addrs, remote, None) {
            parameters.push_address(address);
        }
        let versions = |v4: bool| {
            association
                .addresses
                .local_addrs
                .iter()
                .any(|addr| addr.is_ipv4() == v4)
        };
        parameters.push_supported_address_types(versions(true), versions(false));
    }
    Declared::ours(&association.config).push(&mut parameters);
    let vector = association
        .authentication
        .as_deref()
        .and_then(Authentication::ours);
    push_extensions(&association.extensions, vector.as_ref(), &mut parameters);
    let mut parameters = parameters.finish();
    pad(&mut parameters);
    let pushed = packet.push(&OutboundInit {
        parameters,
        ..fixed_fields(association)
    });
    debug_assert!(pushed.is_ok(), "an INIT with few addresses fits every path");
}

//= rfc4895 3.1-5, 6.1-1
//= rfc5061 4.2.7-2, 4.2.7-4, 4.2.7-5
/// Writes Supported Extensions, and our key vector if the extensions need authentication; nothing if there are none.
pub(crate) fn push_extensions(
    extensions: &Extensions,
    vector: Option<&KeyVector>,
    parameters: &mut ParameterWriter,
) {
    if let Some(vector) = vector {
        vector.push(parameters);
    }
    if extensions.ours.contains(kind::FORWARD_TSN) {
        parameters.push_forward_tsn_supported();
    }
    let ours = extensions.ours.to_bytes();
    if !ours.is_empty() {
        parameters.push_supported_extensions(&ours);
    }
}

//= rfc4820 4-2
/// Pads the parameters of an INIT by a PAD parameter, which peers without it skip (RFC 4820 §4).
fn pad(parameters: &mut Vec<u8>) {
    // The writer does not pad its last parameter, but another parameter follows here.
    parameters.resize(parameters.len().next_multiple_of(4), 0);
    let missing = INIT_LEN.saturating_sub(INIT_FIXED + parameters.len());
    if missing > PARAMETER_HEADER {
        let mut padding = ParameterWriter::new();
        padding.push_raw(PADDING, &[0; INIT_LEN][..missing - PARAMETER_HEADER]);
        parameters.extend(padding.finish());
    }
}

//= rfc9260 5.1-1, 5.1.1-1
/// The fixed fields of our INIT or INIT ACK.
pub(crate) fn fixed_fields(association: &Association) -> OutboundInit {
    let config = &association.config;
    OutboundInit {
        acknowledges: false,
        initiate_tag: association.local.tag,
        a_rwnd: association.transfer.receiver.a_rwnd(),
        outbound_streams: config.wanted_streams(),
        inbound_streams: config.allowed_streams(),
        initial_tsn: association.local.initial_tsn,
        parameters: Vec::new(),
    }
}

/// Enters ESTABLISHED. The confirmed paths are known already: the source of a COOKIE ACK is not confirmed by it, because a source
/// address can be forged (RFC 9260 §5.4).
pub(crate) fn establish(
    (state, wants_shutdown): (&mut State, bool),
    (addresses, control): (&mut Addresses, &mut Control),
    transfer: &mut Transfer,
    now: Instant,
) {
    *state = if wants_shutdown {
        State::ShutdownPending
    } else {
        State::Established
    };
    transfer.forget_errors();
    transfer.start_t3_for_early(now);
    control.forget_each(addresses.limit_probed(transfer));
    transfer.start_heartbeats(now);
}

/// The path of INIT number `number`: the paths to addresses that the application gave, in turn.
pub(crate) fn path_of_init(addresses: &Addresses, paths: &PathSet, number: u16) -> PathId {
    in_turn(paths, number, |path| addresses.is_initiated_to(paths, path))
}

/// The path of COOKIE ECHO number `number`: all paths that may carry it, in turn.
pub(crate) fn path_of_cookie(addresses: &Addresses, paths: &PathSet, cookie: &[u8], number: u16) -> PathId {
    let with_heartbeat = bundled_cookie_len(cookie.len());
    in_turn(paths, number, |path| {
        let room = paths.fact(path).max_packet;
        addresses.is_proven(paths, path) || with_heartbeat <= usize::from(room)
    })
}

//= rfc9260 5.1-15
fn in_turn(paths: &PathSet, number: u16, may_go: impl Fn(PathId) -> bool) -> PathId {
    let fit = || paths.ids().filter(|path| may_go(*path));
    let turn = usize::from(number) % fit().count().max(1);
    fit().nth(turn).unwrap_or_default()
}

/// Handles a Stale Cookie error: the handshake starts again (RFC 9260 §5.2.6). The number of restarts is limited, in case the peer
/// finds every cookie stale. Returns whether an INIT is to be sent again; otherwise the handshake has failed.
pub(crate) fn on_stale_cookie(state: &mut State, config: &AssociationConfig, now: Instant) -> bool {
    let State::CookieEchoed(echo) = state else {
        return false;
    };
    let retry = echo.retry;
    if retry.begun_again >= config.max_init_retransmits {
        return false;
    }
    let mut again = Retry {
        timeout: config.rto().initial,
        begun_again: retry.begun_again + 1,
        ..retry
    };
    again.repeat(config.rto().max, now);
    *state = State::CookieWait(Some(Box::new(again)));
    true
}

//! Connect: starts an association from our side.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;

use anabranch_types::{AddressScope, AssociationId, ChannelId, Instant, PathId, Tsn, VerificationTag};
use thiserror::Error;

use super::Endpoint;
use super::directory::Correspondent;
use crate::association::{Association, Retry, Setup, Side, State};
use crate::config::AssociationConfig;
use crate::path::pair_addresses;

/// First of the dynamic ports (RFC 6335 §6), from which local ports are selected by default.
const FIRST_DYNAMIC_PORT: u16 = 49_152;

/// Reason why an association could not be started.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No address of the peer was given.
    #[error("no address of the peer was given")]
    NoAddress,
    /// An address of the peer is unspecified, multicast or broadcast.
    #[error("{0} is not the address of one host")]
    InvalidAddress(SocketAddr),
    /// Two of the given addresses differ only in the port, but SCTP distinguishes destinations by address.
    #[error("{0} and another address of the peer differ in nothing but the port")]
    SameAddress(SocketAddr),
    /// No local address can reach any of the peer's: another IP version, or only one of them is loopback.
    #[error("none of the local addresses can reach the peer")]
    Unreachable,
    /// An association with this peer and these ports exists already.
    #[error("there is an association with that peer and these ports already")]
    InUse,
    /// The limit of associations is reached.
    #[error("the endpoint has as many associations as it may")]
    TooMany,
}

impl Endpoint {
    /// Starts an association with the peer at `remotes`: address and encapsulation port of each known address of the peer, which
    /// lists others in the handshake. The INIT is sent to the first.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`]; no association was started.
    pub fn connect(
        &mut self,
        now: Instant,
        remotes: &[SocketAddr],
        config: &AssociationConfig,
    ) -> Result<AssociationId, ConnectError> {
        self.connect_through(now, ChannelId::NONE, remotes, config)
    }

    /// As [`Endpoint::connect`], through `channel`: all packets of the association have it.
    ///
    /// # Errors
    ///
    /// As [`Endpoint::connect`].
    pub fn connect_through(
        &mut self,
        now: Instant,
        channel: ChannelId,
        remotes: &[SocketAddr],
        config: &AssociationConfig,
    ) -> Result<AssociationId, ConnectError> {
        self.index.latest = now;
        check_remotes(remotes)?;
        if self.slots.len() >= self.config.max_associations {
            return Err(ConnectError::TooMany);
        }
        let remotes = if config.single_homed {
            &remotes[..1]
        } else {
            remotes
        };
        let mut pairs = pair_addresses(&self.local_addrs, remotes);
        if pairs.is_empty() {
            return Err(ConnectError::Unreachable);
        }
        if config.single_homed {
            pairs.truncate(1);
        }
        let peer_port = config.peer_sctp_port;
        let port = self.local_port(channel, (remotes, peer_port), config.local_sctp_port)?;
        let tag = self.fresh_tag();
        self.accepts_zero_checksums |= config.zero_checksum.is_some();
        let setup = Setup {
            id: self.fresh_id(),
            channel,
            config: self.shared(config),
            local_addrs: self.local_addrs.clone(),
            local: Side {
                port,
                tag,
                initial_tsn: super::tsn_of(tag),
            },
            // Not known before the INIT ACK.
            peer: Side {
                port: peer_port,
                tag: VerificationTag::ZERO,
                initial_tsn: Tsn(0),
            },
            peer_addrs: remotes.into(),
            pairs,
            random: self.randoms.of_tag(tag),
            secrets: self.secrets.split(),
        };
        let retry = Box::new(Retry::start(config.rto().initial, now));
        let mut association = Association::new(setup, State::CookieWait(retry), now);
        association.addresses.initiated_to = remotes.iter().map(SocketAddr::ip).collect();
        association.control.send_handshake(PathId::default());
        let id = association.id;
        self.insert(association, None);
        Ok(id)
    }

    /// The configuration, in the same memory as that of the last call if they are equal.
    fn shared(&mut self, config: &AssociationConfig) -> Arc<AssociationConfig> {
        let last = self.last_config.take().filter(|last| **last == *config);
        let shared = last.unwrap_or_else(|| Arc::new(config.clone()));
        self.last_config.insert(shared).clone()
    }

    fn local_port(
        &mut self,
        channel: ChannelId,
        (remotes, peer_port): (&[SocketAddr], u16),
        wanted: Option<u16>,
    ) -> Result<u16, ConnectError> {
        let is_free = |local_port: u16| {
            let taken = |&remote| {
                self.index
                    .directory
                    .with_proven(Correspondent {
                        remote,
                        peer_port,
                        local_port,
                        channel,
                    })
                    .is_some()
            };
            !remotes.iter().any(taken)
        };
        if let Some(port) = wanted {
            //= rfc9260 1.3-1
            return is_free(port).then_some(port).ok_or(ConnectError::InUse);
        }
        let dynamic = u16::MAX - FIRST_DYNAMIC_PORT;
        let start = (self.secrets.clone().number() % u64::from(dynamic)) as u16;
        let mut ports = (0..dynamic).map(|step| FIRST_DYNAMIC_PORT + (start.wrapping_add(step)) % dynamic);
        ports.find(|port| is_free(*port)).ok_or(ConnectError::InUse)
    }
}

/// Checks the addresses that are given for a peer.
///
/// # Errors
///
/// If there is none, one is not that of a host, or two differ in the port only.
pub fn check_remotes(remotes: &[SocketAddr]) -> Result<(), ConnectError> {
    if remotes.is_empty() {
        return Err(ConnectError::NoAddress);
    }
    let mut seen = Vec::new();
    for remote in remotes {
        if AddressScope::of(remote.ip()) == AddressScope::Unusable {
            return Err(ConnectError::InvalidAddress(*remote));
        }
        if seen.contains(&remote.ip()) {
            return Err(ConnectError::SameAddress(*remote));
        }
        seen.push(remote.ip());
    }
    Ok(())
}

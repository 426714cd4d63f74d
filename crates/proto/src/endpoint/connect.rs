//! Connect: starts an association from our side.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;

use anabranch_types::{
    AddressScope, AssociationId, ChannelId, Instant, PathAddr, PathId, Tsn, VerificationTag,
};
use thiserror::Error;

use super::Endpoint;
use super::directory::Correspondent;
use crate::association::{Association, Retry, Setup, Side, State};
use crate::config::AssociationConfig;
use crate::path::{covers, pair_addresses, pair_through};

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

/// A channel of the layer below SCTP, such as an encrypted session.
#[derive(Clone, Copy, Debug)]
pub struct Channel<'a> {
    /// Its id, which all packets of the association have.
    pub id: ChannelId,
    /// Address pairs on which the layer has reached the peer; any others may work as well.
    pub proven: &'a [PathAddr],
}

impl Channel<'_> {
    /// No layer below: packets are in the clear.
    pub const NONE: Self = Self {
        id: ChannelId::NONE,
        proven: &[],
    };

    /// Pairs the addresses to paths, and selects the one for the INIT: the first proven one. Pairs outside the pairing rule change the
    /// pairing only if none of its own is proven, since others may share a link.
    fn paths(&self, local: &[SocketAddr], remote: &[SocketAddr]) -> (Vec<PathAddr>, PathId) {
        let is_proven = |pair: &PathAddr| {
            let same = |proven: &PathAddr| pair.remote == proven.remote && covers(pair.local, proven.local);
            self.proven.iter().any(same)
        };
        let first_proven = |pairs: &[PathAddr]| pairs.iter().position(is_proven);
        let mut pairs = pair_addresses(local, remote);
        if let Some(&proven) = self.proven.first()
            && first_proven(&pairs).is_none()
        {
            pairs = pair_through(local, remote, proven);
        }
        let first = first_proven(&pairs).unwrap_or_default();
        (pairs, PathId(u8::try_from(first).unwrap_or_default()))
    }
}

impl Endpoint {
    /// Starts an association with the peer at `remotes`: address and encapsulation port of each known address of the peer, which
    /// lists others in the handshake. The INIT is sent to the first that a local address may reach.
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
        self.connect_through(now, Channel::NONE, remotes, config)
    }

    /// As [`Endpoint::connect`], through `channel`. The INIT is sent on a path on which that has reached the peer, if there is one.
    ///
    /// # Errors
    ///
    /// As [`Endpoint::connect`].
    pub fn connect_through(
        &mut self,
        now: Instant,
        channel: Channel<'_>,
        remotes: &[SocketAddr],
        config: &AssociationConfig,
    ) -> Result<AssociationId, ConnectError> {
        let (mut association, first) = self.create(now, channel, remotes, config)?;
        let retry = Box::new(Retry::start(config.rto().initial, now));
        association.state = State::CookieWait(Some(retry));
        association.control.send_handshake(first);
        let id = association.id;
        self.insert(association, None);
        Ok(id)
    }

    /// As [`Endpoint::connect_through`], but `channel` is still being set up. Messages can be queued; no packet is sent and no timer runs
    /// before [`Endpoint::channel_ready`].
    ///
    /// # Errors
    ///
    /// As [`Endpoint::connect`].
    pub fn connect_later(
        &mut self,
        now: Instant,
        channel: ChannelId,
        remotes: &[SocketAddr],
        config: &AssociationConfig,
    ) -> Result<AssociationId, ConnectError> {
        let channel = Channel {
            id: channel,
            proven: &[],
        };
        let (association, _) = self.create(now, channel, remotes, config)?;
        let id = association.id;
        self.insert(association, None);
        Ok(id)
    }

    /// The channel of an association that was started by [`Endpoint::connect_later`] has reached the peer at the `proven` address pairs. The
    /// INIT is sent on the first of them.
    pub fn channel_ready(&mut self, now: Instant, id: AssociationId, proven: &[PathAddr]) {
        let Some(slot) = self.slots.get_mut(&id) else {
            return;
        };
        let association = &mut slot.association;
        if !matches!(association.state, State::CookieWait(None)) {
            return;
        }
        let channel = Channel {
            id: association.channel,
            proven,
        };
        let (addresses, transfer) = (&mut association.addresses, &mut association.transfer);
        let (mut pairs, mut first) = channel.paths(&addresses.local_addrs, &addresses.peer_addrs);
        if association.config.single_homed {
            pairs.swap(0, first.0.into());
            pairs.truncate(1);
            first = PathId::default();
        }
        let is_paired = pairs.iter().eq(transfer.paths.iter().map(|(_, path)| &path.addr));
        if !is_paired {
            let remotes = addresses.peer_addrs.to_vec();
            addresses.replace_paths(transfer, &pairs, remotes, now);
        }
        transfer.paths.set_primary(first);
        let retry = Retry::start(association.config.rto().initial, now);
        association.state = State::CookieWait(Some(Box::new(retry)));
        association.control.send_handshake(first);
        self.touch(id);
    }

    /// An association in COOKIE-WAIT without an INIT, and the path of the INIT.
    fn create(
        &mut self,
        now: Instant,
        channel: Channel<'_>,
        remotes: &[SocketAddr],
        config: &AssociationConfig,
    ) -> Result<(Association, PathId), ConnectError> {
        self.index.latest = now;
        check_remotes(remotes)?;
        if self.slots.len() >= self.config.max_associations {
            return Err(ConnectError::TooMany);
        }
        let (mut pairs, mut first) = channel.paths(&self.local_addrs, remotes);
        let Some(&PathAddr { remote, .. }) = pairs.get(usize::from(first.0)) else {
            return Err(ConnectError::Unreachable);
        };
        let only = [remote];
        let remotes = if config.single_homed { &only } else { remotes };
        if config.single_homed {
            pairs.swap(0, first.0.into());
            pairs.truncate(1);
            first = PathId::default();
        }
        let peer_port = config.peer_sctp_port;
        let port = self.local_port(channel.id, (remotes, peer_port), config.local_sctp_port)?;
        let tag = self.fresh_tag();
        self.accepts_zero_checksums |= config.zero_checksum.is_some();
        let setup = Setup {
            id: self.fresh_id(),
            channel: channel.id,
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
        let mut association = Association::new(setup, State::CookieWait(None), now);
        association.addresses.initiated_to = remotes.iter().map(SocketAddr::ip).collect();
        association.transfer.paths.set_primary(first);
        Ok((association, first))
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

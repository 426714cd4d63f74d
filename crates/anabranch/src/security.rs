//! Security of an endpoint: its identity, whom it trusts, and the handshake before an association.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_secure::rustls::crypto::aws_lc_rs::default_provider;
use anabranch_secure::rustls::pki_types::ServerName;
use anabranch_secure::rustls::{self, ClientConfig, KeyLog, ServerConfig};
use anabranch_secure::{self as secure, HandshakeError, PrivateKey, PublicKey, Trust};
use anabranch_types::{ChannelId, PathAddr};

use crate::driver::{Attempt, Seal, Shared, State, until};
use crate::error::{BindError, ConnectConfigError, ConnectError};

/// Bytes that sealed packets are longer than those of an [insecure](crate::EndpointBuilder::insecure) endpoint.
pub const SEAL_OVERHEAD: u16 = secure::OVERHEAD as u16;

/// What an application said about security.
#[derive(Debug, Default)]
pub(crate) struct Security {
    pub(crate) is_insecure: bool,
    pub(crate) identity: Option<PrivateKey>,
    pub(crate) trust: Option<Trust>,
    pub(crate) client: Option<(ClientConfig, ServerName<'static>)>,
    pub(crate) server: Option<ServerConfig>,
    pub(crate) key_log: Option<Arc<dyn KeyLog>>,
    pub(crate) balanced: Option<Balanced>,
}

/// One of several machines that serve one address.
#[derive(Clone, Copy)]
pub(crate) struct Balanced {
    pub(crate) machine: u16,
    pub(crate) secret: [u8; 32],
}

/// Without the secret.
impl fmt::Debug for Balanced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Balanced({})", self.machine)
    }
}

impl Security {
    pub(crate) fn trust(&mut self, key: PublicKey) {
        match &mut self.trust {
            Some(Trust::Everyone) => {}
            Some(Trust::Keys(keys)) => keys.push(key),
            // The one that was said last holds.
            Some(Trust::Listed(_)) | None => self.trust = Some(Trust::Keys(vec![key])),
        }
    }

    /// The seal, or `None` for packets in the clear.
    pub(crate) fn seal(self, listens: bool) -> Result<Option<Seal>, BindError> {
        let Self {
            is_insecure,
            identity,
            trust,
            mut client,
            mut server,
            key_log,
            balanced,
        } = self;
        let has_keys = identity.is_some() || trust.is_some();
        let has_tls = client.is_some() || server.is_some();
        match (is_insecure, has_keys, has_tls) {
            (true, false, false) if balanced.is_none() => return Ok(None),
            (false, false, false) => return Err(BindError::NoSecurity),
            (false, true, false) | (false, false, true) => {}
            _ => return Err(BindError::AmbiguousSecurity),
        }
        let mut config =
            secure::Config::new(&default_provider()).map_err(|_| rustls::Error::FailedToGetRandomBytes)?;
        let mut own_key = None;
        if has_keys {
            // Without a key of its own, a host is somebody new each time.
            let identity = identity.map_or_else(PrivateKey::generate, Ok)?;
            let (ours, accepting) =
                secure::raw_key_configs(&identity, &trust.unwrap_or(Trust::Keys(Vec::new())))?;
            client = Some((ours, secure::raw_key_name()));
            server = Some(accepting);
            own_key = Some(identity.public_key());
            config.secret = identity.endpoint_secret();
        }
        if let Some(Balanced { machine, secret }) = balanced {
            config.machine = Some(machine);
            config.secret = secret;
        }
        if let Some(log) = key_log {
            if let Some((client, _)) = &mut client {
                client.key_log = Arc::clone(&log);
            }
            if let Some(server) = &mut server {
                server.key_log = log;
            }
        }
        let server = server.map(Arc::new);
        config.server.clone_from(&server);
        config.server = config.server.filter(|_| listens);
        Ok(Some(Seal::new(config, client, server, own_key)))
    }
}

/// A handshake that a handle waits for. Its session ends with it, unless an association uses it.
pub(crate) struct Handshake<'s> {
    shared: &'s Shared,
    seal: &'s Seal,
    pub(crate) channel: ChannelId,
}

impl<'s> Handshake<'s> {
    /// Begins a handshake with the peer at `remotes`, over all paths.
    pub(crate) fn begin(
        shared: &'s Shared,
        seal: &'s Seal,
        remotes: &[SocketAddr],
    ) -> Result<Self, ConnectError> {
        let channel = shared.command(|state| {
            // The state stays locked, so that the outcome finds the attempt.
            let channel = begin_session(shared, seal, state, remotes)?;
            state.channels.begin(channel);
            Ok::<_, ConnectError>(channel)
        })?;
        Ok(Self {
            shared,
            seal,
            channel,
        })
    }

    /// Waits for the peer to prove its identity. Returns the paths on which it has received something.
    pub(crate) async fn done(&self) -> Result<Vec<PathAddr>, ConnectError> {
        let paths = until(&self.shared.sealed, || match self.outcome() {
            Attempt::InProgress => None,
            Attempt::Connected(paths) => Some(Ok(paths)),
            Attempt::Failed(error) => Some(Err(self.seal.explain(error))),
        });
        paths.await
    }

    /// Why there is no association: `error`, unless the handshake failed after our part of it was over.
    pub(crate) fn explain(&self, error: ConnectError) -> ConnectError {
        match self.outcome() {
            Attempt::Failed(failure) => self.seal.explain(failure),
            Attempt::InProgress | Attempt::Connected(_) => error,
        }
    }

    fn outcome(&self) -> Attempt {
        let state = self.shared.lock();
        if state.driver_is_gone {
            return Attempt::Failed(HandshakeError::TimedOut);
        }
        state
            .channels
            .attempt(self.channel)
            .cloned()
            .unwrap_or(Attempt::InProgress)
    }
}

impl Seal {
    /// What the failure of a handshake means for an attempt to connect.
    pub(crate) fn explain(&self, error: HandshakeError) -> ConnectError {
        match (error.untrusted_key(), self.own_key()) {
            (Some(key), _) => ConnectError::UntrustedKey(key),
            (None, Some(ours)) if error.refuses_us() => ConnectError::KeyNotAccepted(ours),
            _ if error == HandshakeError::TimedOut => ConnectError::NoAnswer,
            _ if error == HandshakeError::Refused => ConnectError::Refused,
            _ => ConnectError::Insecure(error),
        }
    }
}

/// Begins a handshake with the peer at `remotes`, over all paths; returns its session.
pub(crate) fn begin_session(
    shared: &Shared,
    seal: &Seal,
    state: &State,
    remotes: &[SocketAddr],
) -> Result<ChannelId, ConnectError> {
    if !state.accepting {
        return Err(ConnectError::EndpointClosed);
    }
    anabranch_proto::check_remotes(remotes)?;
    let locals: Vec<SocketAddr> = state.sockets.iter().map(|socket| socket.local_addr()).collect();
    let is_reachable = |local: &SocketAddr| remotes.iter().any(|remote| remote.is_ipv4() == local.is_ipv4());
    if !locals.iter().any(is_reachable) {
        return Err(ConnectConfigError::Unreachable.into());
    }
    let begun = seal.connect(shared.now(), &locals, remotes);
    Ok(begun.ok_or(ConnectError::NoTrust)??)
}

impl Drop for Handshake<'_> {
    fn drop(&mut self) {
        self.shared.command(|state| state.channels.finish(self.channel));
    }
}

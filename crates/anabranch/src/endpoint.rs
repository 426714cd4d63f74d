//! Endpoint handle: a set of local addresses that all its associations share.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anabranch_io::Socket;
use anabranch_proto::{AssociationConfig, Channel, EndpointConfig};
use tokio::net::ToSocketAddrs;

use crate::association::Association;
use crate::builder::{EndpointBuilder, Limits};
use crate::driver::{Shared, until};
use crate::error::{BindError, ConnectError};
use crate::incoming::Incoming;
use crate::runtime;
use crate::security::{Handshake, begin_session};
use crate::trace::in_connect;

/// A handle of one endpoint. Clones refer to the same endpoint.
///
/// When the last handle is dropped, no further associations are accepted; existing ones continue. See also
/// [`close`](Self::close).
#[derive(Clone, Debug)]
pub struct Endpoint(Arc<Handle>);

#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
    association_config: AssociationConfig,
    connect_timeout: Duration,
    limits: Limits,
}

impl Endpoint {
    pub(crate) fn new(
        shared: Arc<Shared>,
        association_config: AssociationConfig,
        connect_timeout: Duration,
        limits: Limits,
    ) -> Self {
        Self(Arc::new(Handle {
            shared,
            association_config,
            connect_timeout,
            limits,
        }))
    }

    #[cfg(test)]
    pub(crate) fn shared(&self) -> &Shared {
        &self.0.shared
    }

    /// Creates a builder.
    #[must_use]
    pub fn builder() -> EndpointBuilder {
        EndpointBuilder::default()
    }

    /// Opens a UDP socket at each of `local` and runs the endpoint `config` on them, in the clear. Its own list of addresses
    /// is replaced by those of the sockets.
    ///
    /// # Errors
    ///
    /// An address is not local or in use, or the operating system denies sockets or randomness.
    pub async fn bind_insecure(local: &[SocketAddr], config: EndpointConfig) -> Result<Self, BindError> {
        let builder = Self::builder().insecure().endpoint_config(config);
        local
            .iter()
            .fold(builder, |builder, address| builder.local(address.to_string()))
            .bind()
            .await
    }

    /// The address of each socket, in the order of binding; none once the endpoint is closed.
    #[must_use]
    pub fn local_addrs(&self) -> Vec<SocketAddr> {
        let state = self.0.shared.lock();
        state.sockets.iter().map(|socket| socket.local_addr()).collect()
    }

    /// Opens one more UDP socket, at `local`, for new associations and for those to which
    /// [`Association::add_local_address`] adds it. Port 0 takes a free one; the actual address is returned. If a wildcard
    /// socket of this endpoint covers `local` already, that one is used.
    ///
    /// # Errors
    ///
    /// The address is not local or in use, or the operating system denies a socket; or the endpoint is closed.
    pub fn add_local(&self, local: SocketAddr) -> io::Result<SocketAddr> {
        if self.0.shared.lock().driver_is_gone {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let serves = |socket: SocketAddr| {
            socket.ip().is_unspecified()
                && socket.is_ipv4() == local.is_ipv4()
                && socket.port() == local.port()
        };
        if self.local_addrs().into_iter().any(serves) {
            self.0.shared.command(|state| state.core.add_local(local));
            return Ok(local);
        }
        let socket = self.0.shared.home.within(|| runtime::udp_socket(local))?;
        Ok(self.add_socket(socket))
    }

    /// Adds an existing socket in the same way; returns its address. A closed endpoint does not use it.
    pub fn add_socket(&self, socket: Arc<dyn Socket>) -> SocketAddr {
        let local = socket.local_addr();
        self.0.shared.command(|state| state.add_socket(socket));
        local
    }

    /// Closes the socket at `local`. Associations that use it should have removed the address before, by
    /// [`Association::remove_local_address`]; otherwise it is a failed path to them.
    pub fn remove_local(&self, local: SocketAddr) {
        self.0.shared.command(|state| {
            state.core.remove_local(local);
            state.sockets.retain(|socket| socket.local_addr() != local);
            state.sockets_changed = true;
        });
    }

    /// Reads the routing table again after it has changed. A socket whose packets to `remotes` would now leave by another device than
    /// that of its address is bound to the device of its address, as by [`uplink_socket`](crate::uplink_socket).
    pub fn follow_routes(&self, remotes: &[SocketAddr]) {
        let sockets = self.0.shared.lock().sockets.clone();
        for socket in sockets {
            // A socket that cannot be bound is used as it is: the peer may still be reached.
            let _ = socket.follow_routes(remotes);
        }
    }

    /// Sets up an association with the peer at the addresses that `peer` resolves to: a slice of addresses, or a name with
    /// a port. The port is that of the UDP encapsulation. Further addresses of the peer are learned from its INIT ACK.
    ///
    /// ```no_run
    /// # async fn example(endpoint: anabranch::Endpoint) -> Result<(), anabranch::ConnectError> {
    /// use std::net::SocketAddr;
    /// let one_by_one: [SocketAddr; 2] = [([192, 0, 2, 1], 9899).into(), ([198, 51, 100, 1], 9899).into()];
    /// let server = endpoint.connect(&one_by_one[..]).await?;
    /// let same_by_name = endpoint.connect("server.example:9899").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// If the future is dropped before it is ready, there is no association.
    ///
    /// # Errors
    ///
    /// The peer does not answer within the [time to connect](EndpointBuilder::connect_timeout), no program listens there,
    /// it refuses, or no local socket can reach it.
    pub async fn connect(&self, peer: impl ToSocketAddrs) -> Result<Association, ConnectError> {
        self.connect_with(peer, &self.0.association_config).await
    }

    /// As [`connect`](Self::connect), with its own configuration.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub async fn connect_with(
        &self,
        peer: impl ToSocketAddrs,
        config: &AssociationConfig,
    ) -> Result<Association, ConnectError> {
        // Names are resolved and time passes on the runtime of the endpoint.
        let home = &self.0.shared.home;
        home.poll_within(self.resolve_and_connect(peer, config)).await
    }

    async fn resolve_and_connect(
        &self,
        peer: impl ToSocketAddrs,
        config: &AssociationConfig,
    ) -> Result<Association, ConnectError> {
        let remotes: Vec<SocketAddr> = tokio::net::lookup_host(peer).await?.collect();
        let config = self.0.limits.apply(config.clone());
        let shared = &self.0.shared;
        let connected = async {
            let Some(seal) = &shared.seal else {
                return self.set_up(Channel::NONE, &remotes, &config).await;
            };
            let handshake = Handshake::begin(shared, seal, &remotes)?;
            let proven = handshake.done().await?;
            let channel = Channel {
                id: handshake.channel,
                proven: &proven,
            };
            let association = self.set_up(channel, &remotes, &config).await;
            association.map_err(|error| handshake.explain(error))
        };
        let connected = in_connect(&remotes, connected);
        let within = runtime::timeout(self.0.connect_timeout, connected).await;
        within.unwrap_or(Err(ConnectError::NoAnswer))
    }

    /// As [`connect_with`](Self::connect_with), without waiting: messages can be sent at once and wait in the send buffer until the peer
    /// has answered. [`Association::established`] waits for that. The [time to connect](EndpointBuilder::connect_timeout) does not count.
    ///
    /// If the endpoint encrypts, the association waits for the handshake that proves the peer's identity: at most 30 s, and nothing is sent
    /// before.
    ///
    /// # Errors
    ///
    /// The addresses or the configuration are not valid, or the endpoint is closed.
    pub fn begin(
        &self,
        remotes: &[SocketAddr],
        config: &AssociationConfig,
    ) -> Result<Association, ConnectError> {
        let config = self.0.limits.apply(config.clone());
        let shared = &self.0.shared;
        let Some(seal) = &shared.seal else {
            return self.start(Channel::NONE, remotes, &config);
        };
        let (id, signals) = shared.command(|state| {
            // The state stays locked, so that the outcome finds the association.
            let channel = begin_session(shared, seal, state, remotes)?;
            Ok::<_, ConnectError>(state.connect_later(shared.now(), channel, remotes, &config)?)
        })?;
        Ok(Association::new(Arc::clone(shared), id, signals))
    }

    /// Accepts associations with this configuration from now on; with `None`, none. Those that wait to be accepted stay.
    pub fn accept_with(&self, config: Option<AssociationConfig>) {
        let config = config.map(|config| self.0.limits.apply(config));
        if let Some(seal) = &self.0.shared.seal {
            seal.listen(config.is_some());
        }
        self.0.shared.command(|state| state.core.set_accept(config));
    }

    /// Sets up an association through `channel`.
    async fn set_up(
        &self,
        channel: Channel<'_>,
        remotes: &[SocketAddr],
        config: &AssociationConfig,
    ) -> Result<Association, ConnectError> {
        let association = self.start(channel, remotes, config)?;
        association.established().await?;
        Ok(association)
    }

    /// Begins to set up an association.
    fn start(
        &self,
        channel: Channel<'_>,
        remotes: &[SocketAddr],
        config: &AssociationConfig,
    ) -> Result<Association, ConnectError> {
        let shared = &self.0.shared;
        let (id, signals) = shared.command(|state| {
            if !state.accepting {
                return Err(ConnectError::EndpointClosed);
            }
            Ok(state.connect(shared.now(), channel, remotes, config)?)
        })?;
        Ok(Association::new(Arc::clone(shared), id, signals))
    }

    /// The next association that a peer set up and that has not failed since; `None` when the endpoint is closed.
    ///
    /// Nothing is lost if the future is dropped before it is ready.
    pub async fn accept(&self) -> Option<Association> {
        let shared = &self.0.shared;
        until(&shared.acceptable, || {
            let mut state = shared.lock();
            match state.accept() {
                Some((id, signals)) => Some(Some(Association::new(Arc::clone(shared), id, signals))),
                None if state.accepting => None,
                None => Some(None),
            }
        })
        .await
    }

    /// The next association that a peer set up, to look at before it is accepted or refused; `None` when the endpoint is closed.
    ///
    /// ```
    /// # async fn example(endpoint: anabranch::Endpoint) {
    /// while let Some(incoming) = endpoint.incoming().await {
    ///     if incoming.peer_addr().is_some_and(|peer| peer.ip().is_loopback()) {
    ///         let association = incoming.accept();
    /// #       drop(association);
    ///     } else {
    ///         incoming.refuse("local peers only");
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// Nothing is lost if the future is dropped before it is ready.
    pub async fn incoming(&self) -> Option<Incoming> {
        self.accept().await.map(Incoming::new)
    }

    /// Waits until the endpoint has no association that has not ended. New ones may still be set up.
    pub async fn wait_idle(&self) {
        let shared = &self.0.shared;
        until(&shared.ended, || (!shared.lock().has_living()).then_some(())).await;
    }

    /// Shuts all associations down and waits until they have ended and the sockets are closed. No new ones are set up.
    pub async fn close(&self) {
        let shared = &self.0.shared;
        shared.command(|state| {
            state.stop_accepting();
            state.shut_down_all();
        });
        shared.acceptable.notify_waiters();
        until(&shared.gone, || shared.lock().driver_is_gone.then_some(())).await;
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.command(|state| state.stop_accepting());
    }
}

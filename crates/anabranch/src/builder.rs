//! Endpoint builder: addresses, sockets and settings.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use anabranch_io::{RawSocket, Socket, expand_wildcard, mtus};
use anabranch_policy::catalog::PathMtuChoice;
use anabranch_proto::{self as proto, AssociationConfig, EndpointConfig};
use anabranch_secure::rustls::pki_types::ServerName;
use anabranch_secure::rustls::{ClientConfig, KeyLog, ServerConfig};
use anabranch_secure::{KeyList, PrivateKey, PublicKey, Trust};

#[cfg(target_os = "linux")]
use crate::driver::follow;
use crate::driver::{Driver, Shared, SharedLimits};
use crate::endpoint::Endpoint;
use crate::error::BindError;
use crate::observe::Observer;
#[cfg(target_os = "linux")]
use crate::runtime::InterfaceChanges;
use crate::runtime::{self, Clock, Watched};
use crate::security::{Balanced, SEAL_OVERHEAD, Security};
use crate::streams::StreamLimits;
use crate::trace::in_endpoint;

/// Default time to connect: of the INITs, which are sent after 0, 1, 3, 7 and 15 s (RFC 9260 §16), four may be lost.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// Default limit of associations that wait to be accepted.
const DEFAULT_BACKLOG: usize = 1_024;

/// Builds an endpoint.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use anabranch::{AssociationConfig, BufferSize, Endpoint, PrivateKey};
/// let key: PrivateKey = std::fs::read_to_string("server.key")?.trim().parse()?;
/// let server = Endpoint::builder()
///     .identity(key)
///     .trust_everyone()
///     .local("127.0.0.1:9899")
///     .local("[::1]:9899")
///     .association_config(AssociationConfig { receive_buffer: BufferSize::Fixed(8 << 20), ..AssociationConfig::default() })
///     .listen()
///     .bind()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct EndpointBuilder {
    places: Vec<Place>,
    endpoint_config: EndpointConfig,
    association_config: AssociationConfig,
    listens: bool,
    backlog: usize,
    connect_timeout: Duration,
    follows_interfaces: bool,
    observer: Option<Box<dyn Observer>>,
    security: Security,
    streams: Option<StreamLimits>,
    idle_timeout: Option<Duration>,
}

/// The source of a socket.
#[derive(Debug)]
enum Place {
    Udp(String),
    Raw(IpAddr),
    Given(Arc<dyn Socket>),
}

impl Default for EndpointBuilder {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            endpoint_config: EndpointConfig::default(),
            association_config: AssociationConfig::default(),
            listens: false,
            backlog: DEFAULT_BACKLOG,
            connect_timeout: CONNECT_TIMEOUT,
            follows_interfaces: false,
            observer: None,
            security: Security::default(),
            streams: None,
            idle_timeout: None,
        }
    }
}

impl EndpointBuilder {
    /// Adds a UDP socket at `address`, for instance `192.0.2.10:9899`. Port 0 takes a free one; an unspecified
    /// address (`0.0.0.0`, `[::]`) stands for all present addresses of this host, each of which can have a path. See also
    /// [`follow_interfaces`](Self::follow_interfaces).
    #[must_use]
    pub fn local(mut self, address: impl Into<String>) -> Self {
        self.places.push(Place::Udp(address.into()));
        self
    }

    /// Adds a socket for SCTP directly over IP, without UDP. Needs the capability `CAP_NET_RAW`.
    #[must_use]
    pub fn local_raw(mut self, address: IpAddr) -> Self {
        self.places.push(Place::Raw(address));
        self
    }

    /// Adds an existing socket, for instance one that shapes traffic.
    #[must_use]
    pub fn socket(mut self, socket: Arc<dyn Socket>) -> Self {
        self.places.push(Place::Given(socket));
        self
    }

    /// Sets the configuration of the endpoint. Its list of addresses is replaced by those of the sockets.
    #[must_use]
    pub fn endpoint_config(mut self, config: EndpointConfig) -> Self {
        self.endpoint_config = config;
        self
    }

    /// Sets the default configuration of associations. The MTU is lowered to that of the interfaces.
    #[must_use]
    pub fn association_config(mut self, config: AssociationConfig) -> Self {
        self.association_config = config;
        self
    }

    /// Configures the endpoint for WebRTC data channels and compatible peers: SCTP port 5000 on both sides, one path, no
    /// address parameters; see [`AssociationConfig::webrtc`]. For DTLS, use the method `dtls` of the feature with this name, or a
    /// [socket](Self::socket) of your own.
    #[must_use]
    pub fn webrtc(self) -> Self {
        let endpoint_config = EndpointConfig {
            accept: None,
            ..EndpointConfig::webrtc()
        };
        self.endpoint_config(endpoint_config)
            .association_config(AssociationConfig::webrtc())
    }

    /// Adds a socket that encrypts by DTLS, and configures the endpoint for [WebRTC](Self::webrtc). The socket has proven who the peer is;
    /// the endpoint needs no further security.
    #[cfg(feature = "dtls")]
    #[must_use]
    pub fn dtls(self, socket: crate::dtls::DtlsSocket) -> Self {
        self.webrtc().insecure().socket(Arc::new(socket))
    }

    /// Gives associations streams that have a receiver and back-pressure of their own: [`Association::open_stream`](crate::Association::open_stream).
    /// Both ends have to do so. It sets the [adaptation layer](AssociationConfig::adaptation_layer), the numbers of streams, the longest
    /// message and interleaving in the configuration of every association.
    ///
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use anabranch::{Endpoint, StreamLimits};
    /// let limits = StreamLimits { streams: 20_000, ..StreamLimits::default() };
    /// let server = Endpoint::builder().insecure().local("127.0.0.1:0").streams(limits).listen().bind().await?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub const fn streams(mut self, limits: StreamLimits) -> Self {
        self.streams = Some(limits);
        self
    }

    /// Sets the key by which this host proves who it is. With a key, or a [trusted](Self::trust) one, all packets are encrypted and
    /// authenticated: sealed datagrams, with a handshake of TLS 1.3 before each association. Without a key of its own, the endpoint makes
    /// one when it is bound; without trusted keys, it refuses all peers.
    ///
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use anabranch::{Endpoint, PrivateKey};
    /// let key = PrivateKey::generate()?;
    /// let server = Endpoint::builder().local("127.0.0.1:0").identity(key.clone()).trust_everyone().listen().bind().await?;
    /// let client = Endpoint::builder().local("127.0.0.2:0").trust(key.public_key()).bind().await?;
    /// let addresses = server.local_addrs();
    /// let (ours, theirs) = tokio::join!(client.connect(&addresses[..]), server.accept());
    /// let peer = ours?.peer_identity().and_then(|peer| peer.public_key());
    /// assert_eq!(peer, Some(key.public_key()));
    /// # drop(theirs);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
    /// ```
    #[must_use]
    pub fn identity(mut self, key: PrivateKey) -> Self {
        self.security.identity = Some(key);
        self
    }

    /// Trusts the holder of `key`, as server and as client. Call it for each peer; all others are refused. A list that
    /// [`trust_listed`](Self::trust_listed) was called with before holds no more.
    #[must_use]
    pub fn trust(mut self, key: PublicKey) -> Self {
        self.security.trust(key);
        self
    }

    /// Trusts the holders of the keys that are on this list at the time of a handshake, so that peers can be added and removed while the
    /// endpoint is open. Associations that are there when a key leaves the list stay: [abort](crate::Association::abort) them, and look at
    /// [`Association::peer_identity`](crate::Association::peer_identity) of those that are accepted.
    ///
    /// The list replaces the keys of earlier calls of [`trust`](Self::trust), and a later call of that replaces the list.
    #[must_use]
    pub fn trust_listed(mut self, keys: &KeyList) -> Self {
        self.security.trust = Some(Trust::Listed(keys.clone()));
        self
    }

    /// Trusts the holders of all keys: the application looks at
    /// [`Association::peer_identity`](crate::Association::peer_identity) itself. A client that trusts everyone is open to attackers on
    /// the path.
    #[must_use]
    pub fn trust_everyone(mut self) -> Self {
        self.security.trust = Some(Trust::Everyone);
        self
    }

    /// Uses a configuration of rustls for connecting, as it is but for ALPN, session resumption and early data, which are off or set
    /// here. Servers prove `name`.
    #[must_use]
    pub fn tls_client(mut self, config: ClientConfig, name: ServerName<'static>) -> Self {
        self.security.client = Some((config, name));
        self
    }

    /// Uses a configuration of rustls for accepting, in the same way.
    #[must_use]
    pub fn tls_server(mut self, config: ServerConfig) -> Self {
        self.security.server = Some(config);
        self
    }

    /// Writes the secrets of all sessions to `log`, so that `anabranch trace --keys` can open captures of their packets. Who has them can
    /// read what was sent. `rustls::KeyLogFile` writes them to the file that the environment variable `SSLKEYLOGFILE` names.
    #[must_use]
    pub fn key_log(mut self, log: Arc<dyn KeyLog>) -> Self {
        self.security.key_log = Some(log);
        self
    }

    /// Makes this endpoint one of several machines that serve one address, behind a balancer that sends each datagram to the machine which
    /// [`destination`](crate::destination) names. All have the same `secret` and the same identity, each has a `machine` number of its own.
    /// `docs/scale.md` describes the rest.
    #[must_use]
    pub const fn behind_balancer(mut self, machine: u16, secret: [u8; 32]) -> Self {
        self.security.balanced = Some(Balanced { machine, secret });
        self
    }

    /// Sends everything in the clear, without any proof of who the peer is: SCTP in UDP as other implementations speak it, or below a
    /// secure layer of another kind.
    #[must_use]
    pub const fn insecure(mut self) -> Self {
        self.security.is_insecure = true;
        self
    }

    /// Accepts associations from peers.
    #[must_use]
    pub const fn listen(mut self) -> Self {
        self.listens = true;
        self
    }

    /// How many associations of peers may wait to be accepted; further ones are aborted. 1,024 by default.
    /// An association that fails while it waits is dropped.
    #[must_use]
    pub const fn backlog(mut self, associations: usize) -> Self {
        self.backlog = associations;
        self
    }

    /// How long [`Endpoint::connect`] waits for an answer. 20 s by default.
    ///
    /// [`AssociationConfig::max_init_retransmits`] limits the number of attempts as well.
    #[must_use]
    pub const fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Ends associations that have sent and received no message for this long, or up to half as long again: with
    /// [`CloseReason::Idle`](crate::CloseReason::Idle), and an ABORT to the peer. By default they may be idle for ever; heartbeats detect
    /// peers that do not answer.
    #[must_use]
    pub const fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = Some(timeout);
        self
    }

    /// Follows the addresses that this host gets and loses, for [sockets at unspecified addresses](Self::local). New
    /// associations use the current addresses. Existing ones announce changes by ASCONF (RFC 5061) if the peer supports it,
    /// and use paths from new addresses once they are confirmed. Linux only; elsewhere this has no effect.
    ///
    /// For single sockets see [`InterfaceChanges`] and [`Endpoint::add_local`].
    #[must_use]
    pub const fn follow_interfaces(mut self) -> Self {
        self.follows_interfaces = true;
        self
    }

    /// Installs an `observer` of all packets and of the path facts after each of them. Without one there is no cost.
    #[must_use]
    pub fn observe(mut self, observer: impl Observer + 'static) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }

    /// Opens the sockets and starts the endpoint's task on the current tokio runtime. The endpoint and what comes of it may be used on other
    /// executors, too.
    ///
    /// # Errors
    ///
    /// An address is not local or in use, or the operating system denies sockets or randomness.
    pub async fn bind(self) -> Result<Endpoint, BindError> {
        let Self {
            places,
            mut endpoint_config,
            association_config,
            listens,
            backlog,
            connect_timeout,
            follows_interfaces,
            observer,
            security,
            streams,
            idle_timeout,
        } = self;
        let seal = security.seal(listens)?;
        // Watch before the addresses are listed, so that no change is missed.
        #[cfg(target_os = "linux")]
        let changes = follows_interfaces.then(InterfaceChanges::start).transpose()?;
        #[cfg(not(target_os = "linux"))]
        let _ = follows_interfaces;
        let mut sockets = Vec::new();
        for place in places {
            place.open(&mut sockets).await?;
        }
        if sockets.is_empty() {
            return Err(BindError::NoAddress);
        }
        if seal.is_some() {
            if sockets.iter().any(|socket| socket.local_addr().port() == 0) {
                return Err(BindError::SealedRaw);
            }
            // The seal detects errors better than a checksum.
            endpoint_config.checksum_offload = true;
        }
        endpoint_config.local = reachable_at(&sockets)?;
        if listens {
            endpoint_config
                .accept
                .get_or_insert_with(|| association_config.clone());
        }
        let overhead = if seal.is_some() { SEAL_OVERHEAD } else { 0 };
        let limits = Limits::of(&endpoint_config.local, overhead, streams);
        endpoint_config.accept = endpoint_config.accept.map(|config| limits.apply(config));
        let mut entropy = [0; 32];
        getrandom::fill(&mut entropy)?;
        let core = proto::Endpoint::new(endpoint_config, entropy);
        let clock = Clock::start();
        let shared_limits = SharedLimits {
            backlog,
            idle_timeout,
            streams,
        };
        let shared = Arc::new(Shared::new(core, sockets.clone(), clock, seal, shared_limits));
        let locals: Vec<SocketAddr> = sockets.iter().map(|socket| socket.local_addr()).collect();
        let driver = Driver::new(Arc::clone(&shared), sockets, clock, observer);
        runtime::spawn(in_endpoint(&locals, driver));
        #[cfg(target_os = "linux")]
        if let Some(changes) = changes {
            runtime::spawn(follow(Arc::clone(&shared), changes));
        }
        Ok(Endpoint::new(shared, association_config, connect_timeout, limits))
    }
}

/// Wildcards stand for all addresses of this host.
fn reachable_at(sockets: &[Arc<dyn Socket>]) -> io::Result<Vec<SocketAddr>> {
    let mut addresses = Vec::new();
    for socket in sockets {
        addresses.extend(expand_wildcard(socket.local_addr())?);
    }
    Ok(addresses)
}

/// Limits that this host's interfaces and the application impose on associations.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    mtus: RangeInclusive<u32>,
    /// Bytes that a seal adds to each packet.
    overhead: u16,
    streams: Option<StreamLimits>,
}

impl Limits {
    fn of(local: &[SocketAddr], overhead: u16, streams: Option<StreamLimits>) -> Self {
        let unknown = u32::MAX..=u32::MAX;
        Self {
            mtus: mtus(local).unwrap_or(unknown),
            overhead,
            streams,
        }
    }

    /// The configuration, limited by the interfaces, and with streams if the endpoint has some. Packets of a fixed size must fit all interfaces; where every path
    /// has its own MTU, the largest interface is the limit, and the others reject what is too large for them.
    pub(crate) fn apply(&self, config: AssociationConfig) -> AssociationConfig {
        let limit = match config.policies.path_mtu {
            PathMtuChoice::Fixed(_) => self.mtus.start(),
            PathMtuChoice::Search(_) => self.mtus.end(),
        };
        let config = match &self.streams {
            Some(streams) => streams.apply(config),
            None => config,
        };
        AssociationConfig {
            mtu: config
                .mtu
                .min(u16::try_from(*limit).unwrap_or(u16::MAX))
                .saturating_sub(self.overhead),
            lower_layer_overhead: self.overhead,
            ..config
        }
    }
}

impl Place {
    async fn open(self, sockets: &mut Vec<Arc<dyn Socket>>) -> Result<(), BindError> {
        match self {
            Self::Given(socket) => sockets.push(socket),
            Self::Raw(address) => sockets.push(Arc::new(Watched::new(RawSocket::bind(address)?)?)),
            Self::Udp(name) => {
                let resolved = tokio::net::lookup_host(&name).await.map(Vec::from_iter);
                for address in resolved.map_err(|source| BindError::Address { name, source })? {
                    sockets.push(runtime::udp_socket(address)?);
                }
            }
        }
        Ok(())
    }
}

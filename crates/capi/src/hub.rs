//! Endpoints of the library: which addresses and ports does a socket have, and which socket accepts?
//!
//! SCTP port *p* is UDP port *p* of the same address. With `ANABRANCH_UDP_PORT=n`, peers are expected at UDP port *n*, and sockets
//! that are bound to a port use UDP port *n* themselves.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use anabranch::{Association, AssociationConfig, Endpoint, EndpointConfig, io, udp_socket};
use tokio::task::AbortHandle;

use crate::errno::Errno;
use crate::lock;
use crate::process::Process;
use crate::socket::Socket;

/// The UDP port that the environment selects for all SCTP ports.
fn udp_port() -> Option<u16> {
    static PORT: OnceLock<Option<u16>> = OnceLock::new();
    *PORT.get_or_init(|| std::env::var("ANABRANCH_UDP_PORT").ok()?.parse().ok())
}

/// Where to send packets to `peer`, an address with an SCTP port.
pub(crate) fn encapsulated(peer: SocketAddr) -> SocketAddr {
    SocketAddr::new(peer.ip(), udp_port().unwrap_or_else(|| peer.port()))
}

/// Addresses to which a socket is bound.
#[derive(Debug)]
pub(crate) struct Place {
    /// With the SCTP port.
    pub(crate) locals: Vec<SocketAddr>,
    sockets: Vec<Arc<dyn io::Socket>>,
    /// An endpoint that has these addresses already, and whose listening socket was closed.
    hub: Option<Arc<Hub>>,
}

impl Place {
    /// Binds to `locals`, which have the same port. Port 0 takes a free one.
    ///
    /// # Errors
    ///
    /// An address is not local, or in use.
    pub(crate) fn bind(locals: &[SocketAddr]) -> Result<Self, Errno> {
        let process = Process::current();
        let hub = process.hub_at(locals);
        if hub.is_some() {
            return Ok(Self {
                locals: locals.to_vec(),
                sockets: Vec::new(),
                hub,
            });
        }
        let _context = process.runtime()?.enter();
        let mut place = Self {
            locals: Vec::new(),
            sockets: Vec::new(),
            hub: None,
        };
        for local in locals {
            match place.add(*local) {
                // A host without IPv6 has no IPv6 part of a wildcard for both versions.
                Err(Errno(libc::EAFNOSUPPORT)) if locals.len() > 1 && local.is_ipv6() => {}
                added => added?,
            }
        }
        Ok(place)
    }

    /// Adds an address.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind).
    pub(crate) fn add(&mut self, local: SocketAddr) -> Result<(), Errno> {
        let _context = Process::current().runtime()?.enter();
        let sctp = match self.locals.first() {
            Some(first) if local.port() == 0 => first.port(),
            _ => local.port(),
        };
        let udp = if sctp == 0 { 0 } else { udp_port().unwrap_or(sctp) };
        let socket = udp_socket(SocketAddr::new(local.ip(), udp))?;
        let sctp = if sctp == 0 {
            socket.local_addr().port()
        } else {
            sctp
        };
        self.locals.push(SocketAddr::new(local.ip(), sctp));
        self.sockets.push(socket);
        Ok(())
    }

    /// Binds to any address and port, for a peer of the IP version of `remote`.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind).
    pub(crate) fn any(remote: SocketAddr) -> Result<Self, Errno> {
        let ip: IpAddr = match remote {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        Self::bind(&[SocketAddr::new(ip, 0)])
    }

    pub(crate) fn port(&self) -> u16 {
        self.locals.first().map_or(0, SocketAddr::port)
    }

    /// Starts an endpoint, which accepts associations if there is a configuration for them.
    ///
    /// # Errors
    ///
    /// The system denies sockets or randomness.
    pub(crate) fn open(self, accept: Option<AssociationConfig>) -> Result<Arc<Hub>, Errno> {
        if let Some(hub) = self.hub {
            return Ok(hub);
        }
        let process = Process::current();
        let listens = accept.is_some();
        let config = EndpointConfig {
            sctp_port: self.port(),
            accept,
            ..EndpointConfig::default()
        };
        let builder = Endpoint::builder().insecure().endpoint_config(config);
        let mut builder = self
            .sockets
            .into_iter()
            .fold(builder, |builder, socket| builder.socket(socket));
        if listens {
            builder = builder.listen();
        }
        let runtime = process.runtime()?;
        let endpoint = runtime.block_on(builder.bind())?;
        let hub = Arc::new(Hub {
            endpoint,
            locals: self.locals,
            listener: Mutex::new(Weak::new()),
            accepting: OnceLock::new(),
        });
        if listens {
            let accepting = runtime.spawn(accept_all(hub.endpoint.clone(), Arc::downgrade(&hub)));
            let _ = hub.accepting.set(accepting.abort_handle());
            let mut hubs = lock(&process.hubs);
            hubs.retain(|hub| hub.strong_count() > 0);
            hubs.push(Arc::downgrade(&hub));
        }
        Ok(hub)
    }
}

impl Process {
    /// An endpoint at these addresses that accepts associations, but has no listening socket.
    fn hub_at(&self, locals: &[SocketAddr]) -> Option<Arc<Hub>> {
        let hubs = lock(&self.hubs);
        let is_free = |hub: &Arc<Hub>| hub.locals == locals && lock(&hub.listener).strong_count() == 0;
        hubs.iter().filter_map(Weak::upgrade).find(is_free)
    }
}

/// An endpoint, which exists as long as a socket or an association uses it.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) endpoint: Endpoint,
    /// With the SCTP port.
    pub(crate) locals: Vec<SocketAddr>,
    pub(crate) listener: Mutex<Weak<Socket>>,
    accepting: OnceLock<AbortHandle>,
}

impl Drop for Hub {
    fn drop(&mut self) {
        if let Some(task) = self.accepting.get() {
            task.abort();
        }
    }
}

/// Gives the associations that peers set up to the listening socket. Without one, or if its queue is full, they are aborted.
async fn accept_all(endpoint: Endpoint, hub: Weak<Hub>) {
    while let Some(association) = endpoint.accept().await {
        let Some(hub) = hub.upgrade() else { return };
        let listener = lock(&hub.listener).upgrade();
        let refused: Option<Association> = match listener {
            Some(listener) => listener.offer(association),
            None => Some(association),
        };
        if let Some(association) = refused {
            association.abort("no socket listens");
        }
    }
}

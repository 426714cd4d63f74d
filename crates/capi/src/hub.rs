//! Endpoints of the library: which addresses and ports does a socket have, and which socket accepts?
//!
//! SCTP port *p* is UDP port *p* of the same address. With `ANABRANCH_UDP_PORT=n`, peers are expected at UDP port *n*, and sockets
//! that are bound to a port use UDP port *n* themselves; with `ANABRANCH_UDP_PORT=+n`, SCTP port *p* is UDP port *p + n*.
//! With `ANABRANCH_RAW=1`, there is no UDP, and addresses below SCTP have port 0.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use anabranch::{Association, AssociationConfig, Endpoint, EndpointConfig, io, udp_socket};
use tokio::task::AbortHandle;

use crate::encryption::Encryption;
use crate::environment::{Environment, UdpPorts};
use crate::errno::Errno;
use crate::process::Process;
use crate::socket::{Member, Socket};
use crate::{lock, raw};

/// Where SCTP ports are in UDP. Sockets exist only in a valid environment.
fn ports() -> UdpPorts {
    Environment::current().map_or(UdpPorts::Offset(0), |environment| environment.ports)
}

/// Whether there is no UDP.
pub(crate) fn is_raw() -> bool {
    ports() == UdpPorts::Raw
}

/// Where to send packets to `peer`, an address with an SCTP port: to the UDP port that the program or the environment selects.
pub(crate) fn encapsulated(peer: SocketAddr, selected: Option<u16>) -> SocketAddr {
    let ports = ports();
    let selected = selected.filter(|_| ports != UdpPorts::Raw);
    let port = selected.unwrap_or_else(|| ports.of(peer.port()));
    SocketAddr::new(peer.ip(), port)
}

/// Addresses to which a socket is bound.
#[derive(Debug)]
pub(crate) struct Place {
    /// With the SCTP port.
    pub(crate) locals: Vec<SocketAddr>,
    sockets: Vec<Arc<dyn io::Socket>>,
    /// An endpoint that has these addresses already: its listening socket was closed, or a handshake of its one socket failed.
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

    /// The addresses of an endpoint.
    pub(crate) fn of(hub: &Arc<Hub>) -> Self {
        Self {
            locals: lock(&hub.locals).clone(),
            sockets: Vec::new(),
            hub: Some(Arc::clone(hub)),
        }
    }

    /// Adds an address.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind).
    pub(crate) fn add(&mut self, local: SocketAddr) -> Result<(), Errno> {
        if let Some(hub) = &self.hub {
            let sctp = SocketAddr::new(local.ip(), hub.port());
            hub.add_address(sctp)?;
            self.locals.push(sctp);
            return Ok(());
        }
        let _context = Process::current().runtime()?.enter();
        let sctp = match self.locals.first() {
            Some(first) if local.port() == 0 => first.port(),
            _ => local.port(),
        };
        let (socket, sctp) = open_socket(SocketAddr::new(local.ip(), sctp))?;
        self.locals.push(SocketAddr::new(local.ip(), sctp));
        self.sockets.push(socket);
        Ok(())
    }

    pub(crate) fn port(&self) -> u16 {
        self.locals.first().map_or(0, SocketAddr::port)
    }

    /// Removes addresses. At least one has to stay.
    ///
    /// # Errors
    ///
    /// `EINVAL` if none would stay, `EADDRNOTAVAIL` if the socket is not bound to one.
    pub(crate) fn remove(&mut self, addresses: &[SocketAddr]) -> Result<(), Errno> {
        let port = self.port();
        let names = |address: &SocketAddr, local: &SocketAddr| {
            address.ip() == local.ip() && (address.port() == 0 || address.port() == port)
        };
        let is_bound = |address: &SocketAddr| self.locals.iter().any(|local| names(address, local));
        if !addresses.iter().all(is_bound) {
            return Err(Errno(libc::EADDRNOTAVAIL));
        }
        let stays = |local: &SocketAddr| !addresses.iter().any(|address| names(address, local));
        if !self.locals.iter().any(stays) || self.hub.is_some() {
            return Err(Errno(libc::EINVAL));
        }
        let kept: Vec<bool> = self.locals.iter().map(stays).collect();
        let mut of_local = kept.iter();
        self.locals.retain(|_| of_local.next().copied().unwrap_or(true));
        let mut of_socket = kept.iter();
        self.sockets.retain(|_| of_socket.next().copied().unwrap_or(true));
        Ok(())
    }

    /// Starts an endpoint, which accepts no associations yet. An endpoint that these addresses have already stays as it is.
    ///
    /// # Errors
    ///
    /// The system denies sockets or randomness.
    pub(crate) fn open(
        self,
        cookie_life: Duration,
        encryption: Option<Arc<Encryption>>,
    ) -> Result<Arc<Hub>, Errno> {
        if let Some(hub) = self.hub {
            return Ok(hub);
        }
        let config = EndpointConfig {
            sctp_port: self.port(),
            cookie_life,
            ..EndpointConfig::default()
        };
        let builder = Endpoint::builder().endpoint_config(config);
        let builder = match &encryption {
            Some(encryption) => encryption.apply(builder),
            None => builder.insecure(),
        };
        let builder = self
            .sockets
            .into_iter()
            .fold(builder, |builder, socket| builder.socket(socket));
        let endpoint = Process::current().runtime()?.block_on(builder.bind())?;
        Ok(Arc::new(Hub {
            endpoint,
            encryption,
            locals: Mutex::new(self.locals),
            users: Mutex::default(),
            listener: Mutex::new(Weak::new()),
            accepting: OnceLock::new(),
        }))
    }
}

/// How often [`open_socket`] tries.
const ATTEMPTS: usize = 10;

/// Opens a socket for an SCTP port, 0 for a free one; returns the port. That of an endpoint which has just ended is closed in one of the
/// driver's next turns.
fn open_socket(local: SocketAddr) -> Result<(Arc<dyn io::Socket>, u16), Errno> {
    for _ in 1..ATTEMPTS {
        match try_open(local) {
            Err(Errno(libc::EADDRINUSE)) => Process::current().await_turn()?,
            opened => return opened,
        }
    }
    try_open(local)
}

fn try_open(local: SocketAddr) -> Result<(Arc<dyn io::Socket>, u16), Errno> {
    let ports = ports();
    if ports == UdpPorts::Raw {
        return raw::open(local);
    }
    let sctp = local.port();
    let udp = if sctp == 0 { 0 } else { ports.of(sctp) };
    let socket = udp_socket(SocketAddr::new(local.ip(), udp))?;
    let sctp = if sctp == 0 {
        ports.chosen(socket.local_addr().port())
    } else {
        sctp
    };
    Ok((socket, sctp))
}

impl Process {
    /// An endpoint at these addresses that accepts associations, but has no listening socket.
    fn hub_at(&self, locals: &[SocketAddr]) -> Option<Arc<Hub>> {
        let hubs = lock(&self.hubs);
        let is_free =
            |hub: &Arc<Hub>| *lock(&hub.locals) == locals && lock(&hub.listener).strong_count() == 0;
        hubs.iter().filter_map(Weak::upgrade).find(is_free)
    }
}

/// An endpoint, which exists as long as a socket or an association uses it.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) endpoint: Endpoint,
    /// `None` in the clear.
    pub(crate) encryption: Option<Arc<Encryption>>,
    /// With the SCTP port.
    pub(crate) locals: Mutex<Vec<SocketAddr>>,
    /// Associations, some of which may have ended.
    users: Mutex<Vec<Weak<Member>>>,
    listener: Mutex<Weak<Socket>>,
    accepting: OnceLock<AbortHandle>,
}

impl Hub {
    pub(crate) fn port(&self) -> u16 {
        lock(&self.locals).first().map_or(0, SocketAddr::port)
    }

    /// Where an address is in UDP; `EADDRNOTAVAIL` if the endpoint does not have it.
    pub(crate) fn address(&self, sctp: SocketAddr) -> Result<SocketAddr, Errno> {
        let locals = lock(&self.locals);
        let is_ours = locals.iter().any(|local| local.ip() == sctp.ip());
        let of_ip = |udp: &SocketAddr| udp.ip() == sctp.ip();
        let found = self.endpoint.local_addrs().into_iter().find(of_ip);
        found.filter(|_| is_ours).ok_or(Errno(libc::EADDRNOTAVAIL))
    }

    /// Adds an address; returns where it is in UDP.
    pub(crate) fn add_address(&self, sctp: SocketAddr) -> Result<SocketAddr, Errno> {
        if let Some(departing) = self.departing(sctp) {
            lock(&self.locals).push(sctp);
            return Ok(departing);
        }
        let _context = Process::current().runtime()?.enter();
        let added = if is_raw() {
            self.endpoint.add_socket(raw::open(sctp)?.0)
        } else {
            self.endpoint.add_local(encapsulated(sctp, None))?
        };
        lock(&self.locals).push(sctp);
        Ok(added)
    }

    /// The UDP socket of an address that was removed and that associations still use.
    fn departing(&self, sctp: SocketAddr) -> Option<SocketAddr> {
        let is_listed = lock(&self.locals).iter().any(|local| local.ip() == sctp.ip());
        let of_ip = |udp: &SocketAddr| udp.ip() == sctp.ip() && !is_listed;
        self.endpoint.local_addrs().into_iter().find(of_ip)
    }

    /// Whether addresses remain without these, which are in UDP.
    pub(crate) fn has_more_than(&self, removed: &[SocketAddr]) -> bool {
        let is_removed = |local: &SocketAddr| removed.iter().any(|udp| udp.ip() == local.ip());
        !lock(&self.locals).iter().all(is_removed)
    }

    /// Removes an address, whose UDP socket is closed when no association has a path from there: until another address is confirmed, the
    /// peer is reached from there only.
    ///
    /// # Errors
    ///
    /// The system denies a thread.
    pub(crate) fn withdraw(this: &Arc<Self>, udp: SocketAddr) -> Result<(), Errno> {
        let runtime = Process::current().runtime()?;
        lock(&this.locals).retain(|local| local.ip() != udp.ip());
        if this.user_of(udp).is_some() {
            runtime.spawn(close_when_unused(Arc::downgrade(this), udp));
        } else {
            this.close_address(udp);
        }
        Ok(())
    }

    /// Closes the UDP socket of an address, unless the address was added again.
    fn close_address(&self, udp: SocketAddr) {
        let locals = lock(&self.locals);
        if locals.iter().all(|local| local.ip() != udp.ip()) {
            self.endpoint.remove_local(udp);
        }
    }

    /// Notes an association.
    pub(crate) fn add_user(&self, member: Weak<Member>) {
        let mut users = lock(&self.users);
        if users.len() == users.capacity() {
            users.retain(|user| user.strong_count() > 0);
        }
        users.push(member);
    }

    /// An association that uses an address.
    fn user_of(&self, udp: SocketAddr) -> Option<Association> {
        let users = lock(&self.users).clone();
        let mut users = users.iter().filter_map(Weak::upgrade);
        let user = users.find(|member| member.uses(udp))?;
        Some(user.association.clone())
    }

    /// Whether no other socket than this one listens.
    pub(crate) fn has_no_other_listener(&self, socket: &Socket) -> bool {
        self.is_listener(socket) || lock(&self.listener).strong_count() == 0
    }

    /// Gives associations of peers to `listener` from now on.
    ///
    /// # Errors
    ///
    /// The system denies a thread.
    pub(crate) fn listen(
        self: &Arc<Self>,
        listener: &Arc<Socket>,
        config: AssociationConfig,
    ) -> Result<(), Errno> {
        *lock(&self.listener) = Arc::downgrade(listener);
        self.endpoint.accept_with(Some(config));
        let process = Process::current();
        let runtime = process.runtime()?;
        self.accepting.get_or_init(|| {
            let mut hubs = lock(&process.hubs);
            hubs.retain(|hub| hub.strong_count() > 0);
            hubs.push(Arc::downgrade(self));
            let accepting = accept_all(self.endpoint.clone(), Arc::downgrade(self));
            runtime.spawn(accepting).abort_handle()
        });
        Ok(())
    }

    /// Accepts associations with another configuration from now on, if `listener` listens.
    pub(crate) fn reconfigure(&self, listener: &Socket, config: AssociationConfig) {
        if self.is_listener(listener) {
            self.endpoint.accept_with(Some(config));
        }
    }

    pub(crate) fn is_listener(&self, socket: &Socket) -> bool {
        std::ptr::eq(lock(&self.listener).as_ptr(), socket)
    }

    /// Refuses associations of peers from now on, if `listener` listened.
    pub(crate) fn stop_listening(&self, listener: &Socket) {
        if self.is_listener(listener) {
            *lock(&self.listener) = Weak::new();
            self.endpoint.accept_with(None);
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        if let Some(task) = self.accepting.get() {
            task.abort();
        }
    }
}

/// Closes the UDP socket of an address as soon as no association uses it.
async fn close_when_unused(hub: Weak<Hub>, udp: SocketAddr) {
    while let Some(known) = hub.upgrade() {
        let Some(association) = known.user_of(udp) else {
            return known.close_address(udp);
        };
        drop(known);
        let mut events = association.events();
        let is_used = || {
            let paths = association.statistics().paths;
            paths.iter().any(|path| path.addr.local == udp)
        };
        while is_used() && events.next().await.is_some() {}
    }
}

/// Gives the associations that peers set up to the listening socket. Without one, or if its queue is full, they are aborted.
async fn accept_all(endpoint: Endpoint, hub: Weak<Hub>) {
    while let Some(association) = endpoint.accept().await {
        let Some(hub) = hub.upgrade() else { return };
        let listener = lock(&hub.listener).upgrade();
        let refused: Option<Association> = match listener {
            Some(listener) => listener.offer(association, &hub),
            None => Some(association),
        };
        if let Some(association) = refused {
            association.abort("no socket listens");
        }
    }
}

//! Setup of associations: bind, listen, accept, connect, and the addresses of both ends.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anabranch::{Association, ConnectError};

use super::{Phase, Socket};
use crate::errno::Errno;
use crate::hub::{Hub, Place, encapsulated};
use crate::lock;
use crate::process::Process;

impl Socket {
    /// Binds to addresses, or adds some (`sctp_bindx`). A wildcard of IPv6 stands for IPv4 too, unless `IPV6_V6ONLY` is set.
    pub(crate) fn bind(&self, addresses: &[SocketAddr], adds: bool) -> Result<(), Errno> {
        let only_v6 = lock(&self.settings).only_v6;
        let mut phase = lock(&self.phase);
        let mut locals = Vec::new();
        for address in addresses {
            if address.is_ipv6() && !self.is_v6 {
                return Err(Errno(libc::EAFNOSUPPORT));
            }
            locals.push(*address);
            if address.is_ipv6() && address.ip().is_unspecified() && !only_v6 {
                locals.push(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), address.port()));
            }
        }
        match &mut *phase {
            Phase::New => *phase = Phase::Bound(Place::bind(&locals)?),
            Phase::Bound(place) if adds => {
                for local in locals {
                    place.add(local)?;
                }
            }
            _ => return Err(Errno(libc::EINVAL)),
        }
        Ok(())
    }

    /// Accepts associations from now on, up to `backlog` before they are taken.
    pub(crate) fn listen(self: &Arc<Self>, backlog: i32) -> Result<(), Errno> {
        lock(&self.reader).backlog = usize::try_from(backlog).unwrap_or(0).max(1);
        let config = lock(&self.settings).association_config();
        let mut phase = lock(&self.phase);
        let hub = match std::mem::replace(&mut *phase, Phase::New) {
            Phase::New => Place::any((Ipv4Addr::LOCALHOST, 0).into())?.open(Some(config))?,
            Phase::Bound(place) => place.open(Some(config))?,
            Phase::Listening(hub) => hub,
            other => {
                *phase = other;
                return Err(Errno(libc::EINVAL));
            }
        };
        *lock(&hub.listener) = Arc::downgrade(self);
        *phase = Phase::Listening(hub);
        Ok(())
    }

    /// Queues an association for [`accept`](Self::accept); returns it if there is no space.
    pub(crate) fn offer(&self, association: Association) -> Option<Association> {
        let mut reader = lock(&self.reader);
        if reader.waiting.len() >= reader.backlog {
            return Some(association);
        }
        reader.waiting.push_back(association);
        self.settle_reader(&mut reader);
        None
    }

    /// Takes an association, as a socket with a descriptor.
    pub(crate) fn accept(&self, nonblocking: bool, cloexec: bool) -> Result<(Arc<Self>, OwnedFd), Errno> {
        let hub = match &*lock(&self.phase) {
            Phase::Listening(hub) => Arc::clone(hub),
            _ => return Err(Errno(libc::EINVAL)),
        };
        loop {
            let taken = {
                let mut reader = lock(&self.reader);
                let taken = reader.waiting.pop_front();
                self.settle_reader(&mut reader);
                taken
            };
            let Some(association) = taken else {
                self.wait_readable(true)?;
                continue;
            };
            let (socket, program) = Self::new(self.is_v6, nonblocking, cloexec)?;
            *lock(&socket.settings) = lock(&self.settings).clone();
            socket.attach(association, hub);
            return Ok((socket, program));
        }
    }

    /// Sets an association up. If the descriptor is non-blocking, `EINPROGRESS`, and it is writable afterwards.
    pub(crate) fn connect(self: &Arc<Self>, remotes: &[SocketAddr]) -> Result<(), Errno> {
        let first = *remotes.first().ok_or(Errno(libc::EINVAL))?;
        let mut phase = lock(&self.phase);
        let place = match std::mem::replace(&mut *phase, Phase::Connecting) {
            Phase::New => Place::any(first),
            Phase::Bound(place) => Ok(place),
            Phase::Connecting => return Err(Errno(libc::EALREADY)),
            other => {
                *phase = other;
                return Err(Errno(libc::EISCONN));
            }
        };
        let started = place.and_then(|place| self.start(place, remotes));
        if let Err(error) = started {
            *phase = Phase::New;
            return Err(error);
        }
        drop(phase);
        // As the kernel does, also if the handshake is over by now.
        if self.mirror.is_nonblocking()? {
            return Err(Errno(libc::EINPROGRESS));
        }
        match self.wait_writable(true) {
            // The time of `SO_SNDTIMEO` is over.
            Err(Errno(libc::EAGAIN)) => Err(Errno(libc::EINPROGRESS)),
            Err(error) => Err(error),
            Ok(()) => self.take_error().map_or(Ok(()), Err),
        }
    }

    fn start(self: &Arc<Self>, place: Place, remotes: &[SocketAddr]) -> Result<(), Errno> {
        let mut config = lock(&self.settings).association_config();
        config.peer_sctp_port = remotes[0].port();
        config.local_sctp_port = Some(place.port());
        let hub = place.open(None)?;
        let remotes: Vec<SocketAddr> = remotes.iter().copied().map(encapsulated).collect();
        self.set_full(&mut lock(&self.writer), true);
        let socket = Arc::downgrade(self);
        Process::current().runtime()?.spawn(async move {
            let connected = hub.endpoint.connect_with(&remotes[..], &config).await;
            if let Some(socket) = socket.upgrade() {
                socket.on_connected(connected, hub);
            }
        });
        Ok(())
    }

    fn on_connected(self: &Arc<Self>, connected: Result<Association, ConnectError>, hub: Arc<Hub>) {
        match connected {
            Ok(association) => self.attach(association, hub),
            Err(error) => {
                self.error.store(Errno::from(error).0, Ordering::Release);
                *lock(&self.phase) = Phase::New;
                self.set_full(&mut lock(&self.writer), false);
            }
        }
    }

    /// The peer's address (`getpeername`).
    pub(crate) fn peer(&self) -> Result<SocketAddr, Errno> {
        Ok(self.connection()?.peer)
    }

    /// All addresses of the peer (`sctp_getpaddrs`).
    pub(crate) fn peers(&self) -> Result<Vec<SocketAddr>, Errno> {
        let connection = self.connection()?;
        let paths = connection.association.statistics().paths;
        let remotes = paths.iter().map(|path| path.addr.remote.ip());
        Ok(unique(remotes, connection.peer.port()))
    }

    /// Our addresses (`sctp_getladdrs`); the first is that of `getsockname`.
    pub(crate) fn locals(&self) -> Vec<SocketAddr> {
        if let Some(connection) = self.connection.get() {
            let mut paths = connection.association.statistics().paths;
            paths.sort_by_key(|path| !path.primary);
            let locals = paths.iter().map(|path| path.addr.local.ip());
            return unique(locals, connection.association.sctp_ports().0);
        }
        match &*lock(&self.phase) {
            Phase::Bound(place) => place.locals.clone(),
            Phase::Listening(hub) => hub.locals.clone(),
            Phase::New | Phase::Connecting | Phase::Connected => Vec::new(),
        }
    }

    pub(crate) fn is_listening(&self) -> bool {
        matches!(*lock(&self.phase), Phase::Listening(_))
    }

    pub(super) fn is_connecting(&self) -> bool {
        matches!(*lock(&self.phase), Phase::Connecting)
    }
}

/// Each address once, with `port`.
fn unique(addresses: impl Iterator<Item = IpAddr>, port: u16) -> Vec<SocketAddr> {
    let mut found = Vec::new();
    for address in addresses.map(|address| SocketAddr::new(address, port)) {
        if !found.contains(&address) {
            found.push(address);
        }
    }
    found
}

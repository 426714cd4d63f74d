//! Setup of associations: bind, listen, accept, connect, and the addresses of both ends.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use anabranch::{Association, AssociationConfig, ConnectConfigError, ConnectError};

use super::options::Init;
use super::{Member, Phase, Settings, Socket, Style};
use crate::dialect::Dialect;
use crate::encryption;
use crate::errno::Errno;
use crate::hub::{Hub, Place, encapsulated};
use crate::layout::FUTURE_ASSOC;
use crate::lock;
use crate::process::Process;

impl Socket {
    /// The addresses at which a socket listens that is bound to these: a wildcard of IPv6 stands for IPv4 too, unless `IPV6_V6ONLY` is
    /// set.
    fn spread(&self, addresses: &[SocketAddr]) -> Result<Vec<SocketAddr>, Errno> {
        let only_v6 = lock(&self.settings).only_v6;
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
        Ok(locals)
    }

    /// Binds to addresses, or adds some (`sctp_bindx`): before the socket has associations.
    ///
    /// # Errors
    ///
    /// An address is of another family, not local or in use; `EINVAL` if it is too late.
    pub(crate) fn bind(&self, addresses: &[SocketAddr], adds: bool) -> Result<(), Errno> {
        let locals = self.spread(addresses)?;
        let mut phase = lock(&self.phase);
        match &mut *phase {
            Phase::New => *phase = Phase::Bound(Place::bind(&locals)?),
            Phase::Bound(place) if adds => {
                for local in locals {
                    place.add(local)?;
                }
            }
            Phase::Open(_) | Phase::Connected if adds => {
                drop(phase);
                return self.add_addresses(&locals);
            }
            _ => return Err(Errno(libc::EINVAL)),
        }
        Ok(())
    }

    /// Adds addresses to the endpoint and to its associations, which agreed to that (RFC 5061).
    fn add_addresses(&self, locals: &[SocketAddr]) -> Result<(), Errno> {
        let hub = self.hub().ok_or(Errno(libc::EINVAL))?;
        for local in locals {
            let port = if local.port() == 0 {
                hub.port()
            } else {
                local.port()
            };
            let added = hub.add_address(SocketAddr::new(local.ip(), port))?;
            for member in self.all_members() {
                let told = member.association.add_local_address(added);
                told.map_err(Errno::of_address)?;
            }
        }
        Ok(())
    }

    /// The endpoint, once there is one.
    pub(crate) fn hub(&self) -> Option<Arc<Hub>> {
        if let Phase::Open(hub) = &*lock(&self.phase) {
            return Some(Arc::clone(hub));
        }
        Some(Arc::clone(&self.only_member()?.hub))
    }

    /// Opens the endpoint for the first peer at `remotes`, or for all: at any address and port unless the socket is bound. `None` is a place
    /// that the socket does not have.
    fn open(&self, phase: &mut Phase, remotes: &[SocketAddr]) -> Result<Arc<Hub>, Errno> {
        let place = match std::mem::replace(phase, Phase::New) {
            Phase::New => {
                let is_v6 = self.is_v6
                    && (self.style == Style::OneToMany || remotes.first().is_none_or(SocketAddr::is_ipv6));
                let ip: IpAddr = if is_v6 {
                    Ipv6Addr::UNSPECIFIED.into()
                } else {
                    Ipv4Addr::UNSPECIFIED.into()
                };
                Place::bind(&self.spread(&[SocketAddr::new(ip, 0)])?)?
            }
            Phase::Bound(place) => place,
            other => {
                *phase = other;
                return Err(Errno(libc::EINVAL));
            }
        };
        let settings = lock(&self.settings).clone();
        let encryption = settings
            .encryption
            .filter(|encryption| remotes.is_empty() || encryption.seals(remotes));
        place.open(settings.cookie_life, encryption)
    }

    /// Accepts associations from now on; in the one-to-one style up to `backlog` before they are taken, in the one-to-many style unless
    /// it is 0.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the socket has an association, or the system denies an endpoint.
    pub(crate) fn listen(self: &Arc<Self>, backlog: i32) -> Result<(), Errno> {
        let config = lock(&self.settings).association_config();
        let mut phase = lock(&self.phase);
        let hub = match &*phase {
            Phase::Open(hub) => Arc::clone(hub),
            Phase::New | Phase::Bound(_) => self.open(&mut phase, &[])?,
            Phase::Connecting { .. } | Phase::Connected | Phase::Closed => return Err(Errno(libc::EINVAL)),
        };
        *phase = Phase::Open(Arc::clone(&hub));
        drop(phase);
        let wanted = lock(&self.settings).encryption.clone();
        encryption::check_listening(hub.encryption.as_deref(), wanted.as_deref())?;
        if self.style == Style::OneToOne {
            // As on Linux, nothing can ever be written, and event loops that ask for both learn of associations only.
            self.mirror.fill();
        }
        lock(&self.reader).backlog = usize::try_from(backlog).unwrap_or(0).max(1);
        if self.style == Style::OneToMany && backlog <= 0 {
            hub.stop_listening(self);
            return Ok(());
        }
        hub.listen(self, config)
    }

    /// Takes an association that a peer set up, or queues it for [`accept`](Self::accept); returns it if there is no space.
    pub(crate) fn offer(self: &Arc<Self>, association: Association, hub: &Arc<Hub>) -> Option<Association> {
        if self.style == Style::OneToMany {
            let settings = lock(&self.settings).clone();
            self.attach(association, hub, Arc::new(Mutex::new(settings)));
            return None;
        }
        let mut reader = lock(&self.reader);
        if reader.waiting.len() >= reader.backlog {
            return Some(association);
        }
        reader.waiting.push_back((association, Arc::clone(hub)));
        self.settle_reader(&mut reader);
        None
    }

    /// From now on, an association that a peer set up is the socket's.
    fn attach(self: &Arc<Self>, association: Association, hub: &Arc<Hub>, settings: Arc<Mutex<Settings>>) {
        let unknown = SocketAddr::from(([0; 4], association.sctp_ports().1));
        let member = Member::new(self, (association, Arc::clone(hub)), unknown, settings);
        self.on_established(&member);
    }

    /// Takes an association, as a socket with a descriptor.
    ///
    /// # Errors
    ///
    /// `EAGAIN` if there is none yet, `EINVAL` if the socket does not listen, `EOPNOTSUPP` in the one-to-many style.
    pub(crate) fn accept(&self, (nonblocking, cloexec): (bool, bool)) -> Result<(Arc<Self>, OwnedFd), Errno> {
        if self.style == Style::OneToMany {
            return Err(Errno(libc::EOPNOTSUPP));
        }
        if !matches!(&*lock(&self.phase), Phase::Open(_)) {
            return Err(Errno(libc::EINVAL));
        }
        let taken = {
            let mut reader = lock(&self.reader);
            let taken = reader.waiting.pop_front();
            self.settle_reader(&mut reader);
            taken
        };
        let (association, hub) = taken.ok_or(Errno(libc::EAGAIN))?;
        let settings = Arc::new(Mutex::new(lock(&self.settings).clone()));
        let modes = (nonblocking, cloexec);
        let (socket, program) = Self::new(self.style, self.is_v6, modes, Arc::clone(&settings))?;
        socket.attach(association, &hub, settings);
        Ok((socket, program))
    }

    /// Sets an association up; returns its identifier. If the descriptor is non-blocking, the second value is `EINPROGRESS`, and the
    /// socket is writable afterwards.
    ///
    /// # Errors
    ///
    /// As [`begin_connecting`](Self::begin_connecting), or the peer does not answer.
    pub(crate) fn connect(
        self: &Arc<Self>,
        remotes: &[SocketAddr],
    ) -> Result<(i32, Result<(), Errno>), Errno> {
        let waits = self.waits()?;
        let member = self.begin_connecting(remotes, waits, self.style == Style::OneToOne)?;
        // As the kernel does, also if the handshake is over by now.
        if !waits {
            return Ok((member.id, Err(Errno(libc::EINPROGRESS))));
        }
        self.wait_until_established(&member)
    }

    /// Begins an association, for a call that `waits` until the handshake is over. Meanwhile, the socket is not writable if `is_seen`.
    ///
    /// # Errors
    ///
    /// `EISCONN` or `EALREADY` if there is one with this peer, or the peer cannot be reached.
    pub(crate) fn begin_connecting(
        self: &Arc<Self>,
        remotes: &[SocketAddr],
        waits: bool,
        is_seen: bool,
    ) -> Result<Arc<Member>, Errno> {
        let first = *remotes.first().ok_or(Errno(libc::EINVAL))?;
        if first.port() == 0 {
            // Nobody can have it.
            return Err(Errno(libc::ECONNREFUSED));
        }
        let mut phase = lock(&self.phase);
        let member = match (self.style, &*phase) {
            (Style::OneToOne, Phase::New | Phase::Bound(_)) => {
                let is_bound = matches!(&*phase, Phase::Bound(_));
                let hub = self.open(&mut phase, remotes)?;
                let begun = self.begin(&hub, remotes, None);
                let member = begun.inspect_err(|_| {
                    if is_bound {
                        *phase = Phase::Bound(Place::of(&hub));
                    }
                })?;
                *phase = Phase::Connecting { is_bound };
                member
            }
            (_, Phase::Closed) => return Err(Errno(libc::EBADF)),
            (Style::OneToOne, Phase::Connecting { .. }) => return Err(Errno(libc::EALREADY)),
            (Style::OneToOne, _) => return Err(Errno(libc::EISCONN)),
            (Style::OneToMany, _) => {
                if let Some(member) = remotes.iter().find_map(|remote| self.member_at(*remote)) {
                    return Err(Dialect::current().has_association(member.is_established()));
                }
                self.begin_from(&mut phase, remotes, None)?
            }
        };
        drop(phase);
        if waits || self.style == Style::OneToOne {
            self.block_until_established(&member, is_seen)?;
        }
        member.follow_handshake()?;
        Ok(member)
    }

    /// How a handshake has ended; `None` before. The error of the socket goes with it. Another thread may have closed the socket.
    pub(crate) fn handshake(&self, member: &Member) -> Option<Result<(), Errno>> {
        if matches!(*lock(&self.phase), Phase::Closed) {
            return Some(Err(Errno(libc::EBADF)));
        }
        match member.failure.get() {
            Some(error) => Some(Err(self.take_error().unwrap_or(*error))),
            None => member.is_established().then_some(Ok(())),
        }
    }

    fn wait_until_established(&self, member: &Member) -> Result<(i32, Result<(), Errno>), Errno> {
        match self.wait_for(member, true) {
            // The time of `SO_SNDTIMEO` is over.
            Err(Errno(libc::EAGAIN)) => Ok((member.id, Err(Errno(libc::EINPROGRESS)))),
            Err(error) => Err(error),
            Ok(_) => {
                self.handshake(member).unwrap_or(Ok(()))?;
                Ok((member.id, Ok(())))
            }
        }
    }

    /// The association with a peer; a new one if there is none and `may_begin`.
    pub(super) fn member_or_new(
        self: &Arc<Self>,
        remotes: &[SocketAddr],
        may_begin: bool,
        init: Option<Init>,
    ) -> Result<Arc<Member>, Errno> {
        let first = *remotes.first().ok_or(Errno(libc::EINVAL))?;
        let lives = |member: &Arc<Member>| !member.is_over();
        if let Some(member) = self.member_at(first).filter(lives) {
            return Ok(member);
        }
        if !may_begin {
            return Err(Errno(libc::EINVAL));
        }
        let mut phase = lock(&self.phase);
        // Another thread may have been faster.
        if let Some(member) = self.member_at(first).filter(lives) {
            return Ok(member);
        }
        let member = self.begin_from(&mut phase, remotes, init)?;
        drop(phase);
        member.follow_handshake()?;
        Ok(member)
    }

    /// Begins an association of a one-to-many style socket, whose endpoint is opened by the first.
    fn begin_from(
        self: &Arc<Self>,
        phase: &mut Phase,
        remotes: &[SocketAddr],
        init: Option<Init>,
    ) -> Result<Arc<Member>, Errno> {
        let hub = match &*phase {
            Phase::Open(hub) => Arc::clone(hub),
            _ => self.open(phase, remotes)?,
        };
        *phase = Phase::Open(Arc::clone(&hub));
        self.begin(&hub, remotes, init)
    }

    fn begin(
        self: &Arc<Self>,
        hub: &Arc<Hub>,
        remotes: &[SocketAddr],
        init: Option<Init>,
    ) -> Result<Arc<Member>, Errno> {
        let mut settings = lock(&self.settings).clone();
        if let Some(init) = init {
            settings.init.replace(init);
        }
        let wanted = settings.encryption.as_deref();
        let wanted = wanted.filter(|encryption| encryption.seals(remotes));
        encryption::check(hub.encryption.as_deref(), wanted, remotes[0])?;
        let mut config = settings.association_config();
        config.peer_sctp_port = remotes[0].port();
        config.local_sctp_port = Some(hub.port());
        let udp_port = settings.peer_udp_port;
        let packets_to: Vec<SocketAddr> = remotes
            .iter()
            .map(|remote| encapsulated(*remote, udp_port))
            .collect();
        let association = begin_when_free(hub, &packets_to, &config)?;
        let settings = match self.style {
            Style::OneToOne => Arc::clone(&self.settings),
            Style::OneToMany => Arc::new(Mutex::new(settings)),
        };
        let member = Member::new(self, (association, Arc::clone(hub)), remotes[0], settings);
        self.enter(&member, remotes);
        Ok(member)
    }

    /// An association is established. In the one-to-many style, the driver must not lock the phase: a thread that begins an association
    /// holds that lock while it awaits the driver.
    pub(super) fn set_connected(&self) {
        if self.style == Style::OneToMany {
            return;
        }
        let mut phase = lock(&self.phase);
        if !matches!(*phase, Phase::Closed) {
            *phase = Phase::Connected;
        }
    }

    /// The handshake of an association of the one-to-one style failed. The socket stays bound if it was.
    pub(super) fn set_unconnected(&self, member: &Member, error: Errno) {
        self.error.store(error.0, Ordering::Release);
        let mut phase = lock(&self.phase);
        match *phase {
            Phase::Closed => {}
            Phase::Connecting { is_bound: true } => *phase = Phase::Bound(Place::of(&member.hub)),
            _ => *phase = Phase::New,
        }
    }

    /// The peer has answered at an address.
    pub(super) fn learn_address(&self, member: &Member, address: SocketAddr) {
        let found = self.members().by_id.get(&member.id).cloned();
        if let Some(member) = found {
            self.enter(&member, &[address]);
        }
    }

    /// The peer's address (`getpeername`), in the one-to-one style.
    pub(crate) fn peer(&self) -> Result<SocketAddr, Errno> {
        let member = match self.style {
            Style::OneToOne => self.only_member().filter(|member| member.is_established()),
            Style::OneToMany => None,
        };
        Ok(member.ok_or(Errno(libc::ENOTCONN))?.peer())
    }

    /// Our address, a wildcard before the socket is bound; or the peer's.
    ///
    /// # Errors
    ///
    /// `ENOTCONN` if there is no peer.
    pub(crate) fn name(&self, of_peer: bool) -> Result<SocketAddr, Errno> {
        if of_peer {
            return self.peer();
        }
        let any = if self.is_v6 {
            ([0_u16; 8], 0).into()
        } else {
            ([0_u8; 4], 0).into()
        };
        Ok(self.locals().first().copied().unwrap_or(any))
    }

    /// Our addresses; those of the socket if there is no association.
    pub(crate) fn locals(&self) -> Vec<SocketAddr> {
        let of_socket = match &*lock(&self.phase) {
            Phase::Bound(place) => Some(place.locals.clone()),
            Phase::Open(hub) => Some(lock(&hub.locals).clone()),
            Phase::New | Phase::Connecting { .. } | Phase::Connected | Phase::Closed => None,
        };
        let of_member = || self.only_member().map(|member| member.locals());
        of_socket.or_else(of_member).unwrap_or_default()
    }

    /// The addresses of the association that `id` names, or of the socket.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is no such association.
    pub(crate) fn locals_of(&self, id: i32) -> Result<Vec<SocketAddr>, Errno> {
        match (self.style, id) {
            (Style::OneToOne, _) | (Style::OneToMany, FUTURE_ASSOC) => Ok(self.locals()),
            (Style::OneToMany, _) => Ok(self.member(id)?.locals()),
        }
    }

    pub(crate) fn is_listening(&self) -> bool {
        matches!(&*lock(&self.phase), Phase::Open(hub) if hub.is_listener(self))
    }

    /// Whether IPv4 addresses are written as addresses of IPv6.
    pub(crate) fn maps_v4(&self) -> bool {
        self.is_v6 && lock(&self.settings).mapped_v4 != 0
    }
}

/// How often [`begin_when_free`] tries.
const ATTEMPTS: usize = 100;

/// Begins an association. One with the same peer that has just ended may still have its last packet to send, which the driver does in
/// its next turn.
fn begin_when_free(
    hub: &Hub,
    remotes: &[SocketAddr],
    config: &AssociationConfig,
) -> Result<Association, Errno> {
    for _ in 1..ATTEMPTS {
        match hub.endpoint.begin(remotes, config) {
            Err(ConnectError::Config(ConnectConfigError::InUse)) => Process::current().await_turn()?,
            begun => return Ok(begun?),
        }
    }
    Ok(hub.endpoint.begin(remotes, config)?)
}

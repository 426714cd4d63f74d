//! Socket: its style, its associations and its readiness.
//!
//! Each direction has a lock. Who holds it compares the state of the associations with that of the mirror and adapts the mirror,
//! so the driver's thread and a program's threads cannot leave it wrong. A reader's lock comes before those of associations.

mod establish;
mod events;
mod member;
mod options;
mod peel_off;
mod receive;
mod send;
mod unbind;
mod watch;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use anabranch::Readiness;

use crate::errno::Errno;
use crate::hub::{Hub, Place};
use crate::lock;
use crate::mirror::Mirror;
use crate::process::Process;
use crate::statistics;
pub(crate) use member::Member;
pub(crate) use options::{Answer, Init, Settings, number};
use receive::Reader;
pub(crate) use receive::{Received, Told};
use send::Writer;
pub(crate) use send::{Request, Served};

/// How associations and sockets belong together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    /// `SOCK_STREAM` (RFC 6458 §4): one association, set up by `connect` and `accept`.
    OneToOne,
    /// `SOCK_SEQPACKET` (RFC 6458 §3): any number of associations, set up by what is sent too.
    OneToMany,
}

impl Style {
    /// The style of `socket` with this domain and type; `None` if we have no such sockets.
    pub(crate) const fn of(domain: i32, kind: i32) -> Option<Self> {
        match (domain, kind & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC)) {
            (libc::AF_INET | libc::AF_INET6, libc::SOCK_STREAM) => Some(Self::OneToOne),
            (libc::AF_INET | libc::AF_INET6, libc::SOCK_SEQPACKET) => Some(Self::OneToMany),
            _ => None,
        }
    }
}

/// Whether a new descriptor does not wait, and closes on exec, by `SOCK_NONBLOCK` and `SOCK_CLOEXEC`.
pub(crate) const fn modes(flags: i32) -> (bool, bool) {
    (flags & libc::SOCK_NONBLOCK != 0, flags & libc::SOCK_CLOEXEC != 0)
}

/// A socket, which one or more descriptors refer to.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) style: Style,
    pub(crate) is_v6: bool,
    mirror: Mirror,
    pub(crate) settings: Arc<Mutex<Settings>>,
    phase: Mutex<Phase>,
    members: RwLock<Members>,
    reader: Mutex<Reader>,
    writer: Mutex<Writer>,
    /// `SO_ERROR`.
    error: AtomicI32,
    descriptors: AtomicUsize,
}

/// What a socket was made into.
#[derive(Debug)]
enum Phase {
    New,
    Bound(Place),
    /// Of the one-to-one style: it accepts. Of the one-to-many style: it may have associations.
    Open(Arc<Hub>),
    Connecting {
        /// Whether the program had bound the socket, whose place outlasts a handshake that fails.
        is_bound: bool,
    },
    Connected,
    /// All descriptors were closed; threads may still be in calls.
    Closed,
}

/// The associations of a socket.
#[derive(Debug, Default)]
struct Members {
    by_id: BTreeMap<i32, Arc<Member>>,
    /// By IP address and SCTP port: paths have no scope.
    by_peer: BTreeMap<(IpAddr, u16), i32>,
}

/// What finds an association.
const fn name_of(peer: SocketAddr) -> (IpAddr, u16) {
    (peer.ip(), peer.port())
}

impl Socket {
    /// Creates a socket and its descriptor.
    ///
    /// # Errors
    ///
    /// The system denies descriptors.
    pub(crate) fn new(
        style: Style,
        is_v6: bool,
        (nonblocking, cloexec): (bool, bool),
        settings: Arc<Mutex<Settings>>,
    ) -> Result<(Arc<Self>, OwnedFd), Errno> {
        let (mirror, program) = Mirror::new(nonblocking, cloexec)?;
        let socket = Self {
            style,
            is_v6,
            mirror,
            settings,
            phase: Mutex::new(Phase::New),
            members: RwLock::default(),
            reader: Mutex::default(),
            writer: Mutex::default(),
            error: AtomicI32::new(0),
            descriptors: AtomicUsize::new(0),
        };
        Ok((Arc::new(socket), program))
    }

    /// A descriptor that is ready as the program's is.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.mirror.descriptor()
    }

    /// Whether calls wait.
    pub(crate) fn waits(&self) -> Result<bool, Errno> {
        Ok(!self.mirror.is_nonblocking()?)
    }

    /// When a call that begins now waits no longer (`SO_SNDTIMEO`, `SO_RCVTIMEO`).
    pub(crate) fn limit(&self, sends: bool) -> Option<Instant> {
        Instant::now().checked_add(self.mirror.limit(sends)?)
    }

    /// Makes the socket readable beside what it has, or takes that back.
    pub(crate) fn mark(&self, is_readable: bool) {
        if is_readable {
            self.mirror.mark();
        } else {
            self.mirror.unmark();
        }
    }

    /// Whether closing waits for the peer (`SO_LINGER`).
    pub(crate) fn lingers(&self) -> bool {
        let (lingers, seconds) = lock(&self.settings).linger;
        lingers != 0 && seconds != 0
    }

    /// Bytes that peers have not acknowledged.
    pub(crate) fn unacknowledged(&self) -> usize {
        let unacknowledged = |member: &Arc<Member>| member.association.statistics().send_buffer_used;
        let bytes: u64 = self.all_members().iter().map(unacknowledged).sum();
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Descriptors that only the library knows.
    pub(crate) fn hidden_descriptors(&self) -> [RawFd; 2] {
        self.mirror.descriptors()
    }

    pub(crate) fn add_descriptor(&self) {
        self.descriptors.fetch_add(1, Ordering::AcqRel);
    }

    /// A descriptor was closed; the last one closes the socket.
    pub(crate) fn remove_descriptor(&self) {
        if self.descriptors.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.close();
        }
    }

    /// Shuts all associations down in the background, or as `SO_LINGER` says.
    fn close(&self) {
        let phase = std::mem::replace(&mut *lock(&self.phase), Phase::Closed);
        if let Phase::Open(hub) = phase {
            hub.stop_listening(self);
            for (association, _) in lock(&self.reader).waiting.drain(..) {
                association.abort("not accepted");
            }
        }
        let (lingers, seconds) = lock(&self.settings).linger;
        let members = std::mem::take(&mut *self.members_mut());
        for member in members.by_id.values() {
            if lingers != 0 && seconds == 0 {
                member.association.abort("closed");
                statistics::record(&member.association);
            } else {
                Process::current().shut_down(member.association.clone(), Arc::clone(&member.hub));
            }
        }
        self.mirror.hang_up();
        if lingers != 0 && seconds != 0 {
            let associations = members.by_id.values().map(|member| &member.association);
            Process::current().linger(associations, Duration::from_secs(seconds.into()));
        }
    }

    fn members(&self) -> RwLockReadGuard<'_, Members> {
        self.members.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn members_mut(&self) -> RwLockWriteGuard<'_, Members> {
        self.members.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The association of a socket of the one-to-one style.
    fn only_member(&self) -> Option<Arc<Member>> {
        self.members().by_id.values().next().cloned()
    }

    /// The associations that `id` names, which a socket of the one-to-one style ignores.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is none.
    pub(crate) fn member(&self, id: i32) -> Result<Arc<Member>, Errno> {
        let found = match self.style {
            Style::OneToOne => self.only_member(),
            Style::OneToMany => self.members().by_id.get(&id).cloned(),
        };
        found.ok_or(Errno(libc::EINVAL))
    }

    /// The identifier of the association with a peer.
    ///
    /// # Errors
    ///
    /// `ENOENT` if there is none.
    pub(crate) fn assoc_id(&self, peer: SocketAddr) -> Result<i32, Errno> {
        let member = self.member_at(peer).ok_or(Errno(libc::ENOENT))?;
        Ok(member.id)
    }

    /// All associations, in the order of their identifiers.
    pub(crate) fn all_members(&self) -> Vec<Arc<Member>> {
        self.members().by_id.values().cloned().collect()
    }

    /// The association with the peer that has this address.
    fn member_at(&self, peer: SocketAddr) -> Option<Arc<Member>> {
        let members = self.members();
        let id = members.by_peer.get(&name_of(peer))?;
        members.by_id.get(id).cloned()
    }

    /// Enters an association under addresses of its peer, which the program has named or the peer has confirmed. What another association
    /// has stays its own as long as that lives: a peer may list any address.
    fn enter(&self, member: &Arc<Member>, peers: &[SocketAddr]) {
        let mut members = self.members_mut();
        members.by_id.insert(member.id, Arc::clone(member));
        for peer in peers.iter().copied().map(name_of) {
            let other = members.by_peer.get(&peer).and_then(|id| members.by_id.get(id));
            if other.is_none_or(|other| other.is_over()) {
                members.by_peer.insert(peer, member.id);
                member.remember(peer);
            }
        }
    }

    /// Forgets an address, which the peer has no more.
    fn leave(&self, member: &Member, peer: SocketAddr) {
        let mut members = self.members_mut();
        if members.by_peer.get(&name_of(peer)) == Some(&member.id) {
            members.by_peer.remove(&name_of(peer));
        }
    }

    /// Forgets an association.
    fn forget(&self, id: i32) -> Option<Arc<Member>> {
        let mut members = self.members_mut();
        let member = members.by_id.remove(&id)?;
        for peer in member.remembered() {
            // The peer may have an association anew.
            if members.by_peer.get(&peer) == Some(&id) {
                members.by_peer.remove(&peer);
            }
        }
        Some(member)
    }

    /// Takes the error of the socket (`SO_ERROR`).
    fn take_error(&self) -> Option<Errno> {
        Some(self.error.swap(0, Ordering::AcqRel))
            .filter(|error| *error != 0)
            .map(Errno)
    }

    /// The error of the socket, which stays with `peeks`.
    fn error(&self, peeks: bool) -> Option<Errno> {
        if peeks {
            return Some(Errno(self.error.load(Ordering::Acquire))).filter(|error| error.0 != 0);
        }
        self.take_error()
    }

    /// Something can be received from or sent to an association, or it has ended.
    fn on_readiness(&self, member: &Arc<Member>, readiness: Readiness) {
        if readiness != Readiness::Send {
            let mut reader = lock(&self.reader);
            if member.is_owned_by(self) {
                reader.enqueue(member);
                self.settle_reader(&mut reader);
            }
        }
        // The end of a failed handshake is told when the error is known.
        let is_decided = member.is_established() || member.failure.get().is_some();
        if readiness != Readiness::Receive && is_decided {
            self.unblock(member);
        }
    }

    /// Queues a notification, if the program wants those of this type and has read enough of those before: beyond the size of the receive
    /// buffer, notifications are dropped.
    fn notify(&self, member: &Member, kind: u16, notice: impl FnOnce(i32) -> Vec<u8>) {
        if !lock(&member.settings).subscribes(kind) {
            return;
        }
        let limit = lock(&self.settings).receive_buffer() as usize;
        let mut reader = lock(&self.reader);
        if member.is_owned_by(self) && !reader.is_full(limit) && !lock(&member.inbox).has_ended {
            reader.push_notice(member, notice(member.id));
            self.settle_reader(&mut reader);
        }
    }

    /// Adapts the mirror to what can be received or accepted.
    fn settle_reader(&self, reader: &mut Reader) {
        let is_readable = reader.is_readable();
        if is_readable != reader.is_marked {
            reader.is_marked = is_readable;
            if is_readable {
                self.mirror.mark();
            } else {
                self.mirror.unmark();
            }
        }
    }
}

//! Association of a socket, and who owns it. A socket of the one-to-one style has one at most.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use anabranch::{Association, Reachability, Readiness, ReceivedMessage};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Socket;
use super::events::Watched;
use super::options::{HEADERS, Settings};
use crate::errno::Errno;
use crate::hub::Hub;
use crate::lock;
use crate::mirror::Mirror;
use crate::process::Process;

/// An association, which belongs to one socket at a time.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: i32,
    pub(crate) association: Association,
    pub(crate) hub: Arc<Hub>,
    /// Those of its socket in the one-to-one style, its own in the one-to-many style.
    pub(crate) settings: Arc<Mutex<Settings>>,
    owner: Mutex<Weak<Socket>>,
    /// An address of the peer, with the SCTP port.
    peer: Mutex<SocketAddr>,
    /// Under which addresses its socket finds it.
    names: Mutex<Vec<(IpAddr, u16)>>,
    is_established: AtomicBool,
    /// Why the handshake failed.
    pub(super) failure: OnceLock<Errno>,
    /// The program has said that it sends nothing more.
    pub(super) is_shut: AtomicBool,
    /// The program has aborted it. The driver may not have noticed.
    is_aborted: AtomicBool,
    pub(super) inbox: Mutex<Inbox>,
    /// What calls that send to this association, or connect, wait for in the one-to-many style.
    pub(super) gate: Mutex<Option<Arc<Mirror>>>,
    /// A message was sent.
    pub(super) sent: Notify,
    pub(super) watched: Mutex<Watched>,
    last_use: Mutex<Instant>,
}

/// What was received of an association. The lock of the socket's reader protects it.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// A message, or the rest of one.
    pub(super) pending: Option<ReceivedMessage>,
    /// Whether the association is among the reader's.
    pub(super) is_queued: bool,
    /// Whether the end was found, of which the program learns when it has received everything else.
    pub(super) has_ended: bool,
    /// The error that the association left behind, for the next call that receives, in the one-to-one style.
    pub(super) error: Option<Errno>,
}

impl Member {
    pub(super) fn new(
        owner: &Arc<Socket>,
        (association, hub): (Association, Arc<Hub>),
        peer: SocketAddr,
        settings: Arc<Mutex<Settings>>,
    ) -> Arc<Self> {
        let member = Arc::new(Self {
            id: Process::current().identify(),
            association,
            hub,
            settings,
            owner: Mutex::new(Arc::downgrade(owner)),
            peer: Mutex::new(peer),
            names: Mutex::default(),
            is_established: AtomicBool::new(false),
            failure: OnceLock::new(),
            is_shut: AtomicBool::new(false),
            is_aborted: AtomicBool::new(false),
            inbox: Mutex::default(),
            gate: Mutex::default(),
            sent: Notify::new(),
            watched: Mutex::default(),
            last_use: Mutex::new(Instant::now()),
        });
        let weak = Arc::downgrade(&member);
        member.hub.add_user(Weak::clone(&weak));
        member.association.on_readiness(move |readiness| {
            if let Some(member) = weak.upgrade() {
                member.tell(readiness);
            }
        });
        member
    }

    /// The socket that it belongs to, unless that is closed.
    pub(super) fn owner(&self) -> Option<Arc<Socket>> {
        lock(&self.owner).upgrade()
    }

    pub(super) fn set_owner(&self, owner: &Arc<Socket>) {
        *lock(&self.owner) = Arc::downgrade(owner);
    }

    pub(super) fn is_owned_by(&self, socket: &Socket) -> bool {
        std::ptr::eq(lock(&self.owner).as_ptr(), socket)
    }

    /// What can be done has changed.
    pub(super) fn tell(self: &Arc<Self>, readiness: Readiness) {
        if readiness != Readiness::Send {
            self.touch();
        }
        if let Some(owner) = self.owner() {
            owner.on_readiness(self, readiness);
        }
    }

    pub(crate) fn is_established(&self) -> bool {
        self.is_established.load(Ordering::Acquire)
    }

    /// Whether it has ended: its peer may have another one with the socket.
    pub(super) fn is_over(&self) -> bool {
        self.is_aborted.load(Ordering::Acquire) || self.association.is_closed()
    }

    /// Aborts it for the program (`SCTP_ABORT`).
    pub(super) fn abort(&self, reason: &[u8]) {
        self.is_aborted.store(true, Ordering::Release);
        self.association.abort(&String::from_utf8_lossy(reason));
    }

    /// The handshake is over. From now on the address of the peer is that of the primary path.
    pub(super) fn set_established(&self) {
        let paths = self.association.statistics().paths;
        let primary = paths.iter().find(|path| path.primary).or_else(|| paths.first());
        if let Some(path) = primary {
            *lock(&self.peer) = SocketAddr::new(path.addr.remote.ip(), self.association.sctp_ports().1);
        }
        self.is_established.store(true, Ordering::Release);
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        *lock(&self.peer)
    }

    pub(super) fn remember(&self, name: (IpAddr, u16)) {
        let mut names = lock(&self.names);
        if !names.contains(&name) {
            names.push(name);
        }
    }

    pub(super) fn remembered(&self) -> Vec<(IpAddr, u16)> {
        std::mem::take(&mut *lock(&self.names))
    }

    /// All addresses of the peer.
    pub(crate) fn peers(&self) -> Vec<SocketAddr> {
        let paths = self.association.statistics().paths;
        let mut remotes: Vec<IpAddr> = vec![self.peer().ip()];
        remotes.extend(paths.iter().map(|path| path.addr.remote.ip()));
        unique(remotes.into_iter(), self.peer().port())
    }

    /// The addresses at which the peer has answered.
    pub(super) fn confirmed_peers(&self) -> Vec<SocketAddr> {
        let paths = self.association.statistics().paths;
        let confirmed = paths
            .iter()
            .filter(|path| path.reachability != Reachability::Unconfirmed);
        unique(confirmed.map(|path| path.addr.remote.ip()), self.peer().port())
    }

    /// Whether packets leave from an address, or may arrive there.
    pub(crate) fn uses(&self, local: SocketAddr) -> bool {
        let paths = self.association.statistics().paths;
        !self.association.is_closed() && paths.iter().any(|path| path.addr.local == local)
    }

    /// Our addresses; the first is that of the primary path.
    pub(crate) fn locals(&self) -> Vec<SocketAddr> {
        let mut paths = self.association.statistics().paths;
        paths.sort_by_key(|path| !path.primary);
        let locals = paths.iter().map(|path| path.addr.local.ip());
        unique(locals, self.association.sctp_ports().0)
    }

    /// The longest message that is sent in one packet on the primary path.
    pub(super) fn largest_unfragmented(&self) -> usize {
        let paths = self.association.statistics().paths;
        let primary = paths.iter().find(|path| path.primary).or_else(|| paths.first());
        let of_path = primary.map_or(usize::MAX, |path| path.mtu.saturating_sub(HEADERS).into());
        let of_program = lock(&self.settings).max_fragment();
        of_program.map_or(of_path, |bytes| of_path.min(bytes.into()))
    }

    /// Data was sent or received.
    pub(super) fn touch(&self) {
        *lock(&self.last_use) = Instant::now();
    }

    /// Messages that were received, and bytes that wait to be; either changes when data arrives.
    pub(super) fn received(&self) -> (u64, u64) {
        let statistics = self.association.statistics();
        (statistics.messages_received, statistics.receive_buffer_used)
    }

    pub(super) fn last_use(&self) -> Instant {
        *lock(&self.last_use)
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

//! Socket of the one-to-one style: its state, and its readiness.
//!
//! Each direction has a lock. Who holds it compares the state of the association with that of the mirror and adapts the mirror,
//! so the driver's thread and a program's thread cannot leave it wrong.

mod establish;
mod options;
mod transfer;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use anabranch::{Association, Readiness, ReceivedMessage};

use crate::errno::Errno;
use crate::hub::{Hub, Place};
use crate::layout::{self, AssocState};
use crate::lock;
use crate::mirror::Mirror;
use crate::process::Process;
pub(crate) use options::{Answer, Settings};
pub(crate) use transfer::Received;

/// A socket, which one or more descriptors refer to.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) is_v6: bool,
    mirror: Mirror,
    pub(crate) settings: Mutex<Settings>,
    phase: Mutex<Phase>,
    connection: OnceLock<Connection>,
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
    Listening(Arc<Hub>),
    Connecting,
    Connected,
}

/// An association.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) association: Association,
    hub: Arc<Hub>,
    peer: SocketAddr,
}

#[derive(Debug, Default)]
struct Reader {
    /// Whether the mirror is readable.
    is_marked: bool,
    /// Notifications that come before the next message.
    notices: VecDeque<Vec<u8>>,
    /// A message, or the rest of one.
    pending: Option<ReceivedMessage>,
    /// Whether the program knows of the end.
    has_ended: bool,
    /// Associations to accept.
    waiting: VecDeque<Association>,
    backlog: usize,
}

#[derive(Debug, Default)]
struct Writer {
    /// Whether the mirror is not writable.
    is_full: bool,
    /// Whether the program has shut this direction down.
    is_shut: bool,
}

impl Socket {
    /// Creates a socket and its descriptor.
    ///
    /// # Errors
    ///
    /// The system denies descriptors.
    pub(crate) fn new(is_v6: bool, nonblocking: bool, cloexec: bool) -> Result<(Arc<Self>, OwnedFd), Errno> {
        let (mirror, program) = Mirror::new(nonblocking, cloexec)?;
        let socket = Self {
            is_v6,
            mirror,
            settings: Mutex::default(),
            phase: Mutex::new(Phase::New),
            connection: OnceLock::new(),
            reader: Mutex::default(),
            writer: Mutex::default(),
            error: AtomicI32::new(0),
            descriptors: AtomicUsize::new(0),
        };
        Ok((Arc::new(socket), program))
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

    fn close(&self) {
        let phase = std::mem::replace(&mut *lock(&self.phase), Phase::New);
        if let Phase::Listening(hub) = phase {
            *lock(&hub.listener) = Weak::new();
            for association in lock(&self.reader).waiting.drain(..) {
                association.abort("not accepted");
            }
        }
        if let Some(connection) = self.connection.get() {
            let association = connection.association.clone();
            if lock(&self.settings).linger == (1, 0) {
                association.abort("closed");
            } else {
                Process::current().shut_down(association, Arc::clone(&connection.hub));
            }
        }
        self.mirror.hang_up();
    }

    pub(crate) fn connection(&self) -> Result<&Connection, Errno> {
        self.connection.get().ok_or(Errno(libc::ENOTCONN))
    }

    /// Takes the error of the socket (`SO_ERROR`).
    fn take_error(&self) -> Option<Errno> {
        Some(self.error.swap(0, Ordering::AcqRel))
            .filter(|error| *error != 0)
            .map(Errno)
    }

    /// From now on the socket is an association's.
    fn attach(self: &Arc<Self>, association: Association, hub: Arc<Hub>) {
        let paths = association.statistics().paths;
        let primary = paths.iter().find(|path| path.primary).or_else(|| paths.first());
        let ip = primary.map_or_else(|| [0; 4].into(), |path| path.addr.remote.ip());
        let peer = SocketAddr::new(ip, association.sctp_ports().1);
        let streams = association.streams();
        let _ = self.connection.set(Connection {
            association,
            hub,
            peer,
        });
        let Ok(connection) = self.connection() else { return };
        if lock(&self.settings).subscribes(layout::ASSOC_CHANGE) {
            let notice = layout::assoc_change(AssocState::CommUp, streams);
            lock(&self.reader).notices.push_back(notice);
        }
        let weak = Arc::downgrade(self);
        connection.association.on_readiness(move |readiness| {
            if let Some(socket) = weak.upgrade() {
                socket.on_readiness(readiness);
            }
        });
        *lock(&self.phase) = Phase::Connected;
        self.on_readiness(Readiness::Both);
    }

    fn on_readiness(&self, readiness: Readiness) {
        if readiness != Readiness::Send {
            self.settle_reader(&mut lock(&self.reader));
        }
        if readiness != Readiness::Receive {
            self.set_full(&mut lock(&self.writer), false);
        }
    }

    /// Adapts the mirror to what can be received or accepted.
    fn settle_reader(&self, reader: &mut Reader) {
        let is_readable = !reader.notices.is_empty()
            || !reader.waiting.is_empty()
            || reader.pending.is_some()
            || self
                .connection
                .get()
                .is_some_and(|connection| connection.association.is_readable());
        if is_readable != reader.is_marked {
            reader.is_marked = is_readable;
            if is_readable {
                self.mirror.mark();
            } else {
                self.mirror.unmark();
            }
        }
    }

    /// Makes the mirror writable or not.
    fn set_full(&self, writer: &mut Writer, is_full: bool) {
        if is_full != writer.is_full {
            writer.is_full = is_full;
            if is_full {
                self.mirror.fill();
            } else {
                self.mirror.drain();
            }
        }
    }

    /// Waits until something can be received or accepted.
    fn wait_readable(&self, is_patient: bool) -> Result<(), Errno> {
        if !is_patient {
            return Err(Errno(libc::EAGAIN));
        }
        self.mirror.wait_readable()
    }

    /// Waits until something can be sent, or the handshake is over.
    fn wait_writable(&self, is_patient: bool) -> Result<(), Errno> {
        if !is_patient {
            return Err(Errno(libc::EAGAIN));
        }
        self.mirror.wait_writable()?;
        if !lock(&self.writer).is_full {
            self.mirror.drain();
        }
        Ok(())
    }
}

//! Descriptor table: which descriptors are ours, and which socket is behind each?
//!
//! A descriptor of somebody else costs one load of one byte.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, PoisonError};

use crate::errno::Errno;
use crate::ffi::hooks::Uncancelled;
use crate::fork::Handle;
use crate::process::Process;
use crate::socket::Socket;

/// Descriptors from here on are never ours.
const LIMIT: usize = 1 << 16;

const FOREIGN: u8 = 0;
const OURS: u8 = 1;
/// Ours in the process that forked this one.
const INHERITED: u8 = 2;

static KINDS: [AtomicU8; LIMIT] = [const { AtomicU8::new(FOREIGN) }; LIMIT];

fn kind(fd: RawFd) -> Option<&'static AtomicU8> {
    KINDS.get(usize::try_from(fd).ok()?)
}

/// A socket that a call has found. The thread cannot be cancelled meanwhile.
#[derive(Debug)]
pub(crate) struct Found<T> {
    target: T,
    _uncancelled: Uncancelled,
}

impl<T> Deref for Found<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.target
    }
}

/// Whether a descriptor is ours, created here or inherited.
pub(crate) fn contains(fd: RawFd) -> bool {
    kind(fd).is_some_and(|kind| kind.load(Ordering::Acquire) != FOREIGN)
}

/// The socket of a descriptor; `None` if it is not ours.
///
/// # Errors
///
/// `ENOTSUP` if its driver runs in an ancestor of this process that cannot be reached.
pub(crate) fn find(fd: RawFd) -> Option<Result<Found<Handle>, Errno>> {
    let kind = kind(fd)?.load(Ordering::Acquire);
    if kind == FOREIGN {
        return None;
    }
    let _uncancelled = Uncancelled::new();
    let found = handle(fd, kind)?;
    Some(found.map(|target| Found { target, _uncancelled }))
}

fn handle(fd: RawFd, kind: u8) -> Option<Result<Handle, Errno>> {
    match kind {
        INHERITED => {
            let found = Process::current()
                .inherited()
                .and_then(|inherited| inherited.find(fd));
            Some(found.map(Handle::There).ok_or(Errno(libc::ENOTSUP)))
        }
        _ => {
            let sockets = Process::current().sockets(fd).read();
            let sockets = sockets.unwrap_or_else(PoisonError::into_inner);
            Some(Ok(Handle::Here(Arc::clone(sockets.get(&fd)?))))
        }
    }
}

/// The socket of a descriptor, for calls that only the process with its driver can make; `None` if it is not ours.
///
/// # Errors
///
/// `ENOTSUP` in other processes.
pub(crate) fn find_here(fd: RawFd) -> Option<Result<Found<Arc<Socket>>, Errno>> {
    Some(find(fd)?.and_then(|found| {
        Ok(Found {
            target: found.target.local()?,
            _uncancelled: found._uncancelled,
        })
    }))
}

/// Enters a descriptor.
///
/// # Errors
///
/// `EMFILE` if its number is too high.
pub(crate) fn insert(fd: RawFd, handle: Handle) -> Result<(), Errno> {
    let kind = kind(fd).ok_or(Errno(libc::EMFILE))?;
    let socket = match handle {
        Handle::Here(socket) => socket,
        Handle::There(remote) => {
            if let Some(inherited) = Process::current().inherited() {
                inherited.insert(fd, remote);
            }
            kind.store(INHERITED, Ordering::Release);
            return Ok(());
        }
    };
    socket.add_descriptor();
    let sockets = Process::current().sockets(fd).write();
    sockets.unwrap_or_else(PoisonError::into_inner).insert(fd, socket);
    kind.store(OURS, Ordering::Release);
    Ok(())
}

/// Forgets a descriptor, which is about to be closed. The last one of a socket closes the socket.
pub(crate) fn remove(fd: RawFd) {
    let Some(kind) = kind(fd) else { return };
    let before = kind.swap(FOREIGN, Ordering::AcqRel);
    if before == FOREIGN {
        return;
    }
    let _uncancelled = Uncancelled::new();
    if before == INHERITED
        && let Some(inherited) = Process::current().inherited()
    {
        inherited.remove(fd);
    }
    if before == OURS {
        let sockets = Process::current().sockets(fd).write();
        let removed = sockets.unwrap_or_else(PoisonError::into_inner).remove(&fd);
        if let Some(socket) = removed {
            socket.remove_descriptor();
        }
    }
}

/// The process has forked, and this is the child, which has one thread. Memory that has no descriptor of ours stays shared.
pub(crate) fn inherit() {
    for kind in &KINDS {
        if kind.load(Ordering::Acquire) == OURS {
            kind.store(INHERITED, Ordering::Release);
        }
    }
}

/// All sockets of this process, by descriptor.
pub(crate) fn all_ours() -> BTreeMap<RawFd, Arc<Socket>> {
    let socket = |fd| Some((fd, Arc::clone(&*find_here(fd)?.ok()?)));
    ours().filter_map(socket).collect()
}

/// All descriptors that are ours, created here or inherited.
pub(crate) fn all() -> impl Iterator<Item = RawFd> {
    let numbers = (0..).zip(&KINDS).map(|(fd, _)| fd);
    numbers.filter(|fd| contains(*fd))
}

/// All descriptors that were created here.
pub(crate) fn ours() -> impl Iterator<Item = RawFd> {
    let is_ours = |(_, kind): &(RawFd, &AtomicU8)| kind.load(Ordering::Acquire) == OURS;
    (0..).zip(&KINDS).filter(is_ours).map(|(fd, _)| fd)
}

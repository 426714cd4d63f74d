//! Sockets after a fork: what can the child do with those of its parent?
//!
//! The driver stays in the process that created a socket. Each child has a channel to it, a socket pair made before the fork, through
//! which it passes calls on inherited sockets; a thread of the parent answers them without waiting. The child itself waits on the
//! descriptor, which is the parent's. When the child has closed a descriptor or ended, the parent drops that reference.
//!
//! | file | contents |
//! |---|---|
//! | `call` | calls and answers as bytes |
//! | `serve` | the parent's side |
//! | `remote` | the child's side |
//! | `handle` | a socket, here or in the parent |

mod call;
mod handle;
mod remote;
mod serve;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::errno::Errno;
use crate::process::Process;
use crate::socket::Socket;
use crate::{ffi, lock, mirror, table};
pub(crate) use handle::Handle;
pub(crate) use remote::{Inherited, Remote};

/// The parent's ends of channels, and those to be passed to a child of a child. A child closes them: else it would keep channels of others open.
static SERVED: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());

thread_local! {
    /// What [`before`] has prepared for the handlers that follow on the same thread.
    static PREPARED: RefCell<Option<Prepared>> = const { RefCell::new(None) };
}

/// What a fork needs.
struct Prepared {
    /// Nobody opens or closes a channel during the fork: the child would have ends that it does not know.
    served: MutexGuard<'static, Vec<RawFd>>,
    /// For the sockets of this process: both ends, and the sockets by number.
    own: Option<(UnixStream, UnixStream, BTreeMap<i32, Arc<Socket>>)>,
    /// For those that this process has inherited: the child's end, and numbers by descriptor.
    inherited: Option<(UnixStream, BTreeMap<RawFd, i32>)>,
}

/// Both ends of a channel, far from the descriptors of the program.
fn channel() -> Result<(UnixStream, UnixStream), Errno> {
    let (one, other) = UnixStream::pair()?;
    Ok((
        mirror::far(&one.into())?.into(),
        mirror::far(&other.into())?.into(),
    ))
}

/// The process is about to fork.
pub(crate) fn before() {
    let process = Process::current();
    let served = lock(&SERVED);
    let sockets: BTreeMap<i32, Arc<Socket>> = table::all_ours();
    let own = if sockets.is_empty() { None } else { channel().ok() };
    let own = own.map(|(ours, theirs)| {
        sockets.values().for_each(|socket| socket.add_descriptor());
        (ours, theirs, sockets)
    });
    let inherited = process.inherited().and_then(Inherited::for_child);
    PREPARED.set(Some(Prepared {
        served,
        own,
        inherited,
    }));
}

/// The process has forked, or failed to.
pub(crate) fn after_in_parent() {
    let Some(Prepared { mut served, own, .. }) = PREPARED.take() else {
        return;
    };
    if let Some((ours, theirs, sockets)) = own {
        drop(theirs);
        served.push(ours.as_raw_fd());
        drop(served);
        serve::start(ours, sockets);
    }
}

/// This is the child.
pub(crate) fn after_in_child() {
    let prepared = PREPARED.take();
    table::inherit();
    let Some(Prepared {
        mut served,
        own,
        inherited,
    }) = prepared
    else {
        return;
    };
    served.drain(..).for_each(ffi::hooks::close);
    drop(served);
    let mut all = Inherited::default();
    if let Some((ours, theirs, sockets)) = own {
        drop(ours);
        all.add(theirs, sockets.keys().map(|fd| (*fd, *fd)));
        // Else the child would not see that the parent has ended.
        let hidden: BTreeSet<RawFd> = sockets
            .values()
            .flat_map(|socket| socket.hidden_descriptors())
            .collect();
        hidden.into_iter().for_each(ffi::hooks::close);
        // Threads of the parent may hold their locks.
        std::mem::forget(sockets);
    }
    if let Some((channel, numbers)) = inherited {
        all.add(channel, numbers.into_iter());
    }
    Process::current().inherit(all);
}

/// A channel for a child of a child: the parent's end, and the other one until it is passed.
fn channel_to_pass() -> Result<(UnixStream, UnixStream), Errno> {
    let mut all = lock(&SERVED);
    let (ours, theirs) = channel()?;
    all.extend([ours.as_raw_fd(), theirs.as_raw_fd()]);
    Ok((ours, theirs))
}

/// Closes a descriptor. If it is an end of a channel, it is entered no more.
fn close_entered(descriptor: OwnedFd) {
    let mut all = lock(&SERVED);
    all.retain(|fd| *fd != descriptor.as_raw_fd());
    drop(descriptor);
}

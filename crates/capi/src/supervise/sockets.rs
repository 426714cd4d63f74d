//! Sockets of the supervised program: which descriptor is which, and when is a socket closed?
//!
//! A descriptor is recognized by the socket pair behind it, which stays the same however a process came by it: by duplication, by a
//! fork, or by running another program. A socket is closed when no process has a descriptor of it.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::time::Instant;
use std::{fs, io};

use rustix::process::{Pid, Signal};

use super::filter::FIRST;
use super::numbers::Numbers;
use crate::errno::Errno;
use crate::ffi::seccomp;
use crate::socket::Socket;

/// Device and inode of a socket pair.
type Inode = (u64, u64);

#[derive(Debug, Default)]
pub(super) struct Sockets {
    all: BTreeMap<Inode, Arc<Socket>>,
    /// Those of which a process has, or had, several descriptors.
    shared: BTreeSet<Inode>,
    /// Those that nobody had when they were looked for last.
    unused: BTreeSet<Inode>,
    /// When to look for sockets that nobody has any more.
    sweep_at: Option<Instant>,
    numbers: Numbers,
}

/// A descriptor of a process.
fn path(thread: u32, fd: i32) -> String {
    format!("/proc/{thread}/fd/{fd}")
}

fn inode(path: &str) -> Option<Inode> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

impl Sockets {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether the program has a socket.
    pub(super) fn contains(&self, socket: &Arc<Socket>) -> bool {
        self.all.values().any(|known| Arc::ptr_eq(known, socket))
    }

    /// The socket behind a descriptor of a thread; `None` if it is not ours.
    pub(super) fn find(&self, thread: u32, fd: i32) -> Option<Arc<Socket>> {
        if self.all.is_empty() {
            return None;
        }
        self.all.get(&inode(&path(thread, fd))?).cloned()
    }

    /// Enters a socket, of which `program` is a descriptor.
    pub(super) fn enter(&mut self, socket: Arc<Socket>, program: &OwnedFd) -> Result<(), Errno> {
        let own = path(std::process::id(), program.as_raw_fd());
        socket.add_descriptor();
        self.all.insert(inode(&own).ok_or(Errno(libc::EIO))?, socket);
        Ok(())
    }

    /// A number for a new descriptor of a thread, which is `least` at least.
    ///
    /// # Errors
    ///
    /// `EMFILE` if the program may not have so many.
    pub(super) fn free_number(&mut self, thread: u32, least: i32) -> Result<i32, Errno> {
        let is_free = |number: i32| fs::symlink_metadata(path(thread, number)).is_err();
        let limit = seccomp::descriptor_limit(thread);
        let number = self.numbers.free(least, limit, is_free);
        number.ok_or(Errno(libc::EMFILE))
    }

    /// A thread gets another descriptor of a socket.
    pub(super) fn share(&mut self, thread: u32, fd: i32) {
        self.shared.extend(inode(&path(thread, fd)));
    }

    /// A thread is about to close a descriptor. The last one of a socket closes the socket.
    pub(super) fn close(&mut self, thread: u32, fd: i32) {
        let Some(closed) = inode(&path(thread, fd)) else {
            return;
        };
        self.numbers.closed(fd);
        let is_only = descendants().is_some_and(|all| all.len() == 1) && !self.shared.contains(&closed);
        let closing = Some((process_of(thread), fd));
        // A process that forks and ends meanwhile can hide its child from one look.
        let is_held = || held(closing).is_none_or(|held| held.contains(&closed));
        if is_only || (!is_held() && !is_held()) {
            self.remove(closed);
        }
    }

    fn remove(&mut self, inode: Inode) {
        self.shared.remove(&inode);
        self.unused.remove(&inode);
        if let Some(socket) = self.all.remove(&inode) {
            release(socket);
        }
    }

    /// Closes the sockets of which no process had a descriptor at two looks: one that had was killed, or runs another program. This takes a
    /// small part of the time, however many descriptors there are.
    pub(super) fn sweep_at_times(&mut self) {
        let began = Instant::now();
        if self.all.is_empty() || self.sweep_at.is_some_and(|at| began < at) {
            return;
        }
        let Some(held) = held(None) else { return };
        let unused = |inode: &Inode| !held.contains(inode);
        let now: BTreeSet<Inode> = self.all.keys().copied().filter(unused).collect();
        let before = std::mem::replace(&mut self.unused, now);
        let closed: Vec<Inode> = self.unused.intersection(&before).copied().collect();
        closed.into_iter().for_each(|inode| self.remove(inode));
        self.sweep_at = began.checked_add(began.elapsed() * 50);
    }

    /// All processes have ended.
    pub(super) fn close_all(&mut self) {
        std::mem::take(&mut self.all)
            .values()
            .for_each(|socket| socket.remove_descriptor());
    }
}

/// Takes the only descriptor of a socket away, in a thread of its own if that waits for the peer.
fn release(socket: Arc<Socket>) {
    if socket.lingers() {
        std::thread::spawn(move || socket.remove_descriptor());
    } else {
        socket.remove_descriptor();
    }
}

/// Closes a socket of which the program has got no descriptor.
pub(super) fn close(socket: Arc<Socket>) {
    socket.add_descriptor();
    release(socket);
}

/// What all descriptors of the program's processes refer to that may be ours, except one of a process. `None` if it cannot be found out now.
fn held(closing: Option<(u32, i32)>) -> Option<BTreeSet<Inode>> {
    let mut held = BTreeSet::new();
    for process in descendants().filter(|all| !all.is_empty())? {
        for fd in numbers(&format!("/proc/{process}/fd"))? {
            if fd >= u64::from(FIRST.cast_unsigned()) && closing != Some((process, fd as i32)) {
                held.extend(inode(&path(process, fd as i32)));
            }
        }
    }
    Some(held)
}

/// What was read of a process; nothing if that has ended. `None` if this process may not open another file now.
fn unless_exhausted<T: Default>(read: io::Result<T>) -> Option<T> {
    match read {
        Err(error)
            if matches!(
                error.raw_os_error(),
                Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM)
            ) =>
        {
            None
        }
        read => Some(read.unwrap_or_default()),
    }
}

/// Names in a folder of a process that are numbers.
fn numbers(folder: &str) -> Option<Vec<u64>> {
    let entries = unless_exhausted(fs::read_dir(folder).map(Some))?;
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    Some(
        entries
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(number)
            .collect(),
    )
}

/// A number that the system tells of a thread; `None` if it has ended.
fn status_field(thread: u32, name: &str) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok();
    status.lines().find_map(value)
}

/// The process of a thread.
fn process_of(thread: u32) -> u32 {
    status_field(thread, "Tgid").unwrap_or(thread)
}

/// Sends a signal to the process of a thread.
pub(super) fn signal(thread: u32, signal: Signal) {
    if let Some(process) = Pid::from_raw(process_of(thread).cast_signed()) {
        let _ = rustix::process::kill_process(process, signal);
    }
}

/// The program's processes, which have its filter beside those of this process. This process may have had other children before.
pub(super) fn processes_of_the_program() -> impl Iterator<Item = u32> {
    let filters = |process: u32| status_field(process, "Seccomp_filters").unwrap_or(0);
    let own = filters(std::process::id());
    let all = descendants().unwrap_or_default().into_iter();
    all.filter(move |process| filters(*process) > own)
}

/// All processes below this one. `None` if they cannot be found out now.
fn descendants() -> Option<Vec<u32>> {
    let mut found: Vec<u32> = Vec::new();
    let mut at = 0;
    let mut process = std::process::id();
    loop {
        for task in numbers(&format!("/proc/{process}/task"))? {
            let children = fs::read_to_string(format!("/proc/{process}/task/{task}/children"));
            let children = unless_exhausted(children)?;
            let numbers = children.split_ascii_whitespace();
            found.extend(numbers.filter_map(|child| child.parse::<u32>().ok()));
        }
        let Some(next) = found.get(at) else {
            return Some(found);
        };
        process = *next;
        at += 1;
    }
}

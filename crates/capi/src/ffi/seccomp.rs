//! System calls of the supervisor: the filter of a program, its notifications, its memory, and signals.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use libc::{
    c_int, c_ulong, iovec, pid_t, seccomp_notif, seccomp_notif_addfd, seccomp_notif_resp, sock_filter,
    sock_fprog, ssize_t,
};

use rustix::process::Signal;

use crate::errno::Errno;

/// A system call of the program, which waits for its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notification {
    pub(crate) id: u64,
    /// The thread.
    pub(crate) thread: u32,
    pub(crate) number: i64,
    pub(crate) arguments: [u64; 6],
}

/// Where the system calls of a program arrive.
#[derive(Debug)]
pub(crate) struct Listener(OwnedFd);

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Listener {
    pub(crate) const fn new(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }

    fn control<T>(&self, request: libc::Ioctl, argument: &mut T) -> Result<c_int, Errno> {
        // SAFETY: each request is used with the structure that it is declared with.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), request, std::ptr::from_mut(argument)) };
        if result < 0 {
            return Err(super::memory::last_error());
        }
        Ok(result)
    }

    /// The next call.
    ///
    /// # Errors
    ///
    /// `ENOENT` if the thread has ended or was interrupted meanwhile, `EINTR`.
    pub(crate) fn receive(&self) -> Result<Notification, Errno> {
        // SAFETY: the structure consists of numbers, and the kernel wants zeros.
        let mut notification: seccomp_notif = unsafe { std::mem::zeroed() };
        self.control(libc::SECCOMP_IOCTL_NOTIF_RECV, &mut notification)?;
        Ok(Notification {
            id: notification.id,
            thread: notification.pid,
            number: notification.data.nr.into(),
            arguments: notification.data.args,
        })
    }

    /// Whether a call still waits: a signal may have interrupted it.
    pub(crate) fn is_waiting(&self, mut id: u64) -> bool {
        self.control(libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &mut id).is_ok()
    }

    fn send(&self, id: u64, val: i64, error: i32, flags: u32) -> Result<(), Errno> {
        let mut answer = seccomp_notif_resp {
            id,
            val,
            error,
            flags,
        };
        self.control(libc::SECCOMP_IOCTL_NOTIF_SEND, &mut answer)
            .map(drop)
    }

    /// Answers a call.
    ///
    /// # Errors
    ///
    /// `ENOENT` if it waits no longer.
    pub(crate) fn answer(&self, id: u64, result: Result<i64, Errno>) -> Result<(), Errno> {
        match result {
            Ok(value) => self.send(id, value, 0, 0),
            Err(Errno(number)) => self.send(id, 0, -number, 0),
        }
    }

    /// Has the kernel execute a call.
    ///
    /// # Errors
    ///
    /// As [`answer`](Self::answer).
    pub(crate) fn pass(&self, id: u64) -> Result<(), Errno> {
        self.send(id, 0, 0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32)
    }

    /// Gives the program a descriptor with this number, and answers its call by that.
    ///
    /// # Errors
    ///
    /// As [`answer`](Self::answer); `EBADF` if the program may not have so many.
    pub(crate) fn give(
        &self,
        id: u64,
        descriptor: BorrowedFd<'_>,
        number: RawFd,
        cloexec: bool,
    ) -> Result<(), Errno> {
        let mut given = seccomp_notif_addfd {
            id,
            flags: (libc::SECCOMP_ADDFD_FLAG_SETFD | libc::SECCOMP_ADDFD_FLAG_SEND) as u32,
            srcfd: descriptor.as_raw_fd().cast_unsigned(),
            newfd: number.cast_unsigned(),
            newfd_flags: if cloexec { libc::O_CLOEXEC as u32 } else { 0 },
        };
        self.control(libc::SECCOMP_IOCTL_NOTIF_ADDFD, &mut given)
            .map(drop)
    }
}

/// An instruction of a filter.
pub(crate) type Instruction = (u16, u8, u8, u32);

/// Has `command` run under a filter and with these signals blocked. `began` gets the number of the listener, before the program begins.
pub(crate) fn filtered(
    command: &mut Command,
    filter: &[Instruction],
    blocked: Blocked,
    began: impl Fn(RawFd) -> io::Result<()> + Send + Sync + 'static,
) {
    let to_instruction = |&(code, jt, jf, k): &Instruction| sock_filter { code, jt, jf, k };
    let filter: Vec<sock_filter> = filter.iter().map(to_instruction).collect();
    let install = move || {
        // SAFETY: the set was returned by the same function; null is allowed.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const blocked.0, std::ptr::null_mut()) };
        began(install(&filter)?)
    };
    // SAFETY: the closure allocates no memory and takes no locks; it makes system calls only.
    unsafe { command.pre_exec(install) };
}

/// Installs a filter in this process; returns its listener.
fn install(filter: &[sock_filter]) -> io::Result<RawFd> {
    let program = sock_fprog {
        len: u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        filter: filter.as_ptr().cast_mut(),
    };
    let none: c_ulong = 0;
    // SAFETY: no pointers.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1 as c_ulong, none, none, none) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let (operation, flags) = (
        libc::SECCOMP_SET_MODE_FILTER,
        libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
    );
    // SAFETY: the kernel reads the program, which is valid during the call.
    let listener = unsafe { libc::syscall(libc::SYS_seccomp, operation, flags, &raw const program) };
    RawFd::try_from(listener)
        .ok()
        .filter(|listener| *listener >= 0)
        .ok_or_else(io::Error::last_os_error)
}

/// A piece of the program's memory.
fn piece(at: u64, length: usize) -> iovec {
    iovec {
        iov_base: at as *mut c_void,
        iov_len: length,
    }
}

/// A place in the memory of a program, and a length.
pub(crate) type Place = (u64, usize);

/// `process_vm_readv` or `process_vm_writev`.
type CopyCall = unsafe extern "C" fn(pid_t, *const iovec, c_ulong, *const iovec, c_ulong, c_ulong) -> ssize_t;

/// Copies between our memory and places of a program, one after another; returns the number of bytes up to the first place that it has not.
///
/// # Safety
///
/// `ours` is memory of this process, writable if `copy` writes to it.
unsafe fn copy_with(copy: CopyCall, thread: u32, ours: iovec, places: &[Place]) -> usize {
    if ours.iov_len == 0 {
        return 0;
    }
    let theirs: Vec<iovec> = places.iter().map(|(at, length)| piece(*at, *length)).collect();
    let (count, thread) = (theirs.len() as c_ulong, thread.cast_signed());
    // SAFETY: the caller vouches for ours; the kernel checks theirs.
    let copied = unsafe { copy(thread, &raw const ours, 1, theirs.as_ptr(), count, 0) };
    usize::try_from(copied).unwrap_or(0)
}

/// Reads memory of a program, from places one after another, up to the first one that it has not.
pub(crate) fn read_some(thread: u32, places: &[Place]) -> Vec<u8> {
    let mut bytes = vec![0; length_of(places)];
    let ours = piece(bytes.as_mut_ptr() as u64, bytes.len());
    // SAFETY: ours is writable memory of this length.
    let count = unsafe { copy_with(libc::process_vm_readv, thread, ours, places) };
    bytes.truncate(count);
    bytes
}

/// Reads memory of a program, from places one after another.
///
/// # Errors
///
/// `EFAULT` if it has none there.
pub(crate) fn read(thread: u32, places: &[Place]) -> Result<Vec<u8>, Errno> {
    let bytes = read_some(thread, places);
    all_of(length_of(places), bytes.len()).map(|()| bytes)
}

/// Writes memory of a program, to places one after another, as far as the bytes go.
///
/// # Errors
///
/// `EFAULT` if it has none there.
pub(crate) fn write(thread: u32, places: &[Place], bytes: &[u8]) -> Result<(), Errno> {
    let ours = piece(bytes.as_ptr() as u64, bytes.len());
    // SAFETY: ours is readable memory of this length, and is not written to.
    let count = unsafe { copy_with(libc::process_vm_writev, thread, ours, places) };
    all_of(bytes.len(), count)
}

fn length_of(places: &[Place]) -> usize {
    places.iter().map(|(_, length)| length).sum()
}

fn all_of(length: usize, copied: usize) -> Result<(), Errno> {
    if copied == length {
        Ok(())
    } else {
        Err(Errno(libc::EFAULT))
    }
}

/// How many descriptors the process of a thread may have, or more than there can be if that is not known.
pub(crate) fn descriptor_limit(thread: u32) -> i32 {
    let mut limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: the structure is writable; null is allowed.
    unsafe {
        libc::prlimit(
            thread.cast_signed(),
            libc::RLIMIT_NOFILE,
            std::ptr::null(),
            &raw mut limit,
        )
    };
    i32::try_from(limit.rlim_cur).unwrap_or(i32::MAX)
}

/// Signals that somebody may send to the supervisor and that are for the program.
const FORWARDED: [c_int; 7] = [
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGCONT,
];

fn forwarded() -> libc::sigset_t {
    // SAFETY: `sigemptyset` initializes the set, which is writable.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        FORWARDED.iter().for_each(|signal| {
            libc::sigaddset(&raw mut set, *signal);
        });
        set
    }
}

/// Signals that a thread does not get.
#[derive(Clone, Copy)]
pub(crate) struct Blocked(libc::sigset_t);

/// From now on, the signals wait for [`forward`], in this thread and those that it creates. Returns what was blocked before.
pub(crate) fn hold_signals() -> Blocked {
    let set = forwarded();
    // SAFETY: both sets are valid, and the second one is written.
    unsafe {
        let mut before = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before);
        Blocked(before)
    }
}

/// Passes signals on, forever. The terminal sends its own to all processes that it has, so these are not passed on.
pub(crate) fn forward(pass_on: impl Fn(Signal)) {
    let set = forwarded();
    loop {
        // SAFETY: the structure consists of numbers.
        let mut about: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: the set is initialized, and the structure is writable.
        let signal = unsafe { libc::sigwaitinfo(&raw const set, &raw mut about) };
        if about.si_code <= libc::SI_USER {
            Signal::from_named_raw(signal).into_iter().for_each(&pass_on);
        }
    }
}

/// Runs as soon as the library is loaded, before the program that it was preloaded into.
#[cfg(not(any(test, feature = "fuzzing")))]
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

#[cfg(not(any(test, feature = "fuzzing")))]
extern "C" fn start() {
    // The library may be linked into such a program, where the variable would have it run any other one.
    if !super::privileges::exceed_those_of_the_starter() {
        crate::supervise::start();
    }
}

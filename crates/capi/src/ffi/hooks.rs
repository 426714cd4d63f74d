//! Hooks of the C library: fork, exit and signals.

use std::mem::MaybeUninit;
use std::sync::Once;

use libc::{c_int, c_void, size_t, ssize_t};

use super::memory;
use super::next::next;
use crate::errno::Errno;
use crate::{fork, process};

/// Has the process tell us of forks and of its end.
pub(crate) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: both functions take no arguments and exist as long as the library, which is never unloaded.
        unsafe {
            libc::pthread_atfork(Some(prepare), Some(parent), Some(child));
            libc::atexit(exit);
        }
    });
}

extern "C" fn prepare() {
    let _uncancelled = Uncancelled::new();
    fork::before();
}

extern "C" fn parent() {
    let _uncancelled = Uncancelled::new();
    fork::after_in_parent();
}

extern "C" fn child() {
    let _uncancelled = Uncancelled::new();
    process::forked();
}

extern "C" fn exit() {
    process::exits();
}

/// Runs `start` with all signals blocked, as threads that it creates will have them.
pub(crate) fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are writable, and `all` is initialized by `sigfillset` before it is read.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let result = start();
    // SAFETY: `before` was written by the first call, which cannot fail with valid arguments.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    result
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

/// While it exists, the thread is not cancelled: nothing may unwind through functions that have something to drop.
#[derive(Debug)]
pub(crate) struct Uncancelled {
    before: c_int,
}

impl Uncancelled {
    pub(crate) fn new() -> Self {
        const DISABLE: c_int = 1;
        let mut before = 0;
        // SAFETY: the second argument is a writable integer.
        unsafe { pthread_setcancelstate(DISABLE, &raw mut before) };
        Self { before }
    }
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        // SAFETY: the state is one that the function has returned; null is allowed.
        unsafe { pthread_setcancelstate(self.before, std::ptr::null_mut()) };
    }
}

/// Closes a descriptor of the library.
pub(crate) fn close(fd: c_int) {
    let _ = next!(close(fd: c_int) -> c_int);
}

/// Whether calls on a descriptor do not wait.
pub(crate) fn is_nonblocking(fd: c_int) -> bool {
    let (command, argument) = (libc::F_GETFL, 0_usize);
    let flags = next!(fcntl(fd: c_int, command: c_int, argument: usize) -> c_int);
    flags >= 0 && flags & libc::O_NONBLOCK != 0
}

/// Waits until a descriptor is readable, as a call on it would (`SO_RCVTIMEO`, signals).
///
/// # Errors
///
/// `EAGAIN`, `EINTR`.
pub(crate) fn wait_readable(fd: c_int) -> Result<(), Errno> {
    let mut byte = 0_u8;
    let (to, length, flags) = ((&raw mut byte).cast::<c_void>(), 1, libc::MSG_PEEK);
    match next!(recv(fd: c_int, to: *mut c_void, length: size_t, flags: c_int) -> ssize_t) {
        -1 => Err(memory::last_error()),
        _ => Ok(()),
    }
}

/// Waits until a descriptor is writable.
///
/// # Errors
///
/// `EINTR`.
pub(crate) fn wait_writable(fd: c_int) -> Result<(), Errno> {
    let mut watched = libc::pollfd {
        fd,
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: one writable structure.
    match unsafe { libc::poll(&raw mut watched, 1, -1) } {
        -1 => Err(memory::last_error()),
        _ => Ok(()),
    }
}

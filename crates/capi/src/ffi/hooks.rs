//! Hooks of the C library: fork, exit and signals.

use std::mem::MaybeUninit;
use std::os::fd::{IntoRawFd as _, OwnedFd};
use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering};

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
    // The pipe is the parent's.
    SIGNAL_PIPE.store(-1, Ordering::Release);
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

/// Where [`tell`] writes.
static SIGNAL_PIPE: AtomicI32 = AtomicI32::new(-1);

/// Has a byte written to a pipe whenever a signal arrives, instead of what the system would do. Whether that is so: a handler of the
/// program stays. The child of a fork has the handler of its parent, and no pipe.
pub(crate) fn write_on_signal(signal: c_int, pipe: OwnedFd) -> bool {
    let tell = tell as extern "C" fn(c_int) as usize;
    // SAFETY: both structures consist of numbers and sets, and are valid for the calls; the handler makes a system call only.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &raw mut before) != 0
            || ![libc::SIG_DFL, tell].contains(&before.sa_sigaction)
        {
            return false;
        }
        SIGNAL_PIPE.store(pipe.into_raw_fd(), Ordering::Release);
        action.sa_sigaction = tell;
        // Go requires that all handlers run on the alternate signal stack.
        action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut()) == 0
    }
}

extern "C" fn tell(_signal: c_int) {
    let byte = 0_u8;
    // SAFETY: a system call with one readable byte, after which `errno` of the interrupted thread is as before.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        libc::syscall(
            libc::SYS_write,
            SIGNAL_PIPE.load(Ordering::Acquire),
            &raw const byte,
            1_usize,
        );
        *errno = before;
    }
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

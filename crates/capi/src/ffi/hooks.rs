//! Hooks of the C library: fork, exit and signals.

use std::mem::MaybeUninit;
use std::sync::Once;

use crate::process;

/// Has the process tell us of forks and of its end.
pub(crate) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: both functions take no arguments and exist as long as the library, which is never unloaded.
        unsafe {
            libc::pthread_atfork(None, None, Some(child));
            libc::atexit(exit);
        }
    });
}

extern "C" fn child() {
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

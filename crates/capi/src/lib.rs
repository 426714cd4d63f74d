//! Sockets API of SCTP (RFC 6458) as a library to be preloaded: sockets for programs that use the kernel's.
//!
//! A program calls `socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP)` and gets a real descriptor, one end of a socket pair, which is
//! readable and writable when its associations are. Calls on such descriptors are answered here; all others go to the C library.
//!
//! | file | contents |
//! |---|---|
//! | `ffi` | exported functions; the only `unsafe` code |
//! | `table` | which descriptors are ours? |
//! | `fork` | what can a child do with the sockets of its parent? |
//! | `process` | the driver thread, fork and exit |
//! | `supervise` | sockets for programs into which nothing can be preloaded |
//! | `environment` | variables that select ports and policies |
//! | `encryption` | keys, and peers in the clear |
//! | `dialect` | what Linux and FreeBSD do where the standard leaves it open |
//! | `statistics` | what associations did, as lines of JSON |
//! | `hub` | endpoints, their addresses and ports |
//! | `raw` | SCTP without UDP |
//! | `mirror` | the socket pair |
//! | `socket` | a socket and its associations: setup, transfer, options, notifications |
//! | `ancillary` | what passes beside messages |
//! | `address`, `layout`, `errno` | the C representations |
#![cfg(target_os = "linux")]
#![cfg_attr(
    any(test, feature = "fuzzing"),
    expect(
        dead_code,
        unused_imports,
        unused_macros,
        reason = "tests and fuzz targets do not replace the C library's functions"
    )
)]

mod address;
mod ancillary;
mod dialect;
mod encryption;
mod environment;
mod errno;
mod ffi;
mod fork;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod hub;
mod layout;
mod mirror;
mod process;
mod raw;
mod socket;
mod statistics;
mod supervise;
mod table;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a panic of another thread.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

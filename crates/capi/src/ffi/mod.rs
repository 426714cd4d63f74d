//! Border to C: exported functions, the C library's own ones, and memory of the program. All `unsafe` code is here.
//!
//! Pointers are the program's: as for the kernel's calls, it guarantees that they are valid for the lengths beside them. Null
//! pointers are `EFAULT`.
//!
//! A thread may be cancelled (`pthread_cancel`) in a function of the C library that ours call. That unwinds the stack, so exported
//! functions allow it (`C-unwind`). While they hold a socket, cancellation is off, and they wait without one.
#![expect(
    unsafe_code,
    reason = "the functions of the sockets API take and return raw pointers"
)]

#[cfg(not(any(test, feature = "fuzzing")))]
mod descriptors;
pub(crate) mod hooks;
mod memory;
mod next;
#[cfg(not(any(test, feature = "fuzzing")))]
mod options;
pub(crate) mod privileges;
#[cfg(not(any(test, feature = "fuzzing")))]
mod sctp;
pub(crate) mod seccomp;
#[cfg(not(any(test, feature = "fuzzing")))]
mod setup;
#[cfg(not(any(test, feature = "fuzzing")))]
mod transfer;

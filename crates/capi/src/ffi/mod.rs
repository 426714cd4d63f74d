//! Border to C: exported functions, the C library's own ones, and memory of the program. All `unsafe` code is here.
//!
//! Pointers are the program's: as for the kernel's calls, it guarantees that they are valid for the lengths beside them. Null
//! pointers are `EFAULT`.
#![expect(
    unsafe_code,
    reason = "the functions of the sockets API take and return raw pointers"
)]

#[cfg(not(test))]
mod descriptors;
pub(crate) mod hooks;
mod memory;
mod next;
#[cfg(not(test))]
mod options;
#[cfg(not(test))]
mod sctp;
#[cfg(not(test))]
mod setup;
#[cfg(not(test))]
mod transfer;

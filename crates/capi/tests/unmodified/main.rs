//! Unmodified programs with the library preloaded, as `make programs` runs them. Each row of the table of programs in
//! docs/sockets.md has a test here.
#![cfg(test)]
#![cfg(target_os = "linux")]

mod golang;
mod harness;
mod languages;
mod lksctp;
mod measurement;
mod sealed;
mod signalling;
mod transfer;

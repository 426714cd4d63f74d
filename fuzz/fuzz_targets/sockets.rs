//! Fuzz target `sockets`. Can options, ancillary data or addresses of a program make the sockets library panic?
//!
//! `cargo +nightly fuzz run sockets -- -max_total_time=60`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| anabranch_fuzz::sockets::exercise(bytes));

//! Fuzz target `tcp`. Can segments, timers and calls make a TCP connection panic, loop or exceed its memory?
//!
//! `cargo +nightly fuzz run tcp -- -max_total_time=60`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| anabranch_fuzz::tcp::exercise(bytes));

//! Fuzz target `association`. Can packets, timers and calls make an association panic, loop or exceed its memory?
//!
//! `cargo +nightly fuzz run association -- -max_total_time=60`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| anabranch_fuzz::association::exercise(bytes));

//! Does any file make the reader of captures panic, or draw out of proportion?
//!
//! `cargo +nightly fuzz run capture -- -max_total_time=60`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| anabranch_fuzz::capture::exercise(bytes));

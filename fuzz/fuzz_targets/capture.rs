//! Fuzz target `capture`. Can a file make the capture reader panic, or its drawings exceed a multiple of its size?
//!
//! `cargo +nightly fuzz run capture -- -max_total_time=60`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| anabranch_fuzz::capture::exercise(bytes));

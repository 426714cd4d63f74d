//! Do fragments become the messages that they were cut from, in whatever order they arrive?
//!
//! `cargo +nightly fuzz run reassembly -- -max_total_time=60`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| anabranch_fuzz::reassembly::exercise(bytes));

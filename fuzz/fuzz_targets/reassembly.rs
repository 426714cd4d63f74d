//! Fuzz target `reassembly`. Are messages reassembled correctly in any order of their fragments?
//!
//! `cargo +nightly fuzz run reassembly -- -max_total_time=60`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| anabranch_fuzz::reassembly::exercise(bytes));

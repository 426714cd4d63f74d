//! Fuzz target `two_associations`. Do two endpoints agree over a network with loss, duplication, reordering, delay and
//! corruption?
//!
//! `cargo +nightly fuzz run two_associations -- -max_total_time=60`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| anabranch_fuzz::two_associations::exercise(bytes));

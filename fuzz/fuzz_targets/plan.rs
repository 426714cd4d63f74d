//! Fuzz target `plan`. Can a text make the reader of experiments panic, or give a different result the second time?
//!
//! `cargo +nightly fuzz run plan -- -max_total_time=60`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| anabranch_fuzz::plan::exercise(bytes));

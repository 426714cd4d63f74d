//! Fuzz target `data_channels`. What do hostile messages and resets do to the data channels of an association?
//!
//! `cargo +nightly fuzz run data_channels -- -max_total_time=60`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| anabranch_fuzz::data_channels::exercise(bytes));

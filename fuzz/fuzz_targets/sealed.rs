//! Fuzz target `sealed`. Can datagrams make an end of sealed connections panic, loop, or deliver what was not sent?
//!
//! `cargo +nightly fuzz run sealed -- -max_total_time=60`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| anabranch_fuzz::sealed::exercise(bytes));

//! Fuzz target `decode`. Can a packet make the decoder panic, or change its meaning when it is encoded again?
//!
//! `cargo +nightly fuzz run decode -- -max_total_time=60`. Seeds with descriptive names are kept in
//! `corpus/decode`; those that the fuzzer adds are not.
#![no_main]

#[path = "../../crates/wire/tests/any_bytes/exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::exercise(bytes));

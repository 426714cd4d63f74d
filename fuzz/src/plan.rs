//! Fuzz target `plan`. Can a text make the reader of experiments panic, or give a different result the second time?

use std::path::Path;

use anabranch_lab::plan::{Plan, PlanOptions};

/// Reads `bytes` as an experiment, in both sizes.
///
/// # Panics
///
/// If anything panics, or an error has no position.
pub fn exercise(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    for quick in [false, true] {
        let options = PlanOptions {
            quick,
            changes: Vec::new(),
        };
        let read = || Plan::read(Path::new("fuzzed.toml"), text, &options);
        match read() {
            Ok(plan) => assert_eq!(read().ok(), Some(plan), "the same text is the same plan"),
            Err(error) => assert!(error.to_string().contains("fuzzed.toml"), "{error}"),
        }
    }
}

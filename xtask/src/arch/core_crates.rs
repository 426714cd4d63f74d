//! `#![no_std]` in the core crates. It makes "no clock, no socket, no thread" a compile error.

use crate::finding::Finding;
use crate::sources::Source;

/// The crates below the drivers: the types, the wire format, the policies, the protocol, TCP to compare it with, and data channels.
pub(crate) const CORE: [&str; 6] = ["types", "wire", "policy", "proto", "tcp", "datachannel"];

/// Finds the core crates whose `lib.rs` is missing or has something other than `#![no_std]` after its documentation.
pub(crate) fn check(sources: &[Source]) -> Vec<Finding> {
    let paths = CORE.iter().map(|name| format!("crates/{name}/src/lib.rs"));
    paths
        .filter(|path| {
            !sources
                .iter()
                .any(|source| source.path == *path && is_no_std(&source.text))
        })
        .map(finding)
        .collect()
}

fn is_no_std(text: &str) -> bool {
    let mut code = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"));
    code.next() == Some("#![no_std]")
}

fn finding(at: String) -> Finding {
    Finding {
        at,
        what: "must begin with #![no_std], after its documentation".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_crate_with_std_is_found() {
        let lib = |name: &str, text: &str| Source {
            path: format!("crates/{name}/src/lib.rs"),
            text: text.to_owned(),
        };
        let pure = "//! What?\n\n#![no_std]\nextern crate alloc;\n";
        let sources = [
            lib("types", pure),
            lib("wire", pure),
            lib("policy", "//! What?\n#![cfg_attr(not(test), no_std)]\n"),
            lib("io", "//! What?\n"),
        ];
        let found: Vec<String> = check(&sources).into_iter().map(|finding| finding.at).collect();
        assert_eq!(
            found,
            [
                "crates/policy/src/lib.rs",
                "crates/proto/src/lib.rs",
                "crates/tcp/src/lib.rs",
                "crates/datachannel/src/lib.rs"
            ]
        );
    }
}

//! Verbs of the program.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod keys;
pub(crate) mod lab;
pub(crate) mod manual;
pub(crate) mod policies;
pub(crate) mod profiles;
pub(crate) mod recv;
#[cfg(target_os = "linux")]
pub(crate) mod run;
pub(crate) mod send;
#[cfg(target_os = "linux")]
pub(crate) mod testbed;
pub(crate) mod trace;

use anabranch::Association;

use crate::output::{Counter, Role, Summary, paths_since};
use crate::transfer::Digest;

/// Summary of a complete transfer.
fn summary(association: &Association, counter: &Counter, name: String, size: u64, sha256: Digest) -> Summary {
    let seconds = counter.seconds();
    Summary {
        transfer: counter.transfer,
        role: match counter.role {
            Role::Send => "send",
            Role::Receive => "recv",
        },
        name,
        size,
        sha256,
        seconds,
        goodput_bit_s: (size as f64 * 8.0 / seconds.max(1e-9)).round(),
        paths: paths_since(association, counter.began()),
    }
}

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
pub(crate) mod test;
#[cfg(target_os = "linux")]
pub(crate) mod testbed;
pub(crate) mod trace;
pub(crate) mod tunnel;

use std::sync::atomic::Ordering;

use anabranch::Association;

use crate::output::{Counter, Role, Summary, paths_since};
use crate::transfer::Digest;

/// What a complete transfer consists of.
#[derive(Clone, Debug)]
struct Contents {
    name: String,
    /// Where it was sent, or came from.
    peer: String,
    files: u64,
    size: u64,
    /// Digest of the only file.
    sha256: Option<Digest>,
}

/// Summary of a complete transfer.
fn summary(association: &Association, counter: &Counter, contents: Contents) -> Summary {
    let seconds = counter.seconds();
    let Contents {
        name,
        peer,
        files,
        size,
        sha256,
    } = contents;
    let resumed = counter.resumed.load(Ordering::Relaxed);
    Summary {
        transfer: counter.transfer,
        role: match counter.role {
            Role::Send => "send",
            Role::Receive => "recv",
        },
        name,
        peer,
        files,
        size,
        resumed_bytes: resumed,
        sha256,
        seconds,
        goodput_bit_s: (size.saturating_sub(resumed) as f64 * 8.0 / seconds.max(1e-9)).round(),
        paths: paths_since(association, counter.began()),
    }
}

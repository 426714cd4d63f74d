//! What does the core cost? Programs that measure it, and what they share.
//!
//! | program | question |
//! |---|---|
//! | `core` | how much does one thread move, and how much do other cores move in the same run? |
//! | `sack_cost` | what does a SACK cost, with 100 and with 100,000 TSNs outstanding? |
//! | `set_ups` | how many associations does one core set up and end in a second? |
//! | `idle_memory` | what does an association cost while nothing happens, and does anything grow? |
//! | `simulated_seconds` | how much processor time does simulated time take? |
//! | `fixed_work` | how many instructions does a packet take, if `valgrind` counts them? |
//! | `loopback` | how much do two processes move over UDP, and how much do QUIC and usrsctp move in the same run? |
//! | `testbed` | how well does a test bed keep the time? Needs root |
//!
//! `cargo run --release -p anabranch-bench --bin sack_cost -- --json`; every program but `fixed_work` takes `--help`. `core` compares
//! with other cores, `loopback` with quinn, if built with `--features peers`. All but `loopback` and `testbed` touch no socket: both
//! ends are in one thread and time is virtual, so what is measured is the protocol and nothing else; rates are per
//! second of CPU time.

mod arguments;
mod clock;
mod forger;
mod load;
mod pair;
mod report;

pub use arguments::Arguments;
pub use clock::Stopwatch;
pub use forger::Forger;
pub use load::{CONTENDERS, Contender, Delivered, Load};
pub use pair::{Direction, Pair};
pub use report::{Column, Table, median};

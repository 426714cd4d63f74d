//! Benchmarks: programs that measure what the core costs, and their shared code.
//!
//! | program | question |
//! |---|---|
//! | `core` | how much does one thread move, and how much do other cores move in the same run? |
//! | `sack_cost` | what does a SACK cost, with 100 and with 100,000 TSNs outstanding? |
//! | `set_ups` | how many associations does one core set up and shut down per second? |
//! | `idle_memory` | what memory and timers does an idle association cost, and does anything grow? |
//! | `simulated_seconds` | how much CPU time does a simulated second take? |
//! | `fixed_work` | how many instructions does a packet take, if `valgrind` counts them? |
//! | `loopback` | how much do two processes move over UDP, and how much do QUIC and usrsctp move in the same run? |
//! | `testbed` | how accurate is the timing of a test bed? Needs root |
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

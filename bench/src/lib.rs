//! Benchmarks: programs that measure what the core costs, and their shared code.
//!
//! | program | question |
//! |---|---|
//! | `core` | what is the throughput of one thread, and that of other implementations in the same run? |
//! | `sack_cost` | what does a SACK cost, with 100 and with 100,000 TSNs outstanding? |
//! | `set_ups` | how many associations does one core set up and shut down per second? |
//! | `inits` | what does an INIT cost, beside 100 and beside 100,000 associations that list the address that it comes from? |
//! | `init_flood` | are associations set up while another core sends forged INITs as fast as it can? |
//! | `idle_memory` | what memory and timers does an idle association cost, and does anything grow? |
//! | `simulated_seconds` | how much CPU time does a simulated second take? |
//! | `fixed_work` | how many instructions does a packet take, if `valgrind` counts them? |
//! | `loopback` | what is the throughput of two processes over UDP, and that of QUIC and usrsctp in the same run? |
//! | `http3` | what is the throughput of one download over HTTP/3, as an inner flow of a tunnel? For `make bench-tunnel-profiles` |
//! | `testbed` | how accurate is the timing of a test bed? Needs root |
//!
//! `cargo run --release -p anabranch-bench --bin sack_cost -- --json`; every program but `fixed_work` and `http3` takes `--help`. With
//! `--features peers`, `core` compares other implementations and `loopback` compares quinn. All but `init_flood`, `loopback`, `http3` and `testbed` use
//! no sockets: both ends are in one thread and time is virtual, so only the protocol is measured, and rates are per second of CPU time.

mod arguments;
mod clock;
mod forger;
mod load;
mod pair;
mod report;

pub use arguments::Arguments;
pub use clock::Stopwatch;
pub use forger::Forger;
pub use load::{Delivered, IMPLEMENTATIONS, Implementation, Load};
pub use pair::{Direction, Pair};
pub use report::{Column, Table, median};

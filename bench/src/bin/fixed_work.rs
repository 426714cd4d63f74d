//! Benchmark `fixed_work`: a fixed number of packets, to count instructions under valgrind.
//!
//! Times depend on other load, instruction counts hardly. The program does the same work in every run;
//! `valgrind --tool=callgrind` reports where, and `valgrind --tool=cachegrind --cache-sim=yes` what misses the instruction cache. Run
//! alone it prints the time per packet; two builds in turn, some hundred times, are compared better so than by `core`.
//!
//! Arguments: bytes of a message, packets, receive buffer in KiB, and 0 for SACKs per packet or 1 for SACKs per batch.

use anabranch_bench::{IMPLEMENTATIONS, Stopwatch};

fn main() {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u64>());
    let mut number = |default: u64| numbers.next().and_then(Result::ok).unwrap_or(default);
    let (size, wanted) = (number(1_400), number(40_000));
    let (buffer, which) = (number(128), number(0));
    let mut load = (IMPLEMENTATIONS[which as usize].start)(size as usize, (buffer as usize) << 10);
    let (mut packets, mut messages) = (0, 0);
    let start = Stopwatch::start();
    while packets < wanted {
        let delivered = load.round();
        packets += delivered.packets;
        messages += delivered.messages;
    }
    let nanos = start.elapsed().as_nanos() as f64;
    println!(
        "{packets} packets, {messages} messages of {size} bytes, {:.0} ns for each packet",
        nanos / packets as f64
    );
}

//! How many instructions does a packet take? A fixed number of packets, to be run under a program that counts.
//!
//! Times depend on what else a machine does; instructions hardly do. So this program does the same work in every run,
//! and `valgrind --tool=callgrind` says what it took and where. Run alone it tells the time of a packet.

use anabranch_bench::{CONTENDERS, Stopwatch};

fn main() {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u64>());
    let mut number = |default: u64| numbers.next().and_then(Result::ok).unwrap_or(default);
    let (size, wanted) = (number(1_400), number(40_000));
    let mut load = (CONTENDERS[0].start)(size as usize, 128 << 10);
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

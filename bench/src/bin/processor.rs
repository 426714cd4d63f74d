//! Benchmark `processor`: cost of a packet, a SACK and a visited queue element on this machine, from which the
//! simulator's processor model (`crates/sim/src/processor.rs`) is scaled.
//!
//! A packet's cost is that of the core and of a system call on a loopback socket, which stands for everything between
//! the core and the wire. The queue is one as a kernel has it: elements of 208 bytes, each of which points to the next.

use std::collections::LinkedList;
use std::hint::black_box;
use std::net::UdpSocket;
use std::time::Instant;

use anabranch_bench::{Arguments, Column, IMPLEMENTATIONS, Stopwatch, Table, median};

const PACKET: usize = 1_400;
/// Packets sent before they are received: fewer than fit into the socket buffer.
const BATCH: usize = 32;
/// As many chunks as the default buffers of FreeBSD hold.
const QUEUE: usize = 1_283;

fn main() -> std::io::Result<()> {
    let arguments = Arguments {
        json: false,
        runs: 5,
        seconds: 0.5,
    };
    let arguments =
        arguments.or("processor: nanoseconds per operation of a host, from which the simulator's processor model is scaled");
    let columns = [("ns", 2)].map(|(name, decimals)| Column { name, decimals });
    let mut table = Table::new("one operation", &columns);
    let runs = || 0..arguments.runs;
    let core: Vec<f64> = runs().map(|_| core(arguments.seconds)).collect();
    table.row("packet in the core, each end", &[median(&core)]);
    let calls = runs().map(|_| system_calls(arguments.seconds));
    let (sends, receives): (Vec<f64>, Vec<f64>) = calls.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    table.row("packet sent by the system", &[median(&sends)]);
    table.row("packet received by the system", &[median(&receives)]);
    let visits: Vec<f64> = runs().map(|_| visit_elements(arguments.seconds)).collect();
    table.row("visit of a queue element", &[median(&visits)]);
    table.print(arguments.json);
    Ok(())
}

/// Nanoseconds per packet and end, packets with SACKs included.
fn core(seconds: f64) -> f64 {
    let mut load = (IMPLEMENTATIONS[0].start)(PACKET, 1 << 20);
    let start = Stopwatch::start();
    let mut packets = 0.0;
    while start.elapsed().as_secs_f64() < seconds {
        for _ in 0..64 {
            let delivered = load.round();
            packets += (delivered.packets + delivered.answers) as f64;
        }
    }
    start.elapsed().as_secs_f64() * 1e9 / packets / 2.0
}

/// Nanoseconds per packet for sending and for receiving.
fn system_calls(seconds: f64) -> std::io::Result<(f64, f64)> {
    let (sender, receiver) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    sender.connect(receiver.local_addr()?)?;
    let mut packet = [7; PACKET];
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < seconds {
        let begin = Instant::now();
        for _ in 0..BATCH {
            sender.send(&packet)?;
        }
        let sent = Instant::now();
        for _ in 0..BATCH {
            receiver.recv(&mut packet)?;
        }
        sends.push((sent - begin).as_nanos() as f64 / BATCH as f64);
        receives.push(sent.elapsed().as_nanos() as f64 / BATCH as f64);
    }
    Ok((median(&sends), median(&receives)))
}

/// Nanoseconds per visited element of a queue.
fn visit_elements(seconds: f64) -> f64 {
    let queue: LinkedList<[u64; 24]> = (0..QUEUE as u64).map(|number| [number; 24]).collect();
    let mut walks = Vec::new();
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < seconds {
        let begin = Instant::now();
        for _ in 0..10 {
            let marked = black_box(&queue).iter().filter(|element| element[12] & 1 == 1);
            black_box(marked.count());
        }
        walks.push(begin.elapsed().as_nanos() as f64 / (10 * QUEUE) as f64);
    }
    median(&walks)
}

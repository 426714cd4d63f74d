//! Benchmark `core`: throughput per second of CPU time, both ends in one thread. Our core and others alternate within
//! one run.

use anabranch_bench::{Arguments, Column, IMPLEMENTATIONS, Implementation, Stopwatch, Table, median};

const SIZES: [usize; 3] = [1_400, 65_536, 64];
const WINDOWS: [usize; 2] = [128 << 10, 1 << 20];

/// Result of one measurement, per second of CPU time.
#[derive(Clone, Copy, Default)]
struct Rates {
    messages: f64,
    packets: f64,
    answers: f64,
}

fn main() {
    let arguments = Arguments {
        json: false,
        runs: 5,
        seconds: 0.5,
    };
    let arguments = arguments
        .or("core: goodput of the core without sockets, both ends in one thread, beside other cores");
    for size in SIZES {
        for window in WINDOWS {
            compare(size, window, &arguments).print(arguments.json);
        }
    }
}

fn compare(size: usize, window: usize, arguments: &Arguments) -> Table {
    let mut rates = vec![Vec::new(); IMPLEMENTATIONS.len()];
    for _ in 0..arguments.runs {
        for (implementation, rates) in IMPLEMENTATIONS.iter().zip(&mut rates) {
            rates.push(measure(implementation, size, window, arguments.seconds));
        }
    }
    let columns = [
        ("gbit_per_s", 2),
        ("mega_messages_per_s", 3),
        ("kilo_packets_per_s", 0),
        ("answers_per_packet", 2),
        ("ours_over_this", 2),
    ];
    let columns = columns.map(|(name, decimals)| Column { name, decimals });
    let title = format!("{size} bytes, receive buffer {} KiB", window >> 10);
    let mut table = Table::new(title, &columns);
    let median_of =
        |rates: &[Rates], of: fn(&Rates) -> f64| median(&rates.iter().map(of).collect::<Vec<_>>());
    let ours = median_of(&rates[0], |rate| rate.messages);
    for (implementation, rates) in IMPLEMENTATIONS.iter().zip(&rates) {
        let messages = median_of(rates, |rate| rate.messages);
        let figures = [
            messages * size as f64 * 8.0 / 1e9,
            messages / 1e6,
            median_of(rates, |rate| rate.packets) / 1e3,
            median_of(rates, |rate| rate.answers / rate.packets),
            ours / messages,
        ];
        table.row(implementation.name, &figures);
    }
    table
}

fn measure(implementation: &Implementation, size: usize, window: usize, seconds: f64) -> Rates {
    let mut load = (implementation.start)(size, window);
    let start = Stopwatch::start();
    let mut total = Rates::default();
    loop {
        for _ in 0..64 {
            let delivered = load.round();
            total.messages += delivered.messages as f64;
            total.packets += delivered.packets as f64;
            total.answers += delivered.answers as f64;
        }
        let elapsed = start.elapsed().as_secs_f64();
        if elapsed >= seconds {
            return Rates {
                messages: total.messages / elapsed,
                packets: total.packets / elapsed,
                answers: total.answers / elapsed,
            };
        }
    }
}

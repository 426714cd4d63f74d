//! Benchmark `loopback`: throughput of two processes over UDP. Ours, QUIC and usrsctp alternate within one run.
//!
//! Each end of ours and of QUIC has one thread. Rates are the receiver's, from its first message to its last in wall
//! time; CPU time is that of both ends. On a machine with other load, only ratios are meaningful.

mod ours;
mod process;
#[cfg(feature = "peers")]
mod quinn;
mod tsctp;

use anabranch_bench::{Arguments, Column, Table, median};

use process::{Failure, SERVE, Work};

/// Bytes of a message: one that fills an Ethernet packet, and a small one.
const BULK: usize = 1_400;
const SMALL: usize = 64;

/// Sends messages of so many bytes for so many seconds.
type Measure = fn(usize, f64) -> Result<Work, Failure>;

/// The measurements that take turns: name, bytes of a message or write, function. Ratios are relative to the first.
const IMPLEMENTATIONS: &[(&str, usize, Measure)] = &[
    ("anabranch", BULK, ours::one_path),
    #[cfg(feature = "peers")]
    ("quinn, one stream", BULK, quinn::send),
    #[cfg(feature = "peers")]
    ("quinn, writes of 64 KiB", 64 << 10, quinn::send),
    (tsctp::NAME, BULK, tsctp::send),
    ("anabranch, two paths", BULK, ours::two_paths),
    ("anabranch, encrypted", BULK, ours::encrypted),
    (
        "anabranch, encrypted, two paths",
        BULK,
        ours::encrypted_over_two_paths,
    ),
    ("anabranch, 64 bytes", SMALL, ours::one_path),
    ("anabranch, encrypted, 64 bytes", SMALL, ours::encrypted),
];

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [SERVE, ours::RECEIVE, setup] => return ours::receive(setup.parse()?),
        [SERVE, ours::ECHO, setup] => return ours::echo(setup.parse()?),
        #[cfg(feature = "peers")]
        [SERVE, quinn::RECEIVE, _] => return quinn::receive(),
        _ => {}
    }
    let arguments = Arguments {
        json: false,
        runs: 5,
        seconds: 1.0,
    };
    let arguments = arguments.or("loopback: goodput of two processes over UDP, beside QUIC and usrsctp");
    bulk(&arguments)?.print(arguments.json);
    round_trips(&arguments)?.print(arguments.json);
    Ok(())
}

fn bulk(arguments: &Arguments) -> Result<Table, Failure> {
    let mut implementations = IMPLEMENTATIONS.to_vec();
    if !tsctp::is_installed() {
        eprintln!("loopback: skipped usrsctp, {} is not installed", tsctp::PROGRAM);
        implementations.retain(|(name, ..)| *name != tsctp::NAME);
    }
    let mut turns = vec![Vec::new(); implementations.len()];
    for _ in 0..arguments.runs {
        for ((_, size, measure), works) in implementations.iter().zip(&mut turns) {
            works.push(measure(*size, arguments.seconds)?);
        }
    }
    let columns = [
        ("gbit_per_s", 2),
        ("kilo_messages_per_s", 1),
        ("cpu_s_per_gb", 2),
        ("first_over_this", 2),
    ];
    let columns = columns.map(|(name, decimals)| Column { name, decimals });
    let mut table = Table::new("bulk over loopback UDP, 1400 bytes unless said", &columns);
    for ((name, size, _), works) in implementations.iter().zip(&turns) {
        let median_of = |of: fn(&Work) -> f64| median(&works.iter().map(of).collect::<Vec<_>>());
        let pairs = turns[0].iter().zip(works);
        // Ratios are of the same turn, when the load of the machine was about the same.
        let ratios: Vec<_> = pairs.map(|(first, this)| first.rate() / this.rate()).collect();
        let figures = [
            median_of(Work::rate) * 8.0 / 1e9,
            median_of(Work::rate) / *size as f64 / 1e3,
            median_of(|work| work.cpu / work.bytes) * 1e9,
            if *size == SMALL { f64::NAN } else { median(&ratios) },
        ];
        table.row(*name, &figures);
    }
    Ok(table)
}

fn round_trips(arguments: &Arguments) -> Result<Table, Failure> {
    let mut turns = [Vec::new(), Vec::new()];
    for _ in 0..arguments.runs {
        turns[0].push(ours::round_trips(SMALL, arguments.seconds)?);
        turns[1].push(ours::encrypted_round_trips(SMALL, arguments.seconds)?);
    }
    let columns = ["p50_us", "p99_us"].map(|name| Column { name, decimals: 1 });
    let mut table = Table::new("round trips of 64 bytes", &columns);
    for (name, turns) in ["anabranch", "anabranch, encrypted"].into_iter().zip(&turns) {
        let figures = [0, 1].map(|of| median(&turns.iter().map(|turn| turn[of]).collect::<Vec<_>>()));
        table.row(name, &figures);
    }
    Ok(table)
}

//! Benchmark `loopback`: throughput of two processes over UDP. Ours, QUIC, usrsctp and bare UDP alternate within one run.
//!
//! Each end of ours and of QUIC has one thread, on a logical processor of its own. Rates are the receiver's, from its first message to its
//! last in wall time; CPU time is that of both ends. On a machine with other load, only ratios are meaningful.
//!
//! `--only TEXT` measures the rows whose name has the text, `--sizes` compares sizes of packets instead.

mod ours;
mod process;
#[cfg(feature = "peers")]
mod quic;
#[cfg(feature = "peers")]
mod s2n;
#[cfg(feature = "peers")]
mod tls;
mod tsctp;
mod udp;

use std::ops::RangeInclusive;

use anabranch_bench::{Arguments, Column, Table, median};

use process::{Failure, SERVE, Work};

/// Bytes of a message: one that fills an Ethernet packet, and a small one; bytes of a large message and of a large write.
const BULK: usize = 1_400;
const SMALL: usize = 64;
const LARGE: usize = 64 << 10;

/// UDP payloads of `--sizes`, and how far they are apart.
const PAYLOADS: RangeInclusive<u16> = 1_280..=9_000;
const PAYLOAD_STEP: usize = 256;

/// Sends messages of so many bytes for so many seconds.
type Measure = fn(usize, f64) -> Result<Work, Failure>;

/// The measurements that take turns: name, bytes of a message or write, function. Ratios are relative to the first.
const IMPLEMENTATIONS: &[(&str, usize, Measure)] = &[
    ("anabranch", BULK, ours::one_path),
    ("anabranch, 64 KiB", LARGE, ours::one_path),
    ("anabranch, two paths", BULK, ours::two_paths),
    ("anabranch, encrypted", BULK, ours::encrypted),
    ("anabranch, encrypted, 64 KiB", LARGE, ours::encrypted),
    (
        "anabranch, encrypted, two paths",
        BULK,
        ours::encrypted_over_two_paths,
    ),
    #[cfg(feature = "peers")]
    ("quinn, one stream", BULK, quic::quinn::send),
    #[cfg(feature = "peers")]
    ("quinn, 64 KiB", LARGE, quic::quinn::send),
    #[cfg(feature = "peers")]
    ("noq, 64 KiB", LARGE, quic::noq::send),
    #[cfg(feature = "peers")]
    ("s2n-quic, 64 KiB", LARGE, s2n::send),
    (tsctp::NAME, BULK, tsctp::send),
    ("UDP, batches", BULK, udp::send),
    ("anabranch, 64 bytes", SMALL, ours::one_path),
    ("anabranch, encrypted, 64 bytes", SMALL, ours::encrypted),
];

/// Median and 99th percentile of the round-trip times in so many seconds, in microseconds.
type RoundTrips = fn(usize, f64) -> Result<[f64; 2], Failure>;

const ROUND_TRIPS: [(&str, RoundTrips); 3] = [
    ("UDP echo", udp::round_trips),
    ("anabranch", ours::round_trips),
    ("anabranch, encrypted", ours::encrypted_round_trips),
];

fn main() -> Result<(), Failure> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let served: Vec<&str> = words.iter().map(String::as_str).collect();
    match served[..] {
        [SERVE, ours::RECEIVE, setup] => return ours::receive(setup.parse()?),
        [SERVE, ours::ECHO, setup] => return ours::echo(setup.parse()?),
        [SERVE, udp::RECEIVE, _] => return udp::receive(),
        [SERVE, udp::ECHO, _] => return udp::echo(),
        #[cfg(feature = "peers")]
        [SERVE, quic::quinn::RECEIVE, _] => return quic::quinn::receive(),
        #[cfg(feature = "peers")]
        [SERVE, quic::noq::RECEIVE, _] => return quic::noq::receive(),
        #[cfg(feature = "peers")]
        [SERVE, s2n::RECEIVE, _] => return s2n::receive(),
        _ => {}
    }
    let arguments = Arguments {
        json: false,
        runs: 5,
        seconds: 1.0,
    };
    let compares_sizes = take(&mut words, "--sizes", 1).is_some();
    let is_bulk = take(&mut words, "--round-trips", 1).is_none();
    let only = take(&mut words, "--only", 2).and_then(|mut words| words.pop());
    let about = "loopback: goodput of two processes over UDP, beside QUIC and usrsctp\n\n  \
                 --only TEXT    of the rows whose name has this text\n  \
                 --round-trips  without the goodput\n  \
                 --sizes        of packets with UDP payloads of 1,280 to 9,000 bytes, alone";
    let arguments = arguments.of(words.into_iter(), about);
    if !process::are_pinned() {
        eprintln!("loopback: the ends have no logical processors of their own, so results may be far apart");
    }
    if compares_sizes {
        sizes(&arguments)?.print(arguments.json);
        return Ok(());
    }
    let only = only.unwrap_or_default();
    if is_bulk {
        bulk(&arguments, &only)?.print(arguments.json);
    }
    round_trips(&arguments, &only)?.print(arguments.json);
    Ok(())
}

/// Removes an option and its value, `count` words together, and returns them.
fn take(words: &mut Vec<String>, option: &str, count: usize) -> Option<Vec<String>> {
    let at = words.iter().position(|word| word == option)?;
    let end = words.len().min(at + count);
    Some(words.drain(at..end).collect())
}

fn bulk(arguments: &Arguments, only: &str) -> Result<Table, Failure> {
    let mut implementations = IMPLEMENTATIONS.to_vec();
    implementations.retain(|(name, ..)| name.contains(only));
    let is_tsctp = |(name, ..): &(&str, usize, Measure)| *name == tsctp::NAME;
    if implementations.iter().any(is_tsctp) && !tsctp::is_installed() {
        eprintln!("loopback: skipped usrsctp, {} is not installed", tsctp::PROGRAM);
        implementations.retain(|row| !is_tsctp(row));
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

fn round_trips(arguments: &Arguments, only: &str) -> Result<Table, Failure> {
    let rows = ROUND_TRIPS.iter().filter(|(name, _)| name.contains(only));
    let rows = rows.collect::<Vec<_>>();
    let mut turns = vec![Vec::new(); rows.len()];
    for _ in 0..arguments.runs {
        for ((_, measure), turns) in rows.iter().zip(&mut turns) {
            turns.push(measure(SMALL, arguments.seconds)?);
        }
    }
    let columns = [("p50_us", 1), ("p99_us", 1), ("p50_over_first", 2)];
    let columns = columns.map(|(name, decimals)| Column { name, decimals });
    let mut table = Table::new("round trips of 64 bytes", &columns);
    for ((name, _), these) in rows.iter().zip(&turns) {
        let [p50, p99] = [0, 1].map(|of| median(&these.iter().map(|turn| turn[of]).collect::<Vec<_>>()));
        let pairs = these.iter().zip(&turns[0]);
        let ratios: Vec<_> = pairs.map(|(this, first)| this[0] / first[0]).collect();
        table.row(*name, &[p50, p99, median(&ratios)]);
    }
    Ok(table)
}

/// Compares sizes of packets, with large messages, so that packets are full.
fn sizes(arguments: &Arguments) -> Result<Table, Failure> {
    let payloads: Vec<u16> = PAYLOADS.step_by(PAYLOAD_STEP).collect();
    let mut turns = vec![[const { Vec::new() }; 2]; payloads.len()];
    for _ in 0..arguments.runs {
        for (payload, turns) in payloads.iter().zip(&mut turns) {
            for (encrypted, rates) in [false, true].into_iter().zip(turns) {
                let work = ours::with_payloads_of(*payload, encrypted, LARGE, arguments.seconds)?;
                rates.push(work.rate() * 8.0 / 1e9);
            }
        }
    }
    let rates: Vec<[f64; 2]> = turns
        .iter()
        .map(|both| [0, 1].map(|of| median(&both[of])))
        .collect();
    let columns = [
        ("clear_gbit_per_s", 2),
        ("over_neighbours", 2),
        ("encrypted_gbit_per_s", 2),
        ("encrypted_over_neighbours", 2),
    ];
    let columns = columns.map(|(name, decimals)| Column { name, decimals });
    let mut table = Table::new("UDP payloads, messages of 64 KiB", &columns);
    for (index, payload) in payloads.iter().enumerate() {
        let over = |of: usize| rates[index][of] / beside(&rates, index, of);
        let figures = [rates[index][0], over(0), rates[index][1], over(1)];
        table.row(payload.to_string(), &figures);
    }
    Ok(table)
}

/// The mean rate of the neighbours of a size.
fn beside(rates: &[[f64; 2]], index: usize, of: usize) -> f64 {
    let before = index.checked_sub(1).and_then(|before| rates.get(before));
    let neighbours: Vec<f64> = before
        .into_iter()
        .chain(rates.get(index + 1))
        .map(|rates| rates[of])
        .collect();
    neighbours.iter().sum::<f64>() / neighbours.len() as f64
}

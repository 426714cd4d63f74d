//! Benchmark `idle_memory`: heap and timers of an idle association, set-ups beside idle ones, and growth over time; of the core alone,
//! and at last of the library, also encrypted.
//!
//! Heap is memory allocated and not freed, without the allocator's overhead. The share of each side is what its
//! endpoint frees when it is dropped.

mod library;

use std::alloc::System;
use std::time::Duration;

use anabranch_bench::{Arguments, Column, Direction, Pair, Stopwatch, Table, median};
use anabranch_proto::{AssociationConfig, Message};
use anabranch_types::{AssociationId, StreamId};
use bytes::Bytes;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The measured cases: number of associations, paths of each, messages sent in each direction before.
const CASES: [Case; 9] = [
    Case::of(1_000, 1, 0),
    Case::of(10_000, 1, 0),
    Case::of(100_000, 1, 0),
    Case::of(10_000, 1, 100),
    Case::of(1_000, 2, 0),
    Case::of(10_000, 2, 0),
    Case::of(10_000, 2, 100),
    Case::of(1_000, 15, 0),
    Case {
        carrying: 1,
        ..Case::of(1_000, 15, 0)
    },
];

/// Associations of one initiator with the same peer: each needs a port of its own.
const PER_INITIATOR: usize = 10_000;

/// Numbers of idle associations beside which others are set up.
const BESIDE: [usize; 3] = [0, 1_000, 10_000];

/// Associations that are set up beside them.
const SET_UPS: usize = 1_000;

/// Pairs of endpoints in each run: the stopwatch counts ticks of the scheduler, which are a third of one pair's time.
const PAIRS: u32 = 20;

#[derive(Clone, Copy)]
struct Case {
    associations: usize,
    paths: u8,
    /// Number of the paths that carry packets. The peer lists the addresses of all.
    carrying: u8,
    messages: usize,
}

impl Case {
    const fn of(associations: usize, paths: u8, messages: usize) -> Self {
        Self {
            associations,
            paths,
            carrying: paths,
            messages,
        }
    }
}

/// Messages that must not make the heap grow.
const MESSAGES: usize = 1_000_000;

/// Messages before the heap is measured for the first time.
const WARM_UP: usize = 20_000;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let arguments = Arguments {
        json: false,
        runs: 3,
        seconds: 60.0,
    };
    let arguments =
        arguments.or("idle_memory: heap and timers of idle associations; --seconds of virtual idleness");
    idle(&arguments).print(arguments.json);
    beside(&arguments).print(arguments.json);
    growth().print(arguments.json);
    library::table(&arguments)?.print(arguments.json);
    Ok(())
}

/// Bytes of heap in use.
fn heap() -> f64 {
    let stats = HEAP.stats();
    stats.bytes_allocated as f64 - stats.bytes_deallocated as f64
}

/// Bytes of heap that dropping the value frees.
fn freed_by_drop<T>(value: T) -> f64 {
    let before = heap();
    drop(value);
    before - heap()
}

fn idle(arguments: &Arguments) -> Table {
    let columns = [
        ("set_ups_per_s", 0),
        ("client_bytes", 0),
        ("server_bytes", 0),
        ("wake_ups_per_minute", 2),
        ("packets_per_minute", 2),
        ("core_percent", 3),
    ];
    let columns = columns.map(|(name, decimals)| Column { name, decimals });
    let mut table = Table::new("idle associations, each", &columns);
    for case in CASES {
        let runs = (0..arguments.runs).map(|_| idle_once(case, arguments.seconds));
        let runs = runs.collect::<Vec<_>>();
        let median_of = |column: usize| median(&runs.iter().map(|run| run[column]).collect::<Vec<_>>());
        let figures: [f64; 6] = std::array::from_fn(median_of);
        let Case {
            associations,
            paths,
            carrying,
            messages,
        } = case;
        let name = if carrying < paths {
            format!("{associations} with {paths} listed addresses, {carrying} of which answers")
        } else {
            format!("{associations} with {paths} path(s) after {messages} messages")
        };
        table.row(name, &figures);
    }
    table
}

/// The figures of one row.
fn idle_once(case: Case, seconds: f64) -> [f64; 6] {
    let each = case.associations as f64;
    let config = AssociationConfig::default();
    let mut pair = Pair::new(case.paths, &config);
    pair.carrying = case.carrying;
    let watch = Stopwatch::start();
    let mut associations = Vec::new();
    let mut others = Vec::new();
    for number in 0..case.associations {
        if number > 0 && number % PER_INITIATOR == 0 {
            others.push(pair.replace_alice(case.paths, &config));
        }
        associations.push(pair.associate(&config));
    }
    let set_ups = each / watch.elapsed().as_secs_f64();
    for (alice, bob) in &associations {
        exchange_messages(&mut pair, *alice, *bob, case.messages);
    }
    pair.pass(Duration::from_millis(200), false);
    pair.settle();
    pair.ignore_events();
    let watch = Stopwatch::start();
    // Only one initiator is connected, so with several nobody would answer the others' heartbeats.
    let seconds = if others.is_empty() { seconds } else { 1e-9 };
    let (wake_ups, packets) = wait(&mut pair, Duration::from_secs_f64(seconds));
    let work = watch.elapsed().as_secs_f64();
    let (client, server) = (freed_by_drop((pair.alice, others)), freed_by_drop(pair.bob));
    let per_minute = 60.0 / seconds / each;
    [
        set_ups,
        client / each,
        server / each,
        wake_ups as f64 * per_minute,
        packets as f64 * per_minute,
        work / seconds * 100.0,
    ]
}

/// Sends `count` messages in each direction, one after the other, and receives them.
fn exchange_messages(pair: &mut Pair, alice: AssociationId, bob: AssociationId, count: usize) {
    for _ in 0..count {
        let message = Message::new(StreamId(0), Bytes::from_static(&[7; 1_400]));
        let mut association = pair.alice.association_mut(alice).expect("it lives");
        association.send(message.clone()).expect("room");
        drop(association);
        let mut association = pair.bob.association_mut(bob).expect("it lives");
        association.send(message).expect("room");
        drop(association);
        pair.pass(Duration::from_micros(100), false);
        pair.settle();
        assert!(
            pair.alice
                .association_mut(alice)
                .is_some_and(|mut one| one.receive().is_some())
        );
        assert!(
            pair.bob
                .association_mut(bob)
                .is_some_and(|mut one| one.receive().is_some())
        );
    }
}

/// Advances the time from timer to timer; returns the number of wake-ups and of packets.
fn wait(pair: &mut Pair, time: Duration) -> (u64, u64) {
    let end = pair.now + time;
    let (mut wake_ups, mut packets) = (0, 0);
    while pair.next_deadline().is_some_and(|deadline| deadline <= end) {
        pair.pass(Duration::ZERO, true);
        wake_ups += 1;
        packets += pair.settle();
        pair.ignore_events();
    }
    (wake_ups, packets)
}

/// How fast associations are set up beside idle ones.
fn beside(arguments: &Arguments) -> Table {
    let columns = [("set_ups_per_s", 0), ("microseconds", 2)];
    let columns = columns.map(|(name, decimals)| Column { name, decimals });
    let mut table = Table::new("set-ups beside idle associations", &columns);
    for others in BESIDE {
        let config = AssociationConfig::default();
        let once = |_| {
            let mut pair = Pair::new(1, &config);
            (0..others).for_each(|_| _ = pair.associate(&config));
            let watch = Stopwatch::start();
            (0..SET_UPS).for_each(|_| _ = pair.associate(&config));
            watch.elapsed().as_secs_f64() / SET_UPS as f64
        };
        let mean = |_| (0..PAIRS).map(once).sum::<f64>() / f64::from(PAIRS);
        let seconds = (0..arguments.runs).map(mean);
        let each = median(&seconds.collect::<Vec<_>>());
        table.row(format!("{SET_UPS} beside {others}"), &[1.0 / each, each * 1e6]);
    }
    table
}

fn growth() -> Table {
    let columns = [("messages", 0), ("heap_bytes", 0), ("peak_bytes", 0)];
    let columns = columns.map(|(name, decimals)| Column { name, decimals });
    let mut table = Table::new("heap of one association and both endpoints", &columns);
    let config = AssociationConfig::default();
    let nothing = heap();
    let mut pair = Pair::new(1, &config);
    let (alice, bob) = pair.associate(&config);
    let mut sent = 0;
    for until in [0, WARM_UP, WARM_UP + MESSAGES] {
        let peak = stream(&mut pair, alice, bob, until - sent);
        sent = until;
        table.row(
            format!("after {until} messages"),
            &[until as f64, heap() - nothing, peak - nothing],
        );
    }
    table
}

/// Sends `count` messages in one direction at full speed until all are acknowledged; returns the peak of the heap in use.
fn stream(pair: &mut Pair, alice: AssociationId, bob: AssociationId, count: usize) -> f64 {
    let payload = Bytes::from_static(&[7; 1_400]);
    let (mut sent, mut received, mut peak) = (0, 0, heap());
    loop {
        let mut sender = pair.alice.association_mut(alice).expect("it lives");
        while sent < count && sender.send(Message::new(StreamId(0), payload.clone())).is_ok() {
            sent += 1;
        }
        let done = received == count && sender.is_flushed();
        drop(sender);
        let packets = pair.carry(Direction::Forward, |_, _| ());
        peak = f64::max(peak, heap());
        let mut receiver = pair.bob.association_mut(bob).expect("it lives");
        received += std::iter::from_fn(|| receiver.receive()).count();
        drop(receiver);
        let reverse = pair.carry(Direction::Reverse, |_, _| ());
        if done {
            return peak;
        }
        pair.pass(Duration::from_micros(100), packets + reverse == 0);
        pair.ignore_events();
    }
}

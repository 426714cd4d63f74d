//! Benchmark `sack_cost`: CPU time of a SACK by the number of outstanding TSNs.
//!
//! One endpoint with 100, 1,000, 10,000 and 100,000 TSNs outstanding receives forged SACKs. *Advancing*: the cumulative TSN
//! advances by two without gaps, as on one path without loss. *Growing*: the cumulative TSN stays at a chunk of a slow second path,
//! eight more such chunks leave eight gaps, and the last block grows by two, as is usual with CMT over dissimilar paths. The number
//! of blocks is the same for all windows, because every block of a SACK has to be read.
//!
//! The indexed scoreboard is measured beside the two algorithms of other implementations (`sack-handling`), and the visited chunks
//! are counted. With the index, a SACK with 100,000 TSNs outstanding must not cost more than [`MAX_RATIO`] times one with 100.

use std::time::{Duration, Instant};

use anabranch_bench::{Arguments, Column, Direction, Forger, Pair, Table, median};
use anabranch_policy::PolicyRecipe;
use anabranch_proto::{AssociationConfig, BufferSize, Message};
use anabranch_types::{AssociationId, Ecn, PathId, StreamId, Tsn};
use anabranch_wire::{Chunk, CommonHeader, GapBlock, Packet};
use bytes::Bytes;

const OUTSTANDING: [usize; 4] = [100, 1_000, 10_000, 100_000];

/// Chunks on the slow path beside the one that holds the cumulative TSN back.
const HOLES: usize = 8;

/// Gap block offsets have 16 bits (RFC 9260 §3.3.4).
const FURTHEST: usize = 65_000;

/// SACKs that are timed together: reading the clock takes about a tenth of the time of a SACK.
const BATCH: usize = 10;

/// Minimum number of SACKs for each window and kind.
const SACKS: usize = 10_000;

/// The same for the slower algorithms, whose cost shows with fewer SACKs.
const SACKS_WALKED: usize = 1_000;

/// Bytes of a DATA chunk before its payload.
const DATA_HEADER: usize = 16;

/// Size of both buffers in bytes.
const WINDOW: u32 = 1 << 30;

const FAST: PathId = PathId(0);
const SLOW: PathId = PathId(1);

/// Limit for the index: cost with the most outstanding TSNs over cost with the fewest.
const MAX_RATIO: f64 = 1.5;

/// SACK-handling algorithms, and the largest number of runs for each.
const HANDLINGS: [(&str, usize); 3] = [("indexed", usize::MAX), ("scan", 1), ("outstanding-array", 1)];

fn main() {
    let arguments = Arguments {
        json: false,
        runs: 5,
        seconds: 0.0,
    };
    let arguments = arguments.or("sack_cost: nanoseconds for each SACK, by the number of TSNs outstanding");
    let kinds: [(&str, Kind); 2] = [("advancing", advancing), ("growing", growing)];
    for (name, kind) in kinds {
        for (handling, runs) in HANDLINGS {
            let ratio = tabulate(name, kind, handling, runs.min(arguments.runs), arguments.json);
            if handling == "indexed" && ratio > MAX_RATIO {
                eprintln!(
                    "a SACK costs {ratio:.2} times as much with more outstanding, which is more than {MAX_RATIO}"
                );
                std::process::exit(1);
            }
        }
    }
}

/// Prints one table; returns the cost with the most outstanding TSNs over the cost with the fewest.
fn tabulate(name: &str, kind: Kind, handling: &'static str, runs: usize, json: bool) -> f64 {
    let columns = [("ns_per_sack", 0), ("over_first", 2), ("chunks_visited", 1)];
    let columns = columns.map(|(name, decimals)| Column { name, decimals });
    let mut table = Table::new(format!("{name} SACKs, {handling}"), &columns);
    let mut costs = [const { Vec::new() }; OUTSTANDING.len()];
    let mut visited = [0.0; OUTSTANDING.len()];
    for _ in 0..runs {
        for (index, outstanding) in OUTSTANDING.into_iter().enumerate() {
            let (cost, visits) = measure(kind, handling, outstanding);
            costs[index].push(cost);
            visited[index] = visits;
        }
    }
    let costs = costs.map(|costs| median(&costs));
    for (index, outstanding) in OUTSTANDING.into_iter().enumerate() {
        let cost = costs[index];
        let values = [cost, cost / costs[0], visited[index]];
        table.row(format!("{outstanding} outstanding"), &values);
    }
    table.print(json);
    costs[OUTSTANDING.len() - 1] / costs[0]
}

/// Sends a batch of SACKs of one kind and appends the nanoseconds per SACK to `costs`.
type Kind = fn(&mut Setup, outstanding: usize, costs: &mut Vec<f64>);

/// Nanoseconds and visited chunks per SACK.
fn measure(kind: Kind, handling: &'static str, outstanding: usize) -> (f64, f64) {
    let mut setup = Setup::new(handling);
    let mut costs = Vec::new();
    let sacks = if handling == "indexed" {
        SACKS
    } else {
        SACKS_WALKED
    };
    while costs.len() < sacks / BATCH {
        kind(&mut setup, outstanding, &mut costs);
    }
    (median(&costs), setup.visited / setup.sacks)
}

fn advancing(setup: &mut Setup, outstanding: usize, costs: &mut Vec<f64>) {
    let missing = outstanding - setup.outstanding();
    setup.send(missing);
    let sacks = (1..=BATCH as u32).map(|number| setup.sack(setup.acknowledged + 2 * number, &[]));
    let sacks = sacks.collect::<Vec<_>>();
    costs.push(setup.handle(&sacks));
    setup.acknowledged += 2 * BATCH as u32;
    assert_eq!(
        setup.chunks_in_flight(),
        setup.outstanding(),
        "SACKs without effect"
    );
}

fn growing(setup: &mut Setup, outstanding: usize, costs: &mut Vec<f64>) {
    let reach = outstanding.min(FURTHEST);
    let apart = reach / 2 / HOLES;
    // Offsets from the cumulative TSN: 1 is on the slow path, then every `apart`-th.
    setup.send_on(SLOW, 1);
    for _ in 0..HOLES {
        setup.send_on(FAST, apart - 1);
        setup.send_on(SLOW, 1);
    }
    setup.send_on(FAST, outstanding - setup.outstanding());
    let hole = |number: usize| (1 + number * apart) as u16;
    let mut blocks: Vec<_> = (0..HOLES)
        .map(|number| GapBlock {
            start: hole(number) + 1,
            end: hole(number + 1) - 1,
        })
        .collect();
    let mut end = hole(HOLES) + 1;
    blocks.push(GapBlock { start: end, end });
    setup.handle(&[setup.sack(setup.acknowledged, &blocks)]);
    while usize::from(end) + 2 * BATCH <= reach {
        let sacks = (0..BATCH).map(|_| {
            end += 2;
            blocks[HOLES].end = end;
            setup.sack(setup.acknowledged, &blocks)
        });
        let sacks = sacks.collect::<Vec<_>>();
        costs.push(setup.handle(&sacks));
    }
    let acknowledged: usize = blocks
        .iter()
        .map(|block| usize::from(block.end - block.start) + 1)
        .sum();
    assert_eq!(
        setup.chunks_in_flight(),
        outstanding - acknowledged,
        "SACKs without effect"
    );
    setup.acknowledge_all();
}

/// A sender whose packets are dropped and whose SACKs are forged.
struct Setup {
    pair: Pair,
    association: AssociationId,
    forger: Forger,
    /// The cumulative TSN ack point.
    acknowledged: u32,
    /// The last TSN sent.
    sent: u32,
    payload: Bytes,
    /// Number of timed SACKs, and of chunks visited for them.
    sacks: f64,
    visited: f64,
}

impl Setup {
    fn new(handling: &'static str) -> Self {
        let mut policies = PolicyRecipe::cmt();
        for (point, value) in [
            ("cc", "fixed"),
            ("cc.cwnd", "1000000000000"),
            ("burst", "unlimited"),
            ("path-scheduler", "primary"),
            ("sack-handling", handling),
        ] {
            policies.set(point, value).expect("a name of the catalogue");
        }
        let payload = Bytes::from(vec![7; 1_400]);
        let config = AssociationConfig {
            send_buffer: BufferSize::Fixed(u64::from(WINDOW)),
            receive_buffer: BufferSize::Fixed(u64::from(WINDOW)),
            policies,
            ..AssociationConfig::default()
        };
        let mut pair = Pair::new(2, &config);
        let (association, _) = pair.associate(&config);
        // The SACK of two packets has the verification tag and the TSN.
        send(&mut pair, association, &payload, 2);
        pair.carry(Direction::Forward, |_, _| ());
        let mut first_sack = None;
        pair.discard(Direction::Reverse, |packet| {
            first_sack = first_sack.or_else(|| read_sack(packet));
        });
        let (header, cumulative) = first_sack.expect("two packets are acknowledged at once");
        let mut setup = Self {
            pair,
            association,
            forger: Forger::new(header, WINDOW),
            acknowledged: cumulative.0.wrapping_sub(2),
            sent: cumulative.0,
            payload,
            sacks: 0.0,
            visited: 0.0,
        };
        setup.acknowledge_all();
        setup
    }

    fn acknowledge_all(&mut self) {
        self.handle(&[self.sack(self.sent, &[])]);
        self.acknowledged = self.sent;
        // Advances the time so that timers and heartbeats run.
        self.pair.pass(Duration::from_millis(1), false);
        self.pair.settle();
        self.pair.ignore_events();
    }

    fn visited_so_far(&self) -> u64 {
        let association = self.pair.alice.association(self.association).expect("it lives");
        association.statistics().sack_elements_visited
    }

    const fn outstanding(&self) -> usize {
        self.sent.wrapping_sub(self.acknowledged) as usize
    }

    fn chunks_in_flight(&self) -> usize {
        let association = self.pair.alice.association(self.association).expect("it lives");
        let bytes: u64 = association.path_facts().iter().map(|path| path.in_flight).sum();
        bytes as usize / (self.payload.len() + DATA_HEADER)
    }

    fn sack(&self, cumulative: u32, blocks: &[GapBlock]) -> Vec<u8> {
        self.forger.sack(Tsn(cumulative), blocks)
    }

    fn send(&mut self, count: usize) {
        self.send_on(FAST, count);
    }

    /// Sends messages of one chunk each on one path; their packets are dropped.
    fn send_on(&mut self, path: PathId, count: usize) {
        let association = self.pair.alice.association_mut(self.association);
        association.expect("it lives").set_primary(path);
        send(&mut self.pair, self.association, &self.payload, count);
        self.pair.discard(Direction::Forward, |_| ());
        self.sent = self.sent.wrapping_add(count as u32);
    }

    /// Handles `sacks`; returns the nanoseconds per SACK.
    fn handle(&mut self, sacks: &[Vec<u8>]) -> f64 {
        let arrival = Pair::path(0);
        let visited = self.visited_so_far();
        let start = Instant::now();
        for sack in sacks {
            self.pair
                .alice
                .handle_datagram(self.pair.now, arrival, Ecn::NotCapable, sack);
        }
        let elapsed = start.elapsed();
        self.visited += (self.visited_so_far() - visited) as f64;
        self.sacks += sacks.len() as f64;
        elapsed.as_nanos() as f64 / sacks.len() as f64
    }
}

fn send(pair: &mut Pair, association: AssociationId, payload: &Bytes, count: usize) {
    let mut association = pair.alice.association_mut(association).expect("it lives");
    for number in 0..count {
        // No stream may have more than 65,535 ordered messages outstanding: its sequence numbers would repeat.
        let stream = StreamId((number % 8) as u16);
        association
            .send(Message::new(stream, payload.clone()))
            .expect("a gigabyte of room");
    }
}

fn read_sack(packet: &[u8]) -> Option<(CommonHeader, Tsn)> {
    let packet = Packet::parse(packet).ok()?;
    let mut chunks = packet.chunks();
    chunks.find_map(|chunk| match chunk.ok()?.decode().ok()? {
        Chunk::Sack(sack) => Some((packet.header(), sack.cumulative)),
        _ => None,
    })
}

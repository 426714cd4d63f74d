//! Benchmark `sack_cost`. Does a SACK cost more when more TSNs are outstanding?
//!
//! One endpoint with 100, 1,000, 10,000 and 100,000 TSNs outstanding is fed with forged SACKs. *Advancing*: the
//! cumulative TSN moves by two, no gaps, as on one path without loss. *Growing*: the cumulative TSN is stuck at a
//! chunk of a slow second path, eight more such chunks leave eight gaps, and the last block grows by two: what a
//! sender with Concurrent Multipath Transfer over dissimilar paths sees most of the time. The number of blocks is
//! the same for all windows, for each block of a SACK has to be read.
//!
//! The index of the scoreboard is measured beside the two walks that reproduce what others do (`sack-handling`), and
//! the chunks that each of them looks at are counted. With the index, a SACK against 100,000 TSNs must not cost more
//! than [`MAX_RATIO`] times one against 100.

use std::time::{Duration, Instant};

use anabranch_bench::{Arguments, Column, Direction, Forger, Pair, Table, median};
use anabranch_policy::PolicyRecipe;
use anabranch_proto::{AssociationConfig, Message};
use anabranch_types::{AssociationId, Ecn, PathId, StreamId, Tsn};
use anabranch_wire::{Chunk, CommonHeader, GapBlock, Packet};
use bytes::Bytes;

const OUTSTANDING: [usize; 4] = [100, 1_000, 10_000, 100_000];

/// Chunks on the slow path beside the one that holds the cumulative TSN back.
const HOLES: usize = 8;

/// Gap block offsets have 16 bits (RFC 9260 §3.3.4).
const FURTHEST: usize = 65_000;

/// SACKs that are timed together: a clock costs as much as a tenth of a SACK.
const BATCH: usize = 10;

/// SACKs to measure, at least, for each window and kind.
const SACKS: usize = 10_000;

/// The same for the ways that cost so much more that fewer show it.
const SACKS_WALKED: usize = 1_000;

/// Bytes of a DATA chunk before its payload.
const DATA_HEADER: usize = 16;

/// Bytes that both buffers take.
const WINDOW: u32 = 1 << 30;

const FAST: PathId = PathId(0);
const SLOW: PathId = PathId(1);

/// How much more the index may cost with the most outstanding than with the fewest.
const MAX_RATIO: f64 = 1.5;

/// Ways to handle a SACK, and how many runs are enough to see what they cost.
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

/// Prints one table; gives the cost with the most outstanding, in costs with the fewest.
fn tabulate(name: &str, kind: Kind, handling: &'static str, runs: usize, json: bool) -> f64 {
    let columns = [("ns_per_sack", 0), ("over_first", 2), ("chunks_looked_at", 1)];
    let columns = columns.map(|(name, decimals)| Column { name, decimals });
    let mut table = Table::new(format!("{name} SACKs, {handling}"), &columns);
    let mut costs = [const { Vec::new() }; OUTSTANDING.len()];
    let mut looks = [0.0; OUTSTANDING.len()];
    for _ in 0..runs {
        for (index, outstanding) in OUTSTANDING.into_iter().enumerate() {
            let (cost, look) = measure(kind, handling, outstanding);
            costs[index].push(cost);
            looks[index] = look;
        }
    }
    let costs = costs.map(|costs| median(&costs));
    for (index, outstanding) in OUTSTANDING.into_iter().enumerate() {
        let cost = costs[index];
        let values = [cost, cost / costs[0], looks[index]];
        table.row(format!("{outstanding} outstanding"), &values);
    }
    table.print(json);
    costs[OUTSTANDING.len() - 1] / costs[0]
}

/// Makes SACKs of one kind and adds the nanoseconds that each cost, batch by batch.
type Kind = fn(&mut Scene, outstanding: usize, costs: &mut Vec<f64>);

/// Nanoseconds for each SACK, and chunks looked at.
fn measure(kind: Kind, handling: &'static str, outstanding: usize) -> (f64, f64) {
    let mut scene = Scene::new(handling);
    let mut costs = Vec::new();
    let sacks = if handling == "indexed" {
        SACKS
    } else {
        SACKS_WALKED
    };
    while costs.len() < sacks / BATCH {
        kind(&mut scene, outstanding, &mut costs);
    }
    (median(&costs), scene.looks / scene.sacks)
}

fn advancing(scene: &mut Scene, outstanding: usize, costs: &mut Vec<f64>) {
    let missing = outstanding - scene.outstanding();
    scene.send(missing);
    let sacks = (1..=BATCH as u32).map(|number| scene.sack(scene.acknowledged + 2 * number, &[]));
    let sacks = sacks.collect::<Vec<_>>();
    costs.push(scene.handle(&sacks));
    scene.acknowledged += 2 * BATCH as u32;
    assert_eq!(
        scene.chunks_in_flight(),
        scene.outstanding(),
        "SACKs without effect"
    );
}

fn growing(scene: &mut Scene, outstanding: usize, costs: &mut Vec<f64>) {
    let reach = outstanding.min(FURTHEST);
    let apart = reach / 2 / HOLES;
    // Offsets from the cumulative TSN: 1 is on the slow path, then every `apart`-th.
    scene.send_on(SLOW, 1);
    for _ in 0..HOLES {
        scene.send_on(FAST, apart - 1);
        scene.send_on(SLOW, 1);
    }
    scene.send_on(FAST, outstanding - scene.outstanding());
    let hole = |number: usize| (1 + number * apart) as u16;
    let mut blocks: Vec<_> = (0..HOLES)
        .map(|number| GapBlock {
            start: hole(number) + 1,
            end: hole(number + 1) - 1,
        })
        .collect();
    let mut end = hole(HOLES) + 1;
    blocks.push(GapBlock { start: end, end });
    scene.handle(&[scene.sack(scene.acknowledged, &blocks)]);
    while usize::from(end) + 2 * BATCH <= reach {
        let sacks = (0..BATCH).map(|_| {
            end += 2;
            blocks[HOLES].end = end;
            scene.sack(scene.acknowledged, &blocks)
        });
        let sacks = sacks.collect::<Vec<_>>();
        costs.push(scene.handle(&sacks));
    }
    let acknowledged: usize = blocks
        .iter()
        .map(|block| usize::from(block.end - block.start) + 1)
        .sum();
    assert_eq!(
        scene.chunks_in_flight(),
        outstanding - acknowledged,
        "SACKs without effect"
    );
    scene.acknowledge_all();
}

/// A sender whose packets are lost and whose SACKs are forged.
struct Scene {
    pair: Pair,
    association: AssociationId,
    forger: Forger,
    /// The cumulative TSN ack point.
    acknowledged: u32,
    /// The last TSN sent.
    sent: u32,
    payload: Bytes,
    /// SACKs that were timed, and chunks that were looked at for them.
    sacks: f64,
    looks: f64,
}

impl Scene {
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
            send_buffer: u64::from(WINDOW),
            receive_buffer: u64::from(WINDOW),
            policies,
            ..AssociationConfig::default()
        };
        let mut pair = Pair::new(2, &config);
        let (association, _) = pair.associate(&config);
        // The answer to two packets tells the tag and the TSN.
        send(&mut pair, association, &payload, 2);
        pair.carry(Direction::There, |_, _| ());
        let mut first_sack = None;
        pair.steal(Direction::Back, |packet| {
            first_sack = first_sack.or_else(|| read_sack(packet));
        });
        let (header, cumulative) = first_sack.expect("two packets are acknowledged at once");
        let mut scene = Self {
            pair,
            association,
            forger: Forger::new(header, WINDOW),
            acknowledged: cumulative.0.wrapping_sub(2),
            sent: cumulative.0,
            payload,
            sacks: 0.0,
            looks: 0.0,
        };
        scene.acknowledge_all();
        scene
    }

    fn acknowledge_all(&mut self) {
        self.handle(&[self.sack(self.sent, &[])]);
        self.acknowledged = self.sent;
        // Time for timers and heartbeats.
        self.pair.pass(Duration::from_millis(1), false);
        self.pair.settle();
        self.pair.ignore_events();
    }

    fn looks_so_far(&self) -> u64 {
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

    /// Sends messages of one chunk each on one path; nobody receives them.
    fn send_on(&mut self, path: PathId, count: usize) {
        let association = self.pair.alice.association_mut(self.association);
        association.expect("it lives").set_primary(path);
        send(&mut self.pair, self.association, &self.payload, count);
        self.pair.steal(Direction::There, |_| ());
        self.sent = self.sent.wrapping_add(count as u32);
    }

    /// Nanoseconds for each of `sacks`.
    fn handle(&mut self, sacks: &[Vec<u8>]) -> f64 {
        let arrival = Pair::path(0);
        let looks = self.looks_so_far();
        let start = Instant::now();
        for sack in sacks {
            self.pair
                .alice
                .handle_datagram(self.pair.now, arrival, Ecn::NotCapable, sack);
        }
        let elapsed = start.elapsed();
        self.looks += (self.looks_so_far() - looks) as f64;
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

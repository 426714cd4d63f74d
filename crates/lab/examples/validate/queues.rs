//! Laws of queues: waiting time, RED's average length, times between CoDel's drops. Packets of 1,000 bytes over 8 Mbit/s, so that each takes
//! a millisecond.

use core::time::Duration;

use anabranch_netsim::link::{CodelConfig, DropCause, Packet, QueueConfig, RedConfig};
use anabranch_netsim::traffic::{Arrivals, Pattern};
use anabranch_netsim::{Link, LinkConfig};
use anabranch_types::{Instant, Rate, Rng, Seed};

use super::{Cell, Law, Size};

const PACKET_BYTES: u32 = 1_000;
const SERVICE: Duration = Duration::from_millis(1);

/// A packet that stores when it was offered.
#[derive(Clone)]
struct Stamp(Instant);

impl Packet for Stamp {
    fn corrupt(&mut self, _rng: &mut Rng) {}
}

/// A link with packets that arrive at random.
struct Loaded {
    link: Link<Stamp>,
    arrivals: Arrivals,
    now: Instant,
    waited: Duration,
}

impl Loaded {
    /// `load` is relative to the rate of the link.
    fn new(queue: QueueConfig, load: f64, seed: u64) -> Self {
        let config = LinkConfig::new(Rate::mbit(8), Duration::ZERO).queue(queue);
        let rate = Rate::bits_per_second((8e6 * load).round() as u64);
        Self {
            link: Link::new(config, Seed(seed)),
            arrivals: Arrivals::new(Pattern::Poisson, rate, PACKET_BYTES, Seed(seed).split("arrivals")),
            now: Instant::ZERO,
            waited: Duration::ZERO,
        }
    }

    /// The next packet arrives.
    fn step(&mut self) {
        self.now += self.arrivals.next_gap();
        while let Some(due) = self.link.deadline().filter(|due| *due <= self.now) {
            if let Some(stamp) = self.link.take_due(due) {
                self.waited += due - stamp.0 - SERVICE;
            }
        }
        self.link.settle(self.now);
    }

    fn offer(&mut self) {
        self.link.offer(self.now, Stamp(self.now), PACKET_BYTES);
    }
}

fn cell(setting: String, expected: f64, size: Size, run: impl Fn(u64) -> f64) -> Cell {
    Cell {
        setting,
        expected,
        values: (1..=size.seeds).map(run).collect(),
    }
}

pub(crate) fn waiting_time(size: Size) -> Law {
    let of_load = |load: f64| {
        let measured = |seed| {
            let mut loaded = Loaded::new(QueueConfig::Packets(u32::MAX), load, seed);
            for _ in 0..size.packets {
                loaded.step();
                loaded.offer();
            }
            loaded.waited.as_secs_f64() * 1e3 / f64::from(size.packets)
        };
        cell(format!("load {load}"), load / 2.0 / (1.0 - load), size, measured)
    };
    Law {
        name: "Waiting time in an M/D/1 queue",
        text: "Packets arrive by a Poisson process and take a constant time *s*. The mean waiting time is ρ *s* / 2 (1 − ρ) at a load of ρ \
               (Pollaczek and Khinchine).",
        quantity: "mean waiting time in ms",
        margin: 0.05,
        cells: [0.3, 0.5, 0.7, 0.8].map(of_load).into(),
    }
}

pub(crate) fn red_average(size: Size) -> Law {
    let red = RedConfig {
        min_threshold: 50.0,
        max_threshold: 150.0,
        max_probability: 0.1,
        ..RedConfig::classic(10_000)
    };
    let of_load = |load: f64| {
        let dropped = 1.0 - 1.0 / load;
        let base = dropped / (2.0 - dropped);
        let expected =
            red.min_threshold + base / red.max_probability * (red.max_threshold - red.min_threshold);
        let measured = |seed| {
            let mut loaded = Loaded::new(QueueConfig::Red(red), load, seed);
            let (mut sum, mut count) = (0, 0_u32);
            for number in 0..size.packets {
                loaded.step();
                // The average forgets a start with an empty queue within some thousands of packets.
                if number >= size.packets / 4 {
                    sum += loaded.link.waiting().packets;
                    count += 1;
                }
                loaded.offer();
            }
            sum as f64 / f64::from(count)
        };
        cell(format!("load {load}"), expected, size, measured)
    };
    Law {
        name: "RED's average queue",
        text: "Of a load ρ > 1 that does not react, RED has to drop the share *p* = 1 − 1/ρ. Between two drops lie 1 to 1/*b* packets, each number as \
               likely (Floyd and Jacobson 1993, §7), so *b* = *p* / (2 − *p*). It grows from 0 to 0.1 between the thresholds of 50 and 150 packets. \
               This gives the average queue that arriving packets find: 50 + 1,000 *b*.",
        quantity: "mean queue in packets",
        margin: 0.05,
        cells: [1.05, 1.1, 1.15].map(of_load).into(),
    }
}

pub(crate) fn codel_drops(size: Size) -> Law {
    let codel = CodelConfig::standard(100_000);
    let of_seconds = |seconds: u64| {
        let measured = |seed| {
            let mut loaded = Loaded::new(QueueConfig::Codel(codel), 2.0, seed);
            let drops = |loaded: &Loaded| loaded.link.stats().dropped(DropCause::Early).packets;
            while drops(&loaded) == 0 {
                loaded.step();
                loaded.offer();
            }
            let end = loaded.now + Duration::from_secs(seconds);
            while loaded.now < end {
                loaded.step();
                loaded.offer();
            }
            drops(&loaded) as f64
        };
        cell(
            format!("{seconds} s"),
            f64::from(drops_within(seconds as f64)),
            size,
            measured,
        )
    };
    Law {
        name: "CoDel's control law",
        text: "While packets wait for longer than the target, the time from the *k*-th drop to the next is 100 ms / √*k* (RFC 8289 §5.3). Twice the \
               rate of the link arrives and does not react. The number of drops is counted from the first one on.",
        quantity: "drops",
        margin: 0.05,
        cells: [1, 2, 5].map(of_seconds).into(),
    }
}

/// The drops within a time after the first one, which is counted.
fn drops_within(seconds: f64) -> u32 {
    let (mut drops, mut next) = (1_u32, 0.1);
    while next <= seconds {
        drops += 1;
        next += 0.1 / f64::from(drops).sqrt();
    }
    drops
}

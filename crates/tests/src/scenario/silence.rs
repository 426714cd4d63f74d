//! Silence: how long does the receiving application get no message after a path fails or begins to drop large packets?

use std::time::Duration;

use anabranch_netsim::LinkConfig;
use anabranch_netsim::link::QueueConfig;
use anabranch_sim::Side;
use anabranch_sim::app::{Bulk, Streams};
use anabranch_types::{Instant, StreamId};

use crate::fixture::{Pair, mbit, ms, secs};

/// A path: rate in Mbit/s, delay one way and queue in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Path(u64, u64, u64);

impl Path {
    fn link(self) -> LinkConfig {
        let rate = mbit(self.0);
        LinkConfig::new(rate, ms(self.1)).queue(QueueConfig::Bytes(rate.bytes_in(ms(self.2))))
    }

    /// The largest round-trip time: the queue is full, and a packet is transmitted in either direction.
    fn largest_round_trip(self) -> Duration {
        ms(2 * self.1 + self.2) + mbit(self.0).time_for(2 * 1_500)
    }
}

const PAIRS: [[Path; 2]; 5] = [
    [Path(10, 20, 120), Path(10, 20, 120)],
    [Path(10, 20, 120), Path(40, 20, 30)],
    [Path(10, 1, 30), Path(40, 1, 30)],
    [Path(10, 20, 30), Path(40, 20, 30)],
    [Path(10, 5, 120), Path(10, 60, 120)],
];

/// Pairs with so many packets in flight that SACKs have no room for all gap ack blocks.
const LARGE_PAIRS: [[Path; 2]; 3] = [
    [Path(100, 25, 50), Path(100, 25, 50)],
    [Path(100, 25, 25), Path(100, 25, 25)],
    [Path(50, 25, 50), Path(50, 25, 50)],
];

/// The longest time without a message for Bob in the five seconds after `event`, in a transfer over these paths. `start` is the time of
/// the event within a congestion epoch.
fn longest_silence(paths: &[Path], start: Duration, event: impl FnOnce(&mut Pair)) -> Duration {
    let mut pair = Pair::paths(paths.iter().map(|path| path.link())).connected();
    pair.alice().start_bulk(Bulk::new(1_400, Streams::one(0)));
    pair.run_for(secs(4) + start);
    let since = pair.simulation.now();
    event(&mut pair);
    pair.run_for(secs(5));
    let reader = pair.simulation.conversation(Side::Far).expect("a reader");
    let arrivals = reader.inbox().on_stream(StreamId(0)).map(|(_, _, at)| at);
    let mut times: Vec<Instant> = arrivals.filter(|at| *at >= since).collect();
    times.push(pair.simulation.now());
    let mut last = since;
    let gaps = times.into_iter().map(|at| at - std::mem::replace(&mut last, at));
    gaps.max().expect("at least one")
}

/// The longest silence over several times of the event.
fn longest_of_all(paths: &[Path], event: impl Fn(&mut Pair)) -> Duration {
    let starts = [0, 70, 140].map(ms);
    let silences = starts.map(|start| longest_silence(paths, start, &event));
    println!("{paths:?}: {silences:?}");
    silences.into_iter().max().expect("three")
}

fn limit(paths: &[Path]) -> Duration {
    let largest = paths.iter().map(|path| path.largest_round_trip()).max();
    ms(300).max(3 * largest.expect("two paths"))
}

#[test]
fn failure_of_one_of_two_paths_silences_at_most_three_round_trips() {
    for paths in PAIRS.into_iter().chain(LARGE_PAIRS) {
        for path in [0, 1] {
            let silence = longest_of_all(&paths, |pair| pair.cut_path(path));
            assert!(silence <= limit(&paths), "{paths:?}, {path}: {silence:?}");
        }
    }
}

#[test]
fn hole_on_one_of_two_paths_silences_at_most_three_round_trips() {
    for paths in PAIRS.into_iter().chain(LARGE_PAIRS) {
        for path in [0, 1] {
            let silence = longest_of_all(&paths, |pair| pair.set_hole(path, 1_300));
            assert!(silence <= limit(&paths), "{paths:?}, {path}: {silence:?}");
        }
    }
}

/// The longest silence when all paths drop large packets: the last SACK is delayed and restarts T3, T3 expires, the probe of the size
/// in use is not answered within SRTT + max(4 · RTTVAR, 100 ms), and smaller chunks are sent. RTTVAR is at most half of the time that the
/// queue may add.
fn limit_of_holes(paths: &[Path]) -> Duration {
    const RTO_MIN: Duration = Duration::from_millis(400);
    const SACK_DELAY: Duration = Duration::from_millis(200);
    let silence = |path: &Path| {
        let round_trip = path.largest_round_trip();
        let variation = 4 * ms(path.2) / 2;
        let timeout = RTO_MIN.max(round_trip + variation);
        let probe = (round_trip + variation.max(ms(100))).min(timeout);
        SACK_DELAY + timeout + probe + round_trip
    };
    paths.iter().map(silence).max().expect("a path")
}

#[test]
fn hole_on_all_paths_silences_for_a_timeout_and_a_probe() {
    for paths in PAIRS {
        for paths in [&paths[..1], &paths] {
            let silence = longest_of_all(paths, |pair| {
                (0..paths.len()).for_each(|path| pair.set_hole(path, 1_300));
            });
            assert!(silence <= limit_of_holes(paths), "{paths:?}: {silence:?}");
        }
    }
}

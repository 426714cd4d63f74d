//! Properties of stream schedulers: a ready stream is served eventually, an idle one never, and shares are kept.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use anabranch_types::{Instant, MessageId, PathId, Rng, Seed, StreamId};

use super::{STEPS, WORLDS, for_all};
use crate::catalog::{Choice, PolicyChoice, StreamSchedulerChoice};
use crate::testing::any_paths;
use crate::{PathUse, StreamFacts, StreamScheduler};

const STREAMS: u64 = 12;

const PATH: PathId = PathId(0);

/// Calls `property` for the algorithm called `name` in each random run.
fn for_one(name: &str, property: impl Fn(&mut dyn StreamScheduler, &mut Rng)) {
    let choice = StreamSchedulerChoice::named(name).expect("a name of the catalog");
    for world in 0..WORLDS {
        property(&mut *choice.build(), &mut Seed(world).split(name).rng());
    }
}

fn facts(stream: StreamId, head: u64) -> StreamFacts {
    StreamFacts {
        id: stream,
        head: MessageId(head),
        head_bytes: 1_000,
        queued_bytes: 1_000,
        priority: 0,
        weight: 1,
        path_use: PathUse::All,
    }
}

/// The ready streams and their messages, as the core knows them.
struct Streams {
    heads: BTreeMap<StreamId, u64>,
    next_message: u64,
    /// Whether the core calls before each chunk (RFC 8260 §2), or only between messages.
    interleaving: bool,
    /// The message that has to be finished, without interleaving.
    begun: Option<StreamId>,
}

impl Streams {
    fn new(interleaving: bool) -> Self {
        Self {
            heads: BTreeMap::new(),
            next_message: 0,
            interleaving,
            begun: None,
        }
    }

    fn announce(&mut self, stream: StreamId, policies: [&mut dyn StreamScheduler; 2]) {
        self.next_message += 1;
        self.heads.insert(stream, self.next_message);
        for policy in policies {
            policy.on_ready(&facts(stream, self.next_message));
        }
    }

    fn step(&mut self, rng: &mut Rng, policies: [&mut dyn StreamScheduler; 2]) {
        let stream = StreamId(rng.below(STREAMS) as u16);
        match rng.below(4) {
            0 if !self.heads.contains_key(&stream) => self.announce(stream, policies),
            // Reported again without a change, or with another priority and weight.
            1 => {
                if let Some(head) = self.heads.get(&stream) {
                    let facts = StreamFacts {
                        priority: rng.below(3) as u16,
                        weight: 1 + rng.below(5) as u16,
                        ..facts(stream, *head)
                    };
                    for policy in policies {
                        policy.on_ready(&facts);
                    }
                }
            }
            // Its messages were abandoned.
            2 if rng.chance(1, 4) && self.begun != Some(stream) => {
                self.heads.remove(&stream);
                for policy in policies {
                    policy.on_idle(stream);
                }
            }
            _ => self.serve(rng, policies),
        }
    }

    fn serve(&mut self, rng: &mut Rng, policies: [&mut dyn StreamScheduler; 2]) {
        let [policy, twin] = policies;
        let Some(stream) = self.begun.or_else(|| policy.next(PATH)) else {
            return;
        };
        let done = rng.chance(1, 2);
        policy.on_taken(stream, 500, done);
        twin.on_taken(stream, 500, done);
        self.begun = (!done && !self.interleaving).then_some(stream);
        if !done {
            return;
        }
        if rng.chance(1, 2) {
            self.announce(stream, [policy, twin]);
        } else {
            self.heads.remove(&stream);
            policy.on_idle(stream);
            twin.on_idle(stream);
        }
    }
}

#[test]
fn next_is_some_exactly_while_a_stream_is_ready() {
    for_all::<StreamSchedulerChoice>(|policy, twin, rng| {
        let mut streams = Streams::new(rng.chance(1, 2));
        for _ in 0..STEPS {
            streams.step(rng, [policy, twin]);
            let next = policy.next(PATH);
            assert_eq!(next, twin.next(PATH), "same inputs, other answer");
            assert!(
                next.is_none_or(|stream| streams.heads.contains_key(&stream)),
                "{next:?} is idle"
            );
            // Within a packet a scheduler may have no further stream for it; for a new packet it must have one.
            if rng.chance(1, 2) {
                policy.on_packet_end();
                twin.on_packet_end();
                let named = policy.next(PATH).is_some();
                assert_eq!(named, !streams.heads.is_empty());
            }
        }
    });
}

#[test]
fn every_ready_stream_is_served() {
    for_all::<StreamSchedulerChoice>(|policy, _, rng| {
        let patient = StreamId(STREAMS as u16);
        let mut message = 0;
        let ready = rng.below(STREAMS) as u16 + 1;
        for stream in (0..ready).map(StreamId).chain([patient]) {
            message += 1;
            policy.on_ready(&facts(stream, message));
        }
        let mut turns = 0;
        while policy.next(PATH) != Some(patient) {
            let stream = policy.next(PATH).expect("many are ready");
            policy.on_taken(stream, 1_000, true);
            message += 1;
            policy.on_ready(&facts(stream, message));
            policy.on_packet_end();
            turns += 1;
            assert!(turns < 1_000, "starved");
        }
    });
}

/// What each stream was served after many turns, if all always have data with the facts that `of` gives. Messages have
/// up to 3,000 bytes and are cut into chunks of 1,000.
fn served(
    policy: &mut dyn StreamScheduler,
    of: &[StreamFacts],
    interleaving: bool,
    rng: &mut Rng,
) -> BTreeMap<StreamId, u64> {
    let mut left: BTreeMap<StreamId, u64> = BTreeMap::new();
    let mut served = BTreeMap::new();
    let mut begun = None;
    for facts in of {
        policy.on_ready(facts);
        left.insert(facts.id, 1 + rng.below(3_000));
        served.insert(facts.id, 0);
    }
    for turn in 0..20_000 {
        let stream = begun.or_else(|| policy.next(PATH)).expect("all are ready");
        let facts = of.iter().find(|facts| facts.id == stream).expect("one of them");
        let bytes = left[&stream].min(1_000);
        let done = bytes == left[&stream];
        policy.on_taken(stream, bytes as u32, done);
        *served.entry(stream).or_default() += bytes;
        *left.entry(stream).or_default() -= bytes;
        begun = (!done && !interleaving).then_some(stream);
        if done {
            left.insert(stream, 1 + rng.below(3_000));
            policy.on_ready(&StreamFacts {
                head: MessageId(100 + turn),
                ..*facts
            });
        }
    }
    served
}

/// The largest and the smallest number of bytes served per unit of weight.
fn spread(served: &BTreeMap<StreamId, u64>, of: &[StreamFacts]) -> (u64, u64) {
    let shares = || of.iter().map(|facts| served[&facts.id] / u64::from(facts.weight));
    (
        shares().max().expect("a stream was served"),
        shares().min().expect("a stream was served"),
    )
}

fn some_streams(rng: &mut Rng) -> Vec<StreamFacts> {
    let count = 2 + rng.below(6);
    let any = |(id, head)| StreamFacts {
        priority: rng.below(4) as u16,
        weight: 1 + rng.below(9) as u16,
        ..facts(StreamId(id), head)
    };
    (0_u16..).zip(0..count).map(any).collect()
}

#[test]
fn fair_bandwidth_serves_equal_bytes() {
    for_one("fair-bandwidth", |policy, rng| {
        let mut streams = some_streams(rng);
        let served = served(policy, &streams, rng.chance(1, 2), rng);
        for stream in &mut streams {
            stream.weight = 1;
        }
        let (most, least) = spread(&served, &streams);
        assert!(most - least <= 2 * 3_000, "{served:?}");
    });
}

#[test]
fn weighted_fair_queueing_gives_each_stream_its_share() {
    for_one("wfq", |policy, rng| {
        let streams = some_streams(rng);
        let served = served(policy, &streams, rng.chance(1, 2), rng);
        let (most, least) = spread(&served, &streams);
        assert!(most - least <= 2 * 3_000, "{streams:?} {served:?}");
    });
}

#[test]
fn lower_priority_waits_for_higher_priority() {
    for_one("priority", |policy, rng| {
        let streams = some_streams(rng);
        let most_urgent = streams.iter().map(|stream| stream.priority).min();
        let served = served(policy, &streams, rng.chance(1, 2), rng);
        for stream in &streams {
            let is_most_urgent = Some(stream.priority) == most_urgent;
            assert_eq!(served[&stream.id] > 0, is_most_urgent, "{streams:?} {served:?}");
        }
    });
}

#[test]
fn a_packet_filled_by_rr_packet_carries_one_stream() {
    for_one("rr-packet", |policy, rng| {
        let mut last = None;
        for stream in some_streams(rng) {
            policy.on_ready(&stream);
        }
        for message in 0..STEPS {
            let stream = policy.next(PATH).expect("all are ready");
            assert_ne!(last, Some(stream), "each packet is another stream's");
            for chunk in 0..=rng.below(5) {
                assert_eq!(policy.next(PATH), Some(stream));
                policy.on_taken(stream, 100, true);
                policy.on_ready(&facts(stream, message * 10 + chunk));
            }
            policy.on_packet_end();
            last = Some(stream);
        }
    });
}

#[test]
fn a_mapped_stream_is_served_on_one_path_only() {
    for name in ["fixed-map", "dynamic-map"] {
        for_one(name, |policy, rng| {
            let mut ready: BTreeMap<StreamId, u64> = BTreeMap::new();
            let mut now = Instant::ZERO + Duration::from_secs(1);
            let mut paths = any_paths(rng);
            for step in 0..STEPS {
                now += Duration::from_millis(rng.below(300));
                if rng.chance(1, 20) {
                    paths = any_paths(rng);
                }
                policy.observe(&paths, now);
                let stream = StreamId(rng.below(STREAMS) as u16);
                match rng.below(3) {
                    0 if ready.insert(stream, step).is_none() => policy.on_ready(&facts(stream, step)),
                    1 if ready.remove(&stream).is_some() => policy.on_idle(stream),
                    _ => {}
                }
                let usable: Vec<PathId> = paths
                    .iter()
                    .filter(|path| path.is_usable())
                    .map(|path| path.id)
                    .collect();
                let asked = if usable.is_empty() {
                    [PATH].to_vec()
                } else {
                    usable
                };
                let mut named: Vec<StreamId> = asked.iter().filter_map(|path| policy.next(*path)).collect();
                assert_eq!(named.is_empty(), ready.is_empty());
                named.sort();
                assert!(
                    named.is_sorted_by(|a, b| a < b),
                    "one stream on two paths: {named:?}"
                );
                for stream in named {
                    assert!(ready.contains_key(&stream), "{stream:?} is idle");
                    policy.on_taken(stream, 1_000, true);
                    policy.on_ready(&facts(stream, STEPS + step));
                }
            }
        });
    }
}

#[test]
fn fixed_map_uses_the_listed_path_while_it_is_usable() {
    for_one("fixed-map", |_, rng| {
        let mut choice = StreamSchedulerChoice::named("fixed-map").expect("a name of the catalog");
        choice.set_parameter("map", "2,0,1").expect("a map");
        let mut policy = choice.build();
        let paths = any_paths(rng);
        let usable: Vec<PathId> = paths
            .iter()
            .filter(|path| path.is_usable())
            .map(|path| path.id)
            .collect();
        policy.observe(&paths, Instant::ZERO);
        for (stream, wanted) in [(0, 2), (1, 0), (2, 1)] {
            policy.on_ready(&facts(StreamId(stream), 1));
            for path in &usable {
                let is_named = policy.next(*path) == Some(StreamId(stream));
                if usable.contains(&PathId(wanted)) {
                    assert_eq!(is_named, *path == PathId(wanted));
                }
            }
            policy.on_idle(StreamId(stream));
        }
    });
}

//! A ready stream is served eventually, an idle one never.

use alloc::collections::BTreeMap;

use anabranch_types::{MessageId, PathId, Rng, StreamId};

use super::{STEPS, for_all};
use crate::catalog::StreamSchedulerChoice;
use crate::{StreamFacts, StreamScheduler};

const STREAMS: u64 = 12;

fn facts(stream: StreamId, head: u64) -> StreamFacts {
    StreamFacts {
        id: stream,
        head: MessageId(head),
        head_bytes: 1_000,
        priority: 0,
        weight: 1,
    }
}

/// Who is ready, with which message.
#[derive(Default)]
struct Streams {
    heads: BTreeMap<StreamId, u64>,
    next_message: u64,
}

impl Streams {
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
            // Announced again without need.
            1 => {
                if let Some(head) = self.heads.get(&stream) {
                    for policy in policies {
                        policy.on_ready(&facts(stream, *head));
                    }
                }
            }
            // Its messages were abandoned.
            2 if rng.chance(1, 4) => {
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
        let Some(stream) = policy.next(PathId(0)) else {
            return;
        };
        let done = rng.chance(1, 2);
        policy.on_taken(stream, 500, done);
        twin.on_taken(stream, 500, done);
        if !done {
            assert_eq!(
                policy.next(PathId(0)),
                Some(stream),
                "a message is not interrupted"
            );
        } else if rng.chance(1, 2) {
            self.announce(stream, [policy, twin]);
        } else {
            self.heads.remove(&stream);
            policy.on_idle(stream);
            twin.on_idle(stream);
        }
    }
}

#[test]
fn a_stream_is_named_exactly_while_one_is_ready() {
    for_all::<StreamSchedulerChoice>(|policy, twin, rng| {
        let mut streams = Streams::default();
        for _ in 0..STEPS {
            streams.step(rng, [policy, twin]);
            let next = policy.next(PathId(0));
            assert_eq!(next, twin.next(PathId(0)), "same inputs, other answer");
            assert_eq!(next.is_some(), !streams.heads.is_empty());
            assert!(
                next.is_none_or(|stream| streams.heads.contains_key(&stream)),
                "{next:?} is idle"
            );
        }
    });
}

#[test]
fn every_ready_stream_is_served_however_busy_the_others_are() {
    for_all::<StreamSchedulerChoice>(|policy, _, rng| {
        let patient = StreamId(STREAMS as u16);
        let mut message = 0;
        let ready = rng.below(STREAMS) as u16 + 1;
        for stream in (0..ready).map(StreamId).chain([patient]) {
            message += 1;
            policy.on_ready(&facts(stream, message));
        }
        let mut turns = 0;
        while policy.next(PathId(0)) != Some(patient) {
            let stream = policy.next(PathId(0)).expect("many are ready");
            policy.on_taken(stream, 1_000, true);
            message += 1;
            policy.on_ready(&facts(stream, message));
            turns += 1;
            assert!(turns < 1_000, "starved");
        }
    });
}

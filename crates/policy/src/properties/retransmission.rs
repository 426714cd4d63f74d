//! Properties of retransmission policies: they return a path that may carry data, whenever there is one.

use anabranch_types::{PathId, StreamId};

use super::{STEPS, for_all};
use crate::catalog::RetransmissionChoice;
use crate::testing::{any_paths, tsn};
use crate::{LossCause, LostChunk, may_carry_data, path_facts};

#[test]
fn retransmissions_use_paths_that_may_carry_data() {
    for_all::<RetransmissionChoice>(|policy, twin, rng| {
        for _ in 0..STEPS {
            let paths = any_paths(rng);
            let chunk = LostChunk {
                tsn: tsn(rng.next_u64() >> 1),
                stream: StreamId(0),
                bytes: rng.below(1_500),
                lost_on: PathId(rng.below(6) as u8),
                cause: if rng.chance(1, 2) {
                    LossCause::Timeout
                } else {
                    LossCause::FastRetransmit
                },
                transmissions: 1 + rng.below(5) as u16,
            };
            let path = policy.path_for(&chunk, &paths);
            assert_eq!(path, policy.path_for(&chunk, &paths), "asked twice");
            assert_eq!(path, twin.path_for(&chunk, &paths), "same inputs, other answer");
            let carriers = || paths.iter().filter(|path| may_carry_data(path, &paths));
            assert_eq!(path.is_some(), carriers().next().is_some());
            let Some(facts) = path.and_then(|id| path_facts(&paths, id)) else {
                continue;
            };
            assert!(may_carry_data(facts, &paths), "{facts:?}");
            // `fastest` waits for a full path if that is sooner.
            let may_wait = policy.name() == "fastest";
            let others_full = || carriers().all(|path| path.sendable == 0 || path.id == chunk.lost_on);
            assert!(
                facts.sendable > 0 || facts.id == chunk.lost_on || may_wait || others_full(),
                "{facts:?}"
            );
        }
    });
}

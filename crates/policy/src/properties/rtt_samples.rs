//! Properties of RTT sampling: each sample is the send time of an acknowledged chunk of the path that was sent once.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use anabranch_types::{Instant, PathId, UnwrappedTsn};

use super::{STEPS, for_all};
use crate::catalog::RttSamplesChoice;
use crate::testing::{any_ack, any_paths, ms};

#[test]
fn a_sample_is_the_send_time_of_an_acked_chunk() {
    for_all::<RttSamplesChoice>(|policy, twin, rng| {
        let paths = any_paths(rng);
        let mut offered: BTreeMap<PathId, Vec<Instant>> = BTreeMap::new();
        let mut now = Instant::ZERO + ms(1_000);
        for path in &paths {
            policy.add_path(path.id);
            twin.add_path(path.id);
        }
        for step in 0..STEPS {
            now += ms(rng.below(100));
            let Some(path) = paths.get(rng.below(paths.len() as u64) as usize) else {
                return;
            };
            let probe = policy.wants_probe(path, now);
            assert_eq!(probe, policy.wants_probe(path, now), "asked twice");
            assert_eq!(probe, twin.wants_probe(path, now), "same inputs, other answer");
            if probe && rng.chance(1, 2) {
                policy.on_probe_sent(path, now);
                twin.on_probe_sent(path, now);
                assert!(!policy.wants_probe(path, now), "one at a time");
            }
            let mut ack = any_ack(rng, path, (1 << 32) + step, now);
            ack.rtt_probe = ack.rtt_sample.filter(|_| rng.chance(1, 3));
            let reported = (1 << 32) + rng.below(STEPS);
            let reports = move |tsn: UnwrappedTsn| tsn.0 <= reported;
            let arrived_on = PathId(rng.below(5) as u8);
            let overtaken = policy.on_sack(path, &reports, now);
            assert_eq!(
                overtaken,
                twin.on_sack(path, &reports, now),
                "same inputs, other answer"
            );
            let known = offered.entry(path.id).or_default();
            known.extend(ack.rtt_sample.map(|sample| sample.sent_at));
            let sample = policy.on_ack(&ack, path, arrived_on, now);
            assert_eq!(
                sample,
                twin.on_ack(&ack, path, arrived_on, now),
                "same inputs, other answer"
            );
            for sent_at in [overtaken, sample].into_iter().flatten() {
                assert!(sent_at <= now && known.contains(&sent_at), "{sent_at:?}");
            }
        }
    });
}

#[test]
fn a_removed_path_yields_no_sample() {
    for_all::<RttSamplesChoice>(|policy, _, rng| {
        let path = crate::testing::healthy(2);
        let now = Instant::ZERO + ms(1_000);
        policy.add_path(path.id);
        policy.on_probe_sent(&path, now);
        for _ in 0..20 {
            let ack = any_ack(rng, &path, 1 << 32, now);
            let ack = crate::PathAck {
                rtt_probe: ack.rtt_sample,
                ..ack
            };
            policy.on_ack(&ack, &path, PathId(0), now);
        }
        policy.remove_path(path.id);
        policy.add_path(path.id);
        assert_eq!(policy.on_sack(&path, &|_| true, now), None);
    });
}

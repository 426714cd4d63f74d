//! Properties of ack policies: a SACK within 500 ms (RFC 9260 §6.2), and for every second packet at the latest.

use anabranch_types::{Instant, PathId};

use super::{STEPS, for_all};
use crate::catalog::AckChoice;
use crate::testing::{ms, tsn};
use crate::{AckWhen, Arrival};

#[test]
fn no_packet_waits_longer_than_half_a_second_for_its_sack() {
    for_all::<AckChoice>(|policy, twin, rng| {
        let mut now = Instant::ZERO;
        let mut waiting_since = now;
        let mut packets_since_sack = 0;
        for step in 0..STEPS {
            now += ms(rng.below(100));
            packets_since_sack += 1;
            if packets_since_sack == 1 {
                waiting_since = now;
            }
            let arrival = Arrival {
                path: PathId(rng.below(3) as u8),
                first: step == 0,
                duplicate: rng.chance(1, 10),
                lowest_missing: rng.chance(1, 3).then(|| tsn(rng.below(100))),
                highest_new: rng.chance(9, 10).then(|| tsn(rng.below(100))),
                gaps_changed: rng.chance(1, 5),
                immediate: rng.chance(1, 10),
                packets_since_sack,
            };
            let when = policy.on_packet(&arrival, now);
            assert_eq!(when, policy.on_packet(&arrival, now), "asked twice");
            assert_eq!(when, twin.on_packet(&arrival, now), "same inputs, other answer");
            match when {
                AckWhen::Now => packets_since_sack = 0,
                AckWhen::By(deadline) => {
                    assert!(deadline > now && deadline - waiting_since <= ms(500));
                    assert!(packets_since_sack < 2, "every second packet is acknowledged");
                    assert!(!arrival.first && !arrival.duplicate && !arrival.immediate);
                    if rng.chance(1, 2) {
                        packets_since_sack = 0;
                    }
                }
            }
        }
    });
}

//! Properties of buffer sizing: sizes stay within the range, a receive buffer never shrinks, nothing grows while memory is scarce, and the
//! send buffer has room for what paths may send.

use anabranch_types::{Instant, Seed};

use super::{STEPS, WORLDS};
use crate::buffer_size::{ReceiveFacts, ReceiveSizing, SendFacts, SizeRange, send_buffer};
use crate::testing::{any_path, ms};

fn any_range(rng: &mut anabranch_types::Rng) -> SizeRange {
    SizeRange {
        initial: rng.below(1 << 20),
        max: 1 + rng.below(64 << 20),
    }
}

#[test]
fn send_buffer_never_starves_a_path_within_its_range() {
    for world in 0..WORLDS {
        let mut rng = Seed(world).split("send buffer").rng();
        let range = any_range(&mut rng);
        for _ in 0..STEPS {
            let facts = SendFacts {
                held: rng.below(100 << 20),
                windows: rng.below(100 << 20),
                longest: rng.below(4 << 20),
                size: range.clamp(rng.below(64 << 20)),
                scarce: rng.chance(1, 3),
            };
            let size = send_buffer(&range, &facts);
            assert_eq!(size, range.clamp(size), "within {range:?}");
            if facts.scarce {
                assert!(size <= facts.size, "grows while memory is scarce");
            } else {
                assert!(size >= range.max.min(facts.held + 2 * facts.windows));
            }
            let more = SendFacts {
                held: facts.held + 1,
                windows: facts.windows + 1,
                ..facts
            };
            assert!(send_buffer(&range, &more) >= size, "less for more");
        }
    }
}

#[test]
fn receive_buffer_only_grows_and_only_for_what_came() {
    for world in 0..WORLDS {
        let mut rng = Seed(world).split("receive buffer").rng();
        let range = any_range(&mut rng);
        let (mut sizing, mut twin) = (ReceiveSizing::default(), ReceiveSizing::default());
        let mut now = Instant::ZERO;
        let mut facts = ReceiveFacts {
            size: range.smallest(),
            ..ReceiveFacts::default()
        };
        for _ in 0..STEPS {
            now += ms(rng.below(50));
            let paths = [any_path(&mut rng, 0), any_path(&mut rng, 1)];
            let came = rng.below(100_000);
            facts.readable += came;
            facts.unread = rng.below(facts.unread + came + 1);
            facts.scarce = rng.chance(1, 4);
            let size = sizing.on_packet(&range, &facts, &paths, now);
            let other = twin.on_packet(&range, &facts, &paths, now);
            assert_eq!(size, other, "same inputs, other answer");
            assert!(size >= facts.size, "an advertised window is not taken back");
            assert!(size <= range.max.max(facts.size));
            assert!(size == facts.size || !facts.scarce);
            assert!(size <= range.clamp(4 * facts.readable).max(facts.size));
            facts.size = size;
        }
    }
}

//! Properties of burst limits: sending is never blocked for good, repeated calls agree, removed paths get nothing.

use anabranch_types::Instant;
use core::time::Duration;

use super::{STEPS, for_all};
use crate::SendAllowance;
use crate::catalog::BurstChoice;
use crate::testing::any_path;

#[test]
fn a_blocked_path_may_send_again_later() {
    for_all::<BurstChoice>(|policy, twin, rng| {
        let mut path = any_path(rng, 2);
        path.in_flight = 0;
        let mut now = Instant::ZERO;
        policy.add_path(path.id);
        twin.add_path(path.id);
        for _ in 0..STEPS {
            now += Duration::from_nanos(rng.below(3_000_000) * rng.below(2));
            let allowance = policy.allowance(&path, now);
            assert_eq!(allowance, policy.allowance(&path, now), "asked twice");
            assert_eq!(allowance, twin.allowance(&path, now), "same inputs, other answer");
            if allowance.bytes == 0 {
                let Some(again) = allowance.again_at else {
                    assert!(path.in_flight > 0, "nothing would ever wake this path");
                    path.in_flight -= rng.below(path.in_flight + 1);
                    continue;
                };
                assert!(again > now);
                now = again;
                assert!(policy.allowance(&path, now).bytes > 0, "woken for nothing");
                let _ = twin.allowance(&path, now);
            } else {
                let sent = rng.below(u64::from(path.max_packet)).min(allowance.bytes);
                policy.on_sent(path.id, sent, now);
                twin.on_sent(path.id, sent, now);
                path.in_flight = (path.in_flight + sent).min(path.cwnd);
            }
        }
        policy.remove_path(path.id);
        assert_eq!(policy.allowance(&path, now), SendAllowance::NONE);
        policy.on_sent(path.id, 1, now);
    });
}

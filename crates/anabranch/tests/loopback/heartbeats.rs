//! Heartbeats of idle paths, which the application can disable for each path.

use anabranch::{Association, AssociationConfig, PathId};

use crate::common::{at, hasty, in_time, join};

const TWO: [&str; 2] = ["127.0.0.1:0", "127.0.0.2:0"];
const FIRST: PathId = PathId(0);
const SECOND: PathId = PathId(1);

/// Idle paths carry heartbeats and their acknowledgements, one after the other, and nothing else.
fn frequent_heartbeats() -> AssociationConfig {
    let mut config = hasty();
    config.policies.set("failover.heartbeat", "20ms").unwrap();
    config.policies.set("pmtu", "fixed").unwrap();
    config
}

/// Packets that `association` has sent on `path`.
fn packets(association: &Association, path: PathId) -> u64 {
    let paths = association.statistics().paths;
    let path = paths.iter().find(|of| of.id == path).unwrap();
    path.counters.packets_sent
}

/// Waits until `path` has sent so many packets more.
async fn sends(association: &Association, path: PathId, more: u64) {
    let enough = packets(association, path) + more;
    while packets(association, path) < enough {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn path_without_heartbeats_is_silent_until_they_are_enabled() {
    in_time(async {
        let with = |builder: anabranch::EndpointBuilder| builder.association_config(frequent_heartbeats());
        let server = with(at(&TWO)).listen().bind().await.unwrap();
        let client = with(at(&TWO)).bind().await.unwrap();
        let (alice, bob) = join(&client, &server).await;
        for path in [FIRST, SECOND] {
            sends(&alice, path, 4).await;
        }
        // Acknowledgements of the peer's heartbeats are packets, too.
        for end in [&alice, &bob] {
            end.set_heartbeats(SECOND, false);
            end.set_heartbeats(PathId(7), false);
        }
        // What was outstanding is acknowledged meanwhile.
        sends(&alice, FIRST, 6).await;
        let (ours, theirs) = (packets(&alice, SECOND), packets(&bob, SECOND));
        sends(&alice, FIRST, 20).await;
        assert_eq!(packets(&alice, SECOND), ours);
        assert_eq!(packets(&bob, SECOND), theirs);
        alice.set_heartbeats(SECOND, true);
        sends(&alice, SECOND, 2).await;
    })
    .await;
}

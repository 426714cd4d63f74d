//! What do several flows carry together?

use super::*;
use crate::flow::{CloseReason, State};

#[test]
fn two_paths_carry_more_than_one() {
    let mut two = World::new(2).sends(3_000_000, 0);
    let together = two.finish(ms(60_000));
    let mut one = World::new(1).sends(3_000_000, 0);
    let alone = one.finish(ms(60_000));
    assert!(alone.as_millis() > 3_000);
    assert!(
        together.as_secs_f64() < 0.65 * alone.as_secs_f64(),
        "{together:?} {alone:?}"
    );
    assert!(two.bytes_on(1) > 1_000_000);
}

#[test]
fn what_ends_in_order_ends_on_all_flows() {
    let mut world = World::new(3).sends(500_000, 300_000);
    world.finish(ms(60_000));
    world.run_for(ms(200_000));
    for host in 0..2 {
        assert_eq!(world.connection(host).state(), State::Closed, "{host}");
        assert_eq!(
            world.events[host].last(),
            Some(&Event::Closed(CloseReason::Finished))
        );
        for path in world.connection(host).paths() {
            assert_eq!(path.state, State::Closed);
        }
    }
    assert_eq!(world.hosts[0].poll_timeout(), None);
}

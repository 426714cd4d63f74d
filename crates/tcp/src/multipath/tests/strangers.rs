//! Who may open a connection, and what happens to the others?

use super::*;
use crate::flow::CloseReason;

#[test]
fn a_peer_that_has_only_tcp_is_refused() {
    let mut world = World::with(config(2, 0), TcpConfig::default(), 2);
    world.run_for(ms(1_000));
    assert_eq!(world.events[0], [Event::Closed(CloseReason::NoMultipath)]);
    assert_eq!(world.hosts[1].connections().count(), 0, "nobody was told of it");
}

#[test]
fn who_offers_only_tcp_is_refused() {
    let mut world = World::with(TcpConfig::default(), config(2, 1), 2);
    world.run_for(ms(1_000));
    assert_eq!(world.events[0], [Event::Closed(CloseReason::Refused)]);
    assert_eq!(world.hosts[1].connections().count(), 0);
}

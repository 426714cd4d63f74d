//! INIT collision (RFC 9260 §5.2.1). What if both sides connect at once?

use anabranch_proto::AssociationConfig;
use anabranch_sim::app::Draft;
use anabranch_sim::{Scenario, Side};
use anabranch_wire::chunk::kind;

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

/// Both connect from the port on which they listen; only then do they mean the same association.
fn two_callers() -> PairBuilder {
    Pair::two_paths(mbit(10), ms(20)).scenario(|scenario: Scenario| scenario.accepts(Side::Near, true))
}

fn from_the_well_known_port(config: &mut AssociationConfig) {
    config.local_sctp_port = Some(config.peer_sctp_port);
}

//= rfc9260 1.3-1, 5.1.5-9, 5.2.4-7, 5.2.4-8, 5.2.4-12
#[test]
fn simultaneous_connects_create_one_association() {
    let mut pair = two_callers().build();
    pair.alice().connect_with(from_the_well_known_port);
    pair.bob().connect_with(from_the_well_known_port);
    pair.alice().send(Draft::new(0, 500));
    pair.bob().send(Draft::new(0, 700));
    pair.run_until(|pair| pair.is_connected(), ms(500));
    pair.deliver_all(secs(1));
    assert_eq!((pair.alice().associations(), pair.bob().associations()), (1, 1));
}

#[test]
fn later_connect_joins_the_handshake_in_progress() {
    for head_start in [1, 19, 25, 45, 65, 85] {
        let mut pair = two_callers().build();
        pair.alice().connect_with(from_the_well_known_port);
        pair.run_for(ms(head_start));
        if pair.bob().associations() == 0 {
            pair.bob().connect_with(from_the_well_known_port);
        }
        pair.alice().send(Draft::new(0, 500));
        pair.run_until(|pair| pair.is_connected(), ms(500));
        pair.deliver_all(secs(1));
        assert_eq!(
            (pair.alice().associations(), pair.bob().associations()),
            (1, 1),
            "{head_start} ms"
        );
    }
}

#[test]
fn init_collision_survives_loss_of_any_handshake_packet() {
    for lost in [kind::INIT, kind::INIT_ACK, kind::COOKIE_ECHO, kind::COOKIE_ACK] {
        for count in 1..4 {
            let mut pair = two_callers().build();
            pair.drop_next(count, lost);
            pair.alice().connect_with(from_the_well_known_port);
            pair.bob().connect_with(from_the_well_known_port);
            pair.alice().send(Draft::new(0, 500));
            pair.bob().send(Draft::new(0, 700));
            pair.run_until(|pair| pair.is_connected(), secs(20));
            pair.deliver_all(secs(5));
            assert_eq!((pair.alice().associations(), pair.bob().associations()), (1, 1));
        }
    }
}

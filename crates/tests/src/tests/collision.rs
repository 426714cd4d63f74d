//! What if both connect at once (RFC 9260 §5.2.1)?

use anabranch_proto::AssociationConfig;
use anabranch_sim::app::Draft;
use anabranch_sim::{Scenario, Side};
use anabranch_wire::chunk::kind;

use crate::story::{Setting, World, mbit, ms, secs};

/// Both listen on the port that they connect from: only then do they mean the same association.
fn two_callers() -> Setting {
    World::two_paths(mbit(10), ms(20)).shaped(|scenario: Scenario| scenario.accepts(Side::Near, true))
}

fn from_the_well_known_port(config: &mut AssociationConfig) {
    config.local_sctp_port = Some(config.peer_sctp_port);
}

#[test]
fn both_connect_at_once_and_get_one_association() {
    let mut world = two_callers().begins();
    world.alice().connects_with(from_the_well_known_port);
    world.bob().connects_with(from_the_well_known_port);
    world.alice().sends(Draft::new(0, 500));
    world.bob().sends(Draft::new(0, 700));
    world.runs_until(|world| world.is_connected(), ms(500));
    world.delivers_everything(secs(1));
    assert_eq!((world.alice().associations(), world.bob().associations()), (1, 1));
}

#[test]
fn the_second_caller_joins_a_handshake_that_is_under_way() {
    for head_start in [1, 19, 25, 45, 65, 85] {
        let mut world = two_callers().begins();
        world.alice().connects_with(from_the_well_known_port);
        world.runs_for(ms(head_start));
        if world.bob().associations() == 0 {
            world.bob().connects_with(from_the_well_known_port);
        }
        world.alice().sends(Draft::new(0, 500));
        world.runs_until(|world| world.is_connected(), ms(500));
        world.delivers_everything(secs(1));
        assert_eq!(
            (world.alice().associations(), world.bob().associations()),
            (1, 1),
            "{head_start} ms"
        );
    }
}

#[test]
fn a_collision_survives_the_loss_of_any_handshake_packet() {
    for lost in [kind::INIT, kind::INIT_ACK, kind::COOKIE_ECHO, kind::COOKIE_ACK] {
        for count in 1..4 {
            let mut world = two_callers().begins();
            world.loses_next(count, lost);
            world.alice().connects_with(from_the_well_known_port);
            world.bob().connects_with(from_the_well_known_port);
            world.alice().sends(Draft::new(0, 500));
            world.bob().sends(Draft::new(0, 700));
            world.runs_until(|world| world.is_connected(), secs(20));
            world.delivers_everything(secs(5));
            assert_eq!((world.alice().associations(), world.bob().associations()), (1, 1));
        }
    }
}

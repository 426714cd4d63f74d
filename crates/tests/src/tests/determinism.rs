//! Is the same world the same world? Every packet, to the nanosecond.

use anabranch_netsim::capture::SharedBuffer;
use anabranch_sim::Side;

use crate::story::{World, mbit, ms, secs};

fn trace(seed: u64, captured: bool) -> u64 {
    let mut world = World::two_paths(mbit(10), ms(20))
        .seed(seed)
        .shaped(move |scenario| {
            if captured {
                scenario
                    .capture(Side::Near, SharedBuffer::default())
                    .probe(Side::Near, ms(10))
            } else {
                scenario
            }
        })
        .connected();
    world.path_becomes_lossy(1, 0.02);
    world.alice().sends_forever();
    world.bob().sends_forever();
    world.runs_for(secs(10));
    world.simulation.outcome().trace_hash
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    assert_eq!(trace(1, false), trace(1, false));
}

#[test]
fn another_seed_gives_other_packets() {
    assert_ne!(trace(1, false), trace(2, false));
}

#[test]
fn watching_changes_nothing() {
    assert_eq!(trace(1, false), trace(1, true));
}

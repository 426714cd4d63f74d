//! Determinism. Does the same seed give the same packets at the same nanosecond?

use anabranch_netsim::capture::SharedBuffer;
use anabranch_sim::Side;

use crate::fixture::{Pair, mbit, ms, secs};

fn trace(seed: u64, captured: bool) -> u64 {
    let mut pair = Pair::two_paths(mbit(10), ms(20))
        .seed(seed)
        .scenario(move |scenario| {
            if captured {
                scenario
                    .capture(Side::Near, SharedBuffer::default())
                    .probe(Side::Near, ms(10))
            } else {
                scenario
            }
        })
        .connected();
    pair.set_loss(1, 0.02);
    pair.alice().send_forever();
    pair.bob().send_forever();
    pair.run_for(secs(10));
    pair.simulation.outcome().trace_hash
}

#[test]
fn same_seed_gives_same_packets() {
    assert_eq!(trace(1, false), trace(1, false));
}

#[test]
fn other_seed_gives_other_packets() {
    assert_ne!(trace(1, false), trace(2, false));
}

#[test]
fn capturing_does_not_change_packets() {
    assert_eq!(trace(1, false), trace(1, true));
}

//! When a tail is probed.

use super::{Tlp, TlpParameters};
use crate::TailProbe;
use crate::testing::{CHUNK, healthy, ms};

#[test]
fn after_two_round_trips_and_later_if_the_peer_may_delay() {
    let tlp = Tlp::new(TlpParameters::default());
    let mut path = healthy(0);
    path.in_flight = 2 * CHUNK;
    assert_eq!(tlp.probe_after(&path), Some(ms(40)));
    path.in_flight = CHUNK;
    assert_eq!(
        tlp.probe_after(&path),
        Some(ms(240)),
        "one packet may be acknowledged late"
    );
    path.srtt = None;
    assert_eq!(
        tlp.probe_after(&path),
        None,
        "nobody knows how long a round trip is"
    );
}

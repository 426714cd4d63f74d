//! Tests of the tail loss probe.

use super::{Tlp, TlpParameters};
use crate::TailProbe;
use crate::testing::{CHUNK, healthy, ms};

#[test]
fn tlp_waits_two_srtt_plus_the_sack_delay() {
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
    path.set_srtt(None);
    assert_eq!(tlp.probe_after(&path), None, "no RTT sample yet");
}

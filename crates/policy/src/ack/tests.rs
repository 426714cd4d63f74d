//! Tests of the ack policies.

use anabranch_types::PathId;

use super::{Dac, DelayParameters, Immediate, QrDac, Rfc9260};
use crate::parameters::NoParameters;
use crate::testing::{at, ms, tsn};
use crate::{AckPolicy, AckWhen, Arrival};

const IN_ORDER: Arrival = Arrival {
    path: PathId(0),
    first: false,
    duplicate: false,
    lowest_missing: None,
    highest_new: None,
    gaps_changed: false,
    immediate: false,
    packets_since_sack: 1,
};

//= rfc9260 5.1-19, 5.1-20, 5.1.5-7, 6.2-7, 6.2-8, 6.2-9
#[test]
fn first_packet_is_acked_at_once_then_every_second() {
    let mut policy = Rfc9260::new(DelayParameters::DEFAULT);
    let first = Arrival {
        first: true,
        ..IN_ORDER
    };
    assert_eq!(policy.on_packet(&first, at(0)), AckWhen::Now);
    assert_eq!(policy.on_packet(&IN_ORDER, at(10)), AckWhen::By(at(210)));
    let second = Arrival {
        packets_since_sack: 2,
        ..IN_ORDER
    };
    assert_eq!(policy.on_packet(&second, at(20)), AckWhen::Now);
}

//= rfc9260 6.7-1, 7.2.4-1
#[test]
fn gaps_are_reported_at_once_but_not_with_dac() {
    let gap = Arrival {
        lowest_missing: Some(tsn(1)),
        gaps_changed: true,
        ..IN_ORDER
    };
    assert_eq!(
        Rfc9260::new(DelayParameters::DEFAULT).on_packet(&gap, at(0)),
        AckWhen::Now
    );
    let mut dac = Dac::new(DelayParameters::DEFAULT);
    assert_eq!(dac.on_packet(&gap, at(0)), AckWhen::By(at(200)));
    assert_eq!(
        dac.on_packet(
            &Arrival {
                packets_since_sack: 2,
                ..gap
            },
            at(1)
        ),
        AckWhen::Now
    );
    assert!(dac.reports_packet_count());
}

#[test]
fn a_filled_gap_is_reported_at_once() {
    let filled = Arrival {
        gaps_changed: true,
        ..IN_ORDER
    };
    assert_eq!(
        Rfc9260::new(DelayParameters::DEFAULT).on_packet(&filled, at(0)),
        AckWhen::Now
    );
}

//= rfc9260 6.2-20, 6.2-21
#[test]
fn duplicates_and_the_i_bit_are_acked_at_once() {
    let urgent = [
        Arrival {
            duplicate: true,
            ..IN_ORDER
        },
        Arrival {
            immediate: true,
            ..IN_ORDER
        },
    ];
    for arrival in urgent {
        assert_eq!(
            Rfc9260::new(DelayParameters::DEFAULT).on_packet(&arrival, at(0)),
            AckWhen::Now
        );
        assert_eq!(
            Dac::new(DelayParameters::DEFAULT).on_packet(&arrival, at(0)),
            AckWhen::Now
        );
        assert_eq!(
            Immediate::new(NoParameters).on_packet(&arrival, at(0)),
            AckWhen::Now
        );
    }
}

#[test]
fn further_packets_do_not_postpone_the_deadline() {
    let mut policy = Dac::new(DelayParameters {
        packets: 10,
        delay: ms(200),
    });
    for packet in 1..10 {
        let arrival = Arrival {
            packets_since_sack: packet,
            ..IN_ORDER
        };
        let when = policy.on_packet(&arrival, at(10 * u64::from(packet)));
        assert_eq!(when, AckWhen::By(at(210)));
    }
}

//= rfc9260 6.2-14
#[test]
fn no_configuration_delays_beyond_500_ms() {
    let mut policy = Rfc9260::new(DelayParameters {
        packets: 2,
        delay: ms(5_000),
    });
    assert_eq!(policy.on_packet(&IN_ORDER, at(0)), AckWhen::By(at(500)));
}

/// The first packet since a SACK, with this TSN, over this path, while `missing` is missing.
fn packet(path: u8, number: u64, missing: u64) -> Arrival {
    Arrival {
        path: PathId(path),
        lowest_missing: Some(tsn(missing)),
        highest_new: Some(tsn(number)),
        ..IN_ORDER
    }
}

#[test]
fn qr_dac_acks_at_once_for_losses_but_not_for_late_data() {
    let mut policy = QrDac::new(DelayParameters::DEFAULT);
    policy.on_packet(&packet(1, 3, 1), at(0));
    // Path 0 is ahead; TSN 4 may still be in flight on path 1.
    for number in [5, 6, 8] {
        let when = policy.on_packet(&packet(0, number, 4), at(number));
        assert_ne!(when, AckWhen::Now, "{number}");
    }
    // Path 1 has delivered a later one: no path can deliver TSN 4 any more.
    assert_eq!(policy.on_packet(&packet(1, 7, 4), at(20)), AckWhen::Now);
    assert_eq!(policy.on_packet(&packet(0, 10, 4), at(21)), AckWhen::Now);
    assert_ne!(
        policy.on_packet(&packet(0, 11, 9), at(22)),
        AckWhen::Now,
        "sent again"
    );
}

#[test]
fn qr_dac_ignores_a_path_that_stopped_delivering() {
    let mut policy = QrDac::new(DelayParameters::DEFAULT);
    policy.on_packet(&packet(1, 3, 1), at(0));
    assert_ne!(policy.on_packet(&packet(0, 6, 4), at(200)), AckWhen::Now);
    assert_eq!(policy.on_packet(&packet(0, 7, 4), at(201)), AckWhen::Now);
}

//! What distinguishes the acknowledgement policies.

use anabranch_types::PathId;

use super::{Dac, DelayParameters, Immediate, Rfc9260};
use crate::parameters::NoParameters;
use crate::testing::{at, ms};
use crate::{AckPolicy, AckWhen, Arrival};

const IN_ORDER: Arrival = Arrival {
    path: PathId(0),
    first: false,
    duplicate: false,
    gaps: false,
    gaps_changed: false,
    immediate: false,
    packets_since_sack: 1,
};

#[test]
fn the_first_packet_is_acknowledged_at_once_then_every_second_one() {
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

#[test]
fn gaps_are_reported_at_once_but_not_with_dac() {
    let gap = Arrival {
        gaps: true,
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

#[test]
fn duplicates_and_the_i_bit_are_answered_at_once_by_all() {
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
fn a_longer_train_does_not_push_the_deadline_back() {
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

#[test]
fn no_configuration_delays_beyond_half_a_second() {
    let mut policy = Rfc9260::new(DelayParameters {
        packets: 2,
        delay: ms(5_000),
    });
    assert_eq!(policy.on_packet(&IN_ORDER, at(0)), AckWhen::By(at(500)));
}

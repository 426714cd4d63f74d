//! Tests of delivery rate estimation.

use core::time::Duration;

use super::{DeliveryRate, bytes_in, rate_of};
use crate::testing::{at, healthy, in_order, ms, tsn};
use crate::{PathAck, SentOnce};
use anabranch_types::SendNumber;

/// An acknowledgement of `bytes` on path 0: packet `number`, sent at `sent_at` milliseconds, arrived.
fn acked(in_flight: u64, bytes: u64, number: u64, sent_at: u64) -> PathAck {
    let mut ack = in_order(0, in_flight, bytes);
    ack.latest_send_number = Some(SendNumber(number));
    ack.rtt_sample = Some(SentOnce {
        sent_at: at(sent_at),
        tsn: tsn(number),
    });
    ack
}

#[test]
fn rate_is_what_arrives_in_a_round_trip() {
    let mut rate = DeliveryRate::new(at(0));
    for number in 1..=10 {
        rate.on_sent(SendNumber(number), (number - 1) * 1_000, 1_000, at(number));
    }
    // All ten arrive together, 100 ms after the last was sent.
    let ack = acked(10_000, 10_000, 10, 10);
    let sample = rate.on_ack(&ack, &healthy(0), Duration::ZERO, at(110));
    let flight = sample.flight.unwrap();
    // Sent in 9 ms, acknowledged in 109 ms: the longer time counts.
    assert_eq!(flight.rate, rate_of(10_000, ms(109)));
    assert_eq!(
        (flight.delivered, flight.in_flight, flight.lost),
        (10_000, 10_000, 0)
    );
    assert_eq!((sample.rtt, sample.in_flight), (Some(ms(100)), 0));
}

/// Ten packets a millisecond apart at a bottleneck of one packet in two: the rate is that of the bottleneck.
#[test]
fn rate_of_a_full_bottleneck_is_its_own() {
    let mut rate = DeliveryRate::new(at(0));
    let path = healthy(0);
    let (mut sent, mut delivered, mut last) = (0, 0, 0);
    for now in 0..400 {
        if now >= 20 && now % 2 == 0 {
            delivered += 1;
            let ack = acked((sent - delivered + 1) * 1_000, 1_000, delivered, delivered);
            last = rate
                .on_ack(&ack, &path, Duration::ZERO, at(now))
                .flight
                .unwrap()
                .rate;
        }
        sent += 1;
        rate.on_sent(SendNumber(sent), (sent - 1 - delivered) * 1_000, 1_000, at(now));
    }
    assert_eq!(last, 500_000);
}

#[test]
fn an_interval_below_the_shortest_rtt_is_no_sample() {
    let mut rate = DeliveryRate::new(at(0));
    rate.on_sent(SendNumber(1), 0, 1_000, at(0));
    rate.on_sent(SendNumber(2), 1_000, 1_000, at(1));
    let first = rate.on_ack(&acked(2_000, 1_000, 1, 0), &healthy(0), Duration::ZERO, at(50));
    assert!(first.flight.unwrap().rate > 0);
    // The second was declared lost and sent again, and its first transmission arrives 5 ms later.
    rate.on_lost(1_000, SendNumber(2));
    rate.on_sent(SendNumber(3), 0, 1_000, at(90));
    let mut ack = acked(1_000, 1_000, 3, 90);
    ack.rtt_sample = None;
    let second = rate.on_ack(&ack, &healthy(0), Duration::ZERO, at(95));
    assert_eq!(second.flight.unwrap().rate, 0);
}

#[test]
fn samples_are_limited_by_the_application_for_one_flight() {
    let mut rate = DeliveryRate::new(at(0));
    rate.on_sent(SendNumber(1), 0, 1_000, at(0));
    rate.on_application_limited(1_000);
    rate.on_sent(SendNumber(2), 1_000, 1_000, at(10));
    let path = healthy(0);
    let first = rate
        .on_ack(&acked(2_000, 1_000, 1, 0), &path, Duration::ZERO, at(20))
        .flight
        .unwrap();
    assert!(
        !first.application_limited,
        "sent before there was nothing to send"
    );
    let second = rate
        .on_ack(&acked(1_000, 1_000, 2, 10), &path, Duration::ZERO, at(30))
        .flight
        .unwrap();
    assert!(second.application_limited);
    assert!(!rate.is_application_limited());
    rate.on_sent(SendNumber(3), 0, 1_000, at(40));
    let third = rate
        .on_ack(&acked(1_000, 1_000, 3, 40), &path, Duration::ZERO, at(60))
        .flight
        .unwrap();
    assert!(!third.application_limited);
}

#[test]
fn a_flight_counts_what_was_lost_since_it_began() {
    let mut rate = DeliveryRate::new(at(0));
    for number in 1..=4 {
        rate.on_sent(SendNumber(number), (number - 1) * 1_000, 1_000, at(number));
    }
    let lost = rate.on_lost(2_000, SendNumber(2)).unwrap();
    assert_eq!((lost.lost, lost.in_flight), (2_000, 2_000));
    let sample = rate.on_ack(&acked(2_000, 2_000, 4, 4), &healthy(0), Duration::ZERO, at(40));
    assert_eq!((sample.newly_lost, sample.flight.unwrap().lost), (2_000, 2_000));
    let next = rate.on_ack(&acked(0, 0, 4, 4), &healthy(0), Duration::ZERO, at(41));
    assert_eq!(next.newly_lost, 0);
}

#[test]
fn packets_sent_long_ago_are_forgotten() {
    let mut rate = DeliveryRate::new(at(0));
    let path = healthy(0);
    for number in 1..=1_000 {
        rate.on_sent(SendNumber(number), 20_000, 1_000, at(number));
        rate.on_ack(
            &acked(20_000, 1_000, number, number),
            &path,
            Duration::ZERO,
            at(number + 20),
        );
    }
    // Two round trips of 20 ms, one packet a millisecond.
    assert!(rate.snapshots.len() <= 42, "{}", rate.snapshots.len());
}

#[test]
fn rate_and_bytes_are_inverse() {
    assert_eq!(rate_of(6_250_000, ms(1_000)), 6_250_000);
    assert_eq!(bytes_in(6_250_000, ms(40)), 250_000);
    assert_eq!(rate_of(1, ms(0)), 0);
}

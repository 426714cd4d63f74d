//! Delivery rate estimation of one path. How fast does the path deliver, and what was in flight meanwhile?
//!
//! Source: draft-ietf-ccwg-bbr, *Delivery Rate Samples*.
//!
//! Idea: a packet takes a snapshot of what was delivered when it was sent. When it is acknowledged, the bytes delivered
//! since then are divided by an interval: the time in which they were sent or that in which they were acknowledged, whichever
//! is longer. The quotient is a sample of the rate.
//!
//! ```text
//! sent:   snapshot of delivered, the times of delivery and of sending, lost, in flight
//! acked:  of the packet sent last:  interval = max(its sending time − first sending time, now − delivery time)
//!         rate = (delivered − its delivered) / interval, unless the interval is shorter than the shortest RTT
//! ```
//!
//! Snapshots are kept for packets that can still be acknowledged or lost: those sent at most two round trips before the
//! packet acknowledged last.

use alloc::collections::VecDeque;
use core::time::Duration;

use anabranch_types::{Instant, SendNumber};

use crate::math::mul_div;
use crate::{PathAck, PathFacts};

const NANOS: u64 = 1_000_000_000;

/// What a packet took along when it was sent.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    /// The last send number in the packet.
    number: SendNumber,
    sent_at: Instant,
    /// When the packet was sent whose acknowledgement was the last before.
    first_sent_at: Instant,
    /// When something was last delivered.
    delivered_at: Instant,
    delivered: u64,
    lost: u64,
    /// Bytes in flight, this packet included.
    in_flight: u64,
    application_limited: bool,
}

/// A rate in bytes per second: `bytes` in `time`; 0 if no time passed.
pub(super) fn rate_of(bytes: u64, time: Duration) -> u64 {
    match nanos(time) {
        0 => 0,
        nanos => mul_div(bytes, NANOS, nanos),
    }
}

/// The bytes that `rate` bytes per second make in `time`.
pub(super) fn bytes_in(rate: u64, time: Duration) -> u64 {
    mul_div(rate, nanos(time), NANOS)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// What an acknowledgement tells of the path. Bytes and bytes per second.
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Bytes newly acknowledged.
    pub newly_acked: u64,
    /// Bytes in flight before this acknowledgement.
    pub in_flight_before: u64,
    /// Bytes in flight after it.
    pub in_flight: u64,
    /// Bytes declared lost since the acknowledgement before.
    pub newly_lost: u64,
    /// Bytes delivered in total, these included.
    pub total_delivered: u64,
    /// The shortest round-trip time among the chunks acknowledged that were sent once.
    pub rtt: Option<Duration>,
    /// The longest of them, if several were acknowledged.
    pub longest_rtt: Option<Duration>,
    /// The flight of the packet sent last among those acknowledged; `None` if it is no longer known.
    pub flight: Option<Flight>,
}

/// The flight of one acknowledged or lost packet.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// Bytes delivered in total when it was sent.
    pub delivered_before: u64,
    /// Bytes delivered since then.
    pub delivered: u64,
    /// The delivery rate in bytes per second; 0 for no valid sample.
    pub rate: u64,
    /// Whether the sender had less to send than the path would take.
    pub application_limited: bool,
    /// Bytes in flight when it was sent, itself included.
    pub in_flight: u64,
    /// Bytes declared lost since then.
    pub lost: u64,
}

/// Delivery rate estimator of one path.
#[derive(Debug)]
pub struct DeliveryRate {
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    lost: u64,
    /// Of these, bytes that the last acknowledgement has reported.
    lost_reported: u64,
    /// Samples are limited by the application until this much is delivered; 0 if they are not.
    limited_until: u64,
    /// The shortest time between the transmission of a chunk sent once and its acknowledgement.
    min_rtt: Option<Duration>,
    snapshots: VecDeque<Snapshot>,
}

impl DeliveryRate {
    /// An estimator of a path that has not carried anything yet.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self {
            delivered: 0,
            delivered_at: now,
            first_sent_at: now,
            lost: 0,
            lost_reported: 0,
            limited_until: 0,
            min_rtt: None,
            snapshots: VecDeque::new(),
        }
    }

    /// Bytes delivered in total.
    #[must_use]
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Whether samples are limited by the application at present.
    #[must_use]
    pub const fn is_application_limited(&self) -> bool {
        self.limited_until > 0
    }

    /// A packet with `bytes` of chunks was sent, the last of them with send number `number`.
    pub fn on_sent(&mut self, number: SendNumber, in_flight_before: u64, bytes: u64, now: Instant) {
        if in_flight_before == 0 {
            self.first_sent_at = now;
            self.delivered_at = now;
            self.snapshots.clear();
        }
        self.snapshots.push_back(Snapshot {
            number,
            sent_at: now,
            first_sent_at: self.first_sent_at,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            lost: self.lost,
            in_flight: in_flight_before + bytes,
            application_limited: self.is_application_limited(),
        });
    }

    /// The path could have taken more than there was to send: what is in flight now tells less than the path can do.
    pub fn on_application_limited(&mut self, in_flight: u64) {
        self.limited_until = (self.delivered + in_flight).max(1);
    }

    /// An acknowledgement of chunks sent on the path. A sample over less than `floor` is not valid: where packets overtake one
    /// another, it is the least that a round trip takes in the mean.
    pub fn on_ack(&mut self, ack: &PathAck, path: &PathFacts, floor: Duration, now: Instant) -> RateSample {
        let [rtt, longest_rtt] = ack.round_trip_times(now);
        self.min_rtt = match (self.min_rtt, rtt) {
            (Some(least), Some(rtt)) => Some(least.min(rtt)),
            (least, rtt) => least.or(rtt),
        };
        if ack.newly_acked > 0 {
            self.delivered += ack.newly_acked;
            self.delivered_at = now;
        }
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let snapshot = ack.latest_send_number.and_then(|number| self.snapshot(number));
        let flight = snapshot.filter(|_| ack.newly_acked > 0).map(|packet| {
            self.forget_before(&packet, path, floor);
            self.flight(&packet, floor, now)
        });
        let newly_lost = self.lost - self.lost_reported;
        self.lost_reported = self.lost;
        RateSample {
            newly_acked: ack.newly_acked,
            in_flight_before: ack.in_flight_before,
            in_flight: ack.in_flight_before.saturating_sub(ack.newly_acked),
            newly_lost,
            total_delivered: self.delivered,
            rtt,
            longest_rtt,
            flight,
        }
    }

    /// `bytes` were declared lost; `latest` is the highest send number among them. Returns the flight of its packet.
    pub fn on_lost(&mut self, bytes: u64, latest: SendNumber) -> Option<Flight> {
        self.lost += bytes;
        let packet = self.snapshot(latest)?;
        Some(Flight {
            delivered_before: packet.delivered,
            delivered: self.delivered - packet.delivered,
            rate: 0,
            application_limited: packet.application_limited,
            in_flight: packet.in_flight,
            lost: self.lost - packet.lost,
        })
    }

    /// Everything in flight was declared lost by a timer.
    pub fn on_timeout(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    fn snapshot(&self, number: SendNumber) -> Option<Snapshot> {
        let at = self.snapshots.partition_point(|packet| packet.number < number);
        self.snapshots.get(at).copied()
    }

    fn flight(&mut self, packet: &Snapshot, floor: Duration, now: Instant) -> Flight {
        let sending = packet.sent_at - packet.first_sent_at;
        let interval = sending.max(now - packet.delivered_at);
        self.first_sent_at = packet.sent_at;
        let delivered = self.delivered - packet.delivered;
        // A chunk whose first transmission arrived after all seems to have been delivered in no time.
        let is_valid = interval >= floor && self.min_rtt.is_none_or(|least| interval >= least);
        Flight {
            delivered_before: packet.delivered,
            delivered,
            rate: if is_valid { rate_of(delivered, interval) } else { 0 },
            application_limited: packet.application_limited,
            in_flight: packet.in_flight,
            lost: self.lost - packet.lost,
        }
    }

    /// Forgets packets sent long before `packet`, which was acknowledged.
    fn forget_before(&mut self, packet: &Snapshot, path: &PathFacts, floor: Duration) {
        let Some(srtt) = path.srtt() else { return };
        let reach = (2 * srtt + 4 * path.rttvar()).max(4 * floor);
        while let Some(oldest) = self.snapshots.front()
            && oldest.sent_at + reach < packet.sent_at
        {
            self.snapshots.pop_front();
        }
    }
}

#[cfg(test)]
mod tests;

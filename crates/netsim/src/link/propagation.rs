//! Propagation stage of a link. When does a transmitted packet arrive? After delay and jitter, in order unless delays vary
//! or it is picked for reordering.

use core::time::Duration;
use std::collections::VecDeque;

use anabranch_types::{Instant, Rng};

use super::queue::QueuedPacket;
use super::{LinkConfig, Reorder};

/// Packets in flight, sorted by arrival time.
#[derive(Debug)]
pub(super) struct Propagation<T> {
    in_flight: VecDeque<InFlight<T>>,
    /// Packets transmitted from now on arrive no earlier than this.
    not_before: Instant,
    rng: Rng,
}

#[derive(Debug)]
struct InFlight<T> {
    arrival: Instant,
    packet: QueuedPacket<T>,
}

impl<T> Propagation<T> {
    pub(super) const fn new(rng: Rng) -> Self {
        Self {
            in_flight: VecDeque::new(),
            not_before: Instant::ZERO,
            rng,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.in_flight.len()
    }

    /// Adds a packet that was transmitted at `left`; `true` if it is delayed for reordering, or overtakes another one.
    pub(super) fn send(&mut self, left: Instant, packet: QueuedPacket<T>, config: &LinkConfig) -> bool {
        let jitter = self.draw_jitter(config.jitter);
        if let Some(variation) = &config.variation {
            let delay = variation.draw(config.delay, &mut self.rng);
            let arrival = at_tick(left + jitter + delay, config);
            return self.insert(InFlight { arrival, packet });
        }
        let in_order = self.earliest_arrival(left + jitter, config);
        let Reorder { chance, hold } = config.reorder;
        let held_back = chance.happens(&mut self.rng);
        let arrival = if held_back {
            in_order + hold
        } else {
            self.not_before = in_order;
            in_order
        };
        self.insert(InFlight { arrival, packet });
        held_back
    }

    /// The earliest time at which a packet transmitted at `left` can arrive.
    pub(super) fn earliest_arrival(&self, left: Instant, config: &LinkConfig) -> Instant {
        let delay = match &config.variation {
            Some(variation) => variation.least(config.delay),
            None => config.delay,
        };
        at_tick((left + delay).max(self.not_before), config)
    }

    /// Sets whether packets transmitted from now on stay behind those in flight.
    pub(super) fn keeps_order(&mut self, keeps: bool) {
        let last = self.in_flight.back().map(|last| last.arrival);
        self.not_before = last.filter(|_| keeps).unwrap_or(Instant::ZERO);
    }

    /// Resets the ordering after all packets in flight were lost.
    pub(super) const fn reset_order(&mut self) {
        self.not_before = Instant::ZERO;
    }

    /// Whether no packet transmitted from now on can arrive before `moment`.
    pub(super) fn none_arrives_before(&self, moment: Instant) -> bool {
        moment <= self.not_before
    }

    pub(super) fn next_arrival(&self) -> Option<Instant> {
        self.in_flight.front().map(|packet| packet.arrival)
    }

    pub(super) fn take_arrived(&mut self, now: Instant) -> Option<QueuedPacket<T>> {
        let arrived = self.next_arrival()? <= now;
        arrived
            .then(|| self.in_flight.pop_front())
            .flatten()
            .map(|packet| packet.packet)
    }

    /// Inserts a packet by arrival time; `true` if it overtakes another one.
    fn insert(&mut self, packet: InFlight<T>) -> bool {
        if self
            .in_flight
            .back()
            .is_none_or(|last| last.arrival <= packet.arrival)
        {
            self.in_flight.push_back(packet);
            return false;
        }
        let at = self
            .in_flight
            .partition_point(|other| other.arrival <= packet.arrival);
        self.in_flight.insert(at, packet);
        true
    }

    fn draw_jitter(&mut self, up_to: Duration) -> Duration {
        if up_to.is_zero() {
            return Duration::ZERO;
        }
        let nanos = u64::try_from(up_to.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(self.rng.below(nanos))
    }
}

/// The first tick of the link's clock at or after `moment`.
#[inline]
fn at_tick(moment: Instant, config: &LinkConfig) -> Instant {
    if config.tick.is_zero() {
        moment
    } else {
        next_tick(moment, config)
    }
}

fn next_tick(moment: Instant, config: &LinkConfig) -> Instant {
    let tick = u64::try_from(config.tick.as_nanos()).unwrap_or(u64::MAX);
    let ticks = config.clock.reading(moment).as_nanos().div_ceil(tick);
    let next = Instant::from_nanos(ticks.saturating_mul(tick));
    config.clock.moment(next).max(moment)
}

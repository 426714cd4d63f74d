//! When does a packet that left arrive? After the delay, some jitter, and in order unless it was held back.

use core::time::Duration;
use std::collections::VecDeque;

use anabranch_types::{Instant, Rng};

use super::queue::Parcel;
use super::{LinkConfig, Reorder};

/// Packets that travel, sorted by arrival.
#[derive(Debug)]
pub(super) struct Flight<T> {
    flying: VecDeque<Flying<T>>,
    /// No packet that leaves from now on arrives before this.
    not_before: Instant,
    rng: Rng,
}

#[derive(Debug)]
struct Flying<T> {
    arrival: Instant,
    parcel: Parcel<T>,
}

impl<T> Flight<T> {
    pub(super) const fn new(rng: Rng) -> Self {
        Self {
            flying: VecDeque::new(),
            not_before: Instant::ZERO,
            rng,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.flying.len()
    }

    /// Sends a packet off; `true` if it is held back so that others may overtake it.
    pub(super) fn launch(&mut self, left: Instant, parcel: Parcel<T>, config: &LinkConfig) -> bool {
        let jitter = self.draw_jitter(config.jitter);
        let in_order = self.earliest_arrival(left + jitter, config);
        let Reorder { chance, hold } = config.reorder;
        let held_back = chance.happens(&mut self.rng);
        let arrival = if held_back {
            in_order + hold
        } else {
            self.not_before = in_order;
            in_order
        };
        self.insert(Flying { arrival, parcel });
        held_back
    }

    /// The earliest moment at which a packet that leaves at `left` can arrive.
    pub(super) fn earliest_arrival(&self, left: Instant, config: &LinkConfig) -> Instant {
        let arrival = (left + config.delay).max(self.not_before);
        let tick = u64::try_from(config.tick.as_nanos()).unwrap_or(u64::MAX);
        match tick {
            0 => arrival,
            tick => Instant::from_nanos(arrival.as_nanos().div_ceil(tick).saturating_mul(tick)),
        }
    }

    /// What was under way is gone: nothing has to wait for it.
    pub(super) const fn forget_order(&mut self) {
        self.not_before = Instant::ZERO;
    }

    /// Whether nothing that leaves from now on can arrive before that.
    pub(super) fn none_arrives_before(&self, moment: Instant) -> bool {
        moment <= self.not_before
    }

    pub(super) fn next_arrival(&self) -> Option<Instant> {
        self.flying.front().map(|flying| flying.arrival)
    }

    pub(super) fn land(&mut self, now: Instant) -> Option<Parcel<T>> {
        let arrived = self.next_arrival()? <= now;
        arrived
            .then(|| self.flying.pop_front())
            .flatten()
            .map(|flying| flying.parcel)
    }

    fn insert(&mut self, flying: Flying<T>) {
        if self
            .flying
            .back()
            .is_none_or(|last| last.arrival <= flying.arrival)
        {
            self.flying.push_back(flying);
            return;
        }
        let at = self
            .flying
            .partition_point(|other| other.arrival <= flying.arrival);
        self.flying.insert(at, flying);
    }

    fn draw_jitter(&mut self, up_to: Duration) -> Duration {
        let nanos = u64::try_from(up_to.as_nanos()).unwrap_or(u64::MAX);
        if nanos == 0 {
            Duration::ZERO
        } else {
            Duration::from_nanos(self.rng.below(nanos))
        }
    }
}

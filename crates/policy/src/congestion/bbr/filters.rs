//! Filters of both versions of BBR: packet-timed rounds, windowed maximum, ack aggregation, full pipe.
//!
//! Source: draft-ietf-ccwg-bbr, *Tracking Packet-Timed Round Trips*, *BBR.extra_acked*, *Exiting Acceleration Based on
//! Bandwidth Plateau*.

use core::time::Duration;

use anabranch_types::Instant;

use super::delivery_rate::{Flight, bytes_in};

/// Counter of round trips: one ends when a packet is acknowledged that was sent after it began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounds {
    /// Bytes delivered in total when the current round began.
    began_at: u64,
    /// When it began.
    began: Instant,
    pub(super) count: u64,
}

impl Rounds {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            began_at: 0,
            began: now,
            count: 0,
        }
    }

    /// Counts an acknowledged packet. Returns whether it begins a round, of which each takes at least the time `floor`: a
    /// packet that has overtaken others does not end one.
    pub(super) fn on_ack(&mut self, flight: &Flight, delivered: u64, floor: Duration, now: Instant) -> bool {
        let starts = flight.delivered_before >= self.began_at && now - self.began >= floor;
        if starts {
            self.restart(delivered);
            self.began = now;
            self.count += 1;
        }
        starts
    }

    /// Begins a round now.
    pub(super) const fn restart(&mut self, delivered: u64) {
        self.began_at = delivered;
    }
}

/// Largest value within a window of virtual time, by the three best candidates.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowedMax {
    /// Falling values at rising times.
    best: [(u64, u64); 3],
}

impl WindowedMax {
    pub(super) const fn get(&self) -> u64 {
        self.best[0].0
    }

    /// Adds `value` at `time`, and forgets values older than `window`.
    pub(super) fn add(&mut self, value: u64, time: u64, window: u64) {
        let candidate = (value, time);
        // Later and at least as large: the earlier candidates will never matter again.
        let kept = self.best.iter().position(|(best, _)| *best <= value);
        if let Some(kept) = kept {
            self.best[kept..].fill(candidate);
        }
        while time.saturating_sub(self.best[0].1) > window {
            self.best = [self.best[1], self.best[2], candidate];
        }
        // The window is divided among the candidates, so that a successor is known when the best one leaves.
        let age = |at: usize, best: &[(u64, u64); 3]| time.saturating_sub(best[at].1);
        if self.best[1] == self.best[0] && age(0, &self.best) > window / 4 {
            self.best[1] = candidate;
            self.best[2] = candidate;
        } else if self.best[2] == self.best[1] && age(1, &self.best) > window / 2 {
            self.best[2] = candidate;
        }
    }
}

/// Bytes acknowledged beyond what the rate explains: the degree of aggregation on the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aggregation {
    since: Instant,
    acked: u64,
    largest: WindowedMax,
}

impl Aggregation {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            since: now,
            acked: 0,
            largest: WindowedMax::default(),
        }
    }

    /// Begins an interval: nothing was sent before.
    pub(super) const fn restart(&mut self, now: Instant) {
        self.since = now;
        self.acked = 0;
    }

    /// Counts acknowledged bytes; `limit` bounds the excess, `window` is in rounds.
    pub(super) fn on_ack(&mut self, acked: u64, rate: u64, limit: u64, round: (u64, u64), now: Instant) {
        let mut expected = bytes_in(rate, now - self.since);
        if self.acked <= expected {
            self.restart(now);
            expected = 0;
        }
        self.acked += acked;
        let extra = self.acked.saturating_sub(expected).min(limit);
        let (round, window) = round;
        self.largest.add(extra, round, window);
    }

    pub(super) const fn extra(&self) -> u64 {
        self.largest.get()
    }
}

/// Detector of a full pipe: the rate stops growing although more is sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    base: u64,
    rounds: u8,
    /// Full since the last reset.
    pub(super) now: bool,
    /// Full at any time.
    pub(super) reached: bool,
}

impl FullPipe {
    const ROUNDS: u8 = 3;

    /// Starts to look, from the rate `base`.
    pub(super) const fn reset(&mut self, base: u64) {
        self.base = base;
        self.rounds = 0;
        self.now = false;
    }

    /// Observes the rate of a round that the application did not limit.
    pub(super) const fn observe(&mut self, rate: u64) {
        if self.now {
            return;
        }
        if rate >= self.base.saturating_add(self.base / 4) {
            self.reset(rate);
            return;
        }
        self.rounds += 1;
        if self.rounds >= Self::ROUNDS {
            self.now = true;
            self.reached = true;
        }
    }
}

#[cfg(test)]
mod tests;

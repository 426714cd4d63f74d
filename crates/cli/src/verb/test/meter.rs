//! Meter of a test. How many messages and bytes has each stream sent and received so far, and how late were they?

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anabranch::ReceivedMessage;

use super::clock;
use super::histogram::Histogram;
use super::task::Task;

/// Counters of both directions at one end.
#[derive(Debug)]
pub(super) struct Meter {
    began: Instant,
    streams: usize,
    sent: Vec<Tally>,
    received: Vec<Tally>,
    /// Delays of the messages of each association.
    delays: Vec<Mutex<Histogram>>,
    /// When the last message arrived, in nanoseconds after the beginning.
    last_arrival: AtomicU64,
    /// Bytes that may still be sent.
    budget: Option<AtomicU64>,
    /// By how much our clock is ahead of the peer's, in nanoseconds.
    ahead: i64,
}

#[derive(Debug, Default)]
struct Tally {
    bytes: AtomicU64,
    messages: AtomicU64,
}

/// A number of messages and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Count {
    pub(super) bytes: u64,
    pub(super) messages: u64,
}

impl Count {
    pub(super) const fn since(self, before: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(before.bytes),
            messages: self.messages.saturating_sub(before.messages),
        }
    }
}

/// Counts of all streams at one moment: those of the first association come first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts {
    pub(super) sent: Vec<Count>,
    pub(super) received: Vec<Count>,
}

impl Meter {
    /// `ahead` is by how much our clock is ahead of the peer's, in nanoseconds.
    pub(super) fn new(task: &Task, ahead: i64) -> Self {
        let streams = usize::from(task.streams);
        let all = usize::from(task.associations) * streams;
        let tallies = || std::iter::repeat_with(Tally::default).take(all).collect();
        Self {
            began: Instant::now(),
            streams,
            sent: tallies(),
            received: tallies(),
            delays: (0..task.associations).map(|_| Mutex::default()).collect(),
            last_arrival: AtomicU64::new(0),
            budget: task.bytes.map(AtomicU64::new),
            ahead,
        }
    }

    pub(super) const fn began(&self) -> Instant {
        self.began
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Takes up to `wanted` bytes from what may still be sent.
    pub(super) fn take(&self, wanted: u64) -> u64 {
        let Some(budget) = &self.budget else { return wanted };
        let taken = budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            Some(left.saturating_sub(wanted))
        });
        taken.unwrap_or(0).min(wanted)
    }

    pub(super) fn on_sent(&self, stream: usize, bytes: u64) {
        self.sent[stream].add(bytes);
    }

    /// Counts a message that association `number` has received.
    pub(super) fn on_received(&self, number: usize, message: &ReceivedMessage) {
        let stream = usize::from(message.stream.0).wrapping_sub(1);
        if stream >= self.streams {
            return;
        }
        self.received[number * self.streams + stream].add(message.payload.len() as u64);
        let elapsed = self.elapsed().as_nanos() as u64;
        self.last_arrival.fetch_max(elapsed, Ordering::Relaxed);
        if let Some(stamp) = message.payload.first_chunk() {
            let delay = clock::now().wrapping_sub(u64::from_be_bytes(*stamp)) as i64;
            // An error of the estimated offset can be larger than the delay.
            let delay = u64::try_from(delay.saturating_sub(self.ahead)).unwrap_or(0);
            let mut delays = self.delays[number].lock().unwrap_or_else(PoisonError::into_inner);
            delays.add(delay);
        }
    }

    pub(super) fn last_arrival(&self) -> Duration {
        Duration::from_nanos(self.last_arrival.load(Ordering::Relaxed))
    }

    pub(super) fn counts(&self) -> Counts {
        Counts {
            sent: self.sent.iter().map(Tally::count).collect(),
            received: self.received.iter().map(Tally::count).collect(),
        }
    }

    /// Delays of all messages so far.
    pub(super) fn delays(&self) -> Histogram {
        let mut all = Histogram::default();
        for delays in &self.delays {
            all.merge(&delays.lock().unwrap_or_else(PoisonError::into_inner));
        }
        all
    }

    /// Forgets all delays so far.
    pub(super) fn forget_delays(&self) {
        for delays in &self.delays {
            *delays.lock().unwrap_or_else(PoisonError::into_inner) = Histogram::default();
        }
    }
}

impl Tally {
    fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.messages.fetch_add(1, Ordering::Relaxed);
    }

    fn count(&self) -> Count {
        Count {
            bytes: self.bytes.load(Ordering::Relaxed),
            messages: self.messages.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::task::tests::example;
    use super::*;

    #[test]
    fn budget_is_shared_and_not_exceeded() {
        let task = Task {
            seconds: None,
            bytes: Some(2_500),
            ..example()
        };
        let meter = Meter::new(&task, 0);
        let taken: Vec<u64> = (0..4).map(|_| meter.take(1_000)).collect();
        assert_eq!(taken, [1_000, 1_000, 500, 0]);
        assert_eq!(Meter::new(&example(), 0).take(7), 7);
    }
}

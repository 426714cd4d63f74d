//! Reachability probes of a path: heartbeats in addition to those of RFC 9260 §8.3. Does a failed path work again?
//!
//! The timer of [`Heartbeat`](super::Heartbeat) waits for each answer until its timeout, which backs off up to RTO.Max, and
//! each unanswered heartbeat is an error. Probes are sent at a constant interval, several may be unanswered at once, and
//! none is an error.

use alloc::boxed::Box;
use core::time::Duration;

use anabranch_types::Instant;

/// Number of probes whose answers are recognised: with an interval of 1 s, for round-trip times of up to 8 s.
const REMEMBERED: usize = 8;

/// The probes of one path.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReachabilityProbes {
    /// Time at which the path stopped responding, or at which the last heartbeat of either kind was sent on it.
    asked_at: Option<Instant>,
    /// The probes without answer. `None` on a path that responds.
    unanswered: Option<Box<Unanswered>>,
}

#[derive(Clone, Debug, Default)]
struct Unanswered {
    sent: [Option<Sent>; REMEMBERED],
    /// Index of the next entry of `sent`.
    next: usize,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    nonce: u64,
    at: Instant,
}

impl ReachabilityProbes {
    /// Notes that the path has stopped responding, or that a heartbeat is sent on it.
    pub(crate) const fn asked(&mut self, now: Instant) {
        self.asked_at = Some(now);
    }

    /// The time of the next probe for this `interval`.
    pub(crate) fn due_at(&self, interval: Duration) -> Instant {
        self.asked_at
            .map_or(Instant::ZERO, |asked_at| asked_at + interval)
    }

    /// Notes that a probe with `nonce` is sent.
    pub(crate) fn sent(&mut self, nonce: u64, now: Instant) {
        self.asked(now);
        let unanswered = self.unanswered.get_or_insert_default();
        unanswered.sent[unanswered.next] = Some(Sent { nonce, at: now });
        unanswered.next = (unanswered.next + 1) % REMEMBERED;
    }

    /// Handles an answer with `nonce`. Returns the time at which the probe was sent; `None` if this is not an outstanding
    /// probe.
    pub(crate) fn answered(&mut self, nonce: u64) -> Option<Instant> {
        let mut sent = self.unanswered.as_ref()?.sent.iter().flatten();
        let probe = sent.find(|sent| sent.nonce == nonce)?.at;
        self.settle();
        Some(probe)
    }

    /// Discards all outstanding probes, because the path responds.
    pub(crate) fn settle(&mut self) {
        self.unanswered = None;
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, REMEMBERED, ReachabilityProbes};

    const INTERVAL: Duration = Duration::from_secs(1);

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn probe_is_due_an_interval_after_any_heartbeat() {
        let mut probes = ReachabilityProbes::default();
        probes.asked(at(5));
        assert_eq!(probes.due_at(INTERVAL), at(6));
        probes.sent(1, at(6));
        assert_eq!(probes.due_at(INTERVAL), at(7));
        assert_eq!(probes.due_at(5 * INTERVAL), at(11));
    }

    #[test]
    fn late_answer_gives_the_time_of_its_own_probe_once() {
        let mut probes = ReachabilityProbes::default();
        for number in 0..3 {
            probes.sent(number, at(number));
        }
        assert_eq!(probes.answered(7), None);
        assert_eq!(probes.answered(1), Some(at(1)));
        assert_eq!(probes.answered(1), None);
        assert_eq!(probes.answered(2), None, "the path had answered");
    }

    #[test]
    fn only_the_latest_probes_are_remembered() {
        let mut probes = ReachabilityProbes::default();
        for number in 0..=REMEMBERED as u64 {
            probes.sent(number, at(number));
        }
        assert_eq!(probes.answered(0), None);
        assert_eq!(probes.answered(REMEMBERED as u64), Some(at(REMEMBERED as u64)));
    }
}

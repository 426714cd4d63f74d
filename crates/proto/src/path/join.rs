//! Join attempts of a path (RFC 5061 §4.2.1): when the next ASCONF with the wildcard address may be sent on it.

use alloc::boxed::Box;
use core::time::Duration;

use anabranch_types::Instant;

/// The longest time between two attempts: that between heartbeats of an idle path (HB.interval, RFC 9260 §16).
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The join attempts of one path since it was last confirmed or proved reachable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Join {
    /// A heartbeat was overdue, as it is if the peer does not know the source address of the path.
    is_wanted: bool,
    /// The peer has the remote address: this path or another one to the same address was confirmed.
    pub(crate) remote_is_proven: bool,
    pub(crate) attempts: u16,
    /// Heartbeats in a row that were not acknowledged before the address pair of the path waited for this turn.
    pub(crate) missed_before: u16,
    /// `None` until one of its times is set.
    schedule: Option<Box<Schedule>>,
}

/// Times of join attempts.
#[derive(Clone, Copy, Debug, Default)]
struct Schedule {
    /// When the outstanding heartbeat on the unconfirmed path would be answered, judging by the round-trip time of another path.
    answer_due: Option<Instant>,
    /// The earliest time of the next attempt; at once if unset.
    next: Option<Instant>,
    wait: Duration,
    /// See [`Join::joined_at`].
    joined_at: Option<Instant>,
}

impl Join {
    /// When the peer added the remote address of the path by an ASCONF with a wildcard address (RFC 5061 §4.2.1), or moved to another
    /// port.
    pub(crate) fn joined_at(&self) -> Option<Instant> {
        self.schedule.as_ref()?.joined_at
    }

    /// Notes that the peer has added the remote address, or moved to it.
    pub(crate) fn joined(&mut self, now: Instant) {
        self.schedule.get_or_insert_default().joined_at = Some(now);
    }

    /// Forgets the attempts, because the path was confirmed or proved reachable.
    pub(crate) fn settle(&mut self) {
        let joined_at = self.joined_at();
        *self = Self::default();
        if let Some(joined_at) = joined_at {
            self.joined(joined_at);
        }
    }

    /// Notes that a heartbeat was not acknowledged in time.
    pub(crate) const fn want(&mut self) {
        self.is_wanted = true;
    }

    pub(crate) const fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Notes that a heartbeat is sent on the unconfirmed path, whose answer is expected until `answer_due`.
    pub(crate) fn expect_answer(&mut self, answer_due: Instant) {
        self.schedule.get_or_insert_default().answer_due = Some(answer_due);
    }

    /// The time of the next attempt if a heartbeat was overdue.
    pub(crate) fn due_at(&self) -> Instant {
        let next = self.schedule.as_ref().and_then(|schedule| schedule.next);
        next.unwrap_or(Instant::ZERO)
    }

    /// The time of the next attempt if the heartbeat is not acknowledged within the round-trip time of another path; `None` if no
    /// heartbeat was sent.
    pub(crate) fn early_due_at(&self) -> Option<Instant> {
        let answer_due = self.schedule.as_ref()?.answer_due?;
        Some(answer_due.max(self.due_at()))
    }

    /// Notes an attempt. The next one follows after `timeout`, then after twice the time each.
    pub(crate) fn attempt(&mut self, timeout: Duration, now: Instant) {
        let schedule = self.schedule.get_or_insert_default();
        schedule.wait = (schedule.wait * 2).max(timeout).min(MAX_WAIT);
        schedule.next = Some(now + schedule.wait);
        self.attempts = self.attempts.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_back_off_to_thirty_seconds() {
        let timeout = Duration::from_secs(1);
        let mut join = Join::default();
        let mut now = Instant::ZERO;
        let mut waits = [0; 8];
        for wait in &mut waits {
            join.attempt(timeout, now);
            *wait = (join.due_at() - now).as_secs();
            now = join.due_at();
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30]);
    }
}

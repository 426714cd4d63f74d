//! Join attempts of a path (RFC 5061 §4.2.1). When is the peer asked to add the address that it sees there?

use core::time::Duration;

use anabranch_types::Instant;

/// The longest time between two attempts: that between heartbeats of an idle path (HB.interval, RFC 9260 §16).
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The join attempts of one path, since it last answered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Join {
    /// Something went unanswered that the peer ignores if it does not know where the path comes from.
    is_wanted: bool,
    /// The peer is at the far end: this path or another one to the same address was confirmed.
    pub(crate) far_end_is_proven: bool,
    pub(crate) attempts: u16,
    /// When the next one may leave; at once if unset.
    next: Option<Instant>,
    wait: Duration,
}

impl Join {
    /// A heartbeat was not answered.
    pub(crate) const fn want(&mut self) {
        self.is_wanted = true;
    }

    pub(crate) const fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    pub(crate) fn due_at(&self) -> Instant {
        self.next.unwrap_or(Instant::ZERO)
    }

    /// One leaves now. The next one follows after twice the time each, at first after `timeout`.
    pub(crate) fn attempt(&mut self, timeout: Duration, now: Instant) {
        self.wait = (self.wait * 2).max(timeout).min(MAX_WAIT);
        self.next = Some(now + self.wait);
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

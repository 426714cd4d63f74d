//! Join attempts of a path (RFC 5061 §4.2.1). When is the peer requested to add the source address of the path?

use core::time::Duration;

use anabranch_types::Instant;

/// Maximum time between two attempts: HB.interval, the time between heartbeats of an idle path (RFC 9260 §16).
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The join attempts of one path since its last answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Join {
    /// Whether a heartbeat was not answered, perhaps because the peer does not know the source address of the path.
    is_wanted: bool,
    /// Whether the remote address is known to be the peer's: this path or another one to it was confirmed.
    pub(crate) far_end_is_proven: bool,
    pub(crate) attempts: u16,
    /// Time of the next attempt; at once if `None`.
    next: Option<Instant>,
    wait: Duration,
}

impl Join {
    /// Notes that a heartbeat was not answered.
    pub(crate) const fn want(&mut self) {
        self.is_wanted = true;
    }

    pub(crate) const fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    pub(crate) fn due_at(&self) -> Instant {
        self.next.unwrap_or(Instant::ZERO)
    }

    /// Notes an attempt. The next one follows after `timeout`, and after twice the previous time from then on.
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

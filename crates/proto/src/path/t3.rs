//! T3-rtx timer of a path (RFC 9260 §6.3.2).

use core::time::Duration;

use anabranch_types::{Instant, UnwrappedTsn};

/// The T3-rtx timer of one path.
///
/// The timer belongs to the earliest outstanding chunk of the path. It restarts when another chunk becomes the earliest, or when
/// the earliest is retransmitted. That implements R1 to R4 of RFC 9260 §6.3.2.
#[derive(Clone, Debug, Default)]
pub(crate) struct T3 {
    running: Option<Running>,
}

#[derive(Clone, Debug)]
struct Running {
    oldest: UnwrappedTsn,
    oldest_sent_at: Instant,
    expires: Instant,
    /// Whether the timer runs although no chunk is outstanding.
    held: bool,
}

impl T3 {
    /// A timer that does not run.
    pub(super) const STOPPED: Self = Self { running: None };

    pub(crate) fn expires(&self) -> Option<Instant> {
        self.running.as_ref().map(|running| running.expires)
    }

    //= rfc9260 6.1-19, 6.1-20, 6.1-21, 6.1-22, 6.3.3-1
    /// Adapts the timer to the earliest outstanding chunk of the path, after chunks were sent or acknowledged.
    pub(crate) fn follow(&mut self, oldest: Option<(UnwrappedTsn, Instant)>, rto: Duration, now: Instant) {
        let Some((oldest, oldest_sent_at)) = oldest else {
            self.running.take_if(|running| !running.held);
            return;
        };
        let unchanged = self
            .running
            .as_ref()
            .is_some_and(|running| running.oldest == oldest && running.oldest_sent_at == oldest_sent_at);
        if !unchanged {
            self.running = Some(Running {
                oldest,
                oldest_sent_at,
                expires: now + rto,
                held: false,
            });
        }
    }

    /// Continues the timer after the earliest chunk was moved to another path: it runs on for the chunk that is the earliest now,
    /// and stops if there is none.
    pub(crate) fn run_on(&mut self, oldest: Option<(UnwrappedTsn, Instant)>) {
        self.running = self
            .running
            .take()
            .zip(oldest)
            .map(|(running, (oldest, oldest_sent_at))| Running {
                oldest,
                oldest_sent_at,
                ..running
            });
    }

    /// Keeps the timer running although all chunks are about to be moved to other paths; otherwise the failure of this path would
    /// never be detected. It runs until it expires or is stopped, unless a HEARTBEAT ACK arrives before.
    pub(crate) fn hold(&mut self) {
        if let Some(running) = &mut self.running {
            running.held = true;
        }
    }

    /// Ends the effect of [`T3::hold`]: the path has proved reachable.
    pub(crate) fn release(&mut self) {
        self.running.take_if(|running| running.held);
    }

    /// Shortens the timer to at most `rto` from now, because the path has proved reachable while the RTO was backed off.
    pub(crate) fn shorten(&mut self, rto: Duration, now: Instant) {
        if let Some(running) = &mut self.running {
            running.expires = running.expires.min(now + rto);
        }
    }

    pub(crate) fn stop(&mut self) {
        self.running = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTO: Duration = Duration::from_secs(1);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    //= rfc9260 6.1-19, 6.1-21
    #[test]
    fn t3_restarts_only_when_the_earliest_chunk_changes() {
        let mut timer = T3::default();
        timer.follow(Some((UnwrappedTsn(7), at(0))), RTO, at(0));
        timer.follow(Some((UnwrappedTsn(7), at(0))), RTO, at(500));
        assert_eq!(timer.expires(), Some(at(1_000)));
        timer.follow(Some((UnwrappedTsn(9), at(100))), RTO, at(600));
        assert_eq!(timer.expires(), Some(at(1_600)));
        timer.follow(None, RTO, at(700));
        assert_eq!(timer.expires(), None);
    }

    #[test]
    fn t3_continues_when_its_chunk_moves_to_another_path() {
        let mut timer = T3::default();
        timer.follow(Some((UnwrappedTsn(7), at(0))), RTO, at(0));
        let next = Some((UnwrappedTsn(9), at(100)));
        timer.run_on(next);
        timer.follow(next, RTO, at(600));
        assert_eq!(timer.expires(), Some(at(1_000)));
        timer.run_on(None);
        assert_eq!(timer.expires(), None);
    }

    #[test]
    fn held_t3_runs_without_outstanding_chunks() {
        let mut timer = T3::default();
        timer.hold();
        assert_eq!(timer.expires(), None, "it did not run");
        timer.follow(Some((UnwrappedTsn(7), at(0))), RTO, at(0));
        timer.release();
        assert_eq!(timer.expires(), Some(at(1_000)), "it is not held");
        timer.hold();
        timer.follow(None, RTO, at(600));
        assert_eq!(timer.expires(), Some(at(1_000)));
        timer.release();
        assert_eq!(timer.expires(), None);
    }

    #[test]
    fn t3_is_shortened_and_never_extended() {
        let mut timer = T3::default();
        timer.shorten(RTO, at(0));
        assert_eq!(timer.expires(), None, "it did not run");
        timer.follow(Some((UnwrappedTsn(7), at(0))), 60 * RTO, at(0));
        timer.shorten(RTO, at(500));
        assert_eq!(timer.expires(), Some(at(1_500)));
        timer.shorten(RTO, at(600));
        assert_eq!(timer.expires(), Some(at(1_500)));
    }

    //= rfc9260 6.1-20
    #[test]
    fn retransmitting_the_earliest_chunk_restarts_t3() {
        let mut timer = T3::default();
        timer.follow(Some((UnwrappedTsn(7), at(0))), RTO, at(0));
        timer.follow(Some((UnwrappedTsn(7), at(400))), RTO, at(400));
        assert_eq!(timer.expires(), Some(at(1_400)));
    }
}

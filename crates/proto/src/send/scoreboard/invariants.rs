//! Which sums must hold, whatever a peer sends?

use super::Scoreboard;

impl Scoreboard {
    /// The sums that cost a look at each path; called after every change in debug builds.
    pub(crate) fn debug_check(&self) {
        if !cfg!(debug_assertions) {
            return;
        }
        assert!(
            self.payload_in_flight <= self.payload_held,
            "in flight but not held"
        );
        assert!(
            self.payload_in_flight <= self.total_in_flight(),
            "more payload than chunks"
        );
        assert!(
            self.total_in_flight() <= self.total_queued(),
            "in flight but not queued"
        );
        assert!(self.lost.len() <= self.ring.len(), "lost but not sent");
        if self.ring.is_empty() {
            assert_eq!(
                (self.total_queued(), self.payload_held),
                (0, 0),
                "bytes of nothing"
            );
        }
    }
}

//! What must policies be able to believe, whatever happened?

use super::Association;

impl Association {
    /// The facts of each path tell what the sender knows of it, and what is out has a timer. Compared after every step in
    /// debug builds.
    pub(super) fn debug_check(&self) {
        if !cfg!(debug_assertions) || self.state.is_closed() {
            return;
        }
        for (facts, path) in self.paths.iter() {
            let in_flight = self.sender.in_flight(facts.id);
            assert_eq!(facts.in_flight, in_flight, "told of {:?}", facts.id);
            assert_eq!(
                facts.queued,
                self.sender.queued(facts.id),
                "held on {:?}",
                facts.id
            );
            let has_timer = path.t3.expires().is_some();
            assert!(in_flight == 0 || has_timer, "no T3 on {:?}", facts.id);
        }
    }
}

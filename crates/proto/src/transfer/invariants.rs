//! Invariants of data transfer, on which policies may rely.

use anabranch_policy::{PathFacts, Reachability};

use super::Transfer;
use crate::path::Path;

impl Transfer {
    /// Checks that the facts of each path equal their sources, and that data in flight has a timer. After every step in debug
    /// builds.
    pub(crate) fn debug_check(&self) {
        if !cfg!(debug_assertions) {
            return;
        }
        for (facts, path) in self.paths.iter() {
            let is_unresponsive = self.paths.unresponsive().contains(facts.id);
            let responds = matches!(
                facts.reachability,
                Reachability::Active | Reachability::Unconfirmed
            );
            assert_eq!(is_unresponsive, !responds, "{:?} responds", facts.id);
            self.check_flight(facts, path);
            self.check_windows(facts);
            let is_primary = facts.id == self.paths.primary();
            assert_eq!(facts.primary, is_primary, "primary {:?}", facts.id);
        }
    }

    fn check_flight(&self, facts: &PathFacts, path: &Path) {
        let told = (facts.in_flight, facts.queued, facts.duplicated_bytes);
        let so = (
            self.sender.pipe(facts.id),
            self.sender.queued(facts.id),
            path.sending.duplicates.bytes(),
        );
        assert_eq!(told, so, "in flight, held and duplicated on {:?}", facts.id);
        let has_timer = path.sending.t3.expires().is_some();
        let is_idle = self.sender.in_flight(facts.id) == 0;
        assert!(is_idle || has_timer, "no T3 on {:?}", facts.id);
    }

    fn check_windows(&self, facts: &PathFacts) {
        let congestion = &self.policies.congestion;
        let told = (facts.cwnd, facts.ssthresh);
        let so = (congestion.cwnd(facts.id), congestion.ssthresh(facts.id));
        assert_eq!(told, so, "window and threshold of {:?}", facts.id);
        let group = self.policies.shared_bottleneck.group(facts.id);
        assert_eq!(facts.bottleneck, group, "bottleneck of {:?}", facts.id);
    }
}

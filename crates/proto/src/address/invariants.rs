//! Invariants of addresses: what holds after every step.

use super::Addresses;
use crate::path::PathSet;

impl Addresses {
    /// The outstanding ASCONF names paths that exist, and it is due or waits for a timer. Checked after every step in debug builds.
    pub(crate) fn debug_check(&self, paths: &PathSet) {
        if !cfg!(debug_assertions) {
            return;
        }
        if let Some(asconf) = &self.asconf_sender.outstanding {
            asconf.debug_check(paths);
        }
        for (facts, path) in paths.iter() {
            let is_proven = facts.reachability != anabranch_policy::Reachability::Unconfirmed;
            let attempts = path.join.attempts;
            let may_guess = is_proven || path.join.remote_is_proven || !self.initiated_to.is_empty();
            assert!(
                attempts == 0 || may_guess,
                "a join towards a guess on {:?}",
                facts.id
            );
        }
    }
}

//! Do our SACKs arrive? A duplicate says that perhaps they do not, and heartbeats find out.
//!
//! "Receiving a duplicate from a multi-homed endpoint might indicate that the return path […] for the SACK chunk is
//! broken" (RFC 9260 §6.4). Which path that is nobody knows: the data may have come again over another one. So all
//! are asked; those that have not answered yet carry no SACKs while another one has.

use core::time::Duration;

use anabranch_policy::PathFacts;
use anabranch_types::{Instant, PathId};

use super::liveness;
use crate::Association;

/// A path that answered so lately is not doubted again: duplicates have other causes too.
const PROOF_LASTS: Duration = Duration::from_secs(1);

/// DATA came that was here before.
pub(crate) fn duplicate_came(association: &mut Association, now: Instant) {
    if association.paths.usable_count() < 2 {
        return;
    }
    for id in association.paths.ids() {
        let is_usable = association.paths.fact(id).is_usable();
        let path = association.paths.path_mut(id);
        let is_proved = path
            .answered_at
            .is_some_and(|answered_at| now - answered_at < PROOF_LASTS);
        if is_usable && !is_proved && !path.sacks_doubted {
            path.sacks_doubted = true;
            liveness::ask(association, id, now);
        }
    }
}

/// The peer answered a heartbeat: what is sent on `path` arrives.
pub(crate) fn proved(association: &mut Association, path: PathId, now: Instant) {
    let path = association.paths.path_mut(path);
    path.answered_at = Some(now);
    path.sacks_doubted = false;
}

/// `wanted`, or the fastest path that is not doubted if `wanted` is.
pub(crate) fn for_sack(association: &Association, wanted: PathId) -> PathId {
    if !association.paths.path(wanted).sacks_doubted {
        return wanted;
    }
    let sound = association
        .paths
        .iter()
        .filter(|(facts, path)| facts.is_usable() && !path.sacks_doubted);
    let sound = sound.map(|(facts, _)| facts);
    let best = sound.min_by_key(|facts: &&PathFacts| (facts.srtt, facts.id));
    best.map_or(wanted, |facts| facts.id)
}

//! Retirement of paths that the peer has left (RFC 5061 §4.2.2, ADR 0097). When is a path removed that the peer did not delete?
//!
//! A host behind a NAT does not know its public addresses, so it cannot delete the one that an uplink had before. The wildcard address
//! would delete the addresses of its other uplinks, too. So the other end removes a path itself if
//!
//! - another path from the same local address is usable, and the peer has joined it or moved it to another port since it was last heard on
//!   this one, so that it may be the same uplink,
//! - this path is unusable, and was silent for a minute, or none of its first heartbeats was acknowledged.
//!
//! If the peer still has the uplink, its heartbeats there are not acknowledged, and it joins again ([`super::join`]). So the end that
//! joins removes none of its own paths.

use core::time::Duration;

use anabranch_policy::PathFacts;
use anabranch_types::{Instant, PathId};

use super::Addresses;
use crate::path::{Path, PathSet};
use crate::transfer::{Effects, Transfer};

/// Twice HB.interval (RFC 9260 §16): the peer's heartbeats on an idle path that works arrive more often.
const LONG_SILENCE: Duration = Duration::from_secs(60);
/// Consecutive errors after which an address on which nothing was received counts as unreachable (Path.Max.Retrans, RFC 9260 §16).
const NEVER_ANSWERED: u16 = 5;

impl Addresses {
    /// Removes the paths that the peer has left.
    pub(crate) fn retire_left(&mut self, transfer: &mut Transfer, now: Instant) -> Effects {
        let mut effects = Effects::default();
        while let Some((due_at, path)) = next_retirement(&transfer.paths)
            && due_at <= now
        {
            effects.append(self.remove_path(transfer, path));
        }
        effects
    }
}

/// The time at which the next path is removed.
pub(super) fn retirement_deadline(paths: &PathSet) -> Option<Instant> {
    next_retirement(paths).map(|(due_at, _)| due_at)
}

fn next_retirement(paths: &PathSet) -> Option<(Instant, PathId)> {
    let due = |(facts, path)| Some((retired_at(paths, facts, path)?, facts.id));
    paths.iter().filter_map(due).min()
}

/// When `path` is removed; `None` if it is kept as it is.
fn retired_at(paths: &PathSet, facts: &PathFacts, path: &Path) -> Option<Instant> {
    if facts.is_active() {
        return None;
    }
    let replaces = |(other, known): (&PathFacts, &Path)| {
        other.is_active() && known.addr.local == path.addr.local && known.join.joined_at() > path.heard_at
    };
    let due_at = match path.heard_at {
        Some(heard_at) => heard_at + LONG_SILENCE,
        None if facts.errors >= NEVER_ANSWERED => Instant::ZERO,
        None => return None,
    };
    paths.iter().any(replaces).then_some(due_at)
}

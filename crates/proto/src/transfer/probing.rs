//! Reachability probes. When is a path that does not respond asked whether it works again?
//!
//! Heartbeats on such a path are up to HB.interval and RTO.Max apart (RFC 9260 §8.3), which is long for data that waits. So
//! while any does, further heartbeats leave at a constant interval. Their loss is no error: neither the path nor the peer is
//! given up sooner than without them.

use core::time::Duration;

use anabranch_policy::{PathFacts, Reachability};
use anabranch_types::{Instant, PathId, earliest};
use anabranch_wire::{Heartbeat, PacketBuilder};

use super::Transfer;
use crate::path::{HeartbeatInfo, Path};

impl Transfer {
    /// How far apart probes are now; `None` if none leave: all paths respond, nothing waits, or the association finishes.
    fn probe_interval(&self) -> Option<Duration> {
        let interval = self.limits.probing?;
        let is_any = self.paths.iter().any(|path| is_probed(&path));
        (is_any && !self.is_finishing && !self.sender.is_drained()).then_some(interval)
    }

    /// When the next probe is due.
    pub(super) fn probe_deadline(&self) -> Option<Instant> {
        let interval = self.probe_interval()?;
        let probed = self.paths.iter().filter(is_probed);
        earliest(probed.map(|(_, path)| Some(due_at(path, interval))))
    }

    /// The first path on which a probe is to leave now.
    pub(crate) fn probe_due(&self, now: Instant) -> Option<PathId> {
        let interval = self.probe_interval()?;
        let mut probed = self.paths.iter().filter(is_probed);
        let due = probed.find(|(_, path)| due_at(path, interval) <= now);
        due.map(|(facts, _)| facts.id)
    }

    /// Until when `path` stays out of use though it answers, since data does not get through.
    pub(super) fn damped_until(&self, path: PathId, now: Instant) -> Option<Instant> {
        self.paths.path(path).damping.holds_until(now)
    }

    /// Data sent on `path` was not acknowledged in time. Without probes, heartbeats are rare enough.
    pub(super) fn damp(&mut self, path: PathId, now: Instant) {
        if self.limits.probing.is_some() {
            self.paths.path_mut(path).damping.timed_out(now);
        }
    }

    /// Puts a probe into a packet for `path`, if it fits.
    pub(super) fn write_probe(&mut self, path: PathId, packet: &mut PacketBuilder<'_>, now: Instant) {
        let nonce = self.probe_secrets.number();
        let info = HeartbeatInfo { path, nonce }.encode();
        if packet.push(&Heartbeat { info: &info }).is_ok() {
            self.paths.path_mut(path).probes.sent(nonce, now);
        }
    }
}

/// When a probe is due on `path`, if they leave every `interval`.
fn due_at(path: &Path, interval: Duration) -> Instant {
    let due = path.probes.due_at(interval);
    path.damping.holds_until(due).unwrap_or(due)
}

/// Whether it is known to lead to the peer and does not respond. Unconfirmed paths have a pace of their own (RFC 9260 §5.4).
fn is_probed((facts, _): &(&PathFacts, &Path)) -> bool {
    matches!(
        facts.reachability,
        Reachability::PotentiallyFailed | Reachability::Inactive
    )
}

//! Reachability probes. When is a path that does not respond asked whether it works again?
//!
//! Heartbeats on such a path are up to HB.interval and RTO.Max apart (RFC 9260 §8.3), which is long for data that waits. So
//! while any does, further heartbeats leave at a constant interval. Their loss is no error: neither the path nor the peer is
//! given up sooner than without them.

use core::time::Duration;

use anabranch_types::{Instant, PathId};
use anabranch_wire::{Heartbeat, PacketBuilder};

use super::Transfer;
use crate::path::{HeartbeatInfo, Path};

impl Transfer {
    /// The interval between probes of a path; `None` if none are sent: nothing waits, or the association is being shut down.
    fn probe_interval(&self) -> Option<Duration> {
        let is_wanted = !self.is_finishing && !self.sender.is_drained();
        self.limits.probing.filter(|_| is_wanted)
    }

    /// When the next probe is due.
    #[inline]
    pub(super) fn probe_deadline(&self) -> Option<Instant> {
        let is_any = !self.paths.unresponsive().is_empty();
        is_any.then(|| self.first_probe())?.map(|(due_at, _)| due_at)
    }

    /// The path on which a probe is due.
    #[inline]
    pub(crate) fn probe_due(&self, now: Instant) -> Option<PathId> {
        if self.paths.unresponsive().is_empty() {
            return None;
        }
        let (due_at, path) = self.first_probe()?;
        (due_at <= now).then_some(path)
    }

    /// When the next probe is due, and on which path. Not inlined, because all paths respond nearly always.
    #[cold]
    fn first_probe(&self) -> Option<(Instant, PathId)> {
        let interval = self.probe_interval()?;
        let due = |path| (due_at(self.paths.path(path), interval), path);
        self.paths.unresponsive().clone().map(due).min()
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

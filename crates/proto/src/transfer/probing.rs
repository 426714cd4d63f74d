//! Reachability probes (ADR 0074): additional heartbeats on potentially failed and inactive paths while data waits.
//!
//! The heartbeats of RFC 9260 §8.3 on such a path are HB.interval and up to RTO.Max apart, so a path that works again would stay unused
//! for long. Probes are sent at a constant interval as long as data is unsent or unacknowledged. A lost probe counts neither as an error
//! of the path nor of the association, so that both fail no sooner than without probes.

use core::time::Duration;

use anabranch_types::{Instant, PathId};
use anabranch_wire::{Heartbeat, PacketBuilder};

use super::Transfer;
use crate::path::{HeartbeatInfo, Path};

impl Transfer {
    /// The interval between probes of a path; `None` if none are sent: all data is acknowledged, or the shutdown has begun.
    fn probe_interval(&self) -> Option<Duration> {
        let is_wanted = !self.is_finishing && !self.sender.is_drained();
        self.config.probe_interval().filter(|_| is_wanted)
    }

    /// The time at which the next probe is due.
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

    /// The next probe: its time and its path. Not inlined, because nearly always no path is potentially failed or inactive.
    #[cold]
    fn first_probe(&self) -> Option<(Instant, PathId)> {
        let interval = self.probe_interval()?;
        let due = |path| (due_at(self.paths.path(path), interval), path);
        self.paths.unresponsive().clone().map(due).min()
    }

    /// The end of the pause of `path`, during which HEARTBEAT ACKs do not make it active because data sent on it was lost.
    pub(super) fn damped_until(&self, path: PathId, now: Instant) -> Option<Instant> {
        self.paths.path(path).damping.holds_until(now)
    }

    /// Notes that T3 expired on `path`. Without probes no pauses are needed, because heartbeats are rare.
    pub(super) fn damp(&mut self, path: PathId, now: Instant) {
        if self.config.probe_interval().is_some()
            && let Some(damping) = self.paths.path_mut(path).damping.active_mut()
        {
            damping.timed_out(now);
        }
    }

    /// Writes a probe into a packet for `path`, if it fits.
    pub(super) fn write_probe(&mut self, path: PathId, packet: &mut PacketBuilder<'_>, now: Instant) {
        self.probes_sent += 1;
        let nonce = self.secrets.numbered(b"path probe nonce", self.probes_sent);
        let info = HeartbeatInfo { path, nonce }.encode();
        if packet.push(&Heartbeat { info: &info }).is_ok() {
            self.paths.path_mut(path).probes.sent(nonce, now);
        }
    }
}

/// The time at which a probe is due on `path`: an interval after the last heartbeat, or after the pause of the path.
fn due_at(path: &Path, interval: Duration) -> Instant {
    let due = path.probes.due_at(interval);
    path.damping.holds_until(due).unwrap_or(due)
}

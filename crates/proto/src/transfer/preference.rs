//! Preferences of the application and of the peer between paths: who is told them, and what do they change?
//!
//! A preference is told in the HEARTBEATs on its path, because a path has no name that both ends know: behind a NAT, each end sees
//! other addresses. The same packets confirm a new path and tell its preference.

use anabranch_types::{Instant, PathId};
use anabranch_wire::{PacketBuilder, WirePreference};

use super::Transfer;
use crate::path::PathPreference;

impl Transfer {
    /// Gives all paths the preferences of the configuration. The peer is told new ones at once.
    pub(crate) fn apply_preferences(&mut self) {
        if self.config.path_preferences.is_empty() {
            return;
        }
        for id in self.paths.ids() {
            let local = self.paths.path(id).addr.local.ip();
            let all = &self.config.path_preferences;
            let own = all.iter().find(|(address, _)| *address == local);
            if self.paths.set_own_preference(id, own.map(|(_, own)| *own)) && self.paths.is_confirmed(id) {
                self.send_another_heartbeat(id, Instant::ZERO);
            }
        }
        self.publish_windows();
    }

    /// Sends a heartbeat at once on the confirmed paths of whose preferences the peer does not know.
    pub(super) fn tell_preferences(&mut self) {
        for id in self.paths.ids() {
            if self.paths.path(id).has_untold_preference() {
                self.request_heartbeat(id);
            }
        }
    }

    /// Handles the value of a HEARTBEAT that arrived over `path`: it may carry a preference of the peer. If it carries none, the peer may
    /// have made this path only now, and does not know ours.
    pub(crate) fn on_heartbeat(&mut self, path: PathId, value: &[u8], now: Instant) {
        match WirePreference::of_heartbeat(value) {
            Some(wire) if self.config.obeys_path_preferences => {
                self.paths
                    .set_peer_preference(path, PathPreference::of_peer(wire));
                self.publish_windows();
            }
            Some(_) => {}
            None if self.paths.path(path).own_preference().is_some() => self.send_heartbeat(path, now),
            None => {}
        }
    }

    /// Writes a HEARTBEAT with the preference for its path, if there is one. Returns whether a HEARTBEAT was written.
    pub(super) fn push_heartbeat(&self, path: PathId, info: &[u8], packet: &mut PacketBuilder<'_>) -> bool {
        let own = self.paths.path(path).own_preference();
        let is_written = own.is_some_and(|own| {
            let preference = own.wire();
            packet
                .push(&anabranch_wire::OutboundHeartbeat { info, preference })
                .is_ok()
        });
        // Without room for it, the path is confirmed nevertheless.
        is_written || packet.push(&anabranch_wire::Heartbeat { info }).is_ok()
    }
}

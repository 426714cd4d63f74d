//! How large are the packets of each path now? What happens to the association, told to the discovery of its path.

use anabranch_types::{Instant, PathAddr, PathId};

use super::{PathChange, liveness};
use crate::Association;
use crate::path::PathMtu;

/// Data leaves: now it is worth the probes to know how large packets may be. "DPLPMTUD MAY inhibit sending probe packets
/// when no application data has been sent" (RFC 8899 §5.1.1). On all paths, also those that carry none of it: messages are
/// cut to what fits every path.
pub(crate) fn in_use(association: &mut Association, now: Instant) {
    if !association.paths.take_newly_usable() {
        return;
    }
    for path in association.paths.ids() {
        if association.paths.fact(path).is_usable() && !association.paths.path(path).mtu.is_enabled() {
            change(association, path, |mtu| mtu.begin(now));
        }
    }
}

/// `path` was given up. When it comes back it may lead elsewhere: what was known of it is forgotten.
pub(crate) fn out_of_use(association: &mut Association, path: PathId) {
    change(association, path, PathMtu::end);
}

/// A heartbeat was answered; tells whether it was a probe of the discovery.
pub(crate) fn answered(association: &mut Association, path: PathId, nonce: u64, now: Instant) -> bool {
    change(association, path, |mtu| mtu.answered(nonce, now))
}

/// Data was lost on `path` that had been sent again, or had to wait for the timer.
pub(crate) fn doubt(association: &mut Association, path: PathId, now: Instant) {
    change(association, path, |mtu| mtu.doubt(now));
}

pub(crate) fn on_timer(association: &mut Association, path: PathId, now: Instant) {
    change(association, path, |mtu| mtu.on_timer(now));
}

impl Association {
    /// A packet was too large for the path with these ends; `largest` is the size of IP packets that would have
    /// passed, if anybody said.
    pub(crate) fn handle_too_large(&mut self, now: Instant, addr: PathAddr, largest: Option<u16>) {
        if let Some(path) = self.paths.between(addr) {
            change(self, path, |mtu| mtu.refused(largest, now));
        }
    }
}

fn change<R>(association: &mut Association, path: PathId, act: impl FnOnce(&mut PathMtu) -> R) -> R {
    let mtu = &mut association.paths.path_mut(path).mtu;
    let before = mtu.size();
    let result = act(mtu);
    let after = mtu.size();
    if after != before {
        association.paths.publish_mtu(path);
        liveness::tell(association, path, PathChange::Mtu(after));
    }
    result
}

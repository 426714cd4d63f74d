//! Path MTU discovery (RFC 8899). How large are the packets of each path now, and when is a larger size probed?
//!
//! The search on one path is [`crate::path::PathMtu`]; here is what happens to data transfer, told to the search.

use alloc::vec::Vec;

use anabranch_types::{Instant, PathAddr, PathId};
use anabranch_wire::{CommonHeader, Heartbeat, PacketBuilder, Pad, RawChunk};

use super::{Effects, Transfer};
use crate::path::{HeartbeatInfo, PathChange, PathMtu};

impl Transfer {
    /// Data leaves: now it is worth the probes to know how large packets may be; before, probing may rest (RFC 8899 §5.1.1). On
    /// all paths, also those that carry none of it: messages are cut to what fits every path.
    pub(super) fn search_mtu(&mut self, now: Instant) -> Effects {
        let mut effects = Effects::default();
        if !self.paths.take_newly_usable() {
            return effects;
        }
        for path in self.paths.ids() {
            if self.paths.fact(path).is_usable() && !self.paths.path(path).mtu.is_enabled() {
                effects.append(self.change_mtu(path, |mtu| mtu.begin(now)).1);
            }
        }
        effects
    }

    /// `path` was given up. When it comes back it may lead elsewhere: what was known of it is forgotten.
    pub(super) fn forget_mtu(&mut self, path: PathId) -> Effects {
        self.change_mtu(path, PathMtu::end).1
    }

    /// A heartbeat was answered; tells whether it was a probe of the search.
    pub(super) fn mtu_probe_answered(&mut self, path: PathId, nonce: u64, now: Instant) -> (bool, Effects) {
        self.change_mtu(path, |mtu| mtu.answered(nonce, now))
    }

    /// Data was lost on `path` that had been sent again, or had to wait for the timer: packets may be too large.
    pub(super) fn doubt_mtu(&mut self, path: PathId, now: Instant) -> Effects {
        self.change_mtu(path, |mtu| mtu.doubt(now)).1
    }

    pub(super) fn mtu_timer(&mut self, path: PathId, now: Instant) -> Effects {
        self.change_mtu(path, |mtu| mtu.on_timer(now)).1
    }

    /// A packet was too large for the path with these ends; `largest` is the size of IP packets that would have
    /// passed, if anybody said.
    pub(crate) fn on_too_large(&mut self, now: Instant, addr: PathAddr, largest: Option<u16>) -> Effects {
        let Some(path) = self.paths.between(addr) else {
            return Effects::default();
        };
        self.change_mtu(path, |mtu| mtu.refused(largest, now)).1
    }

    /// Writes the next probe that is due: a heartbeat, padded to the size that may not get through, with nothing of value
    /// (RFC 8899 §6.2.1, RFC 4820). Gives its path and length.
    pub(crate) fn write_mtu_probe(
        &mut self,
        header: CommonHeader,
        buffer: &mut Vec<u8>,
        now: Instant,
    ) -> Option<(PathId, usize)> {
        let (path, limit) = self.paths.mtu_probe_due(now)?;
        let fresh = self.secrets.number();
        let rto = self.paths.fact(path).rto;
        let nonce = self.paths.path_mut(path).mtu.sent(fresh, rto, now);
        let info = HeartbeatInfo { path, nonce }.encode();
        let mut builder = PacketBuilder::new(buffer, header, limit.into());
        let pushed = builder.push(&Heartbeat { info: &info }).and_then(|()| {
            let length = builder.room().saturating_sub(RawChunk::HEADER_LEN) as u16;
            builder.push(&Pad { length })
        });
        debug_assert!(pushed.is_ok(), "no size is that small");
        let size = builder.finish_unsealed();
        self.paths.path_mut(path).counters.mtu_probes += 1;
        self.packet_sent(path, size, now);
        Some((path, size))
    }

    fn change_mtu<R>(&mut self, path: PathId, act: impl FnOnce(&mut PathMtu) -> R) -> (R, Effects) {
        let mtu = &mut self.paths.path_mut(path).mtu;
        let before = mtu.size();
        let result = act(mtu);
        let after = mtu.size();
        if after == before {
            return (result, Effects::default());
        }
        self.paths.publish_mtu(path);
        (result, self.changed(path, PathChange::Mtu(after)))
    }
}

//! Path MTU discovery (RFC 8899). How large are the packets of each path now, and when is a larger size probed?
//!
//! [`crate::path::PathMtu`] is the search on one path, which is notified here.

use alloc::boxed::Box;
use alloc::vec::Vec;

use anabranch_types::{Instant, PathAddr, PathId};
use anabranch_wire::{CommonHeader, Heartbeat, PacketBuilder, Pad, RawChunk};

use super::{Effects, Transfer};
use crate::path::{HeartbeatInfo, PathChange, PathMtu, patience};

impl Transfer {
    /// Starts the search on all paths when data is sent; before, probing would be a waste (RFC 8899 §5.1.1). Paths that do not
    /// carry the data are included, because messages are fragmented to fit every path.
    pub(super) fn search_mtu(&mut self, now: Instant) -> Effects {
        let mut effects = Effects::default();
        if !self.paths.take_newly_usable() {
            return effects;
        }
        for path in self.paths.ids() {
            if self.paths.fact(path).is_active() && self.paths.path(path).mtu.is_none() {
                effects.append(self.begin_search(path, now));
            }
        }
        effects
    }

    fn begin_search(&mut self, path: PathId, now: Instant) -> Effects {
        let sizes = self.config.path_sizes();
        let machinery = self.paths.path_mut(path);
        machinery.mtu = Some(Box::new(sizes.of(&machinery.addr)));
        self.change_mtu(path, |mtu| mtu.begin(now)).1
    }

    /// Forgets the path MTU of `path`, which has become inactive. When it works again, its route may be another.
    pub(super) fn forget_mtu(&mut self, path: PathId) -> Effects {
        self.change_mtu(path, PathMtu::end).1
    }

    /// Handles a HEARTBEAT ACK; returns whether it was for an MTU probe.
    pub(super) fn mtu_probe_answered(&mut self, path: PathId, nonce: u64, now: Instant) -> (bool, Effects) {
        self.change_mtu(path, |mtu| mtu.answered(nonce, now))
    }

    /// Suspects that packets are too large for `path`, because a retransmission was lost.
    pub(super) fn doubt_mtu(&mut self, path: PathId, now: Instant) -> Effects {
        self.change_mtu(path, |mtu| mtu.doubt(now)).1
    }

    /// Suspects that packets are too large for `path`, because T3 has expired.
    pub(super) fn doubt_mtu_after_timeout(&mut self, path: PathId, now: Instant) -> Effects {
        self.change_mtu(path, |mtu| mtu.doubt_after_timeout(now)).1
    }

    /// Handles the timer of the search. If the size falls, data in flight was too large for the path, and is retransmitted now and not
    /// when T3, which has backed off, expires.
    pub(super) fn mtu_timer(&mut self, path: PathId, now: Instant) -> Effects {
        let machinery = self.paths.path(path);
        let passed_at = machinery.acked_at.max(machinery.answered_at);
        let before = machinery.packet_size();
        let effects = self.change_mtu(path, |mtu| mtu.on_timer(passed_at, now)).1;
        if self.paths.path(path).packet_size() < before && self.sender.in_flight(path) > 0 {
            self.send_again(path, now);
        }
        effects
    }

    /// Handles a packet that was too large for the path with these addresses; `largest` is the size of IP packets that would pass,
    /// if known.
    pub(crate) fn on_too_large(&mut self, now: Instant, addr: PathAddr, largest: Option<u16>) -> Effects {
        let Some(path) = self.paths.between(addr) else {
            return Effects::default();
        };
        self.change_mtu(path, |mtu| mtu.refused(largest, now)).1
    }

    //= rfc8831 5-4
    /// Writes the next MTU probe that is due: a HEARTBEAT with padding up to the probed size and no data (RFC 8899 §6.2.1, RFC
    /// 4820). Returns its path and length.
    pub(crate) fn write_mtu_probe(
        &mut self,
        header: CommonHeader,
        buffer: &mut Vec<u8>,
        now: Instant,
    ) -> Option<(PathId, usize)> {
        let (path, limit) = self.paths.mtu_probe_due(now)?;
        let fresh = self.secrets.number();
        let (facts, machinery) = self.paths.both_mut(path);
        // Without back-off: after an outage the probe is repeated soon.
        let rto = facts.rtt.rto_without_back_off();
        let round_trip = patience(&facts.rtt);
        let nonce = machinery.mtu.as_mut()?.sent(fresh, rto, round_trip, now);
        let info = HeartbeatInfo { path, nonce }.encode();
        let mut builder = PacketBuilder::new(buffer, header, limit.into());
        let pushed = builder.push(&Heartbeat { info: &info }).and_then(|()| {
            let length = builder.room().saturating_sub(RawChunk::HEADER_LEN) as u16;
            builder.push(&Pad { length })
        });
        debug_assert!(pushed.is_ok(), "no size is that small");
        let size = builder.finish_unsealed();
        self.paths.path_mut(path).counters.rare().mtu_probes += 1;
        self.packet_sent(path, size, now);
        Some((path, size))
    }

    /// Changes the search on `path` by `act`, unless it is disabled.
    fn change_mtu<R: Default>(&mut self, path: PathId, act: impl FnOnce(&mut PathMtu) -> R) -> (R, Effects) {
        let machinery = self.paths.path_mut(path);
        let before = machinery.packet_size();
        let Some(mtu) = &mut machinery.mtu else {
            return Default::default();
        };
        let result = act(mtu);
        if !mtu.is_enabled() {
            machinery.mtu = None;
        }
        let after = machinery.packet_size();
        if after == before {
            return (result, Effects::default());
        }
        self.paths.publish_mtu(path);
        (result, self.changed(path, PathChange::Mtu(after)))
    }
}

//! Packet input: verify the tag, dispatch each chunk, then decide whether a SACK is due.

mod dispatch;
mod guard;
mod verify;

use verify::completes_shutdown;
pub(crate) use verify::{contains_abort, is_lawful_bundle};

use anabranch_types::{Ecn, Instant, PathAddr, PathId};
use anabranch_wire::Packet;
use anabranch_wire::chunk::kind;

use crate::address::is_unicast;
use crate::association::{Association, State, close, probe_waiting_pairs, shutdown};
use crate::handshake;
use crate::path::Arrived;

impl Association {
    //= rfc9260 9.1-5
    /// Handles a packet for this association.
    pub(crate) fn handle_packet(&mut self, now: Instant, arrival: &PathAddr, ecn: Ecn, packet: &Packet<'_>) {
        let located = if verify::admits(self, arrival, packet) {
            match self.transfer.paths.arrived(arrival) {
                Arrived::On(path) => {
                    self.transfer.paths.path_mut(path).heard_at = Some(now);
                    Some(path)
                }
                Arrived::Rebound(path) => self.locate(now, arrival, packet, Some(path)),
                Arrived::Unknown => self.locate(now, arrival, packet, None),
            }
        } else {
            None
        };
        let Some(path) = located else {
            self.counters.packets_dropped += 1;
            return;
        };
        self.transfer.packet_received(path, packet.len());
        shutdown::restart_t2(&mut self.state, &mut self.transfer, now);
        match dispatch::chunks(self, now, path, packet) {
            Ok(carried_data) if carried_data && !self.state.is_closed() => {
                if ecn == Ecn::CongestionExperienced {
                    self.transfer.packet_marked(path, packet);
                }
                self.transfer.data_packet_done(path, now);
            }
            Ok(_) => {}
            Err(violation) => {
                let (reason, causes) = close::violated(violation);
                self.end(reason, Some(causes));
            }
        }
        if self.state.is_closed() && contains_abort(packet) {
            // The peer has aborted, too, and expects no reply (RFC 9260 §9.1).
            self.control.clear();
        }
        if self.addresses.is_moved() {
            // A path may have been confirmed, and waiting pairs take its place among those that are probed.
            let parts = (&mut self.addresses, &mut self.control);
            probe_waiting_pairs(&self.state, parts, &mut self.transfer, now);
        }
        self.debug_check();
    }

    //= rfc5061 5.3.2-2
    /// The path of a packet with the right tag from an unknown address, or from another port of the remote address of `known`.
    #[cold]
    fn locate(
        &mut self,
        now: Instant,
        arrival: &PathAddr,
        packet: &Packet<'_>,
        known: Option<PathId>,
    ) -> Option<PathId> {
        if known.is_none()
            && self.addresses.has_waiting_pairs()
            && let Some(path) = self.addresses.admit_waiting(&mut self.transfer, arrival, now)
        {
            self.transfer.paths.path_mut(path).heard_at = Some(now);
            return Some(path);
        }
        // An authenticated request to add the source address takes precedence over a guess.
        if (known.is_none() || self.state.is_connected())
            && let Some(path) = self.introduce(now, arrival, packet)
        {
            self.transfer.paths.path_mut(path).heard_at = Some(now);
            return Some(path);
        }
        if known.is_none() && self.state.is_finishing() && completes_shutdown(packet) {
            // The peer has moved and may not send an ASCONF any more. All data is acknowledged, so the source address of its last chunk does
            // not matter. If SHUTDOWN COMPLETE is lost, the next SHUTDOWN ACK is answered as out of the blue, to its source (RFC 9260 §8.4
            // rule 5).
            return Some(self.transfer.paths.best());
        }
        let path = known?;
        let (facts, machinery) = self.transfer.paths.both(path);
        if !machinery.is_silent(&facts.rtt, now) {
            // The two ports may belong to two uplinks behind one public address, whose packets would move one path back and
            // forth. The second uplink has to join, so its heartbeats are not answered. An ASCONF ACK is sent to the source
            // of the ASCONF.
            let asks = |kind| packet.chunks().flatten().any(|raw| raw.kind == kind);
            let is_request = [kind::HEARTBEAT, kind::ASCONF].into_iter().any(asks);
            return (!is_request).then_some(path);
        }
        // The tag is correct, so the packet is from the peer, and a NAT has a new binding: packets are sent to the new port
        // (RFC 6951 §5.4). If the path is unusable, it is probed again at once, because the old port may have been the
        // reason: the port of an added address is a guess, and a NAT may have lost its binding.
        let moved = (now, arrival.remote);
        let effects = self.addresses.rebind(&mut self.transfer, path, moved);
        self.apply(effects);
        self.transfer.paths.path_mut(path).heard_at = Some(now);
        if self.state.is_connected() {
            self.transfer.probe_rebound(path, now);
        }
        Some(path)
    }

    /// Handles a packet from an unknown address, which may show that the address is the peer's.
    #[cold]
    fn introduce(&mut self, now: Instant, arrival: &PathAddr, packet: &Packet<'_>) -> Option<PathId> {
        if !is_unicast(arrival) {
            return None;
        }
        if matches!(self.state, State::CookieWait(_)) && !self.config.single_homed {
            return handshake::introduce(&mut self.addresses, &self.transfer.paths, *arrival, packet);
        }
        if !self.state.accepts_address_changes() || !self.may_change_addresses() {
            return None;
        }
        let authentication = self.authentication.as_ref()?;
        let transfer = &mut self.transfer;
        let introduced = self
            .addresses
            .introduce(transfer, authentication, (now, *arrival), packet);
        let (path, effects) = introduced?;
        self.apply(effects);
        Some(path)
    }
}

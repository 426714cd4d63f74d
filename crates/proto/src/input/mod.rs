//! Input. What happens when a packet arrives? Verify, dispatch each chunk, then decide whether to acknowledge.

mod dispatch;
mod guard;
mod verify;

pub(crate) use verify::{contains_abort, is_lawful_bundle};

use anabranch_types::{Instant, PathAddr, PathId};
use anabranch_wire::Packet;

use crate::association::{Association, State, close, shutdown};
use crate::handshake;
use crate::path::Arrived;

impl Association {
    //= rfc9260 9.1-5
    /// A packet that is for this association arrived.
    pub(crate) fn handle_packet(&mut self, now: Instant, arrival: &PathAddr, packet: &Packet<'_>) {
        let located = verify::admits(self, arrival, packet).then(|| self.locate(now, arrival, packet));
        let Some(path) = located.flatten() else {
            self.counters.packets_dropped += 1;
            return;
        };
        self.transfer.packet_received(path, packet.len());
        shutdown::restart_t2(&mut self.state, &mut self.transfer, now);
        match dispatch::chunks(self, now, path, packet) {
            Ok(carried_data) if carried_data && !self.state.is_closed() => {
                self.transfer.data_packet_done(path, now);
            }
            Ok(_) => {}
            Err(violation) => {
                let (reason, causes) = close::violated(violation);
                self.end(reason, Some(causes));
            }
        }
        if self.state.is_closed() && contains_abort(packet) {
            // The peer ends it, too, and expects no answer (RFC 9260 §9.1).
            self.control.clear();
        }
        self.debug_check();
    }

    //= rfc5061 5.3.2-2
    /// The path of a packet whose tag is right.
    fn locate(&mut self, now: Instant, arrival: &PathAddr, packet: &Packet<'_>) -> Option<PathId> {
        match self.transfer.paths.arrived(arrival) {
            Arrived::On(path) => Some(path),
            Arrived::Rebound(path) => {
                // The tag is right, so the peer sent it, and its NAT has a new binding: its packets go to the new port
                // (RFC 6951 §5.4). If the path is out of use, the port was why, and it is probed again at once: that of an added
                // address is a guess, and a NAT may have forgotten the one that worked.
                let effects = self.addresses.rebind(&mut self.transfer, path, arrival.remote);
                self.apply(effects);
                if self.state.is_connected() {
                    self.transfer.probe_rebound(path, now);
                }
                Some(path)
            }
            Arrived::Unknown => self.introduce(now, arrival, packet),
        }
    }

    /// A packet from an address that the peer is not known to have may say that it is the peer's.
    #[cold]
    fn introduce(&mut self, now: Instant, arrival: &PathAddr, packet: &Packet<'_>) -> Option<PathId> {
        if matches!(self.state, State::CookieWait(_)) && !self.config.single_homed {
            return handshake::introduce(&mut self.addresses, &self.transfer.paths, *arrival, packet);
        }
        if !self.state.changes_addresses() || !self.may_change_addresses() {
            return None;
        }
        let authentication = self.authentication.as_ref()?;
        let transfer = &mut self.transfer;
        let introduced = self
            .addresses
            .introduce(transfer, authentication, (now, *arrival), packet);
        let (path, effects) = introduced?;
        self.apply(effects);
        path
    }
}

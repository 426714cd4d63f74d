//! Early data: user data in the packet of the COOKIE ECHO (RFC 9260 §5.1 C, ADR 0132). Which data is sent with it, and what happens to
//! that data if the handshake begins again?
//!
//! It saves a round trip. No other packet may be sent before the COOKIE ACK, so the data is what fits into this one. T3 does not run yet:
//! when T1-cookie expires, the data counts as lost with the COOKIE ECHO and is sent again with the next one. If the handshake begins again,
//! the data is taken back, because streams and kind of chunk are agreed anew and its TSNs are used again.

use anabranch_types::{Instant, PathId};
use anabranch_wire::PacketBuilder;

use super::Transfer;
use super::plan::DataPlan;

impl Transfer {
    /// Plans data for the packet with the COOKIE ECHO on `path`. An address that is not confirmed gets none (RFC 9260 §5.4).
    #[cold]
    pub(crate) fn plan_early(&mut self, path: PathId, now: Instant) -> Option<DataPlan> {
        if !self.paths.is_confirmed(path) || !self.sender.may_send_early() {
            return None;
        }
        let (wanted, data) = self.plan_data(None, now)?;
        let is_simple = matches!(
            data,
            DataPlan::New { skip: 0 } | DataPlan::Retransmit { credit: false, .. }
        );
        (wanted == path && is_simple).then_some(data)
    }

    /// Writes the data behind the COOKIE ECHO. The search for the path MTU does not begin yet, because its probes are further packets.
    #[cold]
    pub(crate) fn write_early(
        &mut self,
        path: PathId,
        data: DataPlan,
        packet: &mut PacketBuilder<'_>,
        now: Instant,
    ) {
        self.write_planned(path, data, packet, now);
        self.commit_data(path, now);
    }

    /// T1-cookie has expired: the data was lost with the COOKIE ECHO.
    pub(crate) fn lose_early(&mut self, now: Instant) {
        for path in self.paths.ids() {
            if self.sender.in_flight(path) > 0 {
                self.send_again(path, now);
            }
        }
    }

    /// The handshake is complete: from now on T3 runs for the data.
    pub(crate) fn start_t3_for_early(&mut self, now: Instant) {
        for path in self.paths.ids() {
            if self.sender.in_flight(path) > 0 {
                self.paths.path_mut(path).sending.make_mut().t3.stop();
                self.follow_path(path, now);
            }
        }
    }

    /// Takes the data back, because the handshake begins again.
    pub(crate) fn take_back_early(&mut self, now: Instant) {
        if self.sender.has_outstanding() {
            self.sender.take_back(&mut *self.policies.stream_scheduler);
            self.publish(now);
        }
    }
}

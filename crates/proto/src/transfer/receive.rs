//! Received data. How is a DATA chunk handled, and when is it acknowledged?

use alloc::vec::Vec;

use anabranch_types::{Instant, PathId};
use anabranch_wire::{PacketBuilder, Part};

use super::Transfer;
use crate::recv::{DataOutcome, SackForm};
use crate::user_data::UserData;
use crate::violation::Violation;

impl Transfer {
    /// Adds a part of a chunk. Returns the whole chunk if this part completes it.
    #[cold]
    pub(crate) fn take_part(&mut self, part: &Part<'_>) -> Option<Vec<u8>> {
        let whole = self.parts.make_mut().take(part);
        self.parts.release_if_idle();
        whole
    }

    /// Handles a DATA chunk that arrived over `path`.
    ///
    /// # Errors
    /// Protocol violations; see [`crate::recv::Receiver::on_user_data`].
    pub(crate) fn on_data(
        &mut self,
        now: Instant,
        path: PathId,
        chunk: &UserData<'_>,
    ) -> Result<DataOutcome, Violation> {
        self.paths.path_mut(path).counters.payload_received += chunk.payload().len() as u64;
        let outcome = self.receiver.on_user_data(chunk)?;
        if outcome == DataOutcome::Duplicate {
            self.doubt_reverse_paths(now);
        }
        Ok(outcome)
    }

    /// Ends a packet with DATA that arrived over `path`.
    pub(crate) fn data_packet_done(&mut self, path: PathId, now: Instant) {
        let policy = &mut *self.policies.ack;
        let immediate = self.receiver.packet_done(path, policy, now);
        self.paths.fact_mut(path).data_since_sack = true;
        self.size_receive_buffer(path, now);
        if immediate {
            self.paths.ask_sack(path);
        }
    }

    /// Sizes the receive buffer after data that arrived over `path`, unless its size is fixed.
    #[inline]
    fn size_receive_buffer(&mut self, path: PathId, now: Instant) {
        let Some(range) = self.config.receive_buffer.range() else {
            return;
        };
        self.receiver.size_for(range, self.paths.facts(), now);
        // An end that only receives has no round-trip time of the path of the handshake for the first 30 s. It asks once: a peer that
        // does not answer heartbeats is found out as always.
        let is_known = self.paths.fact(path).srtt().is_some() || self.paths.path(path).rtt_asked;
        if !is_known && self.receiver.fills_its_window() {
            self.paths.path_mut(path).rtt_asked = true;
            self.check(path, now);
        }
    }

    /// Writes a SACK of this form into a packet for `path`, if it fits.
    pub(crate) fn write_sack(&mut self, form: SackForm, path: PathId, packet: &mut PacketBuilder<'_>) {
        let form = SackForm {
            reports_packet_count: self.packet_counts && self.policies.ack.reports_packet_count(),
            selects: self.selected_gaps,
            ..form
        };
        if self.receiver.write_sack(packet, form) {
            let counters = self.counters.make_mut();
            counters.sent += 1;
            self.paths.sack_sent(path, counters.sent);
        }
    }
}

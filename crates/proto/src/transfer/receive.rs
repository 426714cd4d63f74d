//! Data of the peer. What becomes of a DATA chunk, and when is it acknowledged?

use anabranch_types::{Instant, PathId};
use anabranch_wire::PacketBuilder;

use super::Transfer;
use crate::recv::{DataOutcome, SackForm};
use crate::user_data::UserData;
use crate::violation::Violation;

impl Transfer {
    /// A DATA chunk came over `path`.
    ///
    /// # Errors
    /// What no sender may send; see [`crate::recv::Receiver::on_user_data`].
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

    /// All chunks of a packet with DATA were handled, which came over `path`.
    pub(crate) fn data_packet_done(&mut self, path: PathId, now: Instant) {
        let policy = &mut *self.policies.ack;
        let immediate = self.receiver.packet_done(path, policy, now);
        self.paths.fact_mut(path).data_since_sack = true;
        if immediate {
            self.paths.ask_sack(path);
        }
    }

    /// Puts a SACK of this form into a packet for `path`, if it fits.
    pub(crate) fn write_sack(&mut self, form: SackForm, path: PathId, packet: &mut PacketBuilder<'_>) {
        let form = SackForm {
            reports_packet_count: self.policies.ack.reports_packet_count(),
            ..form
        };
        if self.receiver.write_sack(packet, form) {
            self.counters.sent += 1;
            self.paths.sack_sent(path, self.counters.sent);
        }
    }
}

//! Stream reconfiguration, the part of data transfer (RFC 6525 §5.2.4, §5.2.7).

use anabranch_types::{StreamId, Tsn};

use super::Transfer;
use crate::on_demand::OnDemand;
use crate::send::HoldId;

impl Transfer {
    /// Releases messages that were held back. If the streams of `reset` were reset, or all for an empty list, they restart.
    pub(crate) fn end_hold(&mut self, hold: HoldId, reset: Option<&[StreamId]>) {
        let scheduler = &mut *self.policies.stream_scheduler;
        self.sender.end_hold(hold, reset, scheduler);
        self.policies.burst.on_transmission_opportunity();
    }

    /// Begins TSNs anew in both directions: `ours` is the next one that is sent, `theirs` the next one that is expected.
    pub(crate) fn renumber(&mut self, ours: Tsn, theirs: Tsn) {
        self.sender.renumber(ours);
        self.receiver.renumber(theirs);
        self.forwarding = OnDemand::IDLE;
    }
}

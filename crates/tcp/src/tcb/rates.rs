//! Congestion controls that measure rates: what they are told, and pacing of retransmissions.
//!
//! Nothing here is done for other congestion controls.

use anabranch_policy::{LostPackets, SentPacket};
use anabranch_types::SendNumber;

use super::{Context, ControlBlock};

impl ControlBlock {
    /// Notifies the congestion control of the segment that was just sent, before the facts are updated.
    pub(super) fn tell_sent(&self, context: &mut Context<'_>) {
        if !context.policies.measures_rates {
            return;
        }
        let facts = &context.facts[self.id.index()];
        let sent = SentPacket {
            bytes: self.in_flight().saturating_sub(facts.in_flight),
            in_flight_before: facts.in_flight,
            last: SendNumber(self.scoreboard.last_order()),
        };
        context.policies.congestion.on_sent(&sent, facts, context.now);
    }

    /// Notifies the congestion control of `bytes` that were found lost.
    pub(super) fn tell_lost(&self, bytes: u64, context: &mut Context<'_>) {
        if context.policies.measures_rates {
            let lost = LostPackets {
                bytes,
                last: SendNumber(self.scoreboard.latest_lost()),
            };
            let facts = &context.facts[self.id.index()];
            context.policies.congestion.on_lost(&lost, facts, context.now);
        }
    }

    /// Notifies the congestion control if nothing is sent although its window has room: data, the peer's window or the scheduler
    /// lack it.
    pub(crate) fn tell_limit(&self, context: &mut Context<'_>) {
        if !context.policies.measures_rates || self.is_held_back() || self.scoreboard.next_lost().is_some() {
            return;
        }
        let facts = &context.facts[self.id.index()];
        if self.in_flight() + self.effective_mss() <= facts.cwnd {
            context.policies.congestion.on_application_limited(facts);
        }
    }

    /// Whether a retransmission has to wait because its congestion control paces it; then the timer is set.
    pub(super) fn is_paced(&mut self, context: &mut Context<'_>) -> bool {
        let facts = &context.facts[self.id.index()];
        if facts.pacing_rate.is_none() {
            return false;
        }
        let allowance = context.policies.burst.allowance(facts, context.now);
        if allowance.bytes == 0 {
            self.hold_back_until(allowance.again_at);
        }
        allowance.bytes == 0
    }

    /// Counts a retransmission as paced data.
    pub(super) fn count_as_paced(&self, bytes: u64, context: &mut Context<'_>) {
        if context.facts[self.id.index()].pacing_rate.is_some() {
            context.policies.burst.on_sent(self.id, bytes, context.now);
        }
    }
}

//! Which segment leaves next?

use alloc::vec::Vec;

use anabranch_policy::Pick;
use anabranch_types::Instant;

use super::Connection;
use crate::flow::{Context, Flow, Outgoing, Supply};
use crate::wire::Segment;

impl Connection {
    /// Appends the next segment to `out`; `false` if there is none now.
    pub(crate) fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        let outgoing = if core::mem::take(&mut self.reset_due) {
            Some(self.flow.last_word())
        } else {
            self.next_outgoing(now)
        };
        let Some(outgoing) = outgoing else {
            return false;
        };
        let (source, destination) = (self.tuple.local, self.tuple.remote);
        let segment = Segment {
            source_port: source.port(),
            destination_port: destination.port(),
            ..self.flow.address(&outgoing, self.unread, now, &self.config)
        };
        segment.write(source.ip(), destination.ip(), out);
        true
    }

    /// The flow, what there is to send, and what the flow works with.
    fn parts(&mut self, now: Instant) -> (&mut Flow, Supply<'_>, Context<'_>) {
        let supply = Supply {
            buffer: &mut self.outgoing,
            closing: self.closing,
        };
        let context = Context {
            now,
            config: &self.config,
            policies: &mut self.policies,
            facts: &mut self.facts,
        };
        (&mut self.flow, supply, context)
    }

    fn next_outgoing(&mut self, now: Instant) -> Option<Outgoing> {
        let unread = self.unread;
        let (flow, mut supply, mut context) = self.parts(now);
        flow.next_control(&mut context)
            .or_else(|| next_new(flow, &mut supply, &mut context))
            .or_else(|| flow.next_fin(&supply, &mut context))
            .or_else(|| flow.next_rescue(&supply, &mut context))
            .or_else(|| flow.next_ack(unread, now))
    }
}

/// New data, if windows, burst limit and scheduler let it go.
fn next_new(flow: &mut Flow, supply: &mut Supply<'_>, context: &mut Context<'_>) -> Option<Outgoing> {
    let now = context.now;
    let length = flow.sendable(supply, context);
    if length == 0 {
        flow.on_nothing_sendable(supply, now);
        return None;
    }
    let allowance = context.policies.burst.allowance(&context.facts[0], now);
    context.facts[0].room = allowance.bytes.min(length);
    context.facts[0].held_back = allowance.bytes == 0;
    if allowance.bytes == 0 {
        flow.hold_back_until(allowance.again_at);
        return None;
    }
    let backlog = flow.backlog(supply);
    match context.policies.path_scheduler.pick(context.facts, &backlog, now) {
        Pick::On(path) => {
            let outgoing = flow.send_new(length, supply, context);
            context.policies.path_scheduler.on_sent(path, length, now);
            context.policies.burst.on_sent(path, length, now);
            Some(outgoing)
        }
        Pick::Wait { until } => {
            flow.hold_back_until(until);
            None
        }
        // With one path there is nobody to leave anything to.
        Pick::Ahead { .. } => None,
    }
}

//! Delayed acknowledgements: their time is set by the acknowledgement policy; the first segments are acknowledged immediately.

use anabranch_policy::{AckPolicy, AckWhen, Arrival};
use anabranch_types::Instant;

/// The pending acknowledgement.
#[derive(Debug)]
pub(crate) struct AckSchedule {
    due: Option<Instant>,
    segments: u32,
    /// Remaining segments to acknowledge immediately, while the peer is in slow start, which counts acknowledgements.
    quick: u32,
}

impl AckSchedule {
    pub(crate) const fn new(quick: u32) -> Self {
        Self {
            due: None,
            segments: 0,
            quick,
        }
    }

    /// Data segments since the last acknowledgement.
    pub(crate) const fn segments(&self) -> u32 {
        self.segments
    }

    /// Records a received data segment.
    pub(crate) fn on_data(&mut self, arrival: Arrival, policy: &mut dyn AckPolicy, now: Instant) {
        self.segments += 1;
        let arrival = Arrival {
            packets_since_sack: self.segments,
            ..arrival
        };
        let when = policy.on_packet(&arrival, now);
        if self.quick > 0 {
            self.quick -= 1;
            return self.now(now);
        }
        match when {
            AckWhen::Now => self.now(now),
            AckWhen::By(moment) => self.due = Some(self.due.map_or(moment, |due| due.min(moment))),
        }
    }

    /// Requests an immediate acknowledgement.
    pub(crate) const fn now(&mut self, now: Instant) {
        self.due = Some(now);
    }

    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.due
    }

    /// An acknowledgement was sent that covers everything.
    pub(crate) const fn on_sent(&mut self) {
        self.due = None;
        self.segments = 0;
    }
}

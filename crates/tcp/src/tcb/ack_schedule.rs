//! Delayed acknowledgements. When is received data acknowledged? As the acknowledgement policy says, and at once at the start.

use anabranch_policy::{AckPolicy, AckWhen, Arrival};
use anabranch_types::Instant;

/// The acknowledgement that is owed.
#[derive(Debug)]
pub(crate) struct AckSchedule {
    due: Option<Instant>,
    segments: u32,
    /// Segments that are still acknowledged at once: the peer is in slow start, which counts acknowledgements.
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

    /// Segments with data since the last acknowledgement.
    pub(crate) const fn segments(&self) -> u32 {
        self.segments
    }

    /// A segment with data arrived.
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

    /// Something is to be answered at once.
    pub(crate) const fn now(&mut self, now: Instant) {
        self.due = Some(now);
    }

    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.due
    }

    /// An acknowledgement left that says everything.
    pub(crate) const fn on_sent(&mut self) {
        self.due = None;
        self.segments = 0;
    }
}

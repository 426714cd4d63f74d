//! Round-robin per packet stream scheduler. Which stream sends next, if each packet is to carry one stream only?
//!
//! Source: RFC 8260 §3.3 (Round-Robin Scheduler per Packet).
//!
//! Idea: streams take turns per packet. A packet carries new data of one stream only, even if there is space for more,
//! so its loss delays no other stream.
//!
//! ```text
//! next: while a packet is being filled: its stream, if that is ready, else none
//!       else the stream that has waited longest
//! taken from a stream: the packet belongs to it, and it goes to the end of the queue
//! packet complete: no packet is being filled
//! ```
//!
//! Deviation: retransmitted chunks are bundled with whatever packet their path has next.

use anabranch_types::{PathId, StreamId};

use super::round_robin::RoundRobin;
use crate::parameters::NoParameters;
use crate::{Policy, StreamFacts, StreamScheduler};

/// Round-robin per packet stream scheduler.
#[derive(Debug, Default)]
pub struct RoundRobinPacket {
    turns: RoundRobin,
    /// The stream of the packet that is being filled.
    open: Option<StreamId>,
}

impl RoundRobinPacket {
    /// Creates a scheduler without ready streams.
    #[must_use]
    pub fn new(_: NoParameters) -> Self {
        Self::default()
    }
}

impl Policy for RoundRobinPacket {
    fn name(&self) -> &'static str {
        "rr-packet"
    }
}

impl StreamScheduler for RoundRobinPacket {
    fn on_ready(&mut self, stream: &StreamFacts) {
        self.turns.on_ready(stream);
    }

    fn on_idle(&mut self, stream: StreamId) {
        self.turns.on_idle(stream);
    }

    fn on_taken(&mut self, stream: StreamId, bytes: u32, message_done: bool) {
        self.open = Some(stream);
        self.turns.on_taken(stream, bytes, message_done);
    }

    fn on_packet_end(&mut self) {
        self.open = None;
    }

    fn next(&self, path: PathId) -> Option<StreamId> {
        match self.open {
            Some(stream) => self.turns.is_ready(stream).then_some(stream),
            None => self.turns.next(path),
        }
    }
}

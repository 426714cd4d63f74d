//! Whose bytes are next, if the loss of a packet shall hold up one stream only? One stream's for each packet.
//!
//! Source: RFC 8260 §3.3 (Round-Robin Scheduler per Packet).
//!
//! Idea: streams take turns as packets begin. A packet carries new data of one stream only, even if there is room for
//! more, so the loss of it blocks nobody else.
//!
//! ```text
//! next: of an open packet: its stream, if that is ready, else nobody
//!       else the stream that has waited longest
//! taken from a stream: the packet is open for it, and it goes to the end of the queue
//! packet ended: none is open
//! ```
//!
//! Deviation: chunks that are sent again go along with whatever packet their path has next.

use anabranch_types::{PathId, StreamId};

use super::round_robin::RoundRobin;
use crate::parameters::NoParameters;
use crate::{Policy, StreamFacts, StreamScheduler};

/// Streams take turns, one packet each.
#[derive(Debug, Default)]
pub struct RoundRobinPacket {
    turns: RoundRobin,
    /// The stream of the packet that is being filled.
    open: Option<StreamId>,
}

impl RoundRobinPacket {
    /// A scheduler without ready streams.
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

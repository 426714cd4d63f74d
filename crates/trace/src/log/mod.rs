//! Event log: one JSON object per line, in qlog's main schema. What happened in an association?
//!
//! The first line is the header; each further line is an event with time, name and data. `docs/event-log.md` describes
//! every event; `docs/event-log.schema.json` is the JSON schema.
//!
//! The driver of the core passes each packet ([`EventLog::packet`]) and the state of the paths after each step
//! ([`EventLog::paths`]). The log derives the changes itself, so the core does not depend on it.

mod chunk;
mod path;

use std::io::{self, Write};

use anabranch_types::{AssociationId, Instant, PathAddr};
use serde::Serialize;

pub use path::PathView;
use path::{Known, differences};

use self::chunk::ChunkView;

/// URN of the event schema in the header.
pub const EVENT_SCHEMA: &str = "urn:anabranch:event-log:sctp-2";

/// Metadata of a log, for its header.
#[derive(Clone, Copy, Debug)]
pub struct LogInfo<'a> {
    /// Title of the run.
    pub title: &'a str,
    /// Name of the vantage point.
    pub name: &'a str,
    /// Whether the vantage point initiated the association.
    pub connects: bool,
    /// Clock of the timestamps.
    pub clock: Clock,
}

/// Clock of the timestamps, which count from the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Monotonic clock of the machine.
    Monotonic,
    /// Simulated time.
    Virtual,
}

/// Direction of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Sent by the vantage point.
    Sent,
    /// Received by the vantage point.
    Received,
}

/// Writer of an event log. After an error of the sink it writes nothing more; [`EventLog::finish`] returns the error.
#[derive(Debug)]
pub struct EventLog<W> {
    sink: W,
    known: Known,
    failure: Option<io::Error>,
}

/// One line of the log.
#[derive(Serialize)]
struct Event<D> {
    /// Milliseconds since the start of the run.
    time: f64,
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_id: Option<String>,
    data: D,
}

#[derive(Serialize)]
struct Header<'a> {
    file_schema: &'static str,
    serialization_format: &'static str,
    title: &'a str,
    trace: Trace<'a>,
}

#[derive(Serialize)]
struct Trace<'a> {
    common_fields: CommonFields,
    vantage_point: VantagePoint<'a>,
    event_schemas: [&'static str; 1],
}

#[derive(Serialize)]
struct CommonFields {
    time_format: &'static str,
    reference_time: ReferenceTime,
}

#[derive(Serialize)]
struct ReferenceTime {
    clock_type: Clock,
    epoch: &'static str,
}

#[derive(Serialize)]
struct VantagePoint<'a> {
    name: &'a str,
    r#type: &'static str,
}

#[derive(Serialize)]
struct PacketData {
    local: String,
    remote: String,
    /// Length of the SCTP packet in bytes.
    length: usize,
    chunks: Vec<ChunkView>,
}

impl<W: Write> EventLog<W> {
    /// Creates a log and writes its header.
    #[must_use]
    pub fn new(sink: W, info: &LogInfo<'_>) -> Self {
        let mut log = Self {
            sink,
            known: Known::default(),
            failure: None,
        };
        log.line(&Header {
            file_schema: "urn:ietf:params:qlog:file:sequential",
            serialization_format: "application/jsonl",
            title: info.title,
            trace: Trace {
                common_fields: CommonFields {
                    time_format: "relative_to_epoch",
                    reference_time: ReferenceTime {
                        clock_type: info.clock,
                        epoch: "unknown",
                    },
                },
                vantage_point: VantagePoint {
                    name: info.name,
                    r#type: if info.connects { "client" } else { "server" },
                },
                event_schemas: [EVENT_SCHEMA],
            },
        });
        log
    }

    /// Logs a packet that was sent or received.
    pub fn packet(&mut self, at: Instant, direction: Direction, path: PathAddr, packet: &[u8]) {
        let data = PacketData {
            local: path.local.to_string(),
            remote: path.remote.to_string(),
            length: packet.len(),
            chunks: chunk::all(packet),
        };
        let name = match direction {
            Direction::Sent => "sctp:packet_sent",
            Direction::Received => "sctp:packet_received",
        };
        self.event(at, name, None, data);
    }

    /// Logs the changes of an association's paths since the last call.
    pub fn paths(&mut self, at: Instant, association: AssociationId, paths: &[PathView<'_>]) {
        let known = &mut self.known;
        for change in differences(known, association, paths) {
            self.event(at, change.name(), Some(association), change);
        }
    }

    /// Completes the log and flushes the sink.
    ///
    /// # Errors
    ///
    /// The first error of the sink.
    pub fn finish(&mut self) -> io::Result<()> {
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => self.sink.flush(),
        }
    }

    fn event(&mut self, at: Instant, name: &'static str, group: Option<AssociationId>, data: impl Serialize) {
        self.line(&Event {
            time: at.as_nanos() as f64 / 1e6,
            name,
            group_id: group.map(|id| id.0.to_string()),
            data,
        });
    }

    fn line(&mut self, line: &impl Serialize) {
        if self.failure.is_some() {
            return;
        }
        let written = serde_json::to_writer(&mut self.sink, line).map_err(io::Error::from);
        self.failure = written.and_then(|()| self.sink.write_all(b"\n")).err();
    }
}

#[cfg(test)]
mod tests;

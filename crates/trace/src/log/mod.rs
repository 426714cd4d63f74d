//! What happened, event by event? A log for programs: one JSON object in each line, in the main schema of qlog.
//!
//! The first line says what the log is about; each further one is an event with its time, its name and its data.
//! `docs/event-log.md` describes every event, and `docs/event-log.schema.json` says it to programs.
//!
//! Whoever drives the core tells the log what passes: packets as they come and go ([`EventLog::packet`]), and what is known of
//! the paths after each step ([`EventLog::paths`]). The log finds out by itself what changed, so the core needs to know nothing of it.

mod chunk;
mod path;

use std::io::{self, Write};

use anabranch_types::{AssociationId, Instant, PathAddr};
use serde::Serialize;

pub use path::PathView;
use path::{Known, differences};

use self::chunk::ChunkView;

/// What the events are named after, as the header says it.
pub const EVENT_SCHEMA: &str = "urn:anabranch:event-log:sctp-1";

/// What a log is about.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// What was run.
    pub title: &'a str,
    /// Whose eyes it is seen with.
    pub name: &'a str,
    /// Whether that end connected, rather than being connected to.
    pub connects: bool,
    /// Which clock the times are of.
    pub clock: Clock,
}

/// Which clock times are of. All of them count from the beginning of the log's run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// That of a machine, which only goes forward.
    Monotonic,
    /// That of a simulated world.
    Virtual,
}

/// Which way a packet went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Out.
    Sent,
    /// In.
    Received,
}

/// A log that is being written. After an error of its sink it writes nothing more, and [`EventLog::finish`] tells.
#[derive(Debug)]
pub struct EventLog<W> {
    sink: W,
    known: Known,
    failure: Option<io::Error>,
}

/// One line.
#[derive(Serialize)]
struct Event<D> {
    /// In milliseconds.
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
    /// Of the SCTP packet, in bytes.
    length: usize,
    chunks: Vec<ChunkView>,
}

impl<W: Write> EventLog<W> {
    /// A log that begins with its header.
    #[must_use]
    pub fn new(sink: W, about: &About<'_>) -> Self {
        let mut log = Self {
            sink,
            known: Known::default(),
            failure: None,
        };
        log.line(&Header {
            file_schema: "urn:ietf:params:qlog:file:sequential",
            serialization_format: "application/jsonl",
            title: about.title,
            trace: Trace {
                common_fields: CommonFields {
                    time_format: "relative_to_epoch",
                    reference_time: ReferenceTime {
                        clock_type: about.clock,
                        epoch: "unknown",
                    },
                },
                vantage_point: VantagePoint {
                    name: about.name,
                    r#type: if about.connects { "client" } else { "server" },
                },
                event_schemas: [EVENT_SCHEMA],
            },
        });
        log
    }

    /// A packet came or went.
    pub fn packet(&mut self, at: Instant, way: Way, path: PathAddr, packet: &[u8]) {
        let data = PacketData {
            local: path.local.to_string(),
            remote: path.remote.to_string(),
            length: packet.len(),
            chunks: chunk::all(packet),
        };
        let name = match way {
            Way::Sent => "sctp:packet_sent",
            Way::Received => "sctp:packet_received",
        };
        self.event(at, name, None, data);
    }

    /// This is known of the paths of an association now.
    pub fn paths(&mut self, at: Instant, association: AssociationId, paths: &[PathView<'_>]) {
        let known = &mut self.known;
        for change in differences(known, association, paths) {
            self.event(at, change.name(), Some(association), change);
        }
    }

    /// The log is complete.
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

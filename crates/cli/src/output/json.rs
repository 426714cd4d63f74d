//! JSON output: one object per line on standard output.

use std::time::Duration;

use serde::Serialize;

use super::lines::{Lines, Stream};
use super::{Event, Reporter};

/// Version of the events, raised when one loses a field or a field gets another meaning. docs/cli-json.schema.json describes them.
pub(crate) const SCHEMA: u32 = 1;

/// What is printed of an event.
#[derive(Debug, Serialize)]
struct Line<'e> {
    schema: u32,
    #[serde(flatten)]
    event: &'e Event<'e>,
}

/// Reporter for programs.
#[derive(Debug, Default)]
pub(super) struct Json {
    lines: Lines,
}

impl Reporter for Json {
    fn report(&self, event: &Event<'_>) {
        if matches!(event, Event::TestBegins(_) | Event::TestInterval(_)) {
            return;
        }
        let line = Line {
            schema: SCHEMA,
            event,
        };
        let text = serde_json::to_vec(&line).expect("invariant: events have string keys only");
        match event {
            // A progress report may be dropped, because the next one replaces it.
            Event::Progress(_) => self.lines.push_if_read(Stream::Output, text),
            _ => self.lines.push(Stream::Output, text),
        }
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn drained(&self, limit: Duration) -> bool {
        self.lines.drained(limit)
    }
}

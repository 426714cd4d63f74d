//! JSON output: one object per line on standard output.

use std::time::Duration;

use super::lines::{Lines, Stream};
use super::{Event, Reporter};

/// Reporter for programs.
#[derive(Debug, Default)]
pub(super) struct Json {
    lines: Lines,
}

impl Reporter for Json {
    fn report(&self, event: &Event<'_>) {
        let text = serde_json::to_vec(event).expect("invariant: events have string keys only");
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

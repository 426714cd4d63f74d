//! JSON output: one object per line on standard output.

use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::{Event, Reporter};

/// Reporter for programs.
#[derive(Debug, Default)]
pub(super) struct Json {
    /// Keeps the lines of concurrent transfers apart.
    line: Mutex<()>,
}

impl Reporter for Json {
    fn report(&self, event: &Event<'_>) {
        let mut text = serde_json::to_vec(event).expect("invariant: events have string keys only");
        text.push(b'\n');
        let _line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = std::io::stdout().lock();
        // A closed pipe must not end the transfer.
        let _ = out.write_all(&text).and_then(|()| out.flush());
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }
}

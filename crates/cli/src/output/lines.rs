//! Standard output and standard error of a running program. A thread of its own writes the lines, so that a reader that
//! stalls delays neither transfers nor Ctrl-C.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// Number of queued lines above which dispensable lines are dropped.
const LIMIT: usize = 256;

/// Where a line goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stream {
    Output,
    Error,
}

/// Queue of lines for the writer thread.
#[derive(Debug, Default)]
pub(super) struct Lines {
    queue: Arc<Queue>,
    begun: OnceLock<()>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    /// Signalled when a line is queued or written.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    /// The first line is being written.
    lines: VecDeque<(Stream, Arc<[u8]>)>,
}

impl Lines {
    /// Queues `line` with a line break.
    pub(super) fn push(&self, stream: Stream, line: impl Into<Vec<u8>>) {
        self.begin();
        let mut line = line.into();
        line.push(b'\n');
        self.queue.lock().lines.push_back((stream, line.into()));
        self.queue.changed.notify_all();
    }

    /// Like [`Self::push`], but drops the line if many are queued.
    pub(super) fn push_if_read(&self, stream: Stream, line: impl Into<Vec<u8>>) {
        if self.queue.lock().lines.len() < LIMIT {
            self.push(stream, line);
        }
    }

    /// Waits until everything is written, but not longer than `limit`; returns whether everything is.
    pub(super) fn drained(&self, limit: Duration) -> bool {
        let waiting = self.queue.lock();
        let wait = |waiting: &mut Waiting| !waiting.lines.is_empty();
        let waited = self.queue.changed.wait_timeout_while(waiting, limit, wait);
        waited.unwrap_or_else(PoisonError::into_inner).0.lines.is_empty()
    }

    fn begin(&self) {
        self.begun.get_or_init(|| {
            let queue = Arc::clone(&self.queue);
            // The thread is never joined, because it may be blocked for ever. It ends with the process.
            thread::spawn(move || queue.write_all());
        });
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_all(&self) {
        loop {
            let waiting = self.lock();
            let wait = |waiting: &mut Waiting| waiting.lines.is_empty();
            let waiting = self.changed.wait_while(waiting, wait);
            let waiting = waiting.unwrap_or_else(PoisonError::into_inner);
            let next = waiting.lines.front().cloned();
            drop(waiting);
            if let Some((stream, line)) = next {
                // A closed pipe must not end the transfer.
                let _ = write(stream, &line);
                self.lock().lines.pop_front();
                self.changed.notify_all();
            }
        }
    }
}

fn write(stream: Stream, line: &[u8]) -> io::Result<()> {
    match stream {
        Stream::Output => {
            let mut out = io::stdout().lock();
            out.write_all(line)?;
            out.flush()
        }
        Stream::Error => io::stderr().lock().write_all(line),
    }
}

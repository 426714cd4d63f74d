//! Standard output and standard error of a running program. A thread of its own writes the lines, so that a reader that
//! stalls delays neither transfers nor Ctrl-C.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// Number of queued lines above which dispensable lines are dropped.
const LIMIT: usize = 256;

/// Number of lines that are kept while they are held.
const HELD: usize = 1_000;

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
    lines: VecDeque<(Stream, Arc<[u8]>)>,
    /// Whether a line that was queued is being written.
    is_writing: bool,
    /// Whether lines wait until they are released.
    is_held: bool,
    /// Held lines that there was no room for.
    left_out: u64,
}

impl Waiting {
    fn push(&mut self, stream: Stream, line: Arc<[u8]>) {
        self.lines.push_back((stream, line));
        while self.is_held && self.lines.len() > HELD {
            self.lines.pop_front();
            self.left_out += 1;
        }
    }

    /// The next line that may be written.
    fn next(&mut self) -> Option<(Stream, Arc<[u8]>)> {
        if self.is_held {
            return None;
        }
        let next = self.lines.pop_front();
        self.is_writing = next.is_some();
        next
    }

    fn release(&mut self) {
        self.is_held = false;
        let left_out = mem::take(&mut self.left_out);
        if left_out > 0 {
            let told = format!("({left_out} earlier lines are left out)\n");
            self.lines.push_front((Stream::Error, told.into_bytes().into()));
        }
    }
}

impl Lines {
    /// Queues `line` with a line break.
    pub(super) fn push(&self, stream: Stream, line: impl Into<Vec<u8>>) {
        self.begin();
        let mut line = line.into();
        line.push(b'\n');
        self.queue.lock().push(stream, line.into());
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
        let is_left = |waiting: &mut Waiting| waiting.is_writing || !waiting.lines.is_empty();
        let waited = self.queue.changed.wait_timeout_while(waiting, limit, is_left);
        !is_left(&mut waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Writes no further line until [`Self::release`]. Waits for the line that is being written, but not longer than `limit`.
    pub(super) fn hold(&self, limit: Duration) {
        let mut waiting = self.queue.lock();
        waiting.is_held = true;
        let wait = |waiting: &mut Waiting| waiting.is_writing;
        drop(self.queue.changed.wait_timeout_while(waiting, limit, wait));
    }

    /// Writes what was held, the newest lines if they are many.
    pub(super) fn release(&self) {
        self.queue.lock().release();
        self.queue.changed.notify_all();
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
        let mut waiting = self.lock();
        loop {
            let Some((stream, line)) = waiting.next() else {
                let woken = self.changed.wait(waiting);
                waiting = woken.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(waiting);
            // A closed pipe must not end the transfer.
            let _ = write(stream, &line);
            waiting = self.lock();
            waiting.is_writing = false;
            self.changed.notify_all();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: usize) -> Arc<[u8]> {
        number.to_string().into_bytes().into()
    }

    #[test]
    fn held_lines_wait_until_they_are_released() {
        let mut waiting = Waiting {
            is_held: true,
            ..Waiting::default()
        };
        waiting.push(Stream::Output, line(1));
        assert_eq!(waiting.next(), None);
        waiting.release();
        assert_eq!(waiting.next(), Some((Stream::Output, line(1))));
        assert_eq!(waiting.next(), None);
    }

    #[test]
    fn newest_held_lines_are_kept_and_the_others_counted() {
        let mut waiting = Waiting {
            is_held: true,
            ..Waiting::default()
        };
        for number in 0..HELD + 3 {
            waiting.push(Stream::Output, line(number));
        }
        waiting.release();
        let told: Arc<[u8]> = b"(3 earlier lines are left out)\n"[..].into();
        assert_eq!(waiting.next(), Some((Stream::Error, told)));
        assert_eq!(waiting.next(), Some((Stream::Output, line(3))));
        assert_eq!(waiting.lines.len(), HELD - 1);
    }
}

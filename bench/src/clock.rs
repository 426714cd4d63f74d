//! Stopwatch for the CPU time of a thread, the measure that other load on the machine affects least.

use std::time::{Duration, Instant};

/// Measures the CPU time of the thread that uses it.
///
/// On Linux the resolution is a tick of the scheduler (at most 10 ms). Elsewhere it measures wall-clock time.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    wall: Instant,
    cpu: Option<Duration>,
}

impl Stopwatch {
    /// Starts now.
    #[must_use]
    pub fn start() -> Self {
        Self {
            wall: Instant::now(),
            cpu: cpu(),
        }
    }

    /// Time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        match (self.cpu, cpu()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            (None, _) | (_, None) => self.wall.elapsed(),
        }
    }
}

/// CPU time of this thread: the first number of `schedstat`, in nanoseconds.
fn cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

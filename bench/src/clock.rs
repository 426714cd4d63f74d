//! CPU time of this thread, the measure that other load on the machine affects least.

use std::time::{Duration, Instant};

/// Measures the work of the thread that uses it.
///
/// On Linux that is CPU time, exact to a tick of the scheduler (at most 10 ms); elsewhere the time on the wall.
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

    /// Work since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        match (self.cpu, cpu()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            (None, _) | (_, None) => self.wall.elapsed(),
        }
    }
}

/// The first number of `schedstat` is the time on a processor, in nanoseconds.
fn cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

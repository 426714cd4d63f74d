//! Repeated path events. The first event is reported at once. Further changes of the same kind on the same path are
//! counted, and reported as one event when the interval is over.

use std::collections::BTreeMap;
use std::mem;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Interval in which repetitions are reported as one event.
const WINDOW: Duration = Duration::from_secs(10);

/// A change of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Change {
    pub(super) path: u64,
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    pub(super) change: &'static str,
    /// The new path MTU, if that changed.
    pub(super) mtu: Option<u16>,
}

/// Repetitions of path events.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    known: BTreeMap<(u64, &'static str), Repeated>,
}

#[derive(Debug)]
struct Repeated {
    reported: Instant,
    /// The last change that was not reported.
    latest: Option<Change>,
    /// Number of changes that were not reported.
    count: u64,
}

impl Repeats {
    /// Returns whether `change` is reported now; otherwise counts it.
    pub(super) fn is_first(&mut self, change: Change, now: Instant) -> bool {
        let key = (change.path, change.change);
        match self.known.get_mut(&key) {
            Some(known) if now.duration_since(known.reported) < WINDOW || known.count > 0 => {
                known.latest = Some(change);
                known.count += 1;
                false
            }
            _ => {
                let first = Repeated {
                    reported: now,
                    latest: None,
                    count: 0,
                };
                self.known.insert(key, first);
                true
            }
        }
    }

    /// Takes the counted changes whose interval is over, or all of them if `all` is set, each with its number.
    pub(super) fn take_counted(&mut self, now: Instant, all: bool) -> Vec<(Change, u64)> {
        let is_due = |known: &Repeated| all || now.duration_since(known.reported) >= WINDOW;
        self.known.retain(|_, known| known.count > 0 || !is_due(known));
        let due = self.known.values_mut().filter(|known| is_due(known));
        due.filter_map(|known| {
            known.reported = now;
            Some((known.latest.take()?, mem::take(&mut known.count)))
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: u64, change: &'static str) -> Change {
        Change {
            path,
            local: ([192, 0, 2, 1], 1).into(),
            remote: ([192, 0, 2, 2], 2).into(),
            change,
            mtu: None,
        }
    }

    #[test]
    fn repetitions_are_reported_once_with_their_number() {
        let (mut repeats, start) = (Repeats::default(), Instant::now());
        assert!(repeats.is_first(change(0, "rebound"), start));
        for millis in 1..=40_000 {
            let now = start + Duration::from_millis(millis);
            assert!(!repeats.is_first(change(0, "rebound"), now));
            let expected: &[_] = match millis {
                10_000 | 20_000 | 30_000 | 40_000 => &[(change(0, "rebound"), 10_000)],
                _ => &[],
            };
            assert_eq!(repeats.take_counted(now, false), expected, "after {millis} ms");
        }
    }

    #[test]
    fn other_paths_and_other_changes_are_no_repetitions() {
        let (mut repeats, now) = (Repeats::default(), Instant::now());
        for (path, name) in [(0, "active"), (1, "active"), (0, "inactive")] {
            assert!(repeats.is_first(change(path, name), now));
        }
    }

    #[test]
    fn event_after_a_quiet_time_is_reported_at_once() {
        let (mut repeats, now) = (Repeats::default(), Instant::now());
        assert!(repeats.is_first(change(0, "rebound"), now));
        assert!(repeats.is_first(change(0, "rebound"), now + WINDOW));
    }

    #[test]
    fn counted_changes_are_reported_at_the_end() {
        let (mut repeats, now) = (Repeats::default(), Instant::now());
        for _ in 0..3 {
            repeats.is_first(change(0, "rebound"), now);
        }
        assert_eq!(repeats.take_counted(now, true), [(change(0, "rebound"), 2)]);
        assert_eq!(repeats.take_counted(now, true), []);
    }
}

//! Stall detection. For how long did nothing arrive? Found by polling counters; the polling interval may vary.

use core::time::Duration;

use super::record::Record;

/// Minimum duration of a stall.
const STALL: Duration = Duration::from_millis(500);

/// A counter, and since when it has been unchanged according to the polls.
#[derive(Clone, Copy, Debug, Default)]
struct Unchanged {
    count: u64,
    since: Duration,
}

impl Unchanged {
    /// Records a value and returns how long it has been unchanged.
    fn note(&mut self, at: Duration, count: u64) -> Duration {
        if count != self.count {
            *self = Self { count, since: at };
        }
        at.saturating_sub(self.since)
    }
}

/// The longest time in which the far application had nothing to read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    bytes: Unchanged,
    longest: Duration,
}

impl Reading {
    /// Records the bytes read up to `at`, the time since the start of the run.
    pub(super) fn note(&mut self, at: Duration, bytes: u64) {
        self.longest = self.longest.max(self.bytes.note(at, bytes));
    }

    pub(super) fn write(self, record: &mut Record) {
        record.set("outage", self.longest.as_secs_f64());
    }
}

/// Periods in which nothing arrived at the far end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Silence {
    delivered: Unchanged,
    /// Length of the current or most recent period.
    length: Duration,
    stalls: u64,
    time: Duration,
}

impl Silence {
    /// Records the packets delivered by the links up to `at`, the time since the start of the run.
    pub(super) fn note(&mut self, at: Duration, delivered: u64) {
        let length = self.delivered.note(at, delivered);
        if length >= STALL {
            if self.length < STALL {
                self.stalls += 1;
                self.time += length;
            } else {
                self.time += length - self.length;
            }
        }
        self.length = length;
    }

    pub(super) fn write(self, record: &mut Record) {
        record.set("stalls", self.stalls as f64);
        record.set("stalls.time", self.time.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn outage_length_does_not_depend_on_the_sampling_interval() {
        for every in [1, 10, 12, 50] {
            let mut reading = Reading::default();
            let looks = (0..).map(|look| look * every).take_while(|at| *at <= 3_000);
            for at in looks {
                reading.note(
                    ms(at),
                    if (1_000..2_000).contains(&at) {
                        1_000
                    } else {
                        at + 1
                    },
                );
            }
            let longest = reading.longest;
            assert!(
                longest <= ms(1_000) && longest + ms(2 * every) > ms(1_000),
                "{longest:?}"
            );
        }
    }

    #[test]
    fn silence_counts_as_one_stall_from_half_a_second() {
        let mut silence = Silence::default();
        for (at, delivered) in [
            (10, 1),
            (400, 1),
            (509, 1),
            (510, 2),
            (900, 2),
            (1_010, 2),
            (1_210, 2),
            (1_220, 3),
        ] {
            silence.note(ms(at), delivered);
        }
        assert_eq!((silence.stalls, silence.time), (1, ms(700)));
    }
}

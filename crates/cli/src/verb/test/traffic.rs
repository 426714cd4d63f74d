//! Traffic of a stream. When is its next message due? By the kind of traffic and the rate that the task names.

use std::time::Duration;

use anabranch_types::{Rng, Seed};

use super::task::Task;
use crate::parse::Traffic;

/// Time that may be caught up after the stream was blocked.
const BACKLOG: Duration = Duration::from_secs(1);

/// Times of the messages of one stream, counted from the beginning.
#[derive(Debug)]
pub(super) struct Schedule {
    is_random: bool,
    /// `None`: traffic is always on.
    cycle: Option<Cycle>,
    /// Mean time between two messages; `None`: as soon as there is room.
    gap: Option<Duration>,
    /// When the next message is due, in time that passes only while traffic is on.
    next: Duration,
    rng: Rng,
}

/// Traffic that is on and off, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Cycle {
    on: u128,
    off: u128,
}

/// The seed of a stream's random values: the ends of a test have different ones.
pub(super) fn seed(is_client: bool, stream: usize) -> Seed {
    Seed(stream as u64).split(if is_client { "client" } else { "server" })
}

impl Schedule {
    pub(super) fn new(task: &Task, seed: Seed) -> Self {
        let cycle = match task.traffic {
            Traffic::Constant | Traffic::Poisson => None,
            Traffic::OnOff {
                on_seconds,
                off_seconds,
            } => Some(Cycle {
                on: Duration::from_secs_f64(on_seconds).as_nanos().max(1),
                off: Duration::from_secs_f64(off_seconds).as_nanos(),
            }),
        };
        let mut schedule = Self {
            is_random: task.traffic == Traffic::Poisson,
            cycle,
            gap: task.gap(),
            next: Duration::ZERO,
            rng: seed.split("traffic").rng(),
        };
        if schedule.is_random {
            schedule.next = schedule.draw();
        }
        schedule
    }

    /// When the next message is to be sent, at `now` or later.
    pub(super) fn next(&mut self, now: Duration) -> Duration {
        let on = self.cycle.map_or(now, |cycle| cycle.time_on(now));
        if self.gap.is_none() {
            self.next = on;
        }
        // What could not be sent in time is caught up, but not without limit.
        self.next = self.next.max(on.saturating_sub(BACKLOG));
        let due = self
            .cycle
            .map_or(self.next, |cycle| cycle.real_time(self.next))
            .max(now);
        let gap = self.draw();
        self.next += gap;
        due
    }

    fn draw(&mut self) -> Duration {
        let gap = self.gap.unwrap_or_default();
        match self.is_random {
            true => gap.mul_f64(-(1.0 - self.rng.unit()).ln()),
            false => gap,
        }
    }
}

impl Cycle {
    /// How much of the time until `now` traffic was on.
    fn time_on(self, now: Duration) -> Duration {
        let (now, cycle) = (now.as_nanos(), self.on + self.off);
        nanoseconds(now / cycle * self.on + (now % cycle).min(self.on))
    }

    /// When traffic has been on for so long, and is on.
    fn real_time(self, on: Duration) -> Duration {
        let on = on.as_nanos();
        nanoseconds(on + on / self.on * self.off)
    }
}

fn nanoseconds(count: u128) -> Duration {
    Duration::from_nanos(u64::try_from(count).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::super::task::tests::example;
    use super::*;

    fn times(traffic: Traffic, rate: Option<u64>, count: usize) -> Vec<Duration> {
        let task = Task {
            traffic,
            rate_bit_s: rate,
            ..example()
        };
        let mut schedule = Schedule::new(&task, seed(true, 1));
        let mut now = Duration::ZERO;
        std::iter::repeat_with(|| {
            now = schedule.next(now);
            now
        })
        .take(count)
        .collect()
    }

    #[test]
    fn messages_at_a_rate_are_evenly_spaced() {
        let seconds = times(Traffic::Constant, Some(8_000), 4);
        assert_eq!(seconds, [0, 1, 2, 3].map(Duration::from_secs));
        // Without a rate, all are due at once.
        assert_eq!(times(Traffic::Constant, None, 2), [Duration::ZERO; 2]);
    }

    #[test]
    fn blocked_stream_catches_up_one_second() {
        let task = Task {
            rate_bit_s: Some(80_000),
            ..example()
        };
        let mut schedule = Schedule::new(&task, seed(true, 1));
        schedule.next(Duration::ZERO);
        let now = Duration::from_secs(10);
        let at_once = std::iter::repeat_with(|| schedule.next(now)).take_while(|due| *due == now);
        assert_eq!(at_once.count(), 11);
    }

    #[test]
    fn ends_send_at_different_random_times() {
        let task = Task {
            traffic: Traffic::Poisson,
            rate_bit_s: Some(8_000),
            ..example()
        };
        let first = |is_client, stream| Schedule::new(&task, seed(is_client, stream)).next(Duration::ZERO);
        assert_eq!(first(true, 0), first(true, 0));
        assert_ne!(first(true, 0), first(false, 0));
        assert_ne!(first(true, 0), first(true, 1));
    }

    #[test]
    fn poisson_process_has_its_mean_and_variation() {
        let times = times(Traffic::Poisson, Some(8_000_000), 20_000);
        let mean = times.last().unwrap().as_secs_f64() / 20_000.0;
        assert!((mean * 1e3 - 1.0).abs() < 0.03, "{mean}");
        let gaps = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64());
        let variance = gaps.map(|gap| (gap - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.05);
    }

    #[test]
    fn traffic_pauses_while_it_is_off() {
        let traffic = Traffic::OnOff {
            on_seconds: 2.0,
            off_seconds: 3.0,
        };
        let seconds = times(traffic, Some(8_000), 6);
        assert_eq!(seconds, [0, 1, 5, 6, 10, 11].map(Duration::from_secs));
    }

    #[test]
    fn unlimited_traffic_pauses_while_it_is_off() {
        let traffic = Traffic::OnOff {
            on_seconds: 2.0,
            off_seconds: 3.0,
        };
        let task = Task { traffic, ..example() };
        let mut schedule = Schedule::new(&task, seed(true, 1));
        let at = |seconds| Duration::from_secs_f64(seconds);
        assert_eq!(schedule.next(at(1.5)), at(1.5));
        assert_eq!(schedule.next(at(2.5)), at(5.0));
        assert_eq!(schedule.next(at(5.5)), at(5.5));
    }

    #[test]
    fn traffic_pauses_in_every_cycle() {
        let traffic = Traffic::OnOff {
            on_seconds: 0.1,
            off_seconds: 0.1,
        };
        let task = Task { traffic, ..example() };
        for cycle in 0..1_000 {
            let at = |tenths: u64| Duration::from_millis(200 * cycle + 10 * tenths);
            let mut schedule = Schedule::new(&task, seed(true, 1));
            assert_eq!(schedule.next(at(5)), at(5), "{cycle}");
            assert_eq!(schedule.next(at(15)), at(20), "{cycle}");
        }
    }
}

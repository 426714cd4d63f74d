//! Task of a test. What is to be measured? What the client's user asked for, checked by both ends.

use std::time::Duration;

use anabranch::{Rate, Reliability};
use serde::{Deserialize, Serialize};

use crate::arguments::TestArguments;
use crate::parse::Traffic;

/// Maximum length of a message in bytes. It is delivered whole.
pub(super) const LONGEST: u32 = 1 << 20;

/// Minimum length of a message in bytes. Its time takes eight; shorter ones would have no delay.
pub(super) const SHORTEST: u32 = 16;

/// Maximum number of associations that carry data.
pub(super) const MAX_ASSOCIATIONS: u16 = 128;

/// Maximum number of streams of all associations together, each of which is in the results.
pub(super) const MAX_STREAMS: u32 = 1_000;

/// Where data goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Direction {
    /// From the client to the server.
    Forward,
    /// From the server to the client.
    Reverse,
    Both,
}

/// Everything that both ends need to know of a test.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) direction: Direction,
    /// Duration of sending, without `omit_seconds`; absent if `bytes` ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) seconds: Option<f64>,
    /// Bytes to send in each direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<u64>,
    /// Duration of the beginning, which is not measured.
    pub(super) omit_seconds: f64,
    pub(super) interval_seconds: f64,
    /// Number of associations.
    pub(super) associations: u16,
    /// Number of streams of each association.
    pub(super) streams: u16,
    /// Bytes of a message.
    pub(super) length: u32,
    /// Rate of each stream in bits of messages per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rate_bit_s: Option<u64>,
    pub(super) traffic: Traffic,
    pub(super) unordered: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lifetime_seconds: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retransmissions: Option<u16>,
}

impl Task {
    /// What the user asked for.
    pub(super) fn of(arguments: &TestArguments) -> Self {
        let bytes = arguments.bytes;
        Self {
            direction: match (arguments.reverse, arguments.bidir) {
                (true, _) => Direction::Reverse,
                (false, true) => Direction::Both,
                (false, false) => Direction::Forward,
            },
            seconds: bytes.is_none().then_some(arguments.time.as_secs_f64()),
            bytes,
            omit_seconds: arguments.omit.as_secs_f64(),
            interval_seconds: arguments.interval.as_secs_f64(),
            associations: arguments.parallel.get(),
            streams: arguments.streams.get(),
            length: u32::try_from(arguments.length).unwrap_or(u32::MAX),
            rate_bit_s: arguments.rate.map(Rate::as_bits_per_second),
            traffic: arguments.traffic,
            unordered: arguments.unordered,
            lifetime_seconds: arguments.lifetime.map(|time| time.as_secs_f64()),
            retransmissions: arguments.retransmissions,
        }
    }

    /// Checks what a peer or a user asked for.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be done.
    pub(super) fn check(&self) -> Result<(), String> {
        let is_time = |seconds: f64| (0.0..=31_536_000.0).contains(&seconds);
        let times = [
            self.seconds.unwrap_or(0.0),
            self.omit_seconds,
            self.interval_seconds,
            self.lifetime_seconds.unwrap_or(0.0),
        ];
        let cycle = match self.traffic {
            Traffic::OnOff {
                on_seconds,
                off_seconds,
            } => [on_seconds, off_seconds],
            Traffic::Constant | Traffic::Poisson => [1.0, 1.0],
        };
        if !times.into_iter().chain(cycle).all(is_time) || self.interval_seconds < 0.01 || cycle[0] < 0.001 {
            return Err("a time is out of range".to_owned());
        }
        if !(SHORTEST..=LONGEST).contains(&self.length) {
            return Err(format!("a message has {SHORTEST} to {LONGEST} bytes"));
        }
        if !(1..=MAX_ASSOCIATIONS).contains(&self.associations) {
            return Err(format!("there can be 1 to {MAX_ASSOCIATIONS} associations"));
        }
        if !(1..=MAX_STREAMS).contains(&(u32::from(self.associations) * u32::from(self.streams))) {
            return Err(format!(
                "all associations together can have 1 to {MAX_STREAMS} streams"
            ));
        }
        match (self.seconds, self.bytes) {
            (Some(_), Some(_)) | (None, None) => {
                return Err("either a time or a number of bytes ends a test".to_owned());
            }
            (None, Some(_)) if self.omit_seconds > 0.0 => {
                return Err("the beginning can be omitted only if a time ends the test".to_owned());
            }
            _ => {}
        }
        if self.rate_bit_s == Some(0) {
            return Err("a rate of zero sends nothing".to_owned());
        }
        if self.traffic == Traffic::Poisson && self.rate_bit_s.is_none() {
            return Err("a Poisson process needs a rate".to_owned());
        }
        Ok(())
    }

    /// How long messages are sent; `None` if their bytes are limited.
    pub(super) fn duration(&self) -> Option<Duration> {
        self.seconds
            .map(|seconds| Duration::from_secs_f64(seconds + self.omit_seconds))
    }

    pub(super) fn omitted(&self) -> Duration {
        Duration::from_secs_f64(self.omit_seconds)
    }

    pub(super) fn interval(&self) -> Duration {
        Duration::from_secs_f64(self.interval_seconds)
    }

    /// Mean time between two messages of a stream; `None` without a rate.
    pub(super) fn gap(&self) -> Option<Duration> {
        let rate = self.rate_bit_s?;
        Some(Duration::from_secs_f64(
            f64::from(self.length) * 8.0 / rate as f64,
        ))
    }

    pub(super) fn reliability(&self) -> Reliability {
        match (self.lifetime_seconds, self.retransmissions) {
            (Some(seconds), _) => Reliability::Lifetime(Duration::from_secs_f64(seconds)),
            (None, Some(count)) => Reliability::Retransmissions(count),
            (None, None) => Reliability::Reliable,
        }
    }

    /// Whether the client, or the server, sends.
    pub(super) fn sends(&self, is_client: bool) -> bool {
        match self.direction {
            Direction::Forward => is_client,
            Direction::Reverse => !is_client,
            Direction::Both => true,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn example() -> Task {
        Task {
            direction: Direction::Forward,
            seconds: Some(10.0),
            bytes: None,
            omit_seconds: 0.0,
            interval_seconds: 1.0,
            associations: 1,
            streams: 1,
            length: 1_000,
            rate_bit_s: None,
            traffic: Traffic::Constant,
            unordered: false,
            lifetime_seconds: None,
            retransmissions: None,
        }
    }

    #[test]
    fn tasks_that_cannot_be_done_are_refused() {
        assert_eq!(example().check(), Ok(()));
        let with = |change: fn(&mut Task)| {
            let mut task = example();
            change(&mut task);
            task.check().unwrap_err()
        };
        assert!(with(|task| task.length = 15).contains("16 to 1048576"));
        assert!(with(|task| task.associations = 129).contains("128"));
        assert!(with(|task| (task.associations, task.streams) = (100, 11)).contains("1000"));
        assert!(with(|task| task.traffic = Traffic::Poisson).contains("a Poisson process needs"));
        assert!(with(|task| task.rate_bit_s = Some(0)).contains("a rate of zero"));
        assert!(with(|task| task.bytes = Some(1)).contains("either"));
        assert!(with(|task| task.omit_seconds = f64::NAN).contains("range"));
        assert!(with(|task| task.interval_seconds = 0.0).contains("range"));
    }

    #[test]
    fn lifetime_or_retransmissions_limit_reliability() {
        let limited = |lifetime_seconds, retransmissions| {
            let task = Task {
                lifetime_seconds,
                retransmissions,
                ..example()
            };
            task.reliability()
        };
        assert_eq!(limited(None, None), Reliability::Reliable);
        assert_eq!(limited(None, Some(0)), Reliability::Retransmissions(0));
        let lifetime = Reliability::Lifetime(Duration::from_millis(100));
        assert_eq!(limited(Some(0.1), None), lifetime);
    }

    #[test]
    fn gap_is_the_time_of_a_message_at_the_rate() {
        let task = Task {
            rate_bit_s: Some(8_000),
            ..example()
        };
        assert_eq!(task.gap(), Some(Duration::from_secs(1)));
        assert_eq!(example().gap(), None);
    }
}

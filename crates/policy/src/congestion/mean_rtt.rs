//! Mean round-trip time. How long does a round trip take, where single samples vary?
//!
//! Source: the rise that shows a queue is that of RFC 9406 §4.2.

use core::time::Duration;

/// The standard error of a mean is at most this part of it: half of the rise that shows a queue.
const ERROR_DIVISOR: u64 = 16;
/// With fewer samples their variation is unknown (N_RTT_SAMPLE of RFC 9406).
const SAMPLES_NEEDED: u64 = 8;
/// Samples after which a mean that is still imprecise starts again. So many are enough where the standard deviation is as large as the mean.
/// Where it is larger, a few samples are far off, such as those of chunks that waited for seconds.
const MAX_SAMPLES: u64 = ERROR_DIVISOR * ERROR_DIVISOR;
/// Smallest and largest rise of the round-trip time that shows a queue, and its share of the minimum (RFC 9406 §4.2).
const SMALLEST_RISE: Duration = Duration::from_millis(4);
const LARGEST_RISE: Duration = Duration::from_millis(16);
const RISE_DIVISOR: u32 = 8;

/// By how much a round-trip time rises above its minimum `least` where a queue builds up.
pub(super) fn rise_of(least: Duration) -> Duration {
    (least / RISE_DIVISOR).clamp(SMALLEST_RISE, LARGEST_RISE)
}

/// A mean of enough samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MeanRtt {
    pub(super) mean: Duration,
    /// The standard error of the mean.
    pub(super) error: Duration,
}

/// Samples of which a mean is taken, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    sum: u64,
    squares: u64,
    samples: u64,
}

impl Mean {
    pub(super) fn add(&mut self, rtt: Duration) {
        // At most a minute: its square times the samples of a round fits.
        let micros = u64::try_from(rtt.as_micros()).unwrap_or(u64::MAX).min(60_000_000);
        self.sum = self.sum.saturating_add(micros);
        self.squares = self.squares.saturating_add(micros * micros);
        self.samples += 1;
    }

    pub(super) fn get(&self) -> Option<Duration> {
        self.sum.checked_div(self.samples).map(Duration::from_micros)
    }

    /// The mean, once there are enough samples for their variation; then it starts again.
    pub(super) fn take(&mut self) -> Option<MeanRtt> {
        let mean = self.sum.checked_div(self.samples)?;
        let variance = (self.squares / self.samples).saturating_sub(mean * mean);
        let error = mean / ERROR_DIVISOR;
        if self.samples < SAMPLES_NEEDED || variance > self.samples.saturating_mul(error * error) {
            if self.samples >= MAX_SAMPLES {
                *self = Self::default();
            }
            return None;
        }
        let taken = MeanRtt {
            mean: Duration::from_micros(mean),
            error: Duration::from_micros((variance / self.samples).isqrt()),
        };
        *self = Self::default();
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms;

    #[test]
    fn samples_that_are_far_off_are_forgotten() {
        let mut mean = Mean::default();
        [2_500, 8_000].into_iter().for_each(|rtt| mean.add(ms(rtt)));
        let taken = (0..MAX_SAMPLES + SAMPLES_NEEDED).find_map(|_| {
            mean.add(ms(40));
            mean.take()
        });
        assert_eq!(taken.map(|taken| taken.mean), Some(ms(40)));
    }
}

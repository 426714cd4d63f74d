//! Limit of the rate of a sender. When may the next piece be sent? When the earlier ones have had their time at that rate.

use std::time::Duration;

use anabranch::Rate;
use tokio::time::{Instant, sleep_until};

/// Time that may be caught up, after the file was slow say.
const BURST: Duration = Duration::from_millis(100);

/// A rate that is not exceeded over more than [`BURST`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    rate: Option<Rate>,
    /// When the next piece may be sent.
    next: Option<Instant>,
}

impl Pace {
    /// Without a rate, there is no limit.
    pub(crate) const fn new(rate: Option<Rate>) -> Self {
        Self { rate, next: None }
    }

    /// Waits until `bytes` more may be sent.
    pub(super) async fn wait(&mut self, bytes: u64) {
        if let Some(at) = self.reserve(bytes, Instant::now()) {
            sleep_until(at).await;
        }
    }

    fn reserve(&mut self, bytes: u64, now: Instant) -> Option<Instant> {
        let rate = self.rate?;
        let earliest = now.checked_sub(BURST).unwrap_or(now);
        let at = self.next.unwrap_or(now).max(earliest);
        self.next = Some(at + rate.time_for(bytes));
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_sent_at_the_rate() {
        let now = Instant::now();
        let mut pace = Pace::new(Some(Rate::bits_per_second(8_000)));
        let times: Vec<Duration> = (0..3).map(|_| pace.reserve(500, now).unwrap() - now).collect();
        assert_eq!(times, [0, 500, 1_000].map(Duration::from_millis));
        // After a pause, only a tenth of a second is caught up.
        let later = now + Duration::from_secs(60);
        assert_eq!(later - pace.reserve(500, later).unwrap(), BURST);
        assert_eq!(Pace::default().reserve(500, now), None);
    }
}

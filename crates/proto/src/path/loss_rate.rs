//! Loss rate of a path: a smoothed share of lost chunks, the same for all policies.

/// The share of chunks that were lost recently.
///
/// Each chunk moves it by 1/256 towards 0 (acknowledged) or 1 (lost). This is slow enough to measure a loss rate of a few per
/// mille, and fast enough to forget an outage within one or two windows of a fast path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossRate {
    /// The rate, between 0 and [`LossRate::ONE`].
    share: u32,
}

impl LossRate {
    const ONE: u32 = 1 << 31;
    const SHIFT: u32 = 8;

    /// Counts acknowledged chunks.
    pub(crate) fn on_acknowledged(&mut self, chunks: u32) {
        for _ in 0..chunks {
            if self.share < 1 << Self::SHIFT {
                self.share = 0;
                return;
            }
            self.share -= self.share >> Self::SHIFT;
        }
    }

    /// Counts lost chunks.
    pub(crate) fn on_lost(&mut self, chunks: u32) {
        for _ in 0..chunks {
            self.share += (Self::ONE - self.share) >> Self::SHIFT;
        }
    }

    /// The rate in parts per million.
    pub(crate) fn per_million(self) -> u32 {
        ((u64::from(self.share) * 1_000_000) >> 31) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::LossRate;

    #[test]
    fn steady_loss_rate_is_found_after_any_history() {
        for start in [0, 5_000] {
            let mut rate = LossRate::default();
            rate.on_lost(start);
            for _ in 0..200 {
                rate.on_acknowledged(49);
                rate.on_lost(1);
            }
            assert!(
                (15_000..25_000).contains(&rate.per_million()),
                "{rate:?} is not 2 %"
            );
        }
    }

    #[test]
    fn loss_rate_stays_below_one_and_recovers_after_an_outage() {
        let mut rate = LossRate::default();
        rate.on_lost(100_000);
        assert!((999_000..=1_000_000).contains(&rate.per_million()));
        rate.on_acknowledged(2_000);
        assert!(rate.per_million() < 1_000, "{rate:?}");
        rate.on_acknowledged(u32::MAX);
        assert_eq!(rate.per_million(), 0);
    }
}

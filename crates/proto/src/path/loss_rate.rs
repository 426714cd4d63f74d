//! Loss rate. Which share of its chunks does a path lose? A smoothed rate, the same for every policy that asks.

/// The share of chunks that were lost lately.
///
/// Each outcome moves it by 1/256 of the way to 0 (acknowledged) or to 1 (lost): slow enough to tell a loss rate of a
/// few per mille, quick enough to forget an outage within a window or two of a fast path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossRate {
    /// Between 0 and [`LossRate::ONE`].
    share: u32,
}

impl LossRate {
    const ONE: u32 = 1 << 31;
    const SHIFT: u32 = 8;

    /// So many chunks arrived.
    pub(crate) fn on_acknowledged(&mut self, chunks: u32) {
        for _ in 0..chunks {
            if self.share < 1 << Self::SHIFT {
                self.share = 0;
                return;
            }
            self.share -= self.share >> Self::SHIFT;
        }
    }

    /// So many chunks did not.
    pub(crate) fn on_lost(&mut self, chunks: u32) {
        for _ in 0..chunks {
            self.share += (Self::ONE - self.share) >> Self::SHIFT;
        }
    }

    /// In parts of a million.
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

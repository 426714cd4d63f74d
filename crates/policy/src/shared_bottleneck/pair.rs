//! Two paths. Do both see the same queue?

use core::time::Duration;

/// Difference below which both are the same queue, and above which they are not, in per cent of the variance of both.
const SAME: i128 = 15;
const DIFFERENT: i128 = 40;
/// Intervals for a verdict on paths that are apart, and on paths that are together.
const INTERVALS_APART: u32 = 32;
const INTERVALS_TOGETHER: u32 = 16;
/// Intervals after which a verdict on paths that are together needs no loss.
const INTERVALS_QUIET: u32 = 128;
/// Intervals after which the comparison starts again.
const MAX_INTERVALS: u32 = 1_024;
/// Loss events of each path for a verdict, and the most after verdicts that were wrong.
const LOSSES_NEEDED: u32 = 1;
const MAX_LOSSES: u32 = 64;
/// Verdicts in a row for a group: two queues that are filled together at the start are alike once.
const AGREEING: u8 = 2;
/// Verdicts in a row that confirm an earlier one.
const CONFIRMED: u8 = 8;
/// A deviation from the first value of a comparison is at most this much, in microseconds.
const FARTHEST: i64 = 4_000_000;

/// Sums over the intervals of one comparison. Deviations of both paths from their first values, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    intervals: u32,
    first: [i64; 2],
    values: [i64; 2],
    squares: [i64; 2],
    products: i64,
}

impl Sums {
    fn add(&mut self, means: [Duration; 2]) {
        let micros = means.map(|mean| i64::try_from(mean.as_micros()).unwrap_or(i64::MAX));
        if self.intervals == 0 {
            self.first = micros;
        }
        self.intervals += 1;
        let [a, b] = [0, 1].map(|at| (micros[at].saturating_sub(self.first[at])).clamp(-FARTHEST, FARTHEST));
        self.values = [self.values[0] + a, self.values[1] + b];
        self.squares = [self.squares[0] + a * a, self.squares[1] + b * b];
        self.products += a * b;
    }

    /// The variance of the difference, and the sum of both variances; both times the square of the intervals.
    fn variances(&self) -> [i128; 2] {
        let count = i128::from(self.intervals);
        let [a, b] = self.values.map(i128::from);
        let [aa, bb] = self.squares.map(i128::from);
        let both = count * (aa + bb) - a * a - b * b;
        let common = count * i128::from(self.products) - a * b;
        [both - 2 * common, both]
    }
}

/// What is known of two paths.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    sums: Sums,
    /// Loss events of both paths in this comparison.
    losses: [u32; 2],
    /// Loss events of each that a verdict needs.
    needed: u32,
    /// Both see the same queue.
    pub(super) is_shared: bool,
    /// The variance of both that they are known for, in square microseconds.
    scale: i128,
    /// Verdicts in a row that say the same.
    confirmed: u8,
}

impl Default for Pair {
    fn default() -> Self {
        Self {
            sums: Sums::default(),
            losses: [0; 2],
            needed: LOSSES_NEEDED,
            is_shared: false,
            scale: 0,
            confirmed: 0,
        }
    }
}

impl Pair {
    /// A loss event of the first or the second path.
    pub(super) fn on_loss(&mut self, at: usize) {
        self.losses[at] = self.losses[at].saturating_add(1);
    }

    /// Both have mean round-trip times of one interval. Returns whether the verdict changes.
    pub(super) fn on_interval(&mut self, means: [Duration; 2]) -> bool {
        self.sums.add(means);
        let intervals = self.sums.intervals;
        let [fewest, all] = [
            self.losses[0].min(self.losses[1]),
            self.losses[0].saturating_add(self.losses[1]),
        ];
        let is_due = if self.is_shared {
            intervals >= INTERVALS_QUIET || (intervals >= INTERVALS_TOGETHER && all > 0)
        } else {
            intervals >= MAX_INTERVALS || (intervals >= INTERVALS_APART && fewest >= self.needed)
        };
        if !is_due {
            return false;
        }
        let before = self.is_shared;
        let [difference, both] = self.sums.variances();
        self.judge(difference, both, fewest >= self.needed);
        self.sums = Sums::default();
        self.losses = [0; 2];
        before != self.is_shared
    }

    fn judge(&mut self, difference: i128, both: i128, has_losses: bool) {
        let square = i128::from(self.sums.intervals).pow(2);
        let variance = both / square;
        if !self.is_shared {
            let is_same = has_losses && 100 * difference <= SAME * both && both > 0;
            self.confirmed = if is_same { self.confirmed + 1 } else { 0 };
            if self.confirmed >= AGREEING {
                self.is_shared = true;
                self.scale = variance;
                self.confirmed = 0;
            }
            return;
        }
        if 100 * difference > DIFFERENT * both && 8 * difference / square > self.scale {
            self.is_shared = false;
            self.confirmed = 0;
            self.needed = (2 * self.needed).min(MAX_LOSSES);
            return;
        }
        self.scale = (self.scale * 7 / 8).max(variance);
        self.confirmed = self.confirmed.saturating_add(1);
        if self.confirmed >= CONFIRMED {
            self.needed = (self.needed / 2).max(LOSSES_NEEDED);
            self.confirmed = 0;
        }
    }

    /// The comparison starts again, because one of both paths carries nothing or was changed; both are apart until then.
    pub(super) fn forget(&mut self) {
        *self = Self {
            needed: self.needed,
            ..Self::default()
        };
    }
}

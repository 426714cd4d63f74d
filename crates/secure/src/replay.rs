//! Replay window. Was this packet number received before?

const WORDS: usize = 32;
/// Numbers below the largest by this many or more count as received.
pub(crate) const WINDOW: u64 = 64 * WORDS as u64;

/// The packet numbers received in one space: the largest, and a bit for each of the [`WINDOW`] numbers up to it.
///
/// A number is checked before its packet is opened and recorded after, so a forged packet cannot move the window
/// (RFC 4303 §3.4.3 describes this order).
#[derive(Debug, Default)]
pub(crate) struct ReplayWindow {
    /// One more than the largest number received.
    next: u64,
    /// The bit of number `n` is bit `n % 64` of word `n / 64 % WORDS`.
    received: [u64; WORDS],
}

impl ReplayWindow {
    /// The number that follows the largest number received.
    pub(crate) const fn expected(&self) -> u64 {
        self.next
    }

    /// Whether `number` was neither received nor is too old to tell.
    pub(crate) const fn is_new(&self, number: u64) -> bool {
        if number >= self.next {
            return true;
        }
        if self.next - number > WINDOW {
            return false;
        }
        let (word, bit) = position(number);
        self.received[word] & bit == 0
    }

    /// Records that the packet `number` was authentic.
    pub(crate) fn record(&mut self, number: u64) {
        if number >= self.next {
            self.advance(number);
            self.next = number + 1;
        }
        let (word, bit) = position(number);
        if self.next - number <= WINDOW {
            self.received[word] |= bit;
        }
    }

    /// Clears the bits of the numbers from `next` to `number`, which take the place of older numbers.
    fn advance(&mut self, number: u64) {
        if number - self.next >= WINDOW {
            self.received = [0; WORDS];
            return;
        }
        let mut first = self.next;
        while first <= number {
            let (word, _) = position(first);
            let end_of_word = first | 63;
            let last = end_of_word.min(number);
            let width = last - first + 1;
            let mask = if width == 64 {
                u64::MAX
            } else {
                ((1 << width) - 1) << (first % 64)
            };
            self.received[word] &= !mask;
            first = last + 1;
        }
    }
}

const fn position(number: u64) -> (usize, u64) {
    ((number / 64) as usize % WORDS, 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use anabranch_types::Seed;

    use super::{ReplayWindow, WINDOW};

    #[test]
    fn repeated_number_is_not_new() {
        let mut window = ReplayWindow::default();
        assert!(window.is_new(0));
        window.record(0);
        assert!(!window.is_new(0));
        assert!(window.is_new(1));
    }

    #[test]
    fn number_older_than_the_window_is_not_new() {
        let mut window = ReplayWindow::default();
        window.record(WINDOW);
        assert!(window.is_new(1));
        assert!(!window.is_new(0));
    }

    #[test]
    fn window_agrees_with_a_set_of_all_numbers() {
        let mut rng = Seed(25).rng();
        let mut window = ReplayWindow::default();
        let mut all = BTreeSet::new();
        let mut largest = 0;
        for _ in 0..50_000 {
            let ahead = if rng.chance(1, 200) {
                rng.below(3 * WINDOW)
            } else {
                rng.below(6)
            };
            let behind = if rng.chance(1, 3) {
                rng.below(WINDOW + 200)
            } else {
                0
            };
            let number = (largest + ahead).saturating_sub(behind);
            let too_old = number + WINDOW < largest + 1;
            assert_eq!(
                window.is_new(number),
                !too_old && !all.contains(&number),
                "{number} after {largest}"
            );
            if window.is_new(number) {
                window.record(number);
                all.insert(number);
                largest = largest.max(number);
            }
        }
    }
}

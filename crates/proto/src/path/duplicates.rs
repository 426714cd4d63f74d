//! Duplicates of a path. Which duplicates fill the window of a path? Those that left on it within the last round trip.
//!
//! A duplicate has no record: the record of its chunk belongs to the path of the original, and an acknowledgement does not say
//! which of the two came. So a duplicate counts as in flight for a smoothed round-trip time, as it would if it arrived.

use alloc::collections::VecDeque;

use anabranch_types::{Instant, UnwrappedTsn};

/// The duplicates sent on one path.
#[derive(Debug, Default)]
pub(crate) struct Duplicates {
    /// When each counts no more, and its bytes; in the order of sending, which is that of expiry.
    out: VecDeque<(Instant, u64)>,
    bytes: u64,
    /// Chunks below have been duplicated onto the path, or needed no duplicate.
    pub(crate) next: Option<UnwrappedTsn>,
}

impl Duplicates {
    /// Bytes of those that count.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A duplicate of `tsn` left, and counts until `until`, or for as long as those before it.
    pub(crate) fn sent(&mut self, tsn: UnwrappedTsn, bytes: u64, until: Instant) {
        let last = self.out.back().map_or(until, |(last, _)| *last);
        self.out.push_back((until.max(last), bytes));
        self.bytes += bytes;
        self.next = Some(tsn.next());
    }

    /// When the next one counts no more.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.out.front().map(|(until, _)| *until)
    }

    /// The clock shows `now`.
    pub(crate) fn expire(&mut self, now: Instant) {
        while let Some((until, bytes)) = self.out.front().copied()
            && until <= now
        {
            self.out.pop_front();
            self.bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_counts_as_long_as_earlier_ones() {
        let mut duplicates = Duplicates::default();
        let at = Instant::from_nanos;
        duplicates.sent(UnwrappedTsn(7), 100, at(50));
        duplicates.sent(UnwrappedTsn(9), 10, at(40));
        assert_eq!(
            (duplicates.bytes(), duplicates.next),
            (110, Some(UnwrappedTsn(10)))
        );
        duplicates.expire(at(49));
        assert_eq!((duplicates.bytes(), duplicates.deadline()), (110, Some(at(50))));
        duplicates.expire(at(50));
        assert_eq!((duplicates.bytes(), duplicates.deadline()), (0, None));
    }
}

//! Duplicates in flight on a path. A duplicate counts against the window for one round trip after it was sent.
//!
//! A duplicate has no record in the scoreboard: the record of its chunk belongs to the path of the original, and an acknowledgement
//! does not tell which of the two arrived. So a duplicate counts as in flight for one smoothed round-trip time (ADR 0033).

use alloc::collections::VecDeque;

use anabranch_types::{Instant, UnwrappedTsn};

/// The duplicates sent on one path.
#[derive(Debug, Default)]
pub(crate) struct Duplicates {
    /// Expiry time and bytes of each duplicate, in the order of sending, which is that of expiry.
    out: VecDeque<(Instant, u64)>,
    bytes: u64,
    /// Chunks below this TSN have been duplicated onto the path, or need no duplicate.
    pub(crate) next: Option<UnwrappedTsn>,
}

impl Duplicates {
    /// Bytes of the duplicates in flight.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a duplicate of `tsn` that was sent. It counts until `until`, and at least as long as earlier ones.
    pub(crate) fn sent(&mut self, tsn: UnwrappedTsn, bytes: u64, until: Instant) {
        let last = self.out.back().map_or(until, |(last, _)| *last);
        self.out.push_back((until.max(last), bytes));
        self.bytes += bytes;
        self.next = Some(tsn.next());
    }

    /// The time at which the next duplicate expires.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.out.front().map(|(until, _)| *until)
    }

    /// Removes the duplicates that have expired at `now`.
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

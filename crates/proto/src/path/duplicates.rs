//! Duplicates in flight on a path. A duplicate counts against the window for one round trip after it was sent.
//!
//! A duplicate has no record in the scoreboard: the record of its chunk belongs to the path of the original, and an acknowledgement
//! does not tell which of the two arrived. So a duplicate counts as in flight for one smoothed round-trip time (ADR 0033).

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use anabranch_types::{Instant, UnwrappedTsn};

/// The duplicates sent on one path.
#[derive(Debug, Default)]
pub(crate) struct Duplicates {
    /// `None` before the first: few schedulers send any.
    sent: Option<Box<Sent>>,
}

#[derive(Debug, Default)]
struct Sent {
    /// Expiry time and bytes of each duplicate, in the order of sending, which is that of expiry.
    out: VecDeque<(Instant, u64)>,
    bytes: u64,
    /// Chunks below this TSN have been duplicated onto the path, or need no duplicate.
    next: Option<UnwrappedTsn>,
}

impl Duplicates {
    /// No duplicate has been sent.
    pub(super) const NONE: Self = Self { sent: None };

    /// Bytes of the duplicates in flight.
    pub(crate) fn bytes(&self) -> u64 {
        self.sent.as_ref().map_or(0, |sent| sent.bytes)
    }

    /// Chunks below this TSN have been duplicated onto the path, or need no duplicate.
    pub(crate) fn next(&self) -> Option<UnwrappedTsn> {
        self.sent.as_ref()?.next
    }

    /// Chunks below `next` need no duplicate any more.
    pub(crate) fn set_next(&mut self, next: UnwrappedTsn) {
        self.sent.get_or_insert_default().next = Some(next);
    }

    /// Adds a duplicate of `tsn` that was sent. It counts until `until`, and at least as long as earlier ones.
    pub(crate) fn sent(&mut self, tsn: UnwrappedTsn, bytes: u64, until: Instant) {
        let sent = self.sent.get_or_insert_default();
        let last = sent.out.back().map_or(until, |(last, _)| *last);
        sent.out.push_back((until.max(last), bytes));
        sent.bytes += bytes;
        sent.next = Some(tsn.next());
    }

    /// The time at which the next duplicate expires.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.sent.as_ref()?.out.front().map(|(until, _)| *until)
    }

    /// Removes the duplicates that have expired at `now`.
    pub(crate) fn expire(&mut self, now: Instant) {
        let Some(sent) = &mut self.sent else { return };
        while let Some((until, bytes)) = sent.out.front().copied()
            && until <= now
        {
            sent.out.pop_front();
            sent.bytes -= bytes;
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
            (duplicates.bytes(), duplicates.next()),
            (110, Some(UnwrappedTsn(10)))
        );
        duplicates.expire(at(49));
        assert_eq!((duplicates.bytes(), duplicates.deadline()), (110, Some(at(50))));
        duplicates.expire(at(50));
        assert_eq!((duplicates.bytes(), duplicates.deadline()), (0, None));
    }
}

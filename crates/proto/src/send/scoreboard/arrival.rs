//! Pseudo-cumulative acknowledgement. When did what was sent on a path arrive there in order?
//!
//! One chunk at a time is followed, as a round-trip time would be measured with one timer: from its first transmission
//! until it and everything that was first sent on the path before it has been acknowledged, on whatever path the
//! retransmissions went. What is missing is counted, so nothing is searched.

use anabranch_types::{Instant, UnwrappedTsn};

/// The measurement of one path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Chunks first sent on the path that are not acknowledged.
    missing: u64,
    followed: Option<Followed>,
}

/// The chunk that is followed.
#[derive(Clone, Copy, Debug)]
struct Followed {
    tsn: UnwrappedTsn,
    sent_at: Instant,
    /// Of [`Arrival::missing`], those up to this chunk.
    missing: u64,
}

impl Arrival {
    /// Nothing is missing.
    pub(super) const NONE: Self = Self {
        missing: 0,
        followed: None,
    };

    /// `tsn` leaves on the path for the first time.
    pub(super) fn sent(&mut self, tsn: UnwrappedTsn, now: Instant) {
        self.missing += 1;
        let missing = self.missing;
        self.followed.get_or_insert(Followed {
            tsn,
            sent_at: now,
            missing,
        });
    }

    /// `tsn`, first sent on the path, is acknowledged.
    pub(super) fn arrived(&mut self, tsn: UnwrappedTsn) {
        self.missing -= 1;
        if let Some(followed) = self.followed.as_mut().filter(|followed| tsn <= followed.tsn) {
            followed.missing -= 1;
        }
    }

    /// The peer takes the acknowledgement of `tsn` back.
    pub(super) fn taken_back(&mut self, tsn: UnwrappedTsn) {
        self.missing += 1;
        if let Some(followed) = self.followed.as_mut().filter(|followed| tsn <= followed.tsn) {
            followed.missing += 1;
        }
    }

    /// The path is no more: nothing is measured.
    pub(super) fn forget(&mut self) {
        self.followed = None;
    }

    /// A SACK was applied: if that ends the measurement, when it began.
    pub(super) fn finish(&mut self) -> Option<Instant> {
        let done = self.followed.take_if(|followed| followed.missing == 0)?;
        Some(done.sent_at)
    }
}

#[cfg(test)]
mod tests {
    use anabranch_types::{Instant, UnwrappedTsn};

    use super::Arrival;

    const fn tsn(number: u64) -> UnwrappedTsn {
        UnwrappedTsn((1 << 32) + number)
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + core::time::Duration::from_millis(millis)
    }

    #[test]
    fn chunk_arrives_in_order_after_all_earlier_ones() {
        let mut arrival = Arrival::NONE;
        arrival.sent(tsn(1), at(1));
        arrival.sent(tsn(2), at(2));
        arrival.arrived(tsn(1));
        assert_eq!(arrival.finish(), Some(at(1)));
        arrival.sent(tsn(3), at(3));
        // 3 is followed, and 2 is before it.
        arrival.arrived(tsn(3));
        assert_eq!(arrival.finish(), None);
        arrival.taken_back(tsn(3));
        arrival.arrived(tsn(2));
        assert_eq!(arrival.finish(), None);
        arrival.arrived(tsn(3));
        assert_eq!(arrival.finish(), Some(at(3)));
        assert_eq!(arrival.finish(), None);
    }

    #[test]
    fn later_chunks_do_not_affect_in_order_arrival() {
        let mut arrival = Arrival::NONE;
        arrival.sent(tsn(1), at(1));
        arrival.sent(tsn(2), at(2));
        arrival.arrived(tsn(2));
        assert_eq!(arrival.finish(), None);
        arrival.arrived(tsn(1));
        assert_eq!(arrival.finish(), Some(at(1)));
    }
}

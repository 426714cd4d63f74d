//! In-order arrival of a path's data: the time until a chunk and all chunks sent before it on the path are acknowledged.
//!
//! One chunk at a time is measured, as RTT is measured with one timer: from its first transmission until it and all chunks first
//! sent on the path before it are acknowledged, on whatever path they were retransmitted. Missing chunks are counted, not searched.

use anabranch_types::{Instant, UnwrappedTsn};

/// The measurement of one path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Unacknowledged chunks that were first sent on the path.
    missing: u64,
    followed: Option<Followed>,
}

/// The chunk that is measured.
#[derive(Clone, Copy, Debug)]
struct Followed {
    tsn: UnwrappedTsn,
    sent_at: Instant,
    /// The chunks counted by [`Arrival::missing`], up to this chunk.
    missing: u64,
}

impl Arrival {
    /// Nothing is missing.
    pub(super) const NONE: Self = Self {
        missing: 0,
        followed: None,
    };

    /// Notes that `tsn` is sent for the first time, on this path.
    pub(super) fn sent(&mut self, tsn: UnwrappedTsn, now: Instant) {
        self.missing += 1;
        let missing = self.missing;
        self.followed.get_or_insert(Followed {
            tsn,
            sent_at: now,
            missing,
        });
    }

    /// Notes that `tsn`, first sent on this path, is acknowledged.
    pub(super) fn arrived(&mut self, tsn: UnwrappedTsn) {
        self.missing -= 1;
        if let Some(followed) = self.followed.as_mut().filter(|followed| tsn <= followed.tsn) {
            followed.missing -= 1;
        }
    }

    /// Notes that the peer has reneged on `tsn`.
    pub(super) fn taken_back(&mut self, tsn: UnwrappedTsn) {
        self.missing += 1;
        if let Some(followed) = self.followed.as_mut().filter(|followed| tsn <= followed.tsn) {
            followed.missing += 1;
        }
    }

    /// Ends the measurement, because the path was deleted.
    pub(super) fn forget(&mut self) {
        self.followed = None;
    }

    /// Ends the measurement if it is complete after a SACK; returns when it started.
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

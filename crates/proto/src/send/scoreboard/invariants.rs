//! Invariants of the scoreboard, which hold for any input.

use super::Scoreboard;

impl Scoreboard {
    /// Checks the sums over all paths, after every change in debug builds.
    pub(crate) fn debug_check(&self) {
        if !cfg!(debug_assertions) {
            return;
        }
        assert!(
            self.payload_outstanding() <= self.payload_held,
            "outstanding but not held"
        );
        assert!(
            self.payload_in_flight <= self.total_in_flight(),
            "more payload than chunks"
        );
        assert!(
            self.total_in_flight() <= self.total_queued(),
            "in flight but not queued"
        );
        assert!(self.gaps.spare.is_empty(), "only memory");
        if self.ring.is_empty() {
            assert_eq!(
                (self.total_queued(), self.payload_held),
                (0, 0),
                "bytes of nothing"
            );
            assert!(
                self.gaps.reported.is_empty()
                    && self.flights.each_first_lost().next().is_none()
                    && self.gaps.kept.is_empty(),
                "reports of nothing"
            );
        }
    }
}

#[cfg(test)]
mod exhaustive {
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    use anabranch_types::{IntervalSet, PathId, UnwrappedTsn};

    use super::super::record::{Order, Sent, State};
    use super::Scoreboard;

    impl Scoreboard {
        /// Checks all sums and orders by visiting every record.
        pub(crate) fn check_every_record(&self) {
            self.debug_check();
            let records = || self.ring.iter();
            let payload: u64 = records().map(|(_, sent)| sent.chunk.payload_bytes()).sum();
            assert_eq!(self.payload_held, payload);
            let flying = records().filter(|(_, sent)| sent.is_in_flight());
            assert_eq!(
                self.payload_in_flight,
                flying.map(|(_, sent)| sent.chunk.payload_bytes()).sum::<u64>()
            );

            let is_lost = |sent: &Sent| matches!(sent.state, State::Lost(_));
            let lost: BTreeSet<_> = records()
                .filter(|(_, sent)| is_lost(sent))
                .map(|(tsn, _)| tsn)
                .collect();
            assert_eq!(self.flights.all_lost().collect::<BTreeSet<_>>(), lost);
            let paths: BTreeSet<_> = records().map(|(_, sent)| sent.path).collect();
            for path in paths {
                let first = records().find(|(_, sent)| is_lost(sent) && sent.path == path);
                assert_eq!(self.flights.first_lost(path), first.map(|(tsn, _)| tsn));
            }
            let waiting = records().filter(|(_, sent)| is_lost(sent));
            assert_eq!(
                self.payload_lost,
                waiting.map(|(_, sent)| sent.chunk.payload_bytes()).sum::<u64>()
            );

            let reported: Vec<_> = self
                .gaps
                .reported
                .iter()
                .cloned()
                .flatten()
                .map(UnwrappedTsn)
                .collect();
            let acknowledged: Vec<_> = records()
                .filter(|(_, sent)| sent.has_arrived())
                .map(|(tsn, _)| tsn)
                .collect();
            assert_eq!(reported, acknowledged);
            let kept: Vec<_> = records().filter(|(_, sent)| sent.state == State::Kept).collect();
            assert!(kept.iter().all(|(_, sent)| sent.chunk.payload.is_empty()));
            let kept: IntervalSet = kept.iter().map(|(tsn, _)| tsn.0..tsn.0 + 1).collect();
            assert_eq!(self.gaps.kept, kept);
            (0..self.flights.len()).for_each(|path| self.check_path(PathId(path as u8)));
        }

        fn check_path(&self, path: PathId) {
            let on_path = || self.ring.iter().filter(|(_, sent)| sent.path == path);
            assert_eq!(
                self.queued(path),
                on_path()
                    .filter(|(_, sent)| sent.state != State::Kept)
                    .map(|(_, sent)| sent.chunk.bytes())
                    .sum::<u64>()
            );
            let flying = || on_path().filter(|(_, sent)| sent.is_in_flight());
            assert_eq!(
                self.in_flight(path),
                flying().map(|(_, sent)| sent.chunk.bytes()).sum::<u64>()
            );

            let mut listed = BTreeSet::new();
            for order in [Order::First, Order::Again] {
                let chunks: Vec<_> = self.flights.backwards(path, order, &self.ring).collect();
                assert!(chunks.iter().all(|&tsn| self.ring[tsn].order() == order));
                let transmissions = chunks.iter().rev().map(|&tsn| self.ring[tsn].send_number);
                assert!(transmissions.is_sorted(), "the order of leaving");
                assert!(chunks.iter().rev().map(|&tsn| self.ring[tsn].sent_at).is_sorted());
                assert!(
                    order == Order::Again || chunks.iter().rev().is_sorted(),
                    "the order of TSNs"
                );
                assert_eq!(self.flights.head(path, order), chunks.last().copied());
                listed.extend(chunks);
            }
            assert_eq!(listed, flying().map(|(tsn, _)| tsn).collect());
        }

        /// Allocated memory of the buffers in bytes.
        pub(crate) fn capacity_in_bytes(&self) -> usize {
            let blocks = self.gaps.reported.capacity() + self.gaps.spare.capacity();
            self.ring.capacity() * size_of::<Sent>() + blocks * 16 + self.flights.len() * 64
        }
    }
}

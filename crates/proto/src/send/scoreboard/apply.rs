//! What does a SACK acknowledge that the last one did not, and what does it take back?
//!
//! Nothing is walked but the blocks and what changed between them: with the blocks of the last SACK remembered,
//! "newly acknowledged" and "reneged" are the two differences of two sorted lists of ranges.

use core::iter::once;
use core::mem;
use core::ops::Range;

use anabranch_types::{Instant, UnwrappedTsn};

use super::Scoreboard;
use super::difference::difference;
use super::digest::{self, Acknowledgement};
use super::record::State;

impl Scoreboard {
    /// Everything up to `cumulative` and all of `blocks` has arrived, and nothing else: returns how many chunks
    /// the peer has reneged on. Cumulatively acknowledged chunks stay until [`Scoreboard::forget`] takes them.
    pub(crate) fn apply(
        &mut self,
        cumulative: UnwrappedTsn,
        blocks: impl Iterator<Item = Range<u64>>,
        now: Instant,
    ) -> u32 {
        let above = cumulative.next().0;
        let end = self.ring.next_tsn().0;
        debug_assert!(above <= end, "acknowledges what was never sent");
        let before = mem::take(&mut self.reported);
        let mut after = mem::take(&mut self.spare);
        after.extend(
            blocks
                .map(|block| block.start.max(above)..block.end.min(end))
                .filter(|block| !block.is_empty()),
        );

        let through = self.ring.base().0..above.min(end);
        self.acknowledge_all(
            difference(
                once(through.clone()).chain(after.iter().cloned()),
                before.iter().cloned(),
            ),
            cumulative,
        );
        let mut reneged = 0;
        for range in difference(before.iter().cloned(), once(through).chain(after.iter().cloned())) {
            reneged += (range.end - range.start) as u32;
            range.for_each(|tsn| self.take_back(UnwrappedTsn(tsn), now));
        }
        self.reported = after;
        self.spare = before;
        self.spare.clear();
        reneged
    }

    /// Everything up to `cumulative` has arrived; about the rest nothing is said (RFC 9260 §3.3.8).
    pub(crate) fn apply_cumulative(&mut self, cumulative: UnwrappedTsn) {
        let above = cumulative.next().0;
        let mut reported = mem::take(&mut self.reported);
        let through = self.ring.base().0..above.min(self.ring.next_tsn().0);
        self.acknowledge_all(difference(once(through), reported.iter().cloned()), cumulative);
        reported.retain_mut(|block| {
            block.start = block.start.max(above);
            !block.is_empty()
        });
        self.reported = reported;
    }

    fn acknowledge_all(&mut self, news: impl Iterator<Item = Range<u64>>, cumulative: UnwrappedTsn) {
        self.digests.clear();
        for tsn in news.flatten().map(UnwrappedTsn) {
            self.acknowledge(tsn, tsn <= cumulative);
        }
        self.digests.keep_news();
    }

    fn acknowledge(&mut self, tsn: UnwrappedTsn, cumulatively: bool) {
        let sent = &mut self.ring[tsn];
        let digest = self.digests.on(sent.path, self.flights.in_flight(sent.path));
        let headed_its_list = match mem::replace(&mut sent.state, State::Acknowledged) {
            State::InFlight(links) => {
                self.payload_in_flight -= sent.chunk.payload_bytes();
                self.flights.land(&mut self.ring, tsn, links)
            }
            State::Lost(_) => {
                self.payload_lost -= sent.chunk.payload_bytes();
                self.lost.remove(&tsn);
                false
            }
            State::Acknowledged => unreachable!("the difference names what was not acknowledged before"),
        };
        let how = Acknowledgement {
            tsn,
            cumulatively,
            headed_its_list,
        };
        digest::add(digest, &self.ring[tsn], how);
    }

    /// The peer had it and has it no more: outstanding again, on the path that it was last sent on.
    ///
    /// It joins the end of the later transmissions as if it had left just now: three later transmissions that
    /// overtake it, or the timer, will call it lost. A SACK that was itself overtaken looks like reneging too,
    /// and must not cost a retransmission at once.
    fn take_back(&mut self, tsn: UnwrappedTsn, now: Instant) {
        let sent = &mut self.ring[tsn];
        sent.reneged = true;
        sent.sent_at = now;
        sent.transmission = self.flights.last_transmission(sent.path);
        self.payload_in_flight += sent.chunk.payload_bytes();
        self.flights.launch(&mut self.ring, tsn);
    }
}

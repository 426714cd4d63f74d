//! Non-renegable chunks (NR-SACK): their user data is freed before they are acknowledged cumulatively.
//!
//! Sources: P. Natarajan et al., "Non-Renegable Selective Acknowledgments (NR-SACKs) for SCTP", ICNP 2008;
//! draft-natarajan-tsvwg-sctp-nrsack. The TSN stays in the scoreboard until it is acknowledged cumulatively, so
//! split fast retransmit, window updates and the cumulative TSN are not affected.

use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use anabranch_types::{IntervalSet, UnwrappedTsn};
use bytes::Bytes;

use super::difference::difference;
use super::record::State;
use super::{GapReports, Scoreboard};

impl Scoreboard {
    /// Frees the user data of acknowledged chunks in `kept`, which the peer has reported as non-renegable. Returns the freed bytes.
    ///
    /// TSNs outside of the scope of the last SACK are not acknowledged yet (see [`super::scope`]), and are freed when they are.
    pub(crate) fn keep(&mut self, kept: &IntervalSet) -> u64 {
        if kept.is_empty() {
            return 0;
        }
        let known = mem::take(&mut self.gaps.make_mut().kept);
        let mut news = IntervalSet::new();
        let mut freed = 0;
        for number in difference(kept.iter(), known.iter()).flatten() {
            let tsn = UnwrappedTsn(number);
            if self
                .ring
                .get(tsn)
                .is_some_and(|sent| sent.state == State::Acknowledged)
            {
                freed += self.free(tsn);
                news.insert(number..number + 1);
            }
        }
        let kept = &mut self.gaps.make_mut().kept;
        *kept = known;
        for range in news.iter() {
            kept.insert(range);
        }
        freed
    }

    fn free(&mut self, tsn: UnwrappedTsn) -> u64 {
        let sent = &mut self.ring[tsn];
        let payload = sent.chunk.payload_bytes();
        self.flights.release(sent.path, sent.chunk.bytes());
        self.payload_held -= payload;
        sent.chunk.payload = Bytes::new();
        sent.state = State::Kept;
        payload
    }

    /// Adds non-renegable TSNs to `reported` that the SACK leaves out: the peer may not renege on them, and their user data is
    /// gone. Returns whether there were any.
    pub(super) fn insist_on_kept(&mut self, above: u64, reported: &mut Vec<Range<u64>>) -> bool {
        let Some(GapReports { kept, .. }) = self.gaps.active_mut().filter(|gaps| !gaps.kept.is_empty())
        else {
            return false;
        };
        kept.remove_below(above);
        let missing = difference(kept.iter(), reported.iter().cloned()).next();
        if missing.is_some() {
            let mut all: IntervalSet = reported.drain(..).collect();
            for range in kept.iter() {
                all.insert(range);
            }
            reported.extend(all.iter());
        }
        missing.is_some()
    }
}

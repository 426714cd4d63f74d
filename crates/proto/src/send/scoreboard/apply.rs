//! Application of SACKs to the scoreboard (RFC 9260 §6.2.1 D). Which chunks are newly acknowledged, and which reneged?
//!
//! The scoreboard remembers the gap ack blocks of the last SACK. Newly acknowledged and reneged TSNs are then the two differences
//! of two sorted lists of ranges, so the cost follows what changed between two SACKs and not the number of outstanding chunks.

use core::iter::once;
use core::mem;

use anabranch_policy::LossCause;
use anabranch_policy::catalog::SackHandlingChoice;
use anabranch_types::{Instant, IntervalSet, UnwrappedTsn};

use super::Scoreboard;
use super::difference::{difference, unlike};
use super::lists::Member;
use super::path_acks::{self, Acknowledgement};
use super::record::State;
use super::walk::Report;
use crate::config::SackWalks;

/// The effects of a SACK that the path acks do not show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Applied {
    /// Number of chunks that an earlier SACK acknowledged and this one does not.
    pub(crate) reneged: u32,
    /// Some TSNs stay acknowledged although this SACK does not report them: it was truncated, or an earlier NR-SACK covers them.
    /// Such a SACK may be older than the last one, so its a_rwnd is not trusted to raise the window.
    pub(crate) retains_unreported: bool,
}

impl Scoreboard {
    /// Applies a SACK: TSNs up to `cumulative` and in `blocks` are acknowledged, and others below the end of the last block are not.
    ///
    /// Cumulatively acknowledged chunks stay in the scoreboard until [`Scoreboard::forget`] removes them, because the path acks
    /// and the policies still refer to them.
    pub(crate) fn apply(&mut self, cumulative: UnwrappedTsn, blocks: &IntervalSet, now: Instant) -> Applied {
        let above = cumulative.next().0;
        let end = self.ring.next_tsn().0;
        debug_assert!(above <= end, "acknowledges what was never sent");
        let gaps = self.gaps.active_mut();
        let lists = gaps.map(|gaps| (mem::take(&mut gaps.reported), mem::take(&mut gaps.spare)));
        let (mut before, mut after) = lists.unwrap_or_default();
        // A SACK lists only as many blocks as fit into its packet, the lowest first (RFC 9260 §6.7). TSNs above the last block keep
        // their state, because treating them as reneged would retransmit data that has arrived (ADR 0024).
        let scope = self.sack_window.next(above..end, blocks);
        let retained = scope.merge(blocks, &before, &mut after);
        // The payload of non-renegable chunks is freed already, so a SACK that leaves them out must not make them outstanding.
        let insisted = self.insist_on_kept(above, &mut after);
        let report = Report {
            through: self.ring.base().0..above.min(end),
            blocks: &after,
            blocks_before: &before,
        };
        self.path_acks.make_mut().clear();
        let reneged = self.find(&report, now);
        self.path_acks.make_mut().keep_news();
        self.finish_arrivals();
        if !after.is_empty() || self.gaps.active_mut().is_some() {
            // The two lists change places, so that a SACK allocates nothing.
            before.clear();
            let gaps = self.gaps.make_mut();
            gaps.reported = after;
            gaps.spare = before;
        }
        Applied {
            reneged,
            retains_unreported: retained || insisted,
        }
    }

    /// Finds newly acknowledged and reneged chunks by the selected algorithm; returns the number of reneged chunks. All algorithms
    /// give the same result; they differ in the elements that they visit, which experiments measure (ADR 0023).
    fn find(&mut self, report: &Report<'_>, now: Instant) -> u32 {
        match (self.walks.doing, self.walks.handling) {
            (SackWalks::Counted, _) => self.find_by_counting(report, now),
            (SackWalks::Done, SackHandlingChoice::Indexed(_)) => self.find_by_difference(report, now),
            (SackWalks::Done, SackHandlingChoice::Scan(_)) => self.find_by_scan(report, now),
            (SackWalks::Done, SackHandlingChoice::OutstandingArray(size)) => {
                self.find_by_array(report, size, now)
            }
        }
    }

    pub(super) fn find_by_difference(&mut self, report: &Report<'_>, now: Instant) -> u32 {
        // Consecutive SACKs share most of their blocks, and those need no visit. Shared blocks lie above the cumulative TSN, so
        // leaving them out does not affect `through`.
        let [blocks, blocks_before] = unlike(report.blocks, report.blocks_before);
        let before = || blocks_before.iter().cloned();
        let after = || once(report.through.clone()).chain(blocks.iter().cloned());
        for news in difference(after(), before()) {
            self.walks.visited += news.end - news.start;
            for tsn in news {
                self.acknowledge(UnwrappedTsn(tsn), report.through.contains(&tsn));
            }
        }
        // RFC 9260 §6.2.1 D iii: a TSN that was acknowledged by a gap ack block and is missing now may be lost.
        let mut reneged = 0;
        for taken_back in difference(before(), after()) {
            let chunks = taken_back.end - taken_back.start;
            self.walks.visited += chunks;
            reneged += chunks as u32;
            taken_back.for_each(|tsn| self.take_back(UnwrappedTsn(tsn), now));
        }
        reneged
    }

    /// Applies the cumulative TSN of a SHUTDOWN, which has no gap ack blocks (RFC 9260 §3.3.8). Chunks above it keep their state:
    /// missing blocks do not mean that the receiver has reneged.
    pub(crate) fn apply_cumulative(&mut self, cumulative: UnwrappedTsn) {
        let above = cumulative.next().0;
        let gaps = self.gaps.active_mut();
        let mut reported = gaps.map(|gaps| mem::take(&mut gaps.reported)).unwrap_or_default();
        let through = self.ring.base().0..above.min(self.ring.next_tsn().0);
        self.path_acks.make_mut().clear();
        for tsn in difference(once(through), reported.iter().cloned()).flatten() {
            self.acknowledge(UnwrappedTsn(tsn), true);
        }
        self.path_acks.make_mut().keep_news();
        self.finish_arrivals();
        reported.retain_mut(|block| {
            block.start = block.start.max(above);
            !block.is_empty()
        });
        if let Some(gaps) = self.gaps.active_mut() {
            gaps.reported = reported;
            gaps.kept.remove_below(above);
        }
    }

    /// Ends the measurements of in-order delivery that this SACK completes. A path without newly acknowledged chunks gives no sample,
    /// because retransmissions on other paths completed its order.
    pub(super) fn finish_arrivals(&mut self) {
        for (path, arrival) in self.flights.arrivals() {
            if let Some(since) = arrival.finish() {
                self.path_acks.make_mut().in_order_since(path, since);
            }
        }
    }

    /// Marks a chunk as acknowledged and adds it to the path ack of the path that it was last sent on: RFC 9260 §7.2.1
    /// apportions the growth of the window to the destinations to which the data was sent.
    pub(super) fn acknowledge(&mut self, tsn: UnwrappedTsn, cumulatively: bool) {
        let sent = &mut self.ring[tsn];
        let (path, payload) = (sent.path, sent.chunk.payload_bytes());
        let in_flight = self.flights.in_flight(path);
        self.flights.arrival_mut(sent.first_path).arrived(tsn);
        let headed_its_list = match mem::replace(&mut sent.state, State::Acknowledged) {
            State::InFlight(links) => {
                self.payload_in_flight -= payload;
                let member = Member::of(sent);
                self.flights.reported(member);
                self.flights.land(&mut self.ring, member, links)
            }
            // The chunk was marked for retransmission but has arrived: it was late, not lost, and need not be sent again.
            State::Lost(_) => {
                self.payload_lost -= payload;
                self.flights.forget_lost(path, tsn);
                false
            }
            State::Acknowledged | State::Kept => {
                unreachable!("only what was not acknowledged before is news")
            }
        };
        // A deleted path has no congestion window that could grow, and its id may soon denote another path.
        if self.flights.is_gone(path) {
            return;
        }
        let how = Acknowledgement {
            tsn,
            cumulatively,
            headed_its_list,
        };
        path_acks::add(
            self.path_acks.make_mut().on(path, in_flight),
            &self.ring[tsn],
            how,
        );
    }

    /// Makes a reneged chunk outstanding again, on the path that it was last sent on (RFC 9260 §6.2.1 D iii).
    ///
    /// The chunk counts as sent now, after all others: three later transmissions that are acknowledged before it, or T3, mark it
    /// as lost. It is not retransmitted at once, because a SACK that was reordered in the network looks like reneging, too. A chunk
    /// whose path was deleted is lost instead: neither miss indications nor a timer would ever find it there.
    pub(super) fn take_back(&mut self, tsn: UnwrappedTsn, now: Instant) {
        let sent = &mut self.ring[tsn];
        sent.reneged = true;
        self.walks.sent_again(tsn);
        self.flights.arrival_mut(sent.first_path).taken_back(tsn);
        if self.flights.is_gone(sent.path) {
            sent.state = State::Lost(LossCause::Timeout);
            self.payload_lost += sent.chunk.payload_bytes();
            self.flights.note_lost(sent.path, tsn);
            return;
        }
        sent.sent_at = now;
        sent.send_number = self.flights.last_send_number(sent.path);
        self.payload_in_flight += sent.chunk.payload_bytes();
        self.flights.launch(&mut self.ring, tsn);
    }
}

//! SACK application. What does a SACK acknowledge that the last one did not, and what does it take back?
//!
//! Nothing is walked but the blocks and what changed between them: with the blocks of the last SACK remembered,
//! "newly acknowledged" and "reneged" are the two differences of two sorted lists of ranges.

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

/// What a SACK did to the scoreboard, beside the path acks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Applied {
    /// Chunks that were acknowledged and are not any more.
    pub(crate) reneged: u32,
    /// It does not reach as far as the one before.
    pub(crate) says_less: bool,
}

impl Scoreboard {
    /// Everything up to `cumulative` and all of `blocks` has arrived, and nothing else as far as they go. Cumulatively
    /// acknowledged chunks stay until [`Scoreboard::forget`] takes them.
    pub(crate) fn apply(&mut self, cumulative: UnwrappedTsn, blocks: &IntervalSet, now: Instant) -> Applied {
        let above = cumulative.next().0;
        let end = self.ring.next_tsn().0;
        debug_assert!(above <= end, "acknowledges what was never sent");
        let before = mem::take(&mut self.reported);
        let mut after = mem::take(&mut self.spare);
        let scope = self.sack_window.next(above..end, blocks);
        let retained = scope.merge(blocks, &before, &mut after);
        let insisted = self.insist_on_kept(above, &mut after);
        let report = Report {
            through: self.ring.base().0..above.min(end),
            blocks: &after,
            blocks_before: &before,
        };
        self.path_acks.clear();
        let reneged = self.find(&report, now);
        self.path_acks.keep_news();
        self.finish_arrivals();
        self.reported = after;
        self.spare = before;
        self.spare.clear();
        Applied {
            reneged,
            says_less: retained || insisted,
        }
    }

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
        // Most blocks are those of the last SACK. They lie above all that is acknowledged cumulatively now.
        let [blocks, blocks_before] = unlike(report.blocks, report.blocks_before);
        let before = || blocks_before.iter().cloned();
        let after = || once(report.through.clone()).chain(blocks.iter().cloned());
        for news in difference(after(), before()) {
            self.walks.visited += news.end - news.start;
            for tsn in news {
                self.acknowledge(UnwrappedTsn(tsn), report.through.contains(&tsn));
            }
        }
        let mut reneged = 0;
        for taken_back in difference(before(), after()) {
            let chunks = taken_back.end - taken_back.start;
            self.walks.visited += chunks;
            reneged += chunks as u32;
            taken_back.for_each(|tsn| self.take_back(UnwrappedTsn(tsn), now));
        }
        reneged
    }

    /// Everything up to `cumulative` has arrived; about the rest nothing is said (RFC 9260 §3.3.8).
    pub(crate) fn apply_cumulative(&mut self, cumulative: UnwrappedTsn) {
        let above = cumulative.next().0;
        let mut reported = mem::take(&mut self.reported);
        let through = self.ring.base().0..above.min(self.ring.next_tsn().0);
        self.path_acks.clear();
        for tsn in difference(once(through), reported.iter().cloned()).flatten() {
            self.acknowledge(UnwrappedTsn(tsn), true);
        }
        self.path_acks.keep_news();
        self.finish_arrivals();
        reported.retain_mut(|block| {
            block.start = block.start.max(above);
            !block.is_empty()
        });
        self.reported = reported;
        self.kept.remove_below(above);
    }

    /// What delivered nothing itself in the end is not measured: other paths did it.
    fn finish_arrivals(&mut self) {
        for (path, arrival) in self.flights.arrivals() {
            if let Some(since) = arrival.finish() {
                self.path_acks.in_order_since(path, since);
            }
        }
    }

    pub(super) fn acknowledge(&mut self, tsn: UnwrappedTsn, cumulatively: bool) {
        let sent = &mut self.ring[tsn];
        let (path, payload) = (sent.path, sent.chunk.payload_bytes());
        let in_flight = self.flights.in_flight(path);
        self.flights.arrival_mut(sent.first_path).arrived(tsn);
        let headed_its_list = match mem::replace(&mut sent.state, State::Acknowledged) {
            State::InFlight(links) => {
                self.payload_in_flight -= payload;
                let member = Member::of(sent);
                self.flights.land(&mut self.ring, member, links)
            }
            State::Lost(_) => {
                self.payload_lost -= payload;
                self.flights.forget_lost(path, tsn);
                false
            }
            State::Acknowledged | State::Kept => {
                unreachable!("only what was not acknowledged before is news")
            }
        };
        if self.flights.is_gone(path) {
            return;
        }
        let how = Acknowledgement {
            tsn,
            cumulatively,
            headed_its_list,
        };
        path_acks::add(self.path_acks.on(path, in_flight), &self.ring[tsn], how);
    }

    /// The peer had it and has it no more: outstanding again, on the path that it was last sent on.
    ///
    /// It joins the end of the later transmissions as if it had left just now: three later transmissions that
    /// overtake it, or the timer, will call it lost. A SACK that was itself overtaken looks like reneging too,
    /// and must not cost a retransmission at once. If that path is no more, it is lost instead.
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

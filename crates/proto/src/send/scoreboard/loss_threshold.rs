//! Application of loss thresholds (ADR 0012). Lost chunks are at the heads of the in-flight lists, so each is visited once.

use anabranch_policy::catalog::SackHandlingChoice;
use anabranch_policy::{Eligible, Late, LossCause, LossThreshold, Rescheduled};
use anabranch_types::{PathId, SendNumber, UnwrappedTsn};

use super::Scoreboard;
use super::lists::{Flights, Links, Member};
use super::record::{Order, Sent, State};
use crate::config::SackWalks;

/// Chunks of one path that were lost at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Lost {
    /// Bytes of the chunks, with headers and padding.
    pub(crate) bytes: u64,
    /// Number of chunks.
    pub(crate) chunks: u32,
    /// Number of those that had been retransmitted or reneged on before.
    pub(crate) again: u32,
    /// The highest TSN among them.
    pub(crate) highest: Option<UnwrappedTsn>,
    /// The highest send number among them.
    pub(crate) latest: Option<SendNumber>,
}

/// Position of a chunk relative to a threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// The chunk is lost.
    Lost,
    /// The chunk is below the threshold, but the policy exempts it.
    Exempt,
    /// The chunk is above the threshold, and so are all later ones in its list.
    Above,
}

impl Side {
    pub(super) fn of(threshold: &LossThreshold, tsn: UnwrappedTsn, sent: &Sent) -> Self {
        let is_late = |late: Late| sent.send_number < late.before && sent.sent_at <= late.until;
        if threshold.late.is_some_and(is_late) {
            return Self::Lost;
        }
        match sent.order() {
            Order::First if threshold.below.is_some_and(|below| tsn < below) => Self::Lost,
            Order::Again
                if threshold
                    .resent_before
                    .is_some_and(|bound| sent.send_number < bound) =>
            {
                if is_eligible(threshold.eligible, sent) {
                    Self::Lost
                } else {
                    Self::Exempt
                }
            }
            Order::First | Order::Again => Self::Above,
        }
    }
}

fn is_eligible(eligible: Eligible, sent: &Sent) -> bool {
    match eligible {
        Eligible::Any => true,
        Eligible::OnOnePath => !sent.strayed,
        Eligible::SentBefore(moment) => sent.sent_at < moment,
        Eligible::MovedBefore(moment) => sent.rescheduled == Rescheduled::Moved && sent.sent_at < moment,
    }
}

impl Scoreboard {
    /// Prepares the search for losses. To be called before [`Scoreboard::lose`] is called for each path with the same thresholds:
    /// algorithms that walk the queue do so once for all paths.
    pub(crate) fn look_for_losses(&mut self, threshold_of: impl Fn(PathId) -> LossThreshold) {
        match (self.walks.doing, self.walks.handling) {
            (_, SackHandlingChoice::Indexed(_)) => {}
            (SackWalks::Counted, _) => self.count_search(threshold_of),
            (SackWalks::Done, SackHandlingChoice::Scan(_)) => self.scan_for_losses(threshold_of),
            (SackWalks::Done, SackHandlingChoice::OutstandingArray(_)) => {
                self.look_through_array(threshold_of);
            }
        }
    }

    /// Marks all chunks in flight on `path` below `threshold` as lost.
    pub(crate) fn lose(&mut self, path: PathId, threshold: LossThreshold) -> Lost {
        match (self.walks.doing, self.walks.handling) {
            (SackWalks::Done, SackHandlingChoice::Scan(_) | SackHandlingChoice::OutstandingArray(_)) => {
                self.lose_found(path)
            }
            (_, SackHandlingChoice::Indexed(_)) => self.lose_heads(path, threshold),
            (SackWalks::Counted, _) => {
                let visited = self.walks.visited;
                let lost = self.lose_heads(path, threshold);
                self.walks.visited = visited;
                lost
            }
        }
    }

    /// Marks chunks from the heads of both lists. Exempt retransmissions are skipped one by one.
    fn lose_heads(&mut self, path: PathId, threshold: LossThreshold) -> Lost {
        let mut lost = Lost::default();
        for order in [Order::First, Order::Again] {
            let mut next = self.flights.head(path, order);
            while let Some(tsn) = next {
                self.walks.visited += 1;
                let sent = &self.ring[tsn];
                let side = Side::of(&threshold, tsn, sent);
                next = sent.links().and_then(Links::next).filter(|_| side != Side::Above);
                if side == Side::Lost {
                    self.lose_one(tsn, LossCause::FastRetransmit, &mut lost);
                }
            }
        }
        lost
    }

    /// Marks all chunks below the first gap ack block that were sent once as lost and moved, because they block the buffers.
    pub(crate) fn reschedule_below_first_gap(&mut self, path: PathId) -> u32 {
        let is_reported = |(tsn, sent): (_, &Sent)| sent.has_arrived().then_some(tsn);
        let Some(first) = self.ring.iter().find_map(is_reported) else {
            return 0;
        };
        let mut moved = Lost::default();
        let head = |flights: &Flights| flights.head(path, Order::First).filter(|tsn| *tsn < first);
        while let Some(tsn) = head(&self.flights) {
            self.ring[tsn].rescheduled = Rescheduled::Moved;
            self.lose_one(tsn, LossCause::FastRetransmit, &mut moved);
        }
        moved.chunks
    }

    //= rfc9260 6.3.3-2
    /// Marks all chunks in flight on `path` as lost: T3 has expired (RFC 9260 §6.3.3 E3), or the path has failed or was deleted.
    pub(crate) fn lose_all(&mut self, path: PathId) -> Lost {
        let mut lost = Lost::default();
        for order in [Order::First, Order::Again] {
            while let Some(tsn) = self.flights.head(path, order) {
                self.lose_one(tsn, LossCause::Timeout, &mut lost);
            }
        }
        lost
    }

    pub(super) fn lose_one(&mut self, tsn: UnwrappedTsn, cause: LossCause, lost: &mut Lost) {
        let sent = &mut self.ring[tsn];
        let State::InFlight(links) = sent.state else {
            unreachable!("only chunks in flight get lost")
        };
        let again = sent.order() == Order::Again;
        let member = Member::of(sent);
        sent.state = State::Lost(cause);
        sent.timed_out |= cause == LossCause::Timeout;
        self.payload_in_flight -= sent.chunk.payload_bytes();
        self.payload_lost += sent.chunk.payload_bytes();
        lost.bytes += sent.chunk.bytes();
        lost.chunks += 1;
        lost.again += u32::from(again);
        lost.highest = lost.highest.max(Some(tsn));
        lost.latest = lost.latest.max(Some(sent.send_number));
        self.flights.note_lost(sent.path, tsn);
        self.flights.land(&mut self.ring, member, links);
    }

    /// Closes a deleted path: its chunks in flight are lost, and later acknowledgements of them say nothing about the path.
    pub(crate) fn close_path(&mut self, path: PathId) {
        self.lose_all(path);
        self.flights.set_gone(path, true);
        self.flights.forget_arrival(path);
    }

    /// Opens a path with an id for which no chunk is in the send buffer.
    pub(crate) fn open_path(&mut self, path: PathId) {
        debug_assert_eq!(self.flights.queued(path), 0, "the id of {path:?} is remembered");
        self.flights.set_gone(path, false);
    }
}

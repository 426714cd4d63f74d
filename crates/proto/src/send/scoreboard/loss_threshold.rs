//! Loss threshold. Which chunks does a loss threshold cut off? Those at the heads of the two lists, each touched once.

use anabranch_policy::catalog::SackHandlingChoice;
use anabranch_policy::{Eligible, Late, LossCause, LossThreshold};
use anabranch_types::{PathId, UnwrappedTsn};

use super::Scoreboard;
use super::lists::{Flights, Links, Member};
use super::record::{Order, Sent, State};
use crate::config::SackWalks;

/// What was lost at one moment on one path.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Lost {
    /// Bytes of chunks, headers and padding included.
    pub(crate) bytes: u64,
    /// How many chunks.
    pub(crate) chunks: u32,
    /// How many of them had been sent again before, or acknowledged.
    pub(crate) again: u32,
    /// The highest TSN among them.
    pub(crate) highest: Option<UnwrappedTsn>,
}

/// How a threshold and a chunk lie to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// It is lost.
    Lost,
    /// It lies below the threshold, but the policy exempts it.
    Exempt,
    /// It lies above the threshold, and so does all that follows in its list.
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
        Eligible::MovedBefore(moment) => sent.moved && sent.sent_at < moment,
    }
}

impl Scoreboard {
    /// To be called before [`Scoreboard::lose`] is called for each path with the same thresholds: handling that walks
    /// the ring does so once for all paths.
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

    /// Everything in flight on `path` below `threshold` waits for retransmission from now on.
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

    /// Exempt retransmissions are skipped, at a cost of a look at each of them; all others are at the heads.
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

    /// The same for everything sent once below the first gap block, which counts as moved: the buffers wait for it.
    pub(crate) fn reschedule_below_first_gap(&mut self, path: PathId) -> u32 {
        let is_reported = |(tsn, sent): (_, &Sent)| sent.has_arrived().then_some(tsn);
        let Some(first) = self.ring.iter().find_map(is_reported) else {
            return 0;
        };
        let mut moved = Lost::default();
        let head = |flights: &Flights| flights.head(path, Order::First).filter(|tsn| *tsn < first);
        while let Some(tsn) = head(&self.flights) {
            self.ring[tsn].moved = true;
            self.lose_one(tsn, LossCause::FastRetransmit, &mut moved);
        }
        moved.chunks
    }

    //= rfc9260 6.3.3-2
    /// Everything in flight on `path` waits for retransmission from now on: its timer expired
    /// (RFC 9260 §6.3.3 E3), or the path is gone.
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
        self.flights.note_lost(sent.path, tsn);
        self.flights.land(&mut self.ring, member, links);
    }

    /// `path` is no more: what is in flight on it is lost, and nothing that is acknowledged later tells of it.
    pub(crate) fn close_path(&mut self, path: PathId) {
        self.lose_all(path);
        self.flights.set_gone(path, true);
        self.flights.arrival_mut(path).forget();
    }

    /// A path with this id begins, which nothing that is held was sent on.
    pub(crate) fn open_path(&mut self, path: PathId) {
        debug_assert_eq!(self.flights.queued(path), 0, "the id of {path:?} is remembered");
        self.flights.set_gone(path, false);
    }
}

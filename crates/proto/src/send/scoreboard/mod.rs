//! Scoreboard: the state of every sent TSN.
//!
//! It is a ring of records from the cumulative TSN ack point to the last TSN sent, with two linked lists per path through them. The
//! cost of a SACK is its blocks plus the chunks that it newly acknowledges, that of a loss is the lost chunks. The number of
//! outstanding chunks does not matter, unless [`SackHandlingChoice`] selects an algorithm that walks the ring (ADR 0006, 0023).

mod abandoned;
mod apply;
mod arrival;
mod counted;
mod difference;
mod invariants;
mod kept;
mod lists;
mod loss_threshold;
mod outstanding_array;
mod path_acks;
mod record;
mod ring;
mod scan;
mod scope;
mod selected;
mod walk;

use alloc::vec::Vec;
use core::ops::Range;

use anabranch_policy::catalog::SackHandlingChoice;
use anabranch_policy::{ChunkInFlight, LostChunk, PathAck, Rescheduled, StuckChunk};
use anabranch_types::{Instant, IntervalSet, PathId, SendNumber, StreamId, Tsn, UnwrappedTsn};

pub(crate) use self::apply::Applied;
use self::lists::{Flights, Member};
pub(crate) use self::loss_threshold::Lost;
use self::path_acks::PathAcks;
use self::record::{Order, Proof, Sent, State};
use self::ring::Ring;
pub(crate) use self::scope::SackWindow;
use self::walk::Walks;
use super::chunk::Chunk;
use crate::config::SackWalks;
use crate::on_demand::{Idle, OnDemand};
use crate::user_data::UserData;

/// Every TSN from its first transmission to its cumulative acknowledgement.
#[derive(Debug)]
pub(super) struct Scoreboard {
    ring: Ring,
    flights: Flights,
    gaps: OnDemand<GapReports>,
    sack_window: SackWindow,
    path_acks: OnDemand<PathAcks>,
    walks: Walks,
    /// User data of all records.
    payload_held: u64,
    /// User data of the records in flight.
    payload_in_flight: u64,
    /// User data of the lost ones.
    payload_lost: u64,
}

/// What SACKs have reported above the cumulative TSN ack point.
#[derive(Debug, Default)]
struct GapReports {
    /// The gap ack blocks of the last SACK: sorted and disjoint.
    reported: Vec<Range<u64>>,
    /// Always empty: memory for the blocks of the next SACK.
    spare: Vec<Range<u64>>,
    /// Non-renegable TSNs.
    kept: IntervalSet,
}

impl Idle for GapReports {
    const IDLE: &'static Self = &Self {
        reported: Vec::new(),
        spare: Vec::new(),
        kept: IntervalSet::new(),
    };

    fn is_idle(&self) -> bool {
        self.reported.is_empty() && self.kept.is_empty()
    }
}

impl Scoreboard {
    /// Creates an empty scoreboard without allocating.
    pub(super) const fn new(
        initial: Tsn,
        (handling, walks): (SackHandlingChoice, SackWalks),
        sack_window: SackWindow,
    ) -> Self {
        Self {
            ring: Ring::new(initial),
            flights: Flights::new(),
            gaps: OnDemand::IDLE,
            sack_window,
            path_acks: OnDemand::IDLE,
            walks: Walks::new(handling, walks),
            payload_held: 0,
            payload_in_flight: 0,
            payload_lost: 0,
        }
    }

    /// Sends `chunk` on `path` with the next TSN.
    pub(super) fn send(&mut self, chunk: Chunk, path: PathId, now: Instant) -> UserData<'_> {
        self.payload_held += chunk.payload_bytes();
        self.payload_in_flight += chunk.payload_bytes();
        self.flights.hold(path, chunk.bytes());
        let send_number = self.flights.next_send_number(path);
        let tsn = self.ring.push(Sent::new(chunk, path, send_number, now));
        self.flights.launch(&mut self.ring, tsn);
        self.flights.arrival_mut(path).sent(tsn, now);
        self.ring[tsn].chunk.as_user_data(tsn)
    }

    /// Marks the chunk sent last as an RTT probe.
    pub(super) fn last_was_probe(&mut self) {
        if !self.ring.is_empty() {
            let last = self.ring.next_tsn().previous();
            self.ring[last].proof = Proof::Probe;
        }
    }

    /// Retransmits a chunk on `path`, whether it is lost or in flight.
    pub(super) fn send_again(&mut self, tsn: UnwrappedTsn, path: PathId, now: Instant) -> UserData<'_> {
        self.withdraw(tsn);
        let send_number = self.flights.next_send_number(path);
        let sent = &mut self.ring[tsn];
        let bytes = sent.chunk.bytes();
        self.flights.release(sent.path, bytes);
        self.flights.hold(path, bytes);
        self.payload_in_flight += sent.chunk.payload_bytes();
        sent.strayed |= sent.path != path;
        sent.path = path;
        sent.sent_at = now;
        sent.send_number = send_number;
        sent.transmissions = sent.transmissions.saturating_add(1);
        self.walks.sent_again(tsn);
        self.flights.launch(&mut self.ring, tsn);
        self.ring[tsn].chunk.as_user_data(tsn)
    }

    /// Retransmits the chunk `tsn`, which is in flight, on `path`, to free a blocked buffer early.
    pub(super) fn move_to(&mut self, tsn: UnwrappedTsn, path: PathId, now: Instant) -> UserData<'_> {
        let sent = &mut self.ring[tsn];
        let rescheduled = if sent.path == path {
            Rescheduled::OnItsPath
        } else {
            Rescheduled::Moved
        };
        sent.rescheduled = sent.rescheduled.max(rescheduled);
        self.send_again(tsn, path, now)
    }

    /// The lowest TSN from `from` on that is in flight on another path than `path`, or the next new TSN.
    pub(super) fn in_flight_elsewhere(&self, from: Option<UnwrappedTsn>, path: PathId) -> UnwrappedTsn {
        let base = self.ring.base();
        let mut tsn = from.map_or(base, |from| from.max(base));
        while let Some(sent) = self.ring.get(tsn) {
            if sent.is_in_flight() && sent.path != path {
                break;
            }
            tsn = tsn.next();
        }
        tsn
    }

    /// The chunk `tsn`, if it is in flight.
    pub(super) fn in_flight_chunk(
        &self,
        tsn: UnwrappedTsn,
        is_redundant: impl FnOnce(StreamId) -> bool,
    ) -> Option<ChunkInFlight> {
        let sent = self.ring.get(tsn).filter(|sent| sent.is_in_flight())?;
        Some(ChunkInFlight {
            tsn,
            bytes: sent.chunk.bytes(),
            path: sent.path,
            sent_at: sent.sent_at,
            redundant: is_redundant(sent.chunk.stream),
        })
    }

    /// The path on which the chunk `tsn` was sent last.
    pub(super) fn path_of(&self, tsn: UnwrappedTsn) -> Option<PathId> {
        self.ring.get(tsn).map(|sent| sent.path)
    }

    /// The gap ack blocks of the last SACK.
    pub(super) fn reported_gaps(&self) -> usize {
        self.gaps.reported.len()
    }

    /// Makes a duplicate of the chunk `tsn`, which is in flight. Its record stays with the path of its last transmission.
    pub(super) fn duplicate(&mut self, tsn: UnwrappedTsn) -> UserData<'_> {
        let sent = &mut self.ring[tsn];
        debug_assert!(sent.is_in_flight(), "TSN {tsn:?} needs no duplicate");
        sent.proof = Proof::Nothing;
        sent.chunk.as_user_data(tsn)
    }

    /// Removes a chunk from the in-flight list or from the lost chunks.
    fn withdraw(&mut self, tsn: UnwrappedTsn) {
        let sent = &self.ring[tsn];
        let payload = sent.chunk.payload_bytes();
        match sent.state {
            State::InFlight(links) => {
                self.payload_in_flight -= payload;
                let member = Member::of(sent);
                self.flights.land(&mut self.ring, member, links);
            }
            State::Lost(_) => {
                self.payload_lost -= payload;
                self.flights.forget_lost(sent.path, tsn);
            }
            State::Acknowledged | State::Kept => {
                debug_assert!(false, "TSN {tsn:?} has arrived and is sent again");
            }
        }
    }

    /// Removes all chunks up to `cumulative`, which are acknowledged, and passes each of them to `on_removed`.
    pub(super) fn forget(&mut self, cumulative: UnwrappedTsn, mut on_removed: impl FnMut(&Chunk)) {
        while let Some(sent) = self.ring.first_through(cumulative) {
            debug_assert!(sent.has_arrived(), "forgotten but not acknowledged");
            let payload = sent.chunk.payload_bytes();
            if sent.state != State::Kept {
                self.flights.release(sent.path, sent.chunk.bytes());
                self.payload_held -= payload;
            }
            on_removed(&sent.chunk);
            self.ring.drop_first();
        }
    }

    /// Takes all chunks back, in the order of their TSNs, which will be used again. None of them may have arrived.
    pub(super) fn take_all_back(&mut self) -> impl DoubleEndedIterator<Item = Chunk> + use<> {
        let mut tsn = self.ring.base();
        while tsn < self.ring.next_tsn() {
            self.withdraw(tsn);
            let sent = &self.ring[tsn];
            self.payload_held -= sent.chunk.payload_bytes();
            self.flights.release(sent.path, sent.chunk.bytes());
            let arrival = self.flights.arrival_mut(sent.first_path);
            arrival.arrived(tsn);
            arrival.forget();
            tsn = tsn.next();
        }
        self.ring.take_all().into_iter().map(|sent| sent.chunk)
    }

    /// The last TSN with a record whose chunk is meant.
    pub(super) fn last_of(&self, is_meant: impl Fn(&Chunk) -> bool) -> Option<UnwrappedTsn> {
        let meant = self.ring.iter().filter(|(_, sent)| is_meant(&sent.chunk));
        meant.last().map(|(tsn, _)| tsn)
    }

    /// Effects of the last SACK on each path, in the order of path ids.
    pub(super) fn path_acks(&self) -> &[PathAck] {
        self.path_acks.as_slice()
    }

    /// Clears the effects, after a SACK without any.
    pub(super) fn clear_path_acks(&mut self) {
        self.path_acks.make_mut().clear();
    }

    /// The lowest lost TSN above `tsn`.
    pub(super) fn lost_after(&self, tsn: UnwrappedTsn) -> Option<LostChunk> {
        self.lost_chunk(self.flights.lost_after(tsn)?)
    }

    /// The lowest lost TSN.
    #[inline]
    pub(super) fn next_lost(&self) -> Option<LostChunk> {
        if self.payload_lost == 0 {
            return None;
        }
        self.lost_chunk(self.flights.each_first_lost().min()?)
    }

    /// Payload bytes of lost chunks.
    pub(super) fn lost_bytes(&self) -> u64 {
        self.payload_lost
    }

    /// The lowest TSN that was lost on `path`.
    pub(super) fn first_lost(&self, path: PathId) -> Option<UnwrappedTsn> {
        self.flights.first_lost(path)
    }

    /// The lowest TSN above `tsn` among the lowest lost TSN of each path.
    pub(super) fn first_lost_of_another(&self, tsn: UnwrappedTsn) -> Option<LostChunk> {
        let firsts = self.flights.each_first_lost();
        self.lost_chunk(firsts.filter(|first| *first > tsn).min()?)
    }

    /// Bytes of the chunk `tsn` if it has a record.
    pub(super) fn bytes(&self, tsn: UnwrappedTsn) -> Option<u64> {
        self.ring.get(tsn).map(|sent| sent.chunk.bytes())
    }

    /// The chunk `tsn` if it is lost.
    pub(super) fn lost_chunk(&self, tsn: UnwrappedTsn) -> Option<LostChunk> {
        let sent = self.ring.get(tsn)?;
        let State::Lost(cause) = sent.state else {
            return None;
        };
        Some(LostChunk {
            tsn,
            stream: sent.chunk.stream,
            bytes: sent.chunk.bytes(),
            lost_on: sent.path,
            cause,
            transmissions: sent.transmissions.into(),
        })
    }

    /// The chunk after the cumulative TSN ack point, if it is in flight.
    pub(super) fn oldest_in_flight(&self) -> Option<StuckChunk> {
        let sent = self.ring.first().filter(|sent| sent.is_in_flight())?;
        Some(StuckChunk {
            tsn: self.ring.base(),
            bytes: sent.chunk.bytes(),
            path: sent.path,
            sent_at: sent.sent_at,
            rescheduled: sent.rescheduled,
        })
    }

    /// The head of `path` with the lower TSN, and when it was last sent.
    pub(super) fn earliest_in_flight(&self, path: PathId) -> Option<(UnwrappedTsn, Instant)> {
        let tsn = self.flights.earliest(path)?;
        Some((tsn, self.ring[tsn].sent_at))
    }

    /// The first chunk in flight on `path` of those sent once, and when it was sent.
    pub(super) fn first_in_flight(&self, path: PathId) -> Option<(UnwrappedTsn, Instant)> {
        let tsn = self.flights.head(path, Order::First)?;
        Some((tsn, self.ring[tsn].sent_at))
    }

    /// The highest TSN in flight on `path`; visits all retransmissions in flight there.
    pub(super) fn highest_in_flight(&self, path: PathId) -> Option<UnwrappedTsn> {
        let first = self.flights.backwards(path, Order::First, &self.ring).next();
        let again = self.flights.backwards(path, Order::Again, &self.ring).max();
        first.max(again)
    }

    /// All chunks that are not acknowledged, in the order of TSNs.
    pub(super) fn unacknowledged(&self) -> impl Iterator<Item = &Chunk> {
        let missing = |sent: &&Sent| !sent.has_arrived();
        self.ring
            .iter()
            .map(|(_, sent)| sent)
            .filter(missing)
            .map(|sent| &sent.chunk)
    }

    pub(super) fn next_tsn(&self) -> UnwrappedTsn {
        self.ring.next_tsn()
    }

    pub(super) fn cumulative(&self) -> UnwrappedTsn {
        self.ring.base().previous()
    }

    /// Continues with TSN `next`, which may not be an outstanding one: there are none.
    pub(super) fn renumber(&mut self, next: Tsn) {
        self.ring.renumber(next);
    }

    /// Number of sent TSNs that are not acknowledged cumulatively.
    pub(super) fn len(&self) -> usize {
        self.ring.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    pub(super) fn payload_held(&self) -> u64 {
        self.payload_held
    }

    /// Outstanding user data: in flight or lost.
    pub(super) fn payload_outstanding(&self) -> u64 {
        self.payload_in_flight + self.payload_lost
    }

    pub(super) fn in_flight(&self, path: PathId) -> u64 {
        self.flights.in_flight(path)
    }

    pub(super) fn unreported(&self, path: PathId) -> u64 {
        self.flights.unreported(path)
    }

    pub(super) fn add_unreported(&mut self, path: PathId, bytes: u64) {
        self.flights.add_unreported(path, bytes);
    }

    pub(super) fn queued(&self, path: PathId) -> u64 {
        self.flights.queued(path)
    }

    pub(super) fn is_closed(&self, path: PathId) -> bool {
        self.flights.is_gone(path)
    }

    pub(super) fn total_in_flight(&self) -> u64 {
        self.flights.total_in_flight()
    }

    pub(super) fn total_queued(&self) -> u64 {
        self.flights.total_queued()
    }

    /// Records visited to process SACKs and to find losses.
    pub(super) fn elements_visited(&self) -> u64 {
        self.walks.visited
    }

    /// The send number of the chunk that was sent last on `path`.
    pub(super) fn last_send_number(&self, path: PathId) -> SendNumber {
        self.flights.last_send_number(path)
    }

    /// Releases the effects of the last SACK, which have been applied.
    pub(super) fn release_path_acks(&mut self) {
        self.path_acks = OnDemand::IDLE;
    }

    /// Releases memory. To be called when nothing is outstanding.
    pub(super) fn shrink(&mut self, keep: usize) {
        self.ring.shrink(keep);
        self.gaps.release_if_idle();
        self.walks.shrink();
    }
}

#[cfg(test)]
mod tests;

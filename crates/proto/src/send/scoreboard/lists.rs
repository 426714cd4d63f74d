//! In-flight lists of each path, in the order of sending.
//!
//! There are two linked lists per path through the records of the ring: first transmissions in the order of TSNs, and later ones in
//! the order of sending. So the chunks of interest are at the heads: the earliest outstanding chunk, the pseudo-cumacks of CUC and
//! CUCv2, and the chunks below a loss threshold.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::num::NonZeroU64;
use core::ops::Bound;

use anabranch_types::{PathId, SendNumber, UnwrappedTsn};

use super::arrival::Arrival;
use super::record::{Order, Sent, State};
use super::ring::Ring;

/// A neighbour in a list, or none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Link(Option<NonZeroU64>);

impl Link {
    const NONE: Self = Self(None);

    const fn to(tsn: UnwrappedTsn) -> Self {
        // Unwrapped TSNs begin near 2³², so none of them is the zero that means "none".
        Self(NonZeroU64::new(tsn.0))
    }

    fn tsn(self) -> Option<UnwrappedTsn> {
        self.0.map(|tsn| UnwrappedTsn(tsn.get()))
    }
}

/// The neighbours of a record in its list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Links {
    before: Link,
    after: Link,
}

impl Links {
    /// A record that is in no list.
    pub(super) const ALONE: Self = Self {
        before: Link::NONE,
        after: Link::NONE,
    };

    /// The record sent next.
    pub(super) fn next(self) -> Option<UnwrappedTsn> {
        self.after.tsn()
    }
}

/// The fields of a record that its list needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    path: PathId,
    order: Order,
    bytes: u64,
}

impl Member {
    pub(super) fn of(sent: &Sent) -> Self {
        Self {
            path: sent.path,
            order: sent.order(),
            bytes: sent.chunk.bytes(),
        }
    }
}

/// A list; the records have the links.
#[derive(Clone, Copy, Debug)]
struct List {
    head: Link,
    tail: Link,
}

impl List {
    const EMPTY: Self = Self {
        head: Link::NONE,
        tail: Link::NONE,
    };

    fn push(&mut self, ring: &mut Ring, tsn: UnwrappedTsn) {
        ring[tsn].state = State::InFlight(Links {
            before: self.tail,
            after: Link::NONE,
        });
        match self.tail.tsn() {
            Some(tail) => links(&mut ring[tail]).after = Link::to(tsn),
            None => self.head = Link::to(tsn),
        }
        self.tail = Link::to(tsn);
    }

    /// Removes a record with these links from the list; returns whether it was the head.
    fn unlink(&mut self, ring: &mut Ring, Links { before, after }: Links) -> bool {
        match after.tsn() {
            Some(next) => links(&mut ring[next]).before = before,
            None => self.tail = before,
        }
        match before.tsn() {
            Some(previous) => links(&mut ring[previous]).after = after,
            None => self.head = after,
        }
        before == Link::NONE
    }
}

fn links(sent: &mut Sent) -> &mut Links {
    match &mut sent.state {
        State::InFlight(links) => links,
        State::Lost(_) | State::Acknowledged | State::Kept => {
            unreachable!("only chunks in flight are in a list")
        }
    }
}

/// In-flight state of one path.
#[derive(Clone, Debug)]
struct PathFlight {
    first: List,
    again: List,
    in_flight: u64,
    /// Bytes in flight that have arrived, but that SACKs have had no room to report.
    unreported: u64,
    queued: u64,
    /// Chunks lost on the path and not retransmitted yet.
    lost: BTreeSet<UnwrappedTsn>,
    last_send_number: SendNumber,
    /// Whether the path was deleted; chunks last sent on it may still be in the send buffer.
    gone: bool,
    arrival: Arrival,
}

impl PathFlight {
    /// State of a path that has never carried data.
    const UNUSED: Self = Self {
        first: List::EMPTY,
        again: List::EMPTY,
        in_flight: 0,
        unreported: 0,
        queued: 0,
        lost: BTreeSet::new(),
        last_send_number: SendNumber(0),
        gone: false,
        arrival: Arrival::NONE,
    };

    fn list(&mut self, order: Order) -> &mut List {
        match order {
            Order::First => &mut self.first,
            Order::Again => &mut self.again,
        }
    }
}

/// In-flight state of all paths. Paths that have never carried data are not stored.
#[derive(Debug)]
pub(super) struct Flights {
    paths: Vec<PathFlight>,
}

impl Flights {
    pub(super) const fn new() -> Self {
        Self { paths: Vec::new() }
    }

    /// Chunk bytes in flight on `path`.
    pub(super) fn in_flight(&self, path: PathId) -> u64 {
        self.on(path).in_flight
    }

    /// Bytes in flight on `path` that have arrived, but that SACKs have had no room to report.
    pub(super) fn unreported(&self, path: PathId) -> u64 {
        self.on(path).unreported
    }

    /// Notes that `bytes` in flight on `path` have arrived that the SACK has no room to report.
    pub(super) fn add_unreported(&mut self, path: PathId, bytes: u64) {
        let path = self.on_mut(path);
        path.unreported = (path.unreported + bytes).min(path.in_flight);
    }

    /// Notes that a SACK reports this chunk. Retransmissions are below the last gap ack block, so that SACKs have room for them.
    pub(super) fn reported(&mut self, member: Member) {
        if member.order == Order::First {
            let path = self.on_mut(member.path);
            path.unreported = path.unreported.saturating_sub(member.bytes);
        }
    }

    /// Chunk bytes in the send buffer that were last sent on `path`.
    pub(super) fn queued(&self, path: PathId) -> u64 {
        self.on(path).queued
    }

    /// Adds a lost chunk that was sent on `path`.
    pub(super) fn note_lost(&mut self, path: PathId, tsn: UnwrappedTsn) {
        self.on_mut(path).lost.insert(tsn);
    }

    /// Removes a chunk that is no longer lost.
    pub(super) fn forget_lost(&mut self, path: PathId, tsn: UnwrappedTsn) {
        self.on_mut(path).lost.remove(&tsn);
    }

    /// The lowest lost TSN of `path`.
    pub(super) fn first_lost(&self, path: PathId) -> Option<UnwrappedTsn> {
        self.on(path).lost.first().copied()
    }

    /// The lowest lost TSN of each path that has one.
    pub(super) fn each_first_lost(&self) -> impl Iterator<Item = UnwrappedTsn> {
        self.paths.iter().filter_map(|path| path.lost.first().copied())
    }

    /// The lowest lost TSN above `tsn`, of all paths.
    pub(super) fn lost_after(&self, tsn: UnwrappedTsn) -> Option<UnwrappedTsn> {
        let above = (Bound::Excluded(tsn), Bound::Unbounded);
        let each = self.paths.iter();
        each.filter_map(|path| path.lost.range(above).next().copied())
            .min()
    }

    /// All lost TSNs.
    #[cfg(test)]
    pub(super) fn all_lost(&self) -> impl Iterator<Item = UnwrappedTsn> {
        self.paths.iter().flat_map(|path| path.lost.iter().copied())
    }

    /// Chunk bytes in flight on all paths.
    pub(super) fn total_in_flight(&self) -> u64 {
        self.paths.iter().map(|path| path.in_flight).sum()
    }

    /// Sent chunk bytes in the send buffer, of all paths.
    pub(super) fn total_queued(&self) -> u64 {
        self.paths.iter().map(|path| path.queued).sum()
    }

    /// The send number of the last transmission on `path`.
    pub(super) fn last_send_number(&self, path: PathId) -> SendNumber {
        self.on(path).last_send_number
    }

    /// The head of one list of `path`: the chunk that has been in flight longest.
    pub(super) fn head(&self, path: PathId, order: Order) -> Option<UnwrappedTsn> {
        let path = self.on(path);
        match order {
            Order::First => path.first.head.tsn(),
            Order::Again => path.again.head.tsn(),
        }
    }

    /// The head of `path` with the lower TSN.
    pub(super) fn earliest(&self, path: PathId) -> Option<UnwrappedTsn> {
        let path = self.on(path);
        match (path.first.head.tsn(), path.again.head.tsn()) {
            (Some(first), Some(again)) => Some(first.min(again)),
            (first, again) => first.or(again),
        }
    }

    /// The chunks of one list of `path`, the latest first.
    pub(super) fn backwards<'a>(
        &self,
        path: PathId,
        order: Order,
        ring: &'a Ring,
    ) -> impl Iterator<Item = UnwrappedTsn> + 'a {
        let path = self.on(path);
        let tail = match order {
            Order::First => path.first.tail,
            Order::Again => path.again.tail,
        };
        core::iter::successors(tail.tsn(), |&tsn| match ring[tsn].state {
            State::InFlight(links) => links.before.tsn(),
            State::Lost(_) | State::Acknowledged | State::Kept => None,
        })
    }

    /// Takes the send number of the next transmission on `path`.
    pub(super) fn next_send_number(&mut self, path: PathId) -> SendNumber {
        let path = self.on_mut(path);
        path.last_send_number = SendNumber(path.last_send_number.0 + 1);
        path.last_send_number
    }

    /// The measurement of in-order arrival of `path`.
    pub(super) fn arrival_mut(&mut self, path: PathId) -> &mut Arrival {
        &mut self.on_mut(path).arrival
    }

    /// The measurements of all paths.
    pub(super) fn arrivals(&mut self) -> impl Iterator<Item = (PathId, &mut Arrival)> {
        let paths = self.paths.iter_mut().enumerate();
        paths.map(|(index, path)| (PathId(index as u8), &mut path.arrival))
    }

    /// Appends the chunk `tsn` to the list of its path.
    pub(super) fn launch(&mut self, ring: &mut Ring, tsn: UnwrappedTsn) {
        let Member { path, order, bytes } = Member::of(&ring[tsn]);
        let path = self.on_mut(path);
        path.in_flight += bytes;
        path.list(order).push(ring, tsn);
    }

    /// Removes a chunk with these links from its list; returns whether it was the head.
    pub(super) fn land(&mut self, ring: &mut Ring, member: Member, links: Links) -> bool {
        let path = self.on_mut(member.path);
        path.in_flight -= member.bytes;
        path.unreported = path.unreported.min(path.in_flight);
        path.list(member.order).unlink(ring, links)
    }

    /// Adds `bytes` in the send buffer that were sent on `path`.
    pub(super) fn hold(&mut self, path: PathId, bytes: u64) {
        self.on_mut(path).queued += bytes;
    }

    /// Subtracts `bytes` in the send buffer that were sent on `path`.
    pub(super) fn release(&mut self, path: PathId, bytes: u64) {
        self.on_mut(path).queued -= bytes;
    }

    /// Whether `path` was deleted.
    pub(super) fn is_gone(&self, path: PathId) -> bool {
        self.on(path).gone
    }

    /// Notes that `path` was deleted, or that its id is used again. Nothing refers to a path that has never carried data.
    pub(super) fn set_gone(&mut self, path: PathId, gone: bool) {
        if let Some(path) = self.paths.get_mut(path.index()) {
            path.gone = gone;
        }
    }

    /// Ends the measurement of in-order arrival of `path`.
    pub(super) fn forget_arrival(&mut self, path: PathId) {
        if let Some(path) = self.paths.get_mut(path.index()) {
            path.arrival.forget();
        }
    }

    /// Number of stored paths: one more than the highest id that has carried data.
    pub(super) fn len(&self) -> usize {
        self.paths.len()
    }

    fn on(&self, path: PathId) -> &PathFlight {
        static UNUSED: PathFlight = PathFlight::UNUSED;
        self.paths.get(path.index()).unwrap_or(&UNUSED)
    }

    #[inline]
    fn on_mut(&mut self, path: PathId) -> &mut PathFlight {
        let index = path.index();
        if index >= self.paths.len() {
            self.grow(index + 1);
        }
        &mut self.paths[index]
    }

    #[cold]
    fn grow(&mut self, len: usize) {
        // Paths are few and rarely added, so no spare capacity is allocated.
        self.paths.reserve_exact(len - self.paths.len());
        self.paths.resize(len, PathFlight::UNUSED);
    }
}

//! In-flight lists. What is in flight on a path, and in which order did it leave?
//!
//! Two lists per path, threaded through the records of the ring: first transmissions in the order of their
//! TSNs, later ones in the order of sending. So what others have to search for is a head here: the earliest
//! outstanding chunk, the pseudo-cumulative acks of CUC and CUCv2, and whatever a loss threshold cuts off.

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

/// The place of a record in its list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Links {
    before: Link,
    after: Link,
}

impl Links {
    /// In no list yet.
    pub(super) const ALONE: Self = Self {
        before: Link::NONE,
        after: Link::NONE,
    };

    /// What left next.
    pub(super) fn next(self) -> Option<UnwrappedTsn> {
        self.after.tsn()
    }
}

/// What a list knows of a record in it.
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

/// One list; the records know their neighbours.
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

    /// Takes a record with these links out of the list; `true` if it was the head.
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

/// The sending side of one path.
#[derive(Clone, Debug)]
struct PathFlight {
    first: List,
    again: List,
    in_flight: u64,
    queued: u64,
    /// What was lost on it and waits to be sent again.
    lost: BTreeSet<UnwrappedTsn>,
    last_send_number: SendNumber,
    /// The path is no more; what was sent on it may still be held.
    gone: bool,
    arrival: Arrival,
}

impl PathFlight {
    /// Of a path that never carried data.
    const UNUSED: Self = Self {
        first: List::EMPTY,
        again: List::EMPTY,
        in_flight: 0,
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

/// The sending side of all paths. A path that never carried data is not stored.
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

    /// Chunk bytes last sent on `path` that the send buffer still holds.
    pub(super) fn queued(&self, path: PathId) -> u64 {
        self.on(path).queued
    }

    /// A chunk that was sent on `path` waits to be sent again.
    pub(super) fn note_lost(&mut self, path: PathId, tsn: UnwrappedTsn) {
        self.on_mut(path).lost.insert(tsn);
    }

    /// It waits no more.
    pub(super) fn forget_lost(&mut self, path: PathId, tsn: UnwrappedTsn) {
        self.on_mut(path).lost.remove(&tsn);
    }

    /// The lowest TSN that was lost on `path` and waits to be sent again.
    pub(super) fn first_lost(&self, path: PathId) -> Option<UnwrappedTsn> {
        self.on(path).lost.first().copied()
    }

    /// The same of each path that has one.
    pub(super) fn each_first_lost(&self) -> impl Iterator<Item = UnwrappedTsn> {
        self.paths.iter().filter_map(|path| path.lost.first().copied())
    }

    /// The lowest TSN above `tsn` that waits to be sent again, whatever path it was lost on.
    pub(super) fn lost_after(&self, tsn: UnwrappedTsn) -> Option<UnwrappedTsn> {
        let above = (Bound::Excluded(tsn), Bound::Unbounded);
        let each = self.paths.iter();
        each.filter_map(|path| path.lost.range(above).next().copied())
            .min()
    }

    /// All that wait to be sent again.
    #[cfg(test)]
    pub(super) fn all_lost(&self) -> impl Iterator<Item = UnwrappedTsn> {
        self.paths.iter().flat_map(|path| path.lost.iter().copied())
    }

    /// Chunk bytes in flight on all paths.
    pub(super) fn total_in_flight(&self) -> u64 {
        self.paths.iter().map(|path| path.in_flight).sum()
    }

    /// Chunk bytes sent on all paths that the send buffer still holds.
    pub(super) fn total_queued(&self) -> u64 {
        self.paths.iter().map(|path| path.queued).sum()
    }

    /// The number of the last transmission on `path`.
    pub(super) fn last_send_number(&self, path: PathId) -> SendNumber {
        self.on(path).last_send_number
    }

    /// The chunk that has been in flight on `path` for longest, of one list.
    pub(super) fn head(&self, path: PathId, order: Order) -> Option<UnwrappedTsn> {
        let path = self.on(path);
        match order {
            Order::First => path.first.head.tsn(),
            Order::Again => path.again.head.tsn(),
        }
    }

    /// The lower of both heads.
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

    /// The number of a transmission on `path` that is about to happen.
    pub(super) fn next_send_number(&mut self, path: PathId) -> SendNumber {
        let path = self.on_mut(path);
        path.last_send_number = SendNumber(path.last_send_number.0 + 1);
        path.last_send_number
    }

    /// What measures when chunks that were first sent on `path` arrive in order.
    pub(super) fn arrival_mut(&mut self, path: PathId) -> &mut Arrival {
        &mut self.on_mut(path).arrival
    }

    /// Those of all paths.
    pub(super) fn arrivals(&mut self) -> impl Iterator<Item = (PathId, &mut Arrival)> {
        let paths = self.paths.iter_mut().enumerate();
        paths.map(|(index, path)| (PathId(index as u8), &mut path.arrival))
    }

    /// The chunk `tsn` is in flight from now on.
    pub(super) fn launch(&mut self, ring: &mut Ring, tsn: UnwrappedTsn) {
        let Member { path, order, bytes } = Member::of(&ring[tsn]);
        let path = self.on_mut(path);
        path.in_flight += bytes;
        path.list(order).push(ring, tsn);
    }

    /// A chunk that had these links is in flight no more; `true` if it headed its list.
    pub(super) fn land(&mut self, ring: &mut Ring, member: Member, links: Links) -> bool {
        let path = self.on_mut(member.path);
        path.in_flight -= member.bytes;
        path.list(member.order).unlink(ring, links)
    }

    /// `bytes` are held in the send buffer on behalf of `path`.
    pub(super) fn hold(&mut self, path: PathId, bytes: u64) {
        self.on_mut(path).queued += bytes;
    }

    /// `bytes` are no longer held on behalf of `path`.
    pub(super) fn release(&mut self, path: PathId, bytes: u64) {
        self.on_mut(path).queued -= bytes;
    }

    /// Whether `path` is no more.
    pub(super) fn is_gone(&self, path: PathId) -> bool {
        self.on(path).gone
    }

    pub(super) fn set_gone(&mut self, path: PathId, gone: bool) {
        self.on_mut(path).gone = gone;
    }

    /// How many paths have ever carried data, counted up to the highest id among them.
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
        // Paths are few and come seldom: not a slot more than needed.
        self.paths.reserve_exact(len - self.paths.len());
        self.paths.resize(len, PathFlight::UNUSED);
    }
}

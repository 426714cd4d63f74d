//! Runs of fragments. A message consists of fragments in consecutive places, from one with the B bit to one with the E bit.
//!
//! The place of a DATA chunk is its TSN, that of an I-DATA chunk its FSN. Adjacent fragments form one run, so each arrival concerns
//! at most two runs, and a message is complete when its run has both ends:
//!
//! ```text
//! TSN    7   8   9  10  11  12  13
//!       B…  ……      ……  …E  B…  ……     two messages, TSN 9 missing
//!       run at 7    run at 10    run at 12
//! ```

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use anabranch_types::UnwrappedTsn;
use bytes::Bytes;

use crate::violation::Violation;

/// The message exceeds the size limit.
pub(super) const TOO_LARGE: Violation = Violation::Protocol("message exceeds the receiver's limit");
const BEGINS_INSIDE: Violation = Violation::Protocol("message begins before the previous one has ended");
const WITHOUT_BEGINNING: Violation = Violation::Protocol("fragment continues a message that has ended");
const MIXED: Violation = Violation::Protocol("fragments of one message disagree about their message");

/// The place of a fragment among others.
pub(super) trait Place: Copy + Ord {
    /// The fields of a fragment that concern its message, apart from its place.
    type Label: Label;

    /// The place `count` fragments later.
    fn ahead(self, count: u64) -> Self;

    /// The place before; it may be one that no fragment can have.
    fn previous(self) -> Self;
}

/// The fields of a fragment that concern its message.
pub(super) trait Label: Copy {
    /// Whether both fragments can belong to one message.
    fn agrees(&self, other: &Self) -> bool;
}

impl Label for () {
    fn agrees(&self, (): &Self) -> bool {
        true
    }
}

impl Place for UnwrappedTsn {
    type Label = super::data::Label;

    fn ahead(self, count: u64) -> Self {
        self + count
    }

    fn previous(self) -> Self {
        self.previous()
    }
}

/// A chunk as reassembly sees it. An unfragmented message is both first and last fragment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment<P: Place> {
    pub(super) place: P,
    pub(super) label: P::Label,
    pub(super) beginning: bool,
    pub(super) ending: bool,
    pub(super) len: usize,
}

/// A reassembled message or a part of one, and the number of its fragments.
#[derive(Debug)]
pub(super) struct Joined<L> {
    /// Label of the first fragment of the message.
    pub(super) label: L,
    pub(super) payload: Bytes,
    pub(super) pieces: usize,
    /// Whether the beginning of the message was taken before.
    pub(super) follows: bool,
}

/// What became of the run to which a fragment was added.
#[derive(Debug)]
pub(super) enum Added<P: Place> {
    /// It is complete, and was removed.
    Message(Joined<P::Label>),
    /// It begins a message that is not complete.
    Beginning {
        /// Its first place.
        first: P,
        /// Bytes of user data, with those that were taken.
        bytes: usize,
        /// Whether a part of it was taken.
        is_partial: bool,
    },
    /// The beginning of its message is missing.
    Later,
}

/// Fragments of one message in consecutive places.
#[derive(Debug)]
struct Run<L> {
    /// Label of its first fragment.
    label: L,
    begins: bool,
    ends: bool,
    /// Fragments at the front that were taken as parts of the message.
    taken: u64,
    /// Bytes of user data, with those that were taken.
    bytes: usize,
    pieces: VecDeque<Bytes>,
}

/// The run adjacent to a place, if there is one.
type Neighbour<'a, P> = Option<&'a Run<<P as Place>::Label>>;

/// All fragments of incomplete messages.
#[derive(Debug)]
pub(super) struct Fragments<P: Place> {
    /// The runs by first place, disjoint.
    runs: BTreeMap<P, Run<P::Label>>,
}

impl<P: Place> Default for Fragments<P> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<P: Place> Fragments<P> {
    pub(super) const NONE: Self = Self {
        runs: BTreeMap::new(),
    };

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Whether a fragment in this place would be adjacent to a run.
    pub(super) fn touch(&self, place: P) -> bool {
        let (before, after) = self.neighbours(place);
        before.is_some() || after.is_some()
    }

    /// Checks `fragment` against its two neighbours; `arrived` tells which places were received before.
    ///
    /// Of two consecutive places, either the first ends a message and the second begins one, or both belong to the same message. A
    /// received neighbour that is in no run belongs to a complete message, whose first or last fragment it is.
    pub(super) fn check(
        &self,
        fragment: &Fragment<P>,
        max_message: usize,
        arrived: impl Fn(P) -> bool,
    ) -> Result<(), Violation> {
        let (before, after) = self.neighbours(fragment.place);
        let end_expected = match before {
            Some(run) => Some(run.ends),
            None => arrived(fragment.place.previous()).then_some(true),
        };
        let beginning_follows = match after {
            Some(run) => Some(run.begins),
            None => arrived(fragment.place.ahead(1)).then_some(true),
        };
        match (end_expected, fragment.beginning) {
            (Some(false), true) => return Err(BEGINS_INSIDE),
            (Some(true), false) => return Err(WITHOUT_BEGINNING),
            _ => {}
        }
        match (fragment.ending, beginning_follows) {
            (false, Some(true)) => return Err(BEGINS_INSIDE),
            (true, Some(false)) => return Err(WITHOUT_BEGINNING),
            _ => {}
        }
        let before = before.filter(|_| !fragment.beginning);
        let after = after.filter(|_| !fragment.ending);
        let same_message = || before.into_iter().chain(after);
        if same_message().any(|run| !run.label.agrees(&fragment.label)) {
            return Err(MIXED);
        }
        let bytes = fragment.len + same_message().map(|run| run.bytes).sum::<usize>();
        if bytes > max_message {
            Err(TOO_LARGE)
        } else {
            Ok(())
        }
    }

    //= rfc9260 6-11, 6-12, 6.9-1, 6.9-15
    /// Adds a checked fragment; returns the message if it is complete now.
    pub(super) fn insert(&mut self, fragment: Fragment<P>, piece: Bytes) -> Added<P> {
        let first = self.append_or_open(&fragment, piece);
        if !fragment.ending
            && let Some(rest) = self.runs.remove(&fragment.place.ahead(1))
            && let Some(run) = self.runs.get_mut(&first)
        {
            run.absorb(rest);
        }
        match self.runs.get(&first) {
            Some(run) if run.begins && !run.ends => Added::Beginning {
                first,
                bytes: run.bytes,
                is_partial: run.taken > 0,
            },
            Some(run) if run.begins => self.runs.remove(&first).map_or(Added::Later, Run::complete),
            _ => Added::Later,
        }
    }

    /// Takes the fragments of the run at `first`, which begins a message, as a part of that message.
    pub(super) fn take_part(&mut self, first: P) -> Option<Joined<P::Label>> {
        let run = self.runs.get_mut(&first)?;
        let joined = run.join();
        run.taken += run.pieces.len() as u64;
        run.pieces = VecDeque::new();
        Some(joined)
    }

    /// The runs that begin a message of which no part was taken.
    pub(super) fn beginnings(&self) -> impl Iterator<Item = (P, &P::Label)> {
        let begin = self.runs.iter().filter(|(_, run)| run.begins && run.taken == 0);
        begin.map(|(first, run)| (*first, &run.label))
    }

    /// Appends the fragment to a run or opens one; returns the first place of that run.
    fn append_or_open(&mut self, fragment: &Fragment<P>, piece: Bytes) -> P {
        let before = self.runs.range_mut(..fragment.place).next_back();
        match before {
            Some((first, run)) if !fragment.beginning && first.ahead(run.len()) == fragment.place => {
                run.append(fragment, piece);
                *first
            }
            _ => {
                self.runs.insert(fragment.place, Run::open(fragment, piece));
                fragment.place
            }
        }
    }

    /// The place after the last fragment of the run at `first`.
    pub(super) fn end_of(&self, first: P) -> P {
        self.runs.get(&first).map_or(first, |run| first.ahead(run.len()))
    }

    /// Whether a part of the run at `first` was taken.
    pub(super) fn is_partial(&self, first: P) -> bool {
        self.runs.get(&first).is_some_and(|run| run.taken > 0)
    }

    /// The label of the run at `first`.
    pub(super) fn label_of(&self, first: P) -> Option<P::Label> {
        self.runs.get(&first).map(|run| run.label)
    }

    /// Whether a run contains the fragment of this place.
    pub(super) fn has(&self, place: P) -> bool {
        let run = self.runs.range(..=place).next_back();
        run.is_some_and(|(first, run)| place < first.ahead(run.len()))
    }

    /// The runs adjacent to `place`, below and above.
    fn neighbours(&self, place: P) -> (Neighbour<'_, P>, Neighbour<'_, P>) {
        let before = self.runs.range(..place).next_back();
        let before = before
            .filter(|(first, run)| first.ahead(run.len()) == place)
            .map(|(_, run)| run);
        (before, self.runs.get(&place.ahead(1)))
    }
}

/// Fragments that were dropped.
#[derive(Debug)]
pub(super) struct Dropped<P: Place> {
    pub(super) bytes: usize,
    pub(super) pieces: usize,
    /// The last place of them.
    pub(super) last: Option<P>,
    /// First places and labels of messages of which a part was taken.
    pub(super) partial: Vec<(P, P::Label)>,
}

impl<P: Place> Dropped<P> {
    const NONE: Self = Self {
        bytes: 0,
        pieces: 0,
        last: None,
        partial: Vec::new(),
    };

    fn add(&mut self, first: P, run: &Run<P::Label>) {
        self.bytes += run.pieces.iter().map(Bytes::len).sum::<usize>();
        self.pieces += run.pieces.len();
        self.last = self.last.max(Some(first.ahead(run.len()).previous()));
        if run.taken > 0 {
            self.partial.push((first, run.label));
        }
    }
}

impl Fragments<UnwrappedTsn> {
    //= rfc3758 3.6-10
    /// Drops the fragments of all messages that miss a fragment up to `place`.
    pub(super) fn drop_through(&mut self, place: UnwrappedTsn) -> Dropped<UnwrappedTsn> {
        let is_incomplete = |first: UnwrappedTsn, run: &Run<super::data::Label>| {
            let missing_before = !run.begins && first.previous() <= place;
            let missing_after = !run.ends && first.ahead(run.len()) <= place;
            missing_before || missing_after
        };
        let runs = self.runs.range(..=place.next());
        let hopeless: Vec<_> = runs
            .filter(|(first, run)| is_incomplete(**first, run))
            .map(|(first, _)| *first)
            .collect();
        self.drop_runs(&hopeless)
    }
}

impl<P: Place> Fragments<P> {
    /// Drops all fragments.
    pub(super) fn drop_all(&mut self) -> Dropped<P> {
        let mut dropped = Dropped::NONE;
        for (first, run) in core::mem::take(&mut self.runs) {
            dropped.add(first, &run);
        }
        dropped
    }

    /// Drops all fragments in these places; returns their bytes and their number.
    pub(super) fn drop_range(&mut self, places: RangeInclusive<P>) -> Dropped<P> {
        let firsts: Vec<P> = self.runs.range(places).map(|(first, _)| *first).collect();
        self.drop_runs(&firsts)
    }

    fn drop_runs(&mut self, firsts: &[P]) -> Dropped<P> {
        let mut dropped = Dropped::NONE;
        for first in firsts {
            if let Some(run) = self.runs.remove(first) {
                dropped.add(*first, &run);
            }
        }
        dropped
    }
}

impl<L: Copy> Run<L> {
    fn open<P: Place<Label = L>>(fragment: &Fragment<P>, piece: Bytes) -> Self {
        let mut pieces = VecDeque::with_capacity(1);
        pieces.push_back(piece);
        Self {
            label: fragment.label,
            begins: fragment.beginning,
            ends: fragment.ending,
            taken: 0,
            bytes: fragment.len,
            pieces,
        }
    }

    fn len(&self) -> u64 {
        self.taken + self.pieces.len() as u64
    }

    fn append<P: Place>(&mut self, fragment: &Fragment<P>, piece: Bytes) {
        self.ends = fragment.ending;
        self.bytes += fragment.len;
        self.pieces.push_back(piece);
    }

    /// Joins the following run to this one. The shorter one is moved, so that no order of arrival is expensive.
    fn absorb(&mut self, mut rest: Self) {
        self.ends = rest.ends;
        self.bytes += rest.bytes;
        if self.pieces.len() >= rest.pieces.len() {
            self.pieces.append(&mut rest.pieces);
            return;
        }
        while let Some(piece) = self.pieces.pop_back() {
            rest.pieces.push_front(piece);
        }
        self.pieces = rest.pieces;
    }

    fn complete<P: Place<Label = L>>(self) -> Added<P>
    where
        L: Label,
    {
        Added::Message(self.join())
    }

    /// Joins the fragments that were not taken.
    fn join(&self) -> Joined<L> {
        let payload = match self.pieces.front() {
            Some(only) if self.pieces.len() == 1 => only.clone(),
            _ => {
                let mut payload = Vec::with_capacity(self.pieces.iter().map(Bytes::len).sum());
                self.pieces
                    .iter()
                    .for_each(|piece| payload.extend_from_slice(piece));
                Bytes::from(payload)
            }
        };
        Joined {
            label: self.label,
            payload,
            pieces: self.pieces.len(),
            follows: self.taken > 0,
        }
    }
}

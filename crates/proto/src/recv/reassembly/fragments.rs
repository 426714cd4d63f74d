//! Which fragments belong together? Those with consecutive TSNs from one that begins to one that ends.
//!
//! Fragments that touch are kept as one run, so each arrival looks at two runs at most, and a message is
//! whole when its run has both ends:
//!
//! ```text
//! TSN    7   8   9  10  11  12  13
//!       B…  ……      ……  …E  B…  ……     two messages, TSN 9 missing
//!       run at 7    run at 10    run at 12
//! ```

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use anabranch_types::{Ppid, Ssn, StreamId, UnwrappedTsn};
use anabranch_wire::Data;
use bytes::Bytes;

use crate::violation::Violation;

/// The message is larger than we are willing to put together.
pub(super) const TOO_LARGE: Violation = Violation::Protocol("message exceeds the receiver's limit");
const BEGINS_INSIDE: Violation = Violation::Protocol("message begins before the previous one has ended");
const WITHOUT_BEGINNING: Violation = Violation::Protocol("fragment continues a message that has ended");
const MIXED: Violation = Violation::Protocol("fragments of one message disagree about their message");

/// What all fragments of a message have in common.
///
/// RFC 9260 §3.3.1 and §6.9 ask it of stream, SSN and U flag. The PPID belongs to the message as well, so
/// fragments that disagree about it leave no right answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Label {
    stream: StreamId,
    /// `None` for unordered messages, whose SSN MUST be ignored (RFC 9260 §3.3.1).
    ssn: Option<Ssn>,
    ppid: Ppid,
}

impl Label {
    pub(super) fn of(data: &Data<'_>) -> Self {
        let ssn = (!data.flags.unordered).then_some(data.ssn);
        Self {
            stream: data.stream,
            ssn,
            ppid: data.ppid,
        }
    }
}

/// A chunk of DATA as reassembly sees it; a whole message is its own beginning and end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment {
    pub(super) tsn: UnwrappedTsn,
    pub(super) label: Label,
    pub(super) beginning: bool,
    pub(super) ending: bool,
    pub(super) len: usize,
}

/// A message that was put together, and of how many pieces.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) payload: Bytes,
    pub(super) pieces: usize,
}

/// Fragments of one message with consecutive TSNs.
#[derive(Debug)]
struct Run {
    label: Label,
    begins: bool,
    ends: bool,
    bytes: usize,
    pieces: VecDeque<Bytes>,
}

/// All fragments whose message is not whole yet.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    /// By first TSN; disjoint.
    runs: BTreeMap<UnwrappedTsn, Run>,
}

impl Fragments {
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Whether a fragment with this TSN would be next to one that waits.
    pub(super) fn touch(&self, tsn: UnwrappedTsn) -> bool {
        let (before, after) = self.neighbours(tsn);
        before.is_some() || after.is_some()
    }

    /// Whether `fragment` agrees with its two neighbours; `arrived` tells which TSNs were here before.
    ///
    /// Of two consecutive TSNs either the first ends a message and the second begins one, or both belong to
    /// the same. A neighbour that arrived and is in no run was part of a message that is whole: it began and
    /// ended.
    pub(super) fn check(
        &self,
        fragment: &Fragment,
        max_message: usize,
        arrived: impl Fn(UnwrappedTsn) -> bool,
    ) -> Result<(), Violation> {
        let (before, after) = self.neighbours(fragment.tsn);
        let end_expected = match before {
            Some(run) => Some(run.ends),
            None => arrived(fragment.tsn.previous()).then_some(true),
        };
        let beginning_follows = match after {
            Some(run) => Some(run.begins),
            None => arrived(fragment.tsn.next()).then_some(true),
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
        if same_message().any(|run| run.label != fragment.label) {
            return Err(MIXED);
        }
        let bytes = fragment.len + same_message().map(|run| run.bytes).sum::<usize>();
        if bytes > max_message {
            Err(TOO_LARGE)
        } else {
            Ok(())
        }
    }

    /// Adds a checked fragment; the message if that was the last one missing.
    pub(super) fn insert(&mut self, fragment: Fragment, piece: Bytes) -> Option<Joined> {
        let first = self.append_or_open(&fragment, piece);
        if !fragment.ending
            && let Some(rest) = self.runs.remove(&fragment.tsn.next())
            && let Some(run) = self.runs.get_mut(&first)
        {
            run.absorb(rest);
        }
        let run = self.runs.get(&first)?;
        if !(run.begins && run.ends) {
            return None;
        }
        self.runs.remove(&first).map(Run::join)
    }

    /// The first TSN of the run that has the fragment now.
    fn append_or_open(&mut self, fragment: &Fragment, piece: Bytes) -> UnwrappedTsn {
        let before = self.runs.range_mut(..fragment.tsn).next_back();
        match before {
            Some((first, run)) if !fragment.beginning && *first + run.len() == fragment.tsn => {
                run.append(fragment, piece);
                *first
            }
            _ => {
                self.runs.insert(fragment.tsn, Run::open(fragment, piece));
                fragment.tsn
            }
        }
    }

    /// The runs that touch `tsn` from below and from above.
    fn neighbours(&self, tsn: UnwrappedTsn) -> (Option<&Run>, Option<&Run>) {
        let before = self.runs.range(..tsn).next_back();
        let before = before
            .filter(|(first, run)| **first + run.len() == tsn)
            .map(|(_, run)| run);
        (before, self.runs.get(&tsn.next()))
    }
}

impl Run {
    fn open(fragment: &Fragment, piece: Bytes) -> Self {
        let mut pieces = VecDeque::with_capacity(1);
        pieces.push_back(piece);
        Self {
            label: fragment.label,
            begins: fragment.beginning,
            ends: fragment.ending,
            bytes: fragment.len,
            pieces,
        }
    }

    fn len(&self) -> u64 {
        self.pieces.len() as u64
    }

    fn append(&mut self, fragment: &Fragment, piece: Bytes) {
        self.ends = fragment.ending;
        self.bytes += fragment.len;
        self.pieces.push_back(piece);
    }

    /// Continues with the run that follows. The shorter one moves, so that no order of arrival is dear.
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

    fn join(self) -> Joined {
        let mut payload = Vec::with_capacity(self.bytes);
        for piece in &self.pieces {
            payload.extend_from_slice(piece);
        }
        Joined {
            payload: Bytes::from(payload),
            pieces: self.pieces.len(),
        }
    }
}

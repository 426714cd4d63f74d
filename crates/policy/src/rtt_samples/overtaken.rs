//! Overtaken SACKs. Which chunk was acknowledged over another path before the SACK of its own path arrived?

use anabranch_types::{Instant, PathId, UnwrappedTsn};

use crate::path_table::PathTable;
use crate::{PathFacts, SentOnce};

/// One chunk of each path whose SACK over that path is still awaited.
#[derive(Debug, Default)]
pub(super) struct Overtaken {
    chunks: PathTable<SentOnce>,
}

impl Overtaken {
    /// A SACK that arrived over `arrived_on` acknowledged `chunk`, which was sent on `path`. Returns the sample if that
    /// is the same path; else the chunk waits for the SACK of its own path.
    pub(super) fn acknowledged(
        &mut self,
        path: &PathFacts,
        chunk: SentOnce,
        arrived_on: PathId,
        now: Instant,
    ) -> Option<Instant> {
        if arrived_on == path.id {
            return Some(chunk.sent_at);
        }
        self.remember(path, chunk, now);
        None
    }

    /// Keeps the first chunk: a later one would have to wait for a later SACK, and be replaced again before that arrives.
    fn remember(&mut self, path: &PathFacts, chunk: SentOnce, now: Instant) {
        let waiting = self.chunks.of(path.id);
        if waiting.is_none_or(|waiting| has_expired(path, *waiting, now)) {
            self.chunks.insert(path.id, chunk);
        }
    }

    /// A SACK arrived over `path`. Returns the sample if it `reports` the chunk that waits for it.
    pub(super) fn reported(
        &mut self,
        path: &PathFacts,
        reports: &dyn Fn(UnwrappedTsn) -> bool,
        now: Instant,
    ) -> Option<Instant> {
        let waiting = *self.chunks.of(path.id)?;
        if !reports(waiting.tsn) {
            return None;
        }
        self.chunks.clear(path.id);
        (!has_expired(path, waiting, now)).then_some(waiting.sent_at)
    }

    pub(super) fn forget(&mut self, path: PathId) {
        self.chunks.remove(path);
    }
}

/// Whether the SACK that `chunk` elicited was lost or took another path: a SACK that arrives now answers a later
/// chunk.
fn has_expired(path: &PathFacts, chunk: SentOnce, now: Instant) -> bool {
    path.srtt().is_some() && now - chunk.sent_at > path.rto()
}

//! What was acknowledged over another path before the SACK of its own path came?

use anabranch_types::{Instant, PathId, UnwrappedTsn};

use crate::path_table::PathTable;
use crate::{PathFacts, SentOnce};

/// One chunk of each path, the round trip of which is still to end.
#[derive(Debug, Default)]
pub(super) struct Overtaken {
    chunks: PathTable<SentOnce>,
}

impl Overtaken {
    /// A SACK of another path acknowledged `chunk`, which was sent on `path`. The first one is kept: a later one
    /// would have to wait for a later SACK, and be replaced again before it comes.
    pub(super) fn remember(&mut self, path: &PathFacts, chunk: SentOnce, now: Instant) {
        let waiting = self.chunks.of(path.id);
        if waiting.is_none_or(|waiting| is_hopeless(path, *waiting, now)) {
            self.chunks.insert(path.id, chunk);
        }
    }

    /// A SACK came over `path`: when the chunk was sent that waited for it, if it `reports` that one.
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
        self.chunks.remove(path.id);
        (!is_hopeless(path, waiting, now)).then_some(waiting.sent_at)
    }

    pub(super) fn forget(&mut self, path: PathId) {
        self.chunks.remove(path);
    }
}

/// Whether the SACK that `chunk` elicited has been lost, or took another path: what comes now is the answer to
/// something later.
fn is_hopeless(path: &PathFacts, chunk: SentOnce, now: Instant) -> bool {
    path.srtt.is_some() && now - chunk.sent_at > path.rto
}

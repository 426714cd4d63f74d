//! Paths of sent chunks: on which one a chunk is, and which chunks can also be sent on another one.

use anabranch_policy::ChunkInFlight;
use anabranch_types::{PathId, UnwrappedTsn};

use super::Sender;
use crate::user_data::UserData;

impl Sender {
    /// The path on which the chunk `tsn` was sent last; `None` if it is acknowledged cumulatively or was never sent.
    pub(crate) fn path_of(&self, tsn: UnwrappedTsn) -> Option<PathId> {
        self.scoreboard.path_of(tsn)
    }

    /// The lowest TSN from `from` on that is in flight on another path than `path`, or the next new TSN. Visits all records in
    /// between.
    pub(crate) fn in_flight_elsewhere(&self, from: Option<UnwrappedTsn>, path: PathId) -> UnwrappedTsn {
        self.scoreboard.in_flight_elsewhere(from, path)
    }

    /// The chunk `tsn`, if it is in flight.
    pub(crate) fn in_flight_chunk(&self, tsn: UnwrappedTsn) -> Option<ChunkInFlight> {
        self.scoreboard
            .in_flight_chunk(tsn, |stream| self.redundant.has(stream))
    }

    /// Makes a duplicate of the chunk `tsn`, which stays in flight on its path. Its acknowledgement no longer says anything about
    /// any path, because it does not tell which copy arrived.
    pub(crate) fn duplicate(&mut self, tsn: UnwrappedTsn) -> UserData<'_> {
        self.scoreboard.duplicate(tsn)
    }
}

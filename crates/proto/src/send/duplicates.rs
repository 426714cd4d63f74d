//! Candidates for duplication: chunks in flight that can also be sent on another path.

use anabranch_policy::ChunkInFlight;
use anabranch_types::{PathId, UnwrappedTsn};

use super::Sender;
use crate::user_data::UserData;

impl Sender {
    /// The lowest TSN from `from` on that is in flight on another path than `path`, or the next new TSN. Visits all records in
    /// between.
    pub(crate) fn in_flight_elsewhere(&self, from: Option<UnwrappedTsn>, path: PathId) -> UnwrappedTsn {
        self.scoreboard.in_flight_elsewhere(from, path)
    }

    /// The chunk `tsn`, if it is in flight.
    pub(crate) fn in_flight_chunk(&self, tsn: UnwrappedTsn) -> Option<ChunkInFlight> {
        self.scoreboard.in_flight_chunk(tsn)
    }

    /// Makes a duplicate of the chunk `tsn`, which stays in flight on its path. Its acknowledgement no longer says anything about
    /// any path, because it does not tell which copy arrived.
    pub(crate) fn duplicate(&mut self, tsn: UnwrappedTsn) -> UserData<'_> {
        self.scoreboard.duplicate(tsn)
    }
}

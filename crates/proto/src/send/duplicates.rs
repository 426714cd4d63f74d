//! Candidates for duplication. Which chunks in flight could go over another path too?

use anabranch_policy::ChunkInFlight;
use anabranch_types::{PathId, UnwrappedTsn};

use super::Sender;
use crate::user_data::UserData;

impl Sender {
    /// The lowest TSN from `from` on that is in flight on another path than `path`, or else the next new one. Costs a walk
    /// over what lies between.
    pub(crate) fn in_flight_elsewhere(&self, from: Option<UnwrappedTsn>, path: PathId) -> UnwrappedTsn {
        self.scoreboard.in_flight_elsewhere(from, path)
    }

    /// The chunk `tsn`, if it is in flight.
    pub(crate) fn in_flight_chunk(&self, tsn: UnwrappedTsn) -> Option<ChunkInFlight> {
        self.scoreboard.in_flight_chunk(tsn)
    }

    /// A duplicate of the chunk `tsn`, which is in flight and stays so on its path. From now on its acknowledgement is no news
    /// of any path.
    pub(crate) fn duplicate(&mut self, tsn: UnwrappedTsn) -> UserData<'_> {
        self.scoreboard.duplicate(tsn)
    }
}

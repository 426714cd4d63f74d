//! Duplication: chunks in flight on one path are also sent on others, by decision of the path scheduler (ADR 0033). It is asked about all
//! chunks if it may duplicate any, otherwise about those of redundant streams (ADR 0198).
//!
//! A duplicate does not change the scoreboard: the chunk stays in flight on its path, where losses are detected and retransmissions
//! sent. The duplicate counts in the window of its path for one round trip.

use anabranch_policy::ChunkInFlight;
use anabranch_types::{Instant, PathId};
use anabranch_wire::PacketBuilder;

use super::Transfer;
use super::sendable::Purpose;
use super::write::push_data;

impl Transfer {
    /// The first path on which the scheduler would send a duplicate now.
    pub(super) fn wants_duplicates(&mut self, now: Instant) -> Option<PathId> {
        let duplicates_all = self.duplicates_all();
        if !duplicates_all && !self.sender.has_redundant() {
            return None;
        }
        if self.paths.usable_count() < 2 || !self.sender.has_outstanding() {
            return None;
        }
        if !duplicates_all && !self.paths.ids().any(|id| self.misses_redundant(id)) {
            return None;
        }
        self.refresh_sendable(Purpose::Again, now);
        self.paths
            .ids()
            .find(|id| self.paths.fact(*id).can_take_data() && self.next_duplicate(*id, now).is_some())
    }

    /// Whether the scheduler is asked about all chunks. While chunks are lost, only those of redundant streams are duplicated.
    fn duplicates_all(&self) -> bool {
        self.policies.path_scheduler.sends_duplicates() && self.sender.next_lost().is_none()
    }

    /// Whether there are chunks of redundant streams about which `path` has not decided yet.
    fn misses_redundant(&self, path: PathId) -> bool {
        let from = self.paths.path(path).sending.duplicates.next();
        self.sender.next_redundant(from).is_some()
    }

    /// Writes duplicates for `path` while they fit and the scheduler selects any.
    pub(super) fn write_duplicates(&mut self, path: PathId, packet: &mut PacketBuilder<'_>, now: Instant) {
        let mut sendable = self.paths.fact(path).sendable;
        while sendable > 0
            && let Some(chunk) = self.next_duplicate(path, now)
            && chunk.bytes <= packet.room() as u64
            && self.sender.admits_again(chunk.tsn)
        {
            let duplicate = self.sender.duplicate(chunk.tsn);
            let payload = duplicate.payload().len() as u64;
            push_data(packet, &duplicate);
            let facts = self.paths.fact_mut(path);
            let until = now + facts.srtt().unwrap_or_else(|| facts.rto());
            facts.duplicated_bytes += chunk.bytes;
            facts.sent_chunks += 1;
            let machinery = self.paths.path_mut(path);
            let duplicates = &mut machinery.sending.make_mut().duplicates;
            duplicates.sent(chunk.tsn, chunk.bytes, until);
            machinery.counters.rare().payload_duplicated += payload;
            sendable = sendable.saturating_sub(chunk.bytes);
        }
    }

    /// The next chunk to duplicate on `path`.
    fn next_duplicate(&mut self, path: PathId, now: Instant) -> Option<ChunkInFlight> {
        let chunk = if self.duplicates_all() {
            self.next_elsewhere(path)?
        } else {
            self.next_redundant(path)?
        };
        let onto = self.paths.fact(path);
        let scheduler = &self.policies.path_scheduler;
        scheduler.wants_duplicate(&chunk, onto, now).then_some(chunk)
    }

    /// The next chunk in flight on another path that `path` did not have yet. Chunks that are too long for it are skipped.
    fn next_elsewhere(&mut self, path: PathId) -> Option<ChunkInFlight> {
        let longest = u64::from(self.paths.fact(path).max_data_chunk);
        loop {
            let from = self.paths.path(path).sending.duplicates.next();
            let tsn = self.sender.in_flight_elsewhere(from, path);
            let duplicates = &mut self.paths.path_mut(path).sending.make_mut().duplicates;
            duplicates.set_next(tsn);
            let chunk = self.sender.in_flight_chunk(tsn)?;
            if chunk.bytes <= longest && !(self.sender.has_unreliable() && self.sender.gives_up(tsn)) {
                return Some(chunk);
            }
            let duplicates = &mut self.paths.path_mut(path).sending.make_mut().duplicates;
            duplicates.set_next(tsn.next());
        }
    }

    /// The next chunk of a redundant stream that is in flight on another path and that `path` did not have yet. Others are skipped, such as
    /// lost ones, which are sent again.
    fn next_redundant(&mut self, path: PathId) -> Option<ChunkInFlight> {
        let longest = u64::from(self.paths.fact(path).max_data_chunk);
        loop {
            let from = self.paths.path(path).sending.duplicates.next();
            let tsn = self.sender.next_redundant(from)?;
            let chunk = self.sender.in_flight_chunk(tsn);
            let chunk = chunk.filter(|chunk| chunk.redundant && chunk.path != path && chunk.bytes <= longest);
            if chunk.is_some() && !(self.sender.has_unreliable() && self.sender.gives_up(tsn)) {
                return chunk;
            }
            let duplicates = &mut self.paths.path_mut(path).sending.make_mut().duplicates;
            duplicates.set_next(tsn.next());
        }
    }
}

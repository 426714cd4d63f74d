//! What is sent on several paths at once? Duplicates of what is in flight, as the path scheduler asks for them.
//!
//! A duplicate leaves the scoreboard as it is: the chunk stays in flight on its path, and is found lost, timed out and sent
//! again there. The duplicate fills the window of the path that carries it for a round trip, and is forgotten.

use anabranch_policy::ChunkInFlight;
use anabranch_types::{Instant, PathId};
use anabranch_wire::PacketBuilder;

use super::data::push_data;
use super::room::{self, Purpose};
use crate::Association;

/// The first path onto which the scheduler would duplicate something now.
pub(super) fn wanted(association: &mut Association, now: Instant) -> Option<PathId> {
    if !association.policies.path_scheduler.sends_duplicates() || association.paths.usable_count() < 2 {
        return None;
    }
    if !association.sender.has_outstanding() {
        return None;
    }
    room::refresh(association, Purpose::Again, now);
    association
        .paths
        .ids()
        .find(|id| association.paths.fact(*id).can_take_data() && next(association, *id, now).is_some())
}

/// Writes duplicates for `path` while they fit and are wanted.
pub(super) fn write(
    association: &mut Association,
    path: PathId,
    packet: &mut PacketBuilder<'_>,
    now: Instant,
) {
    let mut room = association.paths.fact(path).sendable;
    while room > 0
        && let Some(chunk) = next(association, path, now)
        && chunk.bytes <= packet.room() as u64
    {
        let duplicate = association.sender.duplicate(chunk.tsn);
        let payload = duplicate.payload().len() as u64;
        push_data(packet, &duplicate);
        let facts = association.paths.fact_mut(path);
        let until = now + facts.srtt.unwrap_or(facts.rto);
        facts.duplicated_bytes += chunk.bytes;
        facts.sent_chunks += 1;
        let machinery = association.paths.path_mut(path);
        machinery.duplicates.sent(chunk.tsn, chunk.bytes, until);
        machinery.counters.payload_duplicated += payload;
        room = room.saturating_sub(chunk.bytes);
    }
}

/// The next chunk to be duplicated onto `path`. Chunks that are too long for it are passed over.
fn next(association: &mut Association, path: PathId, now: Instant) -> Option<ChunkInFlight> {
    let longest = u64::from(association.paths.fact(path).max_data_chunk);
    loop {
        let from = association.paths.path(path).duplicates.next;
        let tsn = association.sender.in_flight_elsewhere(from, path);
        let duplicates = &mut association.paths.path_mut(path).duplicates;
        duplicates.next = Some(tsn);
        let chunk = association.sender.in_flight_chunk(tsn)?;
        if chunk.bytes <= longest {
            let onto = association.paths.fact(path);
            let scheduler = &association.policies.path_scheduler;
            return scheduler.wants_duplicate(&chunk, onto, now).then_some(chunk);
        }
        duplicates.next = Some(tsn.next());
    }
}

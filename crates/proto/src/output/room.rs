//! How much may each path take now? The window, the burst limit and the share of the buffers together.

use anabranch_policy::BufferFacts;
use anabranch_types::{Instant, PathId};

use crate::Association;

/// Computes [`anabranch_policy::PathFacts::room`] of all paths.
pub(crate) fn refresh(association: &mut Association, now: Instant) {
    let buffer = buffer_facts(association);
    for id in association.paths.ids() {
        let room = room_of(association, id, &buffer, now);
        association.paths.fact_mut(id).room = room;
    }
}

/// The shared buffers as policies see them.
pub(crate) fn buffer_facts(association: &Association) -> BufferFacts {
    BufferFacts {
        send_capacity: association.config.send_buffer,
        send_used: association.sender.send_used(),
        peer_window: association.sender.peer_window(),
        in_flight: association.sender.total_in_flight(),
        queued: association.sender.total_queued(),
        usable_paths: association.paths.usable_count(),
    }
}

fn room_of(association: &mut Association, id: PathId, buffer: &BufferFacts, now: Instant) -> u64 {
    let facts = association.paths.fact(id);
    if !facts.is_usable() || association.paths.path(id).blocked_until.is_some() {
        return 0;
    }
    // "The sender MUST NOT send new DATA if it has cwnd or more bytes outstanding", and may go beyond by less
    // than one packet (RFC 9260 §6.1 B).
    if facts.in_flight >= facts.window {
        return 0;
    }
    let window = (facts.window - facts.in_flight).max(u64::from(facts.max_data_chunk));
    let share = association
        .policies
        .buffer
        .allowance(facts, association.paths.facts(), buffer);
    if share == 0 {
        return 0;
    }
    let burst = association.policies.burst.allowance(facts, now);
    association.paths.path_mut(id).release_at = burst.again_at.filter(|_| burst.bytes == 0);
    window.min(share).min(burst.bytes)
}

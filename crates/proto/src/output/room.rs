//! How much may each path take now? The window, the burst limit and the share of the buffers together.

use anabranch_policy::{BufferFacts, BurstPolicy, PathFacts};
use anabranch_types::{Instant, PathId};

use crate::Association;
use crate::path::Path;

/// For what there is room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// Data sent for the first time.
    New,
    /// Data sent again: it has its place in the buffers already, so shares of them do not count.
    Again,
}

/// Computes [`anabranch_policy::PathFacts::sendable`] of all paths.
pub(crate) fn refresh(association: &mut Association, purpose: Purpose, now: Instant) {
    let buffer = buffer_facts(association);
    let waiting = association.sender.waiting_bytes();
    for id in association.paths.ids() {
        let share = match purpose {
            // The stream scheduler may have bound streams to paths; on others there is nothing to send.
            Purpose::New if !has_new_for(association, id) => 0,
            Purpose::New => share_of(association, id, &buffer),
            Purpose::Again => u64::MAX,
        };
        if share > 0 && association.policies.limit_window(association.paths.fact(id)) {
            association.publish_windows();
        }
        let Association { paths, policies, .. } = association;
        let (facts, path) = paths.both_mut(id);
        allot(facts, path, Wanted { share, waiting }, &mut *policies.burst, now);
    }
}

/// Whether some stream has new data that may go on path `id`.
pub(super) fn has_new_for(association: &Association, id: PathId) -> bool {
    let scheduler = &*association.policies.stream_scheduler;
    let fragment_at = || association.paths.cut_length(id);
    association.sender.has_new_for(id, fragment_at, scheduler)
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
        send_split: association.policies.buffer.splits_send_buffer(),
        receive_split: association.policies.buffer.splits_receive_buffer(),
    }
}

fn share_of(association: &Association, id: PathId, buffer: &BufferFacts) -> u64 {
    let facts = association.paths.fact(id);
    association
        .policies
        .buffer
        .allowance(facts, association.paths.facts(), buffer)
}

/// What the room on a path is for, in bytes.
struct Wanted {
    /// Of the buffers, at most.
    share: u64,
    /// All that waits, whatever path it will take.
    waiting: u64,
}

/// Says how much may go on one path.
fn allot(facts: &mut PathFacts, path: &mut Path, wanted: Wanted, burst: &mut dyn BurstPolicy, now: Instant) {
    facts.sendable = 0;
    facts.pacing_limited = false;
    if wanted.share == 0 || !facts.is_usable() || path.blocked_until.is_some() {
        return;
    }
    // "The sender MUST NOT send new DATA if it has cwnd or more bytes outstanding", and may go beyond by less
    // than one packet (RFC 9260 §6.1 B).
    let rate = path.recovery.as_ref().and_then(|recovery| recovery.rate.as_ref());
    let window = rate.map_or(facts.cwnd, |rate| rate.limit(facts.cwnd));
    let filled = facts.in_flight + facts.duplicated_bytes;
    // RFC 9260 §7.2.1: after a timeout "only one packet is allowed to be in flight until successful acknowledgement",
    // however little of the window it fills.
    if filled >= window || path.waits_for_answer() {
        return;
    }
    let room = (window - filled).max(u64::from(facts.max_data_chunk));
    let burst = burst.allowance(facts, now);
    path.release_at = burst.again_at.filter(|_| burst.bytes == 0);
    // Less than the window would not have filled it, paced or not.
    let would_fill = filled + wanted.waiting + u64::from(facts.max_data_chunk) > window;
    facts.pacing_limited = path.release_at.is_some() && would_fill;
    facts.sendable = room.min(wanted.share).min(burst.bytes);
}
